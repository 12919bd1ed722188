/* SPDX-License-Identifier: Apache-2.0 */
/* What every way of freeing a block has in common. */
#ifndef WARMPOOL_COMMON_FREE_H
#define WARMPOOL_COMMON_FREE_H

#include "block.h"
#include "delegate.h"

/* wp_free and wp_free_after, whatever has to be done; `action` is what a trace calls it. */
wp_status wp__free(wp_runtime *runtime, const char *action, void *ptr, const wp_stream *streams, size_t count);

/* Gives a block to the driver in the order of the stream. A captured block that no launch has allocated is nothing to
 * the driver, and freed as well. */
wp_status wp__free_in_driver(wp__device *device, wp__block *block, wp_stream handle, bool in_capture);

/* The block, which is TAKEN, is not live any more: its bytes count on `counter` (of the device's: parked, or kept for a
 * graph) until somebody gives them back. */
void wp__withdraw(wp__device *device, wp__block *block, wp__counter *counter);

/* The driver gives an address anew: a captured block that was there has gone with its graph. */
void wp__forget_captured(wp__device *device, const void *ptr);

/* The caller has no claim to the block any more. The record may be another's already, so this takes what it said. */
void wp__count_free(wp__device *device, wp_delegate *delegate, uint64_t bytes, bool captured);

#endif
