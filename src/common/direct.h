/* SPDX-License-Identifier: Apache-2.0 */
/* WP_CACHING_DRIVER: every allocation and free goes to the driver's pool. */
#ifndef WARMPOOL_COMMON_DIRECT_H
#define WARMPOOL_COMMON_DIRECT_H

#include "delegate.h"

/* Allocates `bytes`, and counts them for the delegate; `stream` is the record behind `handle`, or NULL while that is
 * being captured: then the memory is the graph's. The device is current, and limits are claimed. */
wp_status wp__direct_alloc(wp_delegate *delegate, wp__stream *stream, wp_stream handle, size_t bytes, void **out);

/* The driver maps the memory for an allocation and keeps it when that is freed. */
wp_status wp__direct_prime(wp__device *device, wp__stream *stream, size_t bytes);

#endif
