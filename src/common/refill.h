/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in WP_CACHING_LANES for which the stream's list is empty, or that had to look more closely. */
#ifndef WARMPOOL_COMMON_REFILL_H
#define WARMPOOL_COMMON_REFILL_H

#include "delegate.h"

/* Allocates from what the lane has, without a driver call, and counts it for the delegate in this life of it; limits
 * are claimed. False: it has not got it, or the delegate is closed, or host memory is missing; nothing is described. */
bool wp__lane_serve(wp_delegate *delegate, uint64_t life, wp__stream *stream, unsigned class, void **out);

/* Allocates, with more memory for the lane if need be, on a stream that is not being captured, or in a bay (arena.h).
 * The device is current, and limits are claimed. */
wp_status wp__lane_alloc(wp_delegate *delegate, wp__stream *stream, size_t bytes, void **out);

/* Sees to it that the lane can serve so much. Nothing is counted. */
wp_status wp__lane_prime(wp__device *device, wp__stream *stream, size_t bytes);

#endif
