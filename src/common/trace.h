/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace: what a program does with a runtime, a line each, in an order that one thread can follow (docs/traces.md).
 * All functions accept NULL for the trace of a runtime that has none. No call fails for its line's sake: where a line
 * cannot be written, that is logged once and the trace ends.
 */
#ifndef WARMPOOL_COMMON_TRACE_H
#define WARMPOOL_COMMON_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block.h"

typedef struct wp__trace wp__trace;

/* Replaces the file that is there. WP_ERROR_INVALID_ARGUMENT with the system's reason. */
wp_status wp__trace_create(const wp_runtime *runtime, const char *path, wp__trace **out);
const char *wp__trace_path(const wp__trace *trace);
void wp__trace_destroy(wp__trace *trace);

/* A line that has its place while its call is under way. Lives on the caller's stack until it is settled. */
typedef struct wp__trace_hold {
  struct wp__trace_hold *previous, *next;
  uint64_t begin, end; /* where it is in the file that is to be */
  bool held;
} wp__trace_hold;

void wp__trace_put_call(wp__trace *trace, const char *action, uint64_t size, wp_stream stream, int device);
void wp__trace_put_block(wp__trace *trace, const char *action, const wp__block *block, const wp_stream *streams,
                         size_t count, int device, wp__trace_hold *hold);
void wp__trace_put_alloc(wp__trace *trace, wp__block *block, size_t bytes, wp_stream stream, int device);
void wp__trace_end_hold(wp__trace *trace, wp__trace_hold *hold, bool happened);

/* The call has done what it is named for. */
static inline void wp__trace_call(wp__trace *trace, const char *action, uint64_t size, wp_stream stream, int device) {
  if (trace != NULL) wp__trace_put_call(trace, action, size, stream, device);
}

/* The block has been handed out, and the caller does not know it yet. */
static inline void wp__trace_alloc(wp__trace *trace, wp__block *block, size_t bytes, wp_stream stream, int device) {
  if (trace != NULL) wp__trace_put_alloc(trace, block, bytes, stream, device);
}

/* The block is about to be freed or noted, on each of the streams (a line each; none: one line without a stream). What
 * follows from that is written behind this place, which is empty in the end if the call comes to nothing. */
static inline void wp__trace_begin(wp__trace *trace, const char *action, const wp__block *block,
                                   const wp_stream *streams, size_t count, int device, wp__trace_hold *hold) {
  hold->held = false;
  if (trace != NULL) wp__trace_put_block(trace, action, block, streams, count, device, hold);
}
static inline void wp__trace_settle(wp__trace *trace, wp__trace_hold *hold, bool happened) {
  if (hold->held) wp__trace_end_hold(trace, hold, happened);
}

/* The block is nobody's any more, without a call that frees it. */
static inline void wp__trace_gone(wp__trace *trace, const wp__block *block, int device) {
  if (trace == NULL) return;
  wp_stream stream = atomic_load(&block->stream);
  wp__trace_put_block(trace, "free", block, &stream, 1, device, NULL);
}

#endif
