/* SPDX-License-Identifier: Apache-2.0 */
/* All lanes of a device together. */
#ifndef WARMPOOL_COMMON_LANES_H
#define WARMPOOL_COMMON_LANES_H

#include "device.h"

/* What they have counted, and their idle bytes, those of graphs aside. Not one moment's: other threads go on between
 * two lanes. */
void wp__lanes_sum(wp__device *device, wp__counts *sum, uint64_t *idle);
/* Bytes that graphs hold and that are not live: idle in their lanes, or freed in a capture and kept. */
uint64_t wp__lanes_sealed(wp__device *device);
/* What one delegate has had of them. The caller keeps it from going. */
void wp__lanes_sum_of(const wp_delegate *delegate, wp__counts *sum);

/*
 * What follows wants the device to be current.
 */

/* A finished whole segment of at least `bytes` from another stream's lane, or NULL. Looks at a bounded number. */
wp__block *wp__lanes_steal(wp__device *device, wp__stream *thief, size_t bytes);

/* Returns finished whole segments of less than `bytes` to the driver until those are `enough` bytes, and says how many
 * they are; the driver is not asked to unmap them yet (wp__segments_flush). What it refuses stays. */
uint64_t wp__lane_give_way(wp__device *device, wp__stream *stream, size_t bytes, uint64_t enough);
/* The same with other streams' lanes, for one that needs `bytes`: until the driver has so many. Looks at a bounded
 * number. */
uint64_t wp__lanes_give_way(wp__device *device, wp__stream *stream, size_t bytes);

/* Returns finished whole segments to the driver until no more than `keep_bytes` are idle. A segment that has bytes both
 * above and below that mark goes where `strictly`, and stays otherwise. The first failure of the driver is returned. */
wp_status wp__lanes_give_back(wp__device *device, uint64_t keep_bytes, bool strictly);

/* Idle bytes beyond `keep_bytes` that could not go: their work has not been seen to finish, or the driver could not
 * take them. */
uint64_t wp__lanes_pending(wp__device *device, uint64_t keep_bytes);

/* With WP_CACHING_DRIVER: what graphs have left in their bays goes to the driver's pool, as far as whole segments are
 * free; what the driver refuses, at the next call of wp__lanes_bound. */
void wp__lanes_empty(wp__device *device);

/* Sees to it that no more is idle than the release threshold says, as far as that has finished. */
wp_status wp__lanes_bound(wp__device *device);

/* A delegate closes: what it freed is recorded where that was put off, so that other streams can have it. The device
 * need not be current. */
wp_status wp__lanes_vouch(wp_delegate *delegate);

/* At the end of a device: gives the driver all segments behind what is recorded of their streams. Those that lie behind
 * more, because that could not be recorded, or a capture has left the stream, stay: nobody knows when it has finished.
 */
wp_status wp__lanes_abandon(wp__device *device);

/* Forgets all that is free, without the driver; the device is lost, and need not be current. */
void wp__lanes_forget(wp__device *device);

#endif
