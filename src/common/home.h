/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked blocks: freed by the caller while streams other than the one they were allocated on may still use them. They
 * wait, without holding up any stream, for the events in their `uses`; then they return to their lane, or are freed on
 * the library's own stream, "home", on which nothing unfinished ever runs.
 */
#ifndef WARMPOOL_COMMON_HOME_H
#define WARMPOOL_COMMON_HOME_H

#include "device.h"

/* Takes over a block (TAKEN, counted in `parked_bytes`; out of the map unless it is captured or a lane's) with its
 * uses; it goes on at once if they have finished. */
void wp__home_park(wp__device *device, wp__block *block);

/* Looks at one parked block, the one that was not looked at for longest. For the hot path: one load if there is none.
 */
void wp__home_poll(wp__device *device);
/* The same for a bounded number of them. */
void wp__home_look(wp__device *device);

/* Looks at every parked block, waiting for its events or not; where it waits, also at what the graphs that finish had
 * kept. Adds the nanoseconds waited. The first failure of the driver is returned; the block it concerned stays parked.
 */
wp_status wp__home_collect(wp__device *device, wp_wait wait, uint64_t *waited_ns);

/* Something was freed on home, or home vouches for something now: a release has to synchronise it. */
void wp__home_mark(wp__device *device);
/* Makes that visible to a trim. */
wp_status wp__home_synchronize(wp__device *device);

/* At the end of a device: hands parked blocks to the driver behind their events, unfinished as they are. Those that
 * wait for a stream which a capture has left stay parked. */
wp_status wp__home_abandon(wp__device *device);

/* Forgets every parked block without the driver: the device is lost. */
void wp__home_forget(wp__device *device);

#endif
