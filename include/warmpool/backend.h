/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vtable between the library and a driver. One backend is built in, chosen when the library was built; a caller may
 * wrap it (to inject faults, to count, to trace) and hand the wrapper to wp_runtime_create. The vtable is versioned
 * with the library: a wrapper is compiled against the headers of the library it runs with.
 *
 * Rules for every entry, unless its comment says otherwise:
 *   - Every member is required; what a driver cannot do is missing from `device_capabilities`, and then the entry is
 *     never called, but stands there and answers WP_ERROR_NOT_SUPPORTED.
 *   - `self` is the struct's own `self` member.
 *   - Any thread may call any entry at any time. The library holds none of its locks meanwhile, and the entry calls
 *     nothing of the library's.
 *   - The device that the objects belong to is the thread's current device (`device_set`); an entry leaves the current
 *     device as it was. `stream_capturing`, `stream_identity` and `event_record` of a stream with a handle of its own
 *     are also called while another device is current, and without `capture_relax`.
 *   - Nothing blocks on a device's work except the three `..._synchronize`-like entries: `stream_synchronize`,
 *     `event_synchronize`, and `pool_destroy` where the driver must.
 *   - On success the result is WP_OK, never WP_PENDING. On failure it is WP_ERROR_DRIVER, WP_ERROR_NO_DEVICE,
 *     WP_ERROR_OUT_OF_HOST_MEMORY where the driver tells that from the device's, or a status that the entry names;
 *     outputs are untouched; the driver's own error is kept for `last_error` on that thread and does not stay in the
 *     driver's error slot.
 *   - A driver that is unloading because the process ends counts as success.
 */
#ifndef WARMPOOL_BACKEND_H
#define WARMPOOL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warmpool/status.h"

WP_BEGIN_DECLS

/* Native handles: what the driver calls a stream, an event, a memory pool. */
typedef void *wp_stream;
typedef void *wp_event;
typedef void *wp_pool;

/* The device's legacy default stream. The handle 1 names it too. */
#define WP_STREAM_LEGACY ((wp_stream)0)
/* The calling thread's own default stream on the device. Programs compiled with per-thread default streams pass this,
 * never NULL. */
#define WP_STREAM_PER_THREAD ((wp_stream)2)

/*
 * Capability bits of a device.
 *   POOLS            memory pools work (found out by doing, not by a version)
 *   STREAM_IDENTITY  `stream_identity`: ids are never given out twice in a process
 *   STREAM_DEVICE    `stream_device`
 *   GRAPH_MEMORY     `graph_trim`, `graph_usage`: allocations captured into graphs have memory of theirs
 *   CHECKED_FREE     `memory_free` tells that an address is not live, and harms nothing thereby
 *   KEEPS_FREED      freed memory may stay in a pool. Without it some drivers hang on what comes next: only lanes are
 *                    served there, which trim the pool as soon as they have freed something in it
 *   ORDERED_FREE     what was freed serves nobody else before the freeing stream is there, also where that is another
 *                    stream than the block was allocated on
 *   STREAMS_DRAIN    a stream's end waits for its work, that of a thread's own default stream too; then nobody asks
 *                    for events of a thread's stream that has ended, which some such drivers do not survive
 *   CAPTURES_END     a capture is over when its end failed, and what was recorded on a stream before its capture can
 *                    be asked for meanwhile. Without it such streams may be captured for ever, and events recorded on
 *                    a stream in a declared capture are never asked or waited for
 */
#define WP_CAP_POOLS 1u
#define WP_CAP_STREAM_IDENTITY 2u
#define WP_CAP_STREAM_DEVICE 4u
#define WP_CAP_GRAPH_MEMORY 8u
#define WP_CAP_CHECKED_FREE 16u
#define WP_CAP_KEEPS_FREED 32u
#define WP_CAP_ORDERED_FREE 64u
#define WP_CAP_STREAMS_DRAIN 128u
#define WP_CAP_CAPTURES_END 256u

typedef struct wp_pool_usage {
  uint64_t reserved; /* mapped for the pool */
  uint64_t used;     /* of that, in blocks that have not been freed; a free counts when it is called, not when its
                        stream gets there */
} wp_pool_usage;

