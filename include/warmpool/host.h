/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host backend's "driver": devices made of ordinary memory, and streams that run functions on the CPU, so that a
 * runtime can be built and tested where there is no GPU. Only in libraries built with WARMPOOL_BACKEND=host.
 *
 * Devices: WARMPOOL_HOST_DEVICES of them (1 to 64, default 1), each with WARMPOOL_HOST_MEMORY bytes (K, M, G, T behind
 * the number stand for KiB, MiB, GiB, TiB; default 4G). Both are read once, at the first use. Memory is really mapped
 * and unmapped, in steps of 32 MiB, and a mapped page is present: cold memory costs what it costs.
 *
 * Streams run their work in the order of submission, each on a thread of its own, and beside one another. A stream's
 * handle may be given out again as soon as it is destroyed, although its work runs on to the end.
 *
 * Captures: while a stream is captured, what is sent to it does not run but becomes part of a graph, which can be
 * launched as often as one likes. A stream that waits for a captured one takes part until the capture ends. Whatever a
 * capture forbids answers WP_ERROR_CAPTURING and *invalidates* it: it must still be ended, and gives no graph.
 * Forbidden is to wait for a captured stream on the host, to tie captured work to work that runs, in either direction,
 * and to use the legacy stream while a blocking one of its device is captured; besides, where the mode says so, any
 * wait on the host (wp_host_stream_synchronize) and what the driver's vtable has that waits, asks about work, or
 * allocates, frees or trims outside the capture; `capture_relax` there lifts that for a thread.
 *
 * Graph memory: what the vtable's `memory_alloc` (and wp_alloc with WP_CACHING_DRIVER) allocates on a captured stream
 * is the graph's, not the pool's. A launch maps it. It stays with the device, for whichever graph is launched next,
 * also when the graph is gone, until `graph_trim`.
 *
 * All functions may be called from any thread. The current device is the calling thread's, 0 at first. Where the
 * environment makes no sense there is no device: what takes one, or one of the special streams, answers
 * WP_ERROR_NO_DEVICE. The functions are the driver's, not the library's: their failures do not show in wp_last_error.
 */
#ifndef WARMPOOL_HOST_H
#define WARMPOOL_HOST_H

#include <stddef.h>

#include "warmpool/backend.h"
#include "warmpool/status.h"

WP_BEGIN_DECLS

/* Work for a stream. Runs once, or once for each launch of the graph that it became part of, on the thread of the
 * stream that it was submitted to, or its graph launched on; it must not call wp_host_ functions that wait. */
typedef void wp_host_function(void *argument);

/* A new stream of `device`. The caller owns it. WP_OK; WP_ERROR_INVALID_ARGUMENT (`out` is NULL); WP_ERROR_NO_DEVICE;
 * WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_stream_create(int device, wp_stream *out);

/* Gives the handle up without waiting; what was submitted still runs. Invalidates a capture that the stream takes part
 * in, and ends one that was begun on it. WP_OK; WP_ERROR_INVALID_ARGUMENT (not a stream of wp_host_stream_create, or
 * destroyed already). */
WP_API wp_status wp_host_stream_destroy(wp_stream stream);

/* Waits until everything submitted to the stream has run. WP_OK; WP_ERROR_INVALID_ARGUMENT; WP_ERROR_CAPTURING;
 * WP_ERROR_OUT_OF_HOST_MEMORY (only for a stream that has waited for others). */
WP_API wp_status wp_host_stream_synchronize(wp_stream stream);

/* Submits `function(argument)` to the stream and returns at once. On a captured stream it becomes part of the graph,
 * and the caller keeps what `argument` points to until the last launch has run. WP_OK; WP_ERROR_INVALID_ARGUMENT;
 * WP_ERROR_CAPTURING; WP_ERROR_OUT_OF_HOST_MEMORY (nothing was submitted). */
WP_API wp_status wp_host_launch(wp_stream stream, wp_host_function *function, void *argument);

/* Orders `stream` behind everything submitted to `other` so far, without waiting on the host. Where `other` is
 * captured, `stream` is from now on as well, in the same capture; before the end, the stream that began it
 * must wait in turn for what was sent to `stream`. WP_OK; WP_ERROR_INVALID_ARGUMENT; WP_ERROR_CAPTURING (only `stream`
 * is captured; they are in two captures; the capture was invalidated); WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_stream_wait(wp_stream stream, wp_stream other);

/* Makes `device` the calling thread's current device. WP_OK; WP_ERROR_NO_DEVICE. */
WP_API wp_status wp_host_device_set(int device);

/* -- captures and graphs -- */

/* Whom a capture forbids to wait, to ask, and to allocate, free or trim outside it. */
typedef enum wp_host_capture_mode {
  WP_HOST_CAPTURE_GLOBAL = 0,       /* the thread that began it, and all that are not relaxed */
  WP_HOST_CAPTURE_THREAD_LOCAL = 1, /* the thread that began it, unless it is relaxed */
  WP_HOST_CAPTURE_RELAXED = 2       /* nobody */
} wp_host_capture_mode;

typedef void *wp_host_graph;
typedef void *wp_host_executable;

/* Captures the stream from now on, whatever it has still to run. WP_OK; WP_ERROR_INVALID_ARGUMENT (no such stream or
 * mode); WP_ERROR_NOT_SUPPORTED (the legacy stream); WP_ERROR_CAPTURING (the stream is captured already; no harm is
 * done to that capture); WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_capture_begin(wp_stream stream, wp_host_capture_mode mode);

/* Ends the capture that was begun on the stream; all streams in it are on their own again. The caller owns the graph.
 * On failure there is none, but the capture is over, unless the call names another stream of it, which invalidates it,
 * or comes from another thread than the beginning and the mode is not relaxed. WP_OK; WP_ERROR_INVALID_ARGUMENT (`out`
 * is NULL; the stream is not captured); WP_ERROR_CAPTURING (as said; the capture was invalidated; work was captured
 * that the stream has not waited for); WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_capture_end(wp_stream stream, wp_host_graph *out);

/* Makes the graph ready to be launched. The caller owns the executable, which does not need the graph any more. A graph
 * that allocates or frees has one executable at a time. WP_OK; WP_ERROR_INVALID_ARGUMENT; WP_ERROR_NOT_SUPPORTED (it
 * has one); WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_graph_instantiate(wp_host_graph graph, wp_host_executable *out);

/* Submits what was captured to the stream and returns at once: it runs on that stream's thread in the order in which it
 * was captured, behind the executable's launch before, on whichever stream that was. WP_OK; WP_ERROR_INVALID_ARGUMENT
 * (unknown or destroyed; or it would allocate a block that is live from an earlier launch, or free one that is not);
 * WP_ERROR_OUT_OF_MEMORY; WP_ERROR_CAPTURING (a graph cannot become part of one: invalidates the stream's capture);
 * WP_ERROR_OUT_OF_HOST_MEMORY. On failure nothing was submitted. */
WP_API wp_status wp_host_graph_launch(wp_host_executable executable, wp_stream stream);

/* Both give the handle up without waiting; launches run to their end, and executables stay when their graph goes.
 * Blocks that a launch has allocated and nobody freed stay live. WP_OK; WP_ERROR_INVALID_ARGUMENT (unknown, or
 * destroyed already). */
WP_API wp_status wp_host_executable_destroy(wp_host_executable executable);
WP_API wp_status wp_host_graph_destroy(wp_host_graph graph);

WP_END_DECLS

#endif
