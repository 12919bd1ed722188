/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses that the public headers list for each function, status.h's general ones among them. */
#ifndef WARMPOOL_TESTS_LISTED_H
#define WARMPOOL_TESTS_LISTED_H

#include <stdbool.h>

#include "warmpool/status.h"

/* X(function without its prefix, its statuses' bits) */
#define LISTED_S(status) (1u << WP_##status)
#define LISTED_E(status) (1u << WP_ERROR_##status)
#define LISTED_ANY (LISTED_S(OK) | LISTED_E(INVALID_ARGUMENT) | LISTED_E(FORKED))
#define LISTED_DRIVER (LISTED_ANY | LISTED_E(DRIVER) | LISTED_E(NO_DEVICE) | LISTED_E(OUT_OF_HOST_MEMORY))
#define LISTED_EVENTS (LISTED_DRIVER | LISTED_E(OUT_OF_MEMORY))
#define LISTED_STREAM (LISTED_EVENTS | LISTED_E(WRONG_DEVICE) | LISTED_E(CAPTURING))
#define LISTED_FREE (LISTED_STREAM | LISTED_E(INVALID_POINTER))
#define LISTED_CALLS(X)                                                                                                \
  X(runtime_create, LISTED_S(OK) | LISTED_E(INVALID_ARGUMENT) | LISTED_E(OUT_OF_HOST_MEMORY))                          \
  X(runtime_default, LISTED_ANY | LISTED_E(OUT_OF_HOST_MEMORY))                                                        \
  X(runtime_destroy, LISTED_EVENTS | LISTED_S(PENDING) | LISTED_E(BUSY))                                               \
  X(delegate_open, LISTED_EVENTS | LISTED_E(NOT_SUPPORTED))                                                            \
  X(delegate_close, LISTED_EVENTS | LISTED_S(PENDING))                                                                 \
  X(alloc, LISTED_STREAM | LISTED_E(LIMIT))                                                                            \
  X(prime, LISTED_STREAM)                                                                                              \
  X(free, LISTED_FREE)                                                                                                 \
  X(free_after, LISTED_FREE)                                                                                           \
  X(note_use, LISTED_FREE)                                                                                             \
  X(pointer_info, LISTED_ANY | LISTED_E(INVALID_POINTER))                                                              \
  X(trim, LISTED_EVENTS | LISTED_S(PENDING))                                                                           \
  X(tick, LISTED_EVENTS)                                                                                               \
  X(stream_retire, LISTED_EVENTS | LISTED_E(CAPTURING))                                                                \
  X(device_lost, LISTED_ANY)                                                                                           \
  X(device_stats, LISTED_DRIVER)                                                                                       \
  X(delegate_stats, LISTED_ANY)                                                                                        \
  X(query_driver, LISTED_DRIVER)                                                                                       \
  X(reset_peaks, LISTED_DRIVER)                                                                                        \
  X(capture_begin, LISTED_STREAM)                                                                                      \
  X(capture_join, LISTED_STREAM)                                                                                       \
  X(capture_end, LISTED_EVENTS | LISTED_E(CAPTURING))                                                                  \
  X(capture_abort, LISTED_EVENTS | LISTED_E(CAPTURING))                                                                \
  X(graph_memory_release, LISTED_STREAM)

#define LISTED_ENUMERATOR(call, statuses) LISTED_##call,
typedef enum listed_call { LISTED_CALLS(LISTED_ENUMERATOR) LISTED_COUNT } listed_call;
#undef LISTED_ENUMERATOR

static inline const char *listed_name(listed_call call) {
#define LISTED_NAME(call, statuses) "wp_" #call,
  static const char *const names[] = {LISTED_CALLS(LISTED_NAME)};
#undef LISTED_NAME
  return names[call];
}

static inline bool is_listed(listed_call call, wp_status status) {
#define LISTED_STATUSES(call, statuses) (statuses),
  static const unsigned all[] = {LISTED_CALLS(LISTED_STATUSES)};
#undef LISTED_STATUSES
  return (unsigned)status < 32 && (all[call] & 1u << (unsigned)status) != 0;
}

#endif