/* The memory of the device that belongs to captured allocations, of this process and whoever made them. */
typedef struct wp_graph_usage {
  uint64_t reserved; /* mapped */
  uint64_t used;     /* of that, allocated by a launch and not freed */
} wp_graph_usage;

typedef enum wp_capture_state {
  WP_CAPTURE_NONE = 0,    /* what is sent to the stream runs */
  WP_CAPTURE_ACTIVE = 1,  /* it becomes part of a graph */
  WP_CAPTURE_IMPLICIT = 2 /* only the legacy stream: it would break a capture on another stream */
} wp_capture_state;

/* The driver's own account of a failure. All strings are static. */
typedef struct wp_driver_error {
  int code;         /* 0: no entry has failed on this thread */
  const char *call; /* the driver function that failed */
  const char *name;
  const char *text;
} wp_driver_error;

/* X(member): every function of the vtable, in order. wp_runtime_create checks them by this list. */
#define WP_BACKEND_LIST(X)                                                                                             \
  X(device_count)                                                                                                      \
  X(device_current)                                                                                                    \
  X(device_set)                                                                                                        \
  X(device_capabilities)                                                                                               \
  X(device_memory)                                                                                                     \
  X(stream_create)                                                                                                     \
  X(stream_destroy)                                                                                                    \
  X(stream_synchronize)                                                                                                \
  X(stream_capturing)                                                                                                  \
  X(stream_identity)                                                                                                   \
  X(stream_device)                                                                                                     \
  X(event_create)                                                                                                      \
  X(event_destroy)                                                                                                     \
  X(event_record)                                                                                                      \
  X(event_wait)                                                                                                        \
  X(event_query)                                                                                                       \
  X(event_synchronize)                                                                                                 \
  X(pool_create)                                                                                                       \
  X(pool_destroy)                                                                                                      \
  X(pool_set_threshold)                                                                                                \
  X(pool_trim)                                                                                                         \
  X(pool_usage)                                                                                                        \
  X(pool_reset_peaks)                                                                                                  \
  X(memory_alloc)                                                                                                      \
  X(memory_free)                                                                                                       \
  X(graph_trim)                                                                                                        \
  X(graph_usage)                                                                                                       \
  X(capture_relax)                                                                                                     \
  X(capture_restore)                                                                                                   \
  X(last_error)

