/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_STATS_H
#define WARMPOOL_COMMON_STATS_H

#include "delegate.h"

/* Fill a whole wp_stats; what has no meaning there is 0. */
void wp__delegate_stats(wp_delegate *delegate, wp_stats *out);
void wp__device_stats(wp__device *device, wp_stats *out);

/* Bytes handed out on the device, and to the delegate. */
uint64_t wp__device_live(wp__device *device);
uint64_t wp__delegate_live(const wp_delegate *delegate);

#endif
