/* SPDX-License-Identifier: Apache-2.0 */
/* Giving memory back: the last close, a trim, an exhaustion, and whatever is still due later. */
#ifndef WARMPOOL_COMMON_RELEASE_H
#define WARMPOOL_COMMON_RELEASE_H

#include "device.h"

/* Observes the device's finished frees (waiting for the others or not), frees parked blocks that are ready, trims the
 * pool to `keep_bytes`, and adds the figures to `report`. WP_OK, WP_PENDING, or the first failure of the driver; the
 * remaining steps run all the same. */
wp_status wp__release(wp__device *device, uint64_t keep_bytes, wp_wait wait, wp_release_report *report);

/* Adds the device's figures to `report` and gives nothing back. */
wp_status wp__release_nothing(wp__device *device, wp_release_report *report);

/* Where no delegate is open: gives back what can go without waiting, and keeps the rest due. WP_OK, or the driver's
 * failure. One load where nothing is due. */
wp_status wp__release_due(wp__device *device);

/* The same for a call that succeeds whatever comes of it: failures are logged. */
void wp__release_if_due(wp__device *device);

/* Something was freed: where no delegate is open it goes back now, or with a later call. Failures are logged. */
void wp__release_if_closed(wp__device *device);

#endif
