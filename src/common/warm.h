/* SPDX-License-Identifier: Apache-2.0 */
/* wp_alloc and wp_free are in warm.c, with the warm path before all else. */
#ifndef WARMPOOL_COMMON_WARM_H
#define WARMPOOL_COMMON_WARM_H

#include "delegate.h"

/* Puts a block into its lane that is TAKEN, without uses, and of the stream's lane; from here on it is perhaps somebody
 * else's. Whether the free has to be recorded. */
bool wp__lane_free(wp__device *device, wp__stream *stream, wp__block *block);

#endif
