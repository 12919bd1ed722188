/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime: the object that all state lives in. Make one per process or per library, or use the default one; then
 * open delegates on it (delegate.h).
 */
#ifndef WARMPOOL_RUNTIME_H
#define WARMPOOL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "warmpool/backend.h"
#include "warmpool/stats.h"
#include "warmpool/status.h"

WP_BEGIN_DECLS

#define WP_DEVICE_CURRENT (-1) /* the calling thread's current device */
#define WP_DEVICE_ALL (-2)     /* every device this runtime has used */

typedef enum wp_wait {
  WP_WAIT = 0,   /* wait on the host for the recorded work of this runtime's own frees, and for nothing else */
  WP_NO_WAIT = 1 /* leave what is unfinished pending: after a last close a later call, or wp_tick, finishes it, after a
                    wp_trim beside open delegates the next wp_trim */
} wp_wait;

/* Where freed memory stays warm. */
typedef enum wp_caching {
  WP_CACHING_LANES = 0, /* In the library, stream by stream: a stream's lane. An allocation that freed memory of its
                           stream can serve makes no driver call but those of the stream contract, whatever the driver
                           does with memory of its own pool. The library has that memory in segments of at least 2 MiB,
                           rounds a request up by less than a sixteenth (or to 512 bytes), gives segments that no
                           request fits back to the driver, and takes a finished one from another stream before it
                           asks for more. A stream that is being captured is served if that is declared (capture.h) */
  WP_CACHING_DRIVER = 1 /* In the driver's pool, which every allocation and free goes to. On a stream that is being
                           captured it gives the graph's own memory, unless the capture is declared */
} wp_caching;

/* How the library learns about the life of a stream. */
typedef enum wp_stream_contract {
  WP_STREAMS_CHECKED = 0, /* promises nothing: every call asks the driver which stream the handle stands for, and every
                             free records an event, so a stream may be destroyed at any time after its last call */
  WP_STREAMS_DECLARED = 1 /* promises wp_stream_retire before a stream is destroyed, and in WP_CACHING_LANES to declare
                             captures (capture.h), or to name no stream while it is being captured; in return calls
                             ask less and record seldom. A release, and a stream that is short of memory, record the
                             rest then, and so wait for what was sent to those streams after their last frees, too */
} wp_stream_contract;

/* What an allocation does when the driver is out of memory. */
typedef enum wp_oom_policy {
  WP_OOM_RECLAIM_AND_WAIT = 0, /* give idle memory back and try again; then wait for freed memory whose work has not
                                  finished, and try once more */
  WP_OOM_RECLAIM = 1,          /* give idle memory back and try again; never wait */
  WP_OOM_FAIL = 2              /* answer at once */
} wp_oom_policy;

/* What a release does about the memory of captured allocations (graph memory), which the driver keeps for the whole
 * device and gives back only as a whole: other graphs on the device map theirs again at their next launch. */
typedef enum wp_graph_trim {
  WP_GRAPH_TRIM_IF_USED = 0, /* give it back if this runtime has allocated on a capturing stream of the device */
  WP_GRAPH_TRIM_NEVER = 1    /* leave it to the process */
} wp_graph_trim;

/*
 * Receives one line of text about something that went wrong in the background: where a call succeeded all the same, or
 * where no call was there to fail. Called on the thread that met it, with no library lock held; it may call the
 * library's statistics, nothing else, and is not told what those meet. Exhaustion is never logged.
 */
typedef void wp_log_callback(void *user, const char *message);

typedef struct wp_runtime_options {
  size_t size;               /* sizeof(wp_runtime_options) */
  const wp_backend *backend; /* NULL: the built-in one. Must stay valid until the runtime is destroyed */
  wp_caching caching;
  wp_stream_contract stream_contract;
  wp_wait release_wait;       /* what the last close of a device, and wp_runtime_destroy, do about unfinished work */
  wp_oom_policy oom_policy;   /* what an allocation does when the device is full */
  wp_graph_trim graph_trim;   /* what a release does about graph memory */
  uint64_t release_threshold; /* most idle bytes kept on each device while a delegate is open. WP_CACHING_DRIVER: by the
                                 driver's pool, over synchronisations; WP_CACHING_LANES: in lanes, of finished work */
  uint64_t limit_bytes;       /* most live bytes on each device; 0: no limit */
  uint64_t keep_bytes;        /* idle bytes kept on each device after its last close */
  wp_log_callback *log;       /* NULL: nothing is reported */
  void *user;                 /* handed to the callback */
  const char *trace_path;     /* NULL: none. A file that the runtime writes what is done with it to, for `warmpool
                                 replay` (docs/traces.md says what is in it); one that is there is replaced. It is
                                 complete when the runtime is destroyed or the process exits. Each call then costs
                                 one to two microseconds more. Where it cannot be written any more, that is logged once
                                 and the trace ends */
} wp_runtime_options;
#define WP_RUNTIME_OPTIONS_INIT                                                                                        \
  {                                                                                                                    \
    sizeof(wp_runtime_options), NULL, WP_CACHING_LANES, WP_STREAMS_CHECKED, WP_WAIT, WP_OOM_RECLAIM_AND_WAIT,          \
        WP_GRAPH_TRIM_IF_USED, UINT64_MAX, 0, 0, NULL, NULL, NULL                                                      \
  }

