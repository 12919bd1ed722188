/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host engine: a driver whose devices are ordinary memory and whose streams run functions on the CPU. The host
 * backend and host.h stand on this interface, as another vendor's stand on a driver's; it knows nothing of the library.
 *
 * Streams. Each is a timeline: its work runs in the order of submission, asynchronously, and beside other streams. The
 * timeline outlives the handle; a handle is given out again at once, also while the destroyed stream's work still runs.
 * Ids never repeat. Handles 0 and 1 are the current device's legacy stream, 2 is the calling thread's own stream of the
 * current device, which ends with the thread. What is sent to the legacy stream runs after all that was sent to the
 * device's blocking streams, and what is sent to those after all that was sent to the legacy stream. A thread's own
 * stream is a blocking one. No other stream waits for another by itself.
 *
 * Pools. A free counts at once as no longer used; the memory goes back only in whole segments (steps of 32 MiB), and
 * only when a synchronisation has observed the end of the free: one of its stream, of an event recorded after it, or of
 * a stream that waited for such an event. Queries observe nothing. What was freed on a stream that has been destroyed
 * counts as observed once it is finished. A block freed by unfinished work serves its own stream at once, others later.
 *
 * Captures. A stream may be captured, but for the legacy stream: what is sent to it then does not run but becomes part
 * of a graph, to be launched as often as one likes. A stream that waits for an event recorded in a capture joins it,
 * and must be waited for by the stream that began it before the end. While a capture goes on, calls that wait for work,
 * ask about it, or allocate, free or trim at once are forbidden to the thread that began it, unless in relaxed mode;
 * those of a capture in global mode also to other threads that are in global mode themselves; a thread in relaxed mode
 * is forbidden none. What is forbidden fails and invalidates the capture. So does, in any mode, whatever would tie
 * captured work to work that runs, such as using the legacy stream while a blocking stream of the device is captured.
 *
 * Graph memory. What is allocated on a capturing stream belongs to the graph, not to the pool named: it is mapped when
 * a launch allocates it, and what no launch uses serves other graphs of the device, or is given back by a trim. An
 * allocation that its graph does not free stays when the graph is gone, and is freed like any other.
 *
 * Errors. Every function leaves its failure in the calling thread's slot until somebody takes it. A failure changes
 * nothing else, and leaves outputs untouched. Handles that are unknown or stale are WP__HOST_INVALID_VALUE.
 *
 * Threads. Any function may be called by any thread at any time. Lock order: a pool's lock or the graph memory's, then
 * the engine's lock; the block map's and the devices' locks are leaves. Work runs with no lock held, and no lock but
 * the graph memory's is held while memory is mapped or unmapped.
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
  X(NOT_SUPPORTED, 6, "host devices cannot do this")                                                                   \
  X(ILLEGAL_STATE, 7, "the stream is captured already, or is not")                                                     \
  X(CAPTURE_UNSUPPORTED, 8, "a capture does not allow this")                                                           \
  X(CAPTURE_INVALIDATED, 9, "the capture was invalidated by an earlier call")                                          \
  X(CAPTURE_MERGE, 10, "two captures would become one")                                                                \
  X(CAPTURE_UNMATCHED, 11, "the capture was begun on another stream")                                                  \
  X(CAPTURE_UNJOINED, 12, "the stream that began the capture has not waited for all that took part")                   \
  X(CAPTURE_ISOLATION, 13, "captured work would wait for work outside the capture")                                    \
  X(CAPTURE_IMPLICIT, 14, "the legacy stream would become part of the capture of a blocking stream")                   \
  X(CAPTURE_WRONG_THREAD, 15, "the capture was begun by another thread")                                               \
  X(CAPTURED_EVENT, 16, "the event was recorded in a capture")

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
wp__host_result wp__host_device_synchronize(int device); /* waits for all its streams, as if each were synchronised */

/* -- streams -- */

wp__host_result wp__host_stream_create(int device, void **out); /* one that is not blocking */
wp__host_result wp__host_stream_create_blocking(int device, void **out);
wp__host_result wp__host_stream_destroy(void *stream); /* does not wait */
wp__host_result wp__host_stream_synchronize(void *stream);
wp__host_result wp__host_stream_query(void *stream, bool *complete);
wp__host_result wp__host_stream_id(void *stream, uint64_t *out);
wp__host_result wp__host_stream_device(void *stream, int *out);
wp__host_result wp__host_stream_wait(void *stream, void *event);
/* Waits for all of `other` so far, as for an event recorded there now; in captures, too. */
wp__host_result wp__host_stream_join(void *stream, void *other);
wp__host_result wp__host_launch(void *stream, void (*function)(void *argument), void *argument);
/* The same; `release` gets the argument once, when it is not needed any more: after the function, or with the graph
 * that the launch became part of. It calls nothing in here. After a failure the argument is still the caller's. */
wp__host_result wp__host_submit(void *stream, void (*function)(void *), void (*release)(void *), void *argument);

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

/* -- captures -- */

enum wp__host_capture_mode { WP__HOST_CAPTURE_GLOBAL, WP__HOST_CAPTURE_THREAD_LOCAL, WP__HOST_CAPTURE_RELAXED };
enum wp__host_capture_state { WP__HOST_CAPTURE_NONE, WP__HOST_CAPTURE_ACTIVE, WP__HOST_CAPTURE_BROKEN };

wp__host_result wp__host_capture_begin(void *stream, enum wp__host_capture_mode mode);
/* Ends it, unless called on another stream or by the wrong thread; *out, on success, is the graph. */
wp__host_result wp__host_capture_end(void *stream, void **out);
/* Harms nothing. CAPTURE_IMPLICIT: the legacy stream, while a blocking stream of the device is captured. */
wp__host_result wp__host_capture_status(void *stream, enum wp__host_capture_state *out);
/* Comes before asking who a stream is, which a driver refuses while it is captured, in any mode: fails then, and
 * invalidates the capture. */
wp__host_result wp__host_capture_refuse_identity(void *stream);
/* The calling thread's own mode, GLOBAL at first: what the captures of others forbid it, and RELAXED its own, too. */
wp__host_result wp__host_capture_exchange_mode(enum wp__host_capture_mode *mode);

/* -- graphs, and their executables, of which one whose graph allocates or frees has only one at a time -- */

wp__host_result wp__host_graph_destroy(void *handle); /* executables live on */
wp__host_result wp__host_graph_instantiate(void *graph, void **out);
wp__host_result wp__host_executable_destroy(void *handle); /* launches go on */
/* Runs after the executable's launch before. INVALID_VALUE where it would allocate what is live. */
wp__host_result wp__host_executable_launch(void *handle, void *stream);

/* -- graph memory -- */

typedef struct wp__host_graph_figures {
  uint64_t reserved, reserved_peak; /* mapped */
  uint64_t used, used_peak;         /* of that, by launches that have not finished, and not freed */
} wp__host_graph_figures;

wp__host_result wp__host_graph_memory_trim(int device);
wp__host_result wp__host_graph_memory_measure(int device, wp__host_graph_figures *out);
wp__host_result wp__host_graph_memory_reset_peaks(int device, bool reserved, bool used); /* to what they are now */

#endif