typedef struct wp_backend {
  size_t size;      /* sizeof(wp_backend) */
  const char *name; /* of the driver, for example "host"; a static string */
  void *self;       /* handed to every entry */

  /* -- devices -- */

  /* The number of devices, at least 1. WP_ERROR_NO_DEVICE where there is none, or no driver. */
  wp_status (*device_count)(void *self, int *out);
  /* The calling thread's current device. WP_ERROR_NO_DEVICE. */
  wp_status (*device_current)(void *self, int *out);
  /* Makes `device` the calling thread's current one. WP_ERROR_NO_DEVICE for an ordinal that does not exist. */
  wp_status (*device_set)(void *self, int device);
  /* The WP_CAP_ bits of `device`. May create and destroy objects to find out. */
  wp_status (*device_capabilities)(void *self, int device, uint32_t *out);
  /* Free and total bytes of the current device. */
  wp_status (*device_memory)(void *self, uint64_t *free_bytes, uint64_t *total_bytes);

  /* -- streams -- */

  /* A new stream of the current device that does not synchronise with the legacy stream. WP_ERROR_OUT_OF_MEMORY. */
  wp_status (*stream_create)(void *self, wp_stream *out);
  /* Destroys a stream of `stream_create`. Its work goes on to its end. */
  wp_status (*stream_destroy)(void *self, wp_stream stream);
  /* Blocks until all work submitted to the stream has finished. Frees among it become visible to `pool_trim`. */
  wp_status (*stream_synchronize)(void *self, wp_stream stream);
  /* What would become of work sent to the stream now. Harms no capture. */
  wp_status (*stream_capturing)(void *self, wp_stream stream, wp_capture_state *out);
  /* The stream's id. Needs WP_CAP_STREAM_IDENTITY. Never called for the two special handles, nor for a stream that is
   * being captured, where some drivers answer with an error and break the capture. */
  wp_status (*stream_identity)(void *self, wp_stream stream, uint64_t *out);
  /* The ordinal of the stream's device. Needs WP_CAP_STREAM_DEVICE. Called where `stream_identity` can be. */
  wp_status (*stream_device)(void *self, wp_stream stream, int *out);

  /* -- events: without timing, of the current device -- */

  wp_status (*event_create)(void *self, wp_event *out); /* WP_ERROR_OUT_OF_MEMORY */
  wp_status (*event_destroy)(void *self, wp_event event);
  /* The event now stands for everything submitted to `stream` so far, whatever it stood for before; it keeps standing
   * for that when the stream is destroyed. Never called on a capturing stream. */
  wp_status (*event_record)(void *self, wp_event event, wp_stream stream);
  /* Work submitted to `stream` from now on runs after what the event stands for. */
  wp_status (*event_wait)(void *self, wp_stream stream, wp_event event);
  /* Whether what the event stands for has finished. Does not make frees visible to `pool_trim`. */
  wp_status (*event_query)(void *self, wp_event event, bool *complete);
  /* Blocks until what the event stands for has finished. Frees among it become visible to `pool_trim`. */
  wp_status (*event_synchronize)(void *self, wp_event event);

  /* -- pools -- */

  /* A pool of the current device: pinned device memory, no handle for other processes, accessible from that device
   * alone, threshold 0. WP_ERROR_OUT_OF_MEMORY, WP_ERROR_NOT_SUPPORTED. */
  wp_status (*pool_create)(void *self, wp_pool *out);
  /* Destroys a pool; called once. Blocks not freed yet stay valid and may still be freed. */
  wp_status (*pool_destroy)(void *self, wp_pool pool);
  /* The most bytes the pool keeps when a synchronisation lets it give memory back. */
  wp_status (*pool_set_threshold)(void *self, wp_pool pool, uint64_t bytes);
  /* Gives idle memory back until about `keep_bytes` are reserved (in steps of the driver's own), or until what is left
   * is in use or was freed by work that no synchronisation has seen the end of. Succeeds where nothing can go. */
  wp_status (*pool_trim)(void *self, wp_pool pool, uint64_t keep_bytes);
  wp_status (*pool_usage)(void *self, wp_pool pool, wp_pool_usage *out);
  /* Sets the driver's high-water marks of the pool to their lowest. */
  wp_status (*pool_reset_peaks)(void *self, wp_pool pool);

  /* -- memory -- */

  /* `bytes` (not 0, a multiple of 512) from the pool in the order of `stream`, aligned to 256 or more.
   * WP_ERROR_OUT_OF_MEMORY; WP_ERROR_CAPTURING where the driver cannot do it during some capture; success with NULL is
   * taken for WP_ERROR_OUT_OF_MEMORY. */
  wp_status (*memory_alloc)(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out);
  /* Frees in the order of `stream`. WP_ERROR_CAPTURING as above; WP_ERROR_INVALID_POINTER for an address that is not
   * live or that the capture of `stream` has not allocated (only asked for with WP_CAP_CHECKED_FREE); on every other
   * failure the block is still live. */
  wp_status (*memory_free)(void *self, void *ptr, wp_stream stream);

  /* -- memory of captured allocations: needs WP_CAP_GRAPH_MEMORY -- */

  /* Gives back all memory of `device` that captured allocations do not use right now, also that of others in
   * the process, whose next launches map it again. */
  wp_status (*graph_trim)(void *self, int device);
  wp_status (*graph_usage)(void *self, int device, wp_graph_usage *out);

  /* -- capture mode -- */

  /* Lets the calling thread make any of these calls while streams are being captured, without harm to the captures;
   * *previous is for the restore, which the same thread makes before the library's function returns. Both cost a few
   * nanoseconds and are made around every group of calls; a driver without such a mode does nothing. */
  wp_status (*capture_relax)(void *self, int *previous);
  wp_status (*capture_restore)(void *self, int previous);

  /* -- errors -- */

  /* The calling thread's last failure in this backend. Cannot fail. */
  void (*last_error)(void *self, wp_driver_error *out);
} wp_backend;

/* The backend this library was built with: to inspect, or to copy and wrap. Valid for the life of the process. */
WP_API const wp_backend *wp_backend_builtin(void);

WP_END_DECLS

#endif
