/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: how many, how much memory each has, and the address space that their segments come from. */
#ifndef WARMPOOL_HOST_DEVICE_H
#define WARMPOOL_HOST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "timeline.h"

/* WP__HOST_SUCCESS, NO_DEVICE or INVALID_DEVICE. */
wp__host_result wp__host_device_check(int device);
/* What is wrong with the settings, or NULL. */
const char *wp__host_devices_complaint(void);

/* Below, `device` exists. */

struct wp__host_timeline *wp__host_device_legacy(int device); /* without a new reference */

/* Counts bytes against the device's memory, and back; false when it has not enough. */
bool wp__host_device_charge(int device, uint64_t bytes);
void wp__host_device_discharge(int device, uint64_t bytes);

/* Mapped and zeroed memory, counted against the device; NULL when the device, or the system, has not enough. */
char *wp__host_device_map(int device, size_t bytes);
void wp__host_device_unmap(int device, char *address, size_t bytes);

#endif
