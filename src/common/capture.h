/* SPDX-License-Identifier: Apache-2.0 */
/* What a free on a stream in a declared capture comes to. */
#ifndef WARMPOOL_COMMON_CAPTURE_H
#define WARMPOOL_COMMON_CAPTURE_H

#include "block.h"
#include "device.h"

/* A claimed block is freed on a stream that is in a declared capture: the next allocation there may have it, or the
 * capture keeps it. WP_ERROR_CAPTURING: it is another graph's own memory, of a capture that nobody declared. */
wp_status wp__capture_free(wp__device *device, wp__block *block, wp__stream *captured);

#endif
