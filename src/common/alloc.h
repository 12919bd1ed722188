/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_ALLOC_H
#define WARMPOOL_COMMON_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"

/* Blocks are handed out in steps of this many bytes. False: `bytes` cannot be rounded up. */
#define WP__GRANULE ((size_t)512)
bool wp__round_up(size_t bytes, size_t *rounded);

/* Rid of memory of the driver's that no caller will get: freed on the stream it was allocated on, or parked where the
 * driver refuses that. `block` is TAKEN and describes it. `stream` is NULL while it is being captured. */
void wp__give_up(wp__device *device, wp__block *block, wp__stream *stream);

#endif
