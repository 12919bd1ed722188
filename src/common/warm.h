/* SPDX-License-Identifier: Apache-2.0 */
/* The warm path: what nearly every call is in WP_CACHING_LANES, once a stream has its memory. */
#ifndef WARMPOOL_COMMON_WARM_H
#define WARMPOOL_COMMON_WARM_H

#include "delegate.h"

/* Serves an allocation from the stream's list. False: nothing was done, and nothing described; there is another way or
 * something is wrong with the request, and the long way finds out. */
bool wp__warm_alloc(wp_delegate *delegate, size_t bytes, wp_stream handle, void **out);

/* Puts a block into the list of the stream that it was allocated on. False: nothing was done, likewise. */
bool wp__warm_free(wp_runtime *runtime, void *ptr, wp_stream handle);

/* The same for a block that is TAKEN, without uses, and of the stream's lane; from here on it is perhaps somebody
 * else's. Whether the free has to be recorded. */
bool wp__lane_free(wp__device *device, wp__stream *stream, wp__block *block);

#endif
