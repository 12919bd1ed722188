/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_EXHAUSTION_H
#define WARMPOOL_COMMON_EXHAUSTION_H

#include "device.h"

/* Tries `attempt`. Where it answers WP_ERROR_OUT_OF_MEMORY, gives back whatever can go and tries again, as far as the
 * policy goes. The device is current. */
typedef wp_status wp__attempt(wp__device *device, void *request);
wp_status wp__exhaust(wp__device *device, wp_oom_policy policy, wp__attempt *attempt, void *request);

#endif
