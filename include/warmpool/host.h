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
 * All functions may be called from any thread. The current device is the calling thread's, 0 at first. Beside the
 * statuses named below, all of them answer WP_ERROR_NO_DEVICE where the environment makes no sense. They are the
 * driver's, not the library's: their failures do not show in wp_last_error.
 */
#ifndef WARMPOOL_HOST_H
#define WARMPOOL_HOST_H

#include <stddef.h>

#include "warmpool/backend.h"
#include "warmpool/status.h"

WP_BEGIN_DECLS

/* Work for a stream. Runs once, on the stream's thread; it must not call wp_host_ functions that wait. */
typedef void wp_host_function(void *argument);

/* A new stream of `device`. The caller owns it. WP_OK; WP_ERROR_INVALID_ARGUMENT (`out` is NULL); WP_ERROR_NO_DEVICE;
 * WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_stream_create(int device, wp_stream *out);

/* Gives the handle up without waiting; what was submitted still runs. WP_OK; WP_ERROR_INVALID_ARGUMENT (not a stream of
 * wp_host_stream_create, or destroyed already). */
WP_API wp_status wp_host_stream_destroy(wp_stream stream);

/* Waits until everything submitted to the stream has run. WP_OK; WP_ERROR_INVALID_ARGUMENT;
 * WP_ERROR_OUT_OF_HOST_MEMORY (only for a stream that has waited for others). */
WP_API wp_status wp_host_stream_synchronize(wp_stream stream);

/* Submits `function(argument)` to the stream and returns at once. WP_OK; WP_ERROR_INVALID_ARGUMENT;
 * WP_ERROR_OUT_OF_HOST_MEMORY (nothing was submitted). */
WP_API wp_status wp_host_launch(wp_stream stream, wp_host_function *function, void *argument);

/* Orders `stream` behind everything submitted to `other` so far, without waiting on the host. WP_OK;
 * WP_ERROR_INVALID_ARGUMENT; WP_ERROR_OUT_OF_HOST_MEMORY. */
WP_API wp_status wp_host_stream_wait(wp_stream stream, wp_stream other);

/* Makes `device` the calling thread's current device. WP_OK; WP_ERROR_NO_DEVICE. */
WP_API wp_status wp_host_device_set(int device);

WP_END_DECLS

#endif
