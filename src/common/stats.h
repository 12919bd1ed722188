/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_STATS_H
#define WARMPOOL_COMMON_STATS_H

#include "device.h"

/* Fill a whole wp_stats; what has no meaning there is 0. */
void wp__account_stats(const wp__account *account, wp_stats *out);
void wp__device_stats(const wp__device *device, wp_stats *out);

#endif