/*
 * Makes a runtime. No device is touched before the first delegate opens. The options are copied, trace_path too; the
 * backend they name is not. The caller owns *out and destroys it with wp_runtime_destroy.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (`out` is NULL, an option is out of its range, a `size` is wrong, a member
 * of the backend is missing: wp_last_error names it; the trace cannot be opened: it has the system's reason);
 * WP_ERROR_OUT_OF_HOST_MEMORY.
 */
WP_API wp_status wp_runtime_create(const wp_runtime_options *options /* NULL: defaults */, wp_runtime **out);

/*
 * Gives every device's memory back (waiting or not as `release_wait` says) and frees the runtime with all its closed
 * delegates. NULL does nothing. No other call on the runtime may be running or follow.
 * Statuses: WP_OK; WP_PENDING (destroyed; the driver gives some memory back once its work has finished);
 * WP_ERROR_BUSY (a delegate is open, a block is live, or a graph's memory is not released: nothing was done);
 * WP_ERROR_FORKED (nothing was done); WP_ERROR_INVALID_ARGUMENT (it is the default runtime, which lives as long as the
 * process: nothing was done); WP_ERROR_OUT_OF_MEMORY (of the driver's, for an event) and WP_ERROR_DRIVER (destroyed,
 * though the driver refused a step).
 */
WP_API wp_status wp_runtime_destroy(wp_runtime *runtime);

/*
 * The default runtime: one for each copy of the library in a process, made by the first call, never destroyed. Its
 * options come from the environment: WARMPOOL_CACHING=lanes|driver, WARMPOOL_STREAMS=checked|declared,
 * WARMPOOL_RELEASE_WAIT=wait|no-wait, WARMPOOL_OOM=wait|reclaim|fail, WARMPOOL_GRAPH_TRIM=if-used|never,
 * WARMPOOL_RELEASE_THRESHOLD, WARMPOOL_LIMIT_BYTES and WARMPOOL_KEEP_BYTES in bytes (K, M, G or T behind the number
 * stand for KiB, MiB, GiB, TiB), and WARMPOOL_TRACE, a path. Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (`out` is NULL,
 * or a variable has no meaning: wp_last_error names it; or the trace cannot be opened); WP_ERROR_OUT_OF_HOST_MEMORY;
 * WP_ERROR_FORKED (the parent process made it). After a failure the next call tries again.
 */
WP_API wp_status wp_runtime_default(wp_runtime **out);

/*
 * Gives idle memory of a device (an ordinal, WP_DEVICE_CURRENT or WP_DEVICE_ALL) back until about `keep_bytes` idle
 * bytes are left on each: the driver maps and unmaps in steps of its own, and may stop within one of them on either
 * side; a lane's segment goes back as a whole, with not one live block in it. Live blocks are untouched. Delegates may
 * be open. A device the runtime has not used is left alone. `report` may be NULL; it is filled on WP_OK and WP_PENDING.
 * Statuses: WP_OK; WP_PENDING (pending_bytes wait for work: under WP_NO_WAIT, beside frees running on other threads, or
 * on a stream that is being captured); WP_ERROR_INVALID_ARGUMENT; WP_ERROR_NO_DEVICE; WP_ERROR_FORKED;
 * WP_ERROR_OUT_OF_MEMORY (the driver has none for an event) and WP_ERROR_DRIVER (the rest was trimmed all the same, and
 * the other devices).
 */
WP_API wp_status wp_trim(wp_runtime *runtime, int device, uint64_t keep_bytes, wp_wait wait, wp_release_report *report);

/*
 * Moves parked blocks on, and finishes what a last close left pending, as far as the work behind them has finished by
 * now. Never waits; a few loads a device where nothing is due. Call it from an idle loop where releases run under
 * WP_NO_WAIT. Statuses: WP_OK (also where something stays pending); WP_ERROR_INVALID_ARGUMENT; WP_ERROR_FORKED;
 * WP_ERROR_OUT_OF_MEMORY (the driver has none for an event) and WP_ERROR_DRIVER (the next call tries again).
 */
WP_API wp_status wp_tick(wp_runtime *runtime);

/*
 * Says that `stream` will not be named again until its handle is handed out anew: call it before the stream is
 * destroyed, or on a thread whose WP_STREAM_PER_THREAD ends with it. Frees on it are recorded so that a later close can
 * wait for them without the stream. Required under WP_STREAMS_DECLARED, harmless under WP_STREAMS_CHECKED, and nothing
 * at all for a stream this runtime has not seen. Does not wait for the stream's work. No other call may name the stream
 * at the same time.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT; WP_ERROR_NO_DEVICE; WP_ERROR_CAPTURING (the stream is in a declared
 * capture, or is being captured and has frees to record, or, under WP_STREAMS_CHECKED, is being captured: call it again
 * after that); WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_OUT_OF_MEMORY (the driver has none for an event); WP_ERROR_FORKED;
 * WP_ERROR_DRIVER. On every error the stream is still known.
 */
WP_API wp_status wp_stream_retire(wp_runtime *runtime, int device, wp_stream stream);

/*
 * Says that the device was reset behind the library's back. Everything the runtime knew about it is forgotten without a
 * driver call: its pointers are refused from now on, its delegates only accept wp_delegate_close and
 * wp_delegate_stats, and the next open starts on a fresh pool. No other call on that device may be running.
 * Statuses: WP_OK (also for a device that was not in use); WP_ERROR_INVALID_ARGUMENT (WP_DEVICE_CURRENT and
 * WP_DEVICE_ALL are refused, for they would need the driver); WP_ERROR_FORKED.
 */
WP_API wp_status wp_device_lost(wp_runtime *runtime, int device);

WP_END_DECLS

#endif
