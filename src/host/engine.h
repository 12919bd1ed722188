/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host engine: a driver whose devices are ordinary memory and whose streams run functions on the CPU. The host
 * backend and host.h stand on this interface, as another vendor's stand on a driver's; it knows nothing of the library.
 *
 * Streams. Each is a timeline: its work runs in the order of submission, asynchronously, and beside other streams. The
 * timeline outlives the handle; a handle is given out again at once, also while the destroyed stream's work still runs.
 * Ids never repeat. Handles 0 and 1 are the current device's legacy stream, 2 is the calling thread's own stream of the
 * current device, which ends with the thread. No stream synchronises with another by itself, the legacy stream neither.
 *
 * Pools. A free counts at once as no longer used; the memory goes back only in whole segments (steps of 32 MiB), and
 * only when a synchronisation has observed the end of the free: one of its stream, of an event recorded after it, or of
 * a stream that waited for such an event. Queries observe nothing. What was freed on a stream that has been destroyed
 * counts as observed once it is finished. A block freed by unfinished work serves its own stream at once, others later.
 *
 * Errors. Every function leaves its failure in the calling thread's slot until somebody takes it. A failure changes
 * nothing else, and leaves outputs untouched. Handles that are unknown or stale are WP__HOST_INVALID_VALUE.
 *
 * Threads. Any function may be called by any thread at any time. Lock order: a pool's lock, then the engine's lock; the
 * block map's and the devices' locks are leaves. Work runs with no lock held, and no lock is held while memory is
 * mapped or unmapped.
 */
#ifndef WARMPOOL_HOST_ENGINE_H
#define WARMPOOL_HOST_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(suffix, code, text): WP__HOST_suffix in here, "HOST_ERROR_suffix" for the reader. */
#define WP__HOST_RESULT_LIST(X)                                                                                        \
  X(SUCCESS, 0, "no error")                                                                                            \
  X(INVALID_VALUE, 1, "an argument is out of its range, or a handle or pointer is unknown")                            \
  X(OUT_OF_MEMORY, 2, "the device has not enough memory")                                                              \
  X(OUT_OF_HOST_MEMORY, 3, "the host has not enough memory or threads")                                                \
  X(NO_DEVICE, 4, "there is no host device")                                                                           \
  X(INVALID_DEVICE, 5, "the host has no device of that ordinal; WARMPOOL_HOST_DEVICES sets how many there are")        \
  X(NOT_SUPPORTED, 6, "host devices cannot do this")

#define WP__HOST_RESULT_ENUMERATOR(suffix, code, text) WP__HOST_##suffix = code,
typedef enum wp__host_result { WP__HOST_RESULT_LIST(WP__HOST_RESULT_ENUMERATOR) } wp__host_result;
#undef WP__HOST_RESULT_ENUMERATOR

#define WP__HOST_MAX_DEVICES 64
#define WP__HOST_ALLOCATION_STEP ((size_t)512)
#define WP__HOST_SEGMENT_STEP ((size_t)32 << 20)

#define WP__HOST_STREAM_LEGACY ((void *)0)
#define WP__HOST_STREAM_LEGACY_ALIAS ((void *)1)
#define WP__HOST_STREAM_PER_THREAD ((void *)2)

/* -- errors: static strings; of NO_DEVICE the text names the setting that was wrong, if one was -- */

const char *wp__host_result_name(wp__host_result result);
const char *wp__host_result_text(wp__host_result result);
wp__host_result wp__host_error_take(void); /* the thread's last failure, which is forgotten thereby */
wp__host_result wp__host_error_peek(void);

/* -- devices: NO_DEVICE where the settings are wrong, INVALID_DEVICE for an ordinal that does not exist -- */

wp__host_result wp__host_device_count(int *out);
wp__host_result wp__host_device_current(int *out); /* of the calling thread; 0 at first */
wp__host_result wp__host_device_set(int device);
wp__host_result wp__host_device_memory(int device, uint64_t *free_bytes, uint64_t *total_bytes);

/* -- streams -- */

wp__host_result wp__host_stream_create(int device, void **out);
wp__host_result wp__host_stream_destroy(void *stream); /* does not wait */
wp__host_result wp__host_stream_synchronize(void *stream);
wp__host_result wp__host_stream_query(void *stream, bool *complete);
wp__host_result wp__host_stream_id(void *stream, uint64_t *out);
wp__host_result wp__host_stream_device(void *stream, int *out);
wp__host_result wp__host_stream_wait(void *stream, void *event);
wp__host_result wp__host_stream_join(void *stream, void *other); /* waits for all of `other` so far, without an event */
wp__host_result wp__host_launch(void *stream, void (*function)(void *argument), void *argument);

/* -- events: one that was never recorded is complete; device of event and stream must agree at the record -- */

wp__host_result wp__host_event_create(int device, void **out);
wp__host_result wp__host_event_destroy(void *handle);
wp__host_result wp__host_event_record(void *event, void *stream);
wp__host_result wp__host_event_query(void *event, bool *complete);
wp__host_result wp__host_event_synchronize(void *event);

/* -- pools -- */

typedef struct wp__host_pool_figures {
  uint64_t reserved, reserved_peak; /* mapped */
  uint64_t used, used_peak;         /* of that, not freed; in steps of WP__HOST_ALLOCATION_STEP */
  uint64_t threshold;
} wp__host_pool_figures;

/* A device that does not exist is WP__HOST_INVALID_VALUE here. */
wp__host_result wp__host_pool_create(int device, void **out);
/* Blocks not freed yet stay valid and may be freed; the memory goes back when all frees have finished. */
wp__host_result wp__host_pool_destroy(void *handle);
wp__host_result wp__host_pool_set_threshold(void *handle, uint64_t bytes);
wp__host_result wp__host_pool_trim(void *handle, uint64_t keep_bytes);
wp__host_result wp__host_pool_measure(void *handle, wp__host_pool_figures *out);
wp__host_result wp__host_pool_reset_peaks(void *handle, bool reserved, bool used); /* to what they are now */

/* The devices of pool, stream and block must agree. Zero bytes are a success with NULL; freeing NULL is a success. */
wp__host_result wp__host_memory_alloc(void *pool, size_t bytes, void *stream, void **out);
wp__host_result wp__host_memory_free(void *memory, void *stream);

#endif
