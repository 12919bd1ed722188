/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_HOST_STREAM_H
#define WARMPOOL_HOST_STREAM_H

#include "engine.h"
#include "timeline.h"

/* The timeline that a stream's handle names now, with a reference for the caller. */
wp__host_result wp__host_stream_acquire(void *stream, struct wp__host_timeline **out);

#endif
