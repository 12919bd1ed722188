/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments: what the lanes have of the driver. Each is one allocation, made and freed on home, where nothing unfinished
 * ever runs. All functions want the device to be current.
 */
#ifndef WARMPOOL_COMMON_SEGMENT_H
#define WARMPOOL_COMMON_SEGMENT_H

#include "device.h"

/* Gets `bytes` of the driver, a multiple of WP__SEGMENT_STEP, and orders them before what comes next on a stream that
 * is not being captured. *out is for its lane; nobody has used it. */
wp_status wp__segment_obtain(wp__device *device, const wp__stream *stream, size_t bytes, void **out);

/* What comes next on the stream comes after what was done on home: a segment that nobody has used was perhaps allocated
 * there a moment ago, for another stream. For a bay (arena.h) it is waited for until it is done. */
wp_status wp__segment_order(wp__device *device, const wp__stream *stream);

/* Puts a segment that was taken from a lane into one. */
void wp__segment_put(wp__stream *stream, wp__block *segment, uint64_t position);

/* Gives the driver a segment that was taken from the lane, freed on home: all work on it has finished. On failure, and
 * where the driver frees nothing just now (WP_PENDING), it is in the lane again. */
wp_status wp__segment_return(wp__device *device, wp__stream *stream, wp__block *segment);
/* The same of one that no lane can have; where the driver frees nothing just now it is parked. */
void wp__segment_discard(wp__device *device, wp__block *segment);
/* Lets the driver unmap what was returned. */
wp_status wp__segments_flush(wp__device *device);
/* After a free: some drivers hang on what comes next where a pool has a freed block (H9); there it leaves the pool. */
void wp__segments_empty_pool(wp__device *device);

/* With no delegate open: gives the driver what of the lane is free, in the order of its stream, which has just been
 * named and is not being captured; at most `bytes`. Only with WP_CAP_ORDERED_FREE. */
wp_status wp__segments_return_in_order(wp__device *device, wp__stream *stream, uint64_t bytes);

/* Gives the driver a segment that was taken from another stream's lane, in the order of this one, likewise. What the
 * driver refuses is in this one's lane then. */
void wp__segment_return_with(wp__device *device, wp__stream *stream, wp__block *segment);

#endif
