/* SPDX-License-Identifier: Apache-2.0 */
/* Between lanes.c and lanes_order.c, which share the suite `lanes`. */
#ifndef WARMPOOL_TESTS_IN_LANES_H
#define WARMPOOL_TESTS_IN_LANES_H

#include "conformance.h"

/* The test's options, whatever WARMPOOL_TEST_CACHING says. */
wp_runtime_options in_lanes(void);
/* Starts with these, and opens a delegate on device 0. */
wp_delegate *start_in_lanes(void);

/* Bytes of a block that shares neither a mapping nor a segment: lanes grow in steps of 2 to 32 MiB. */
size_t whole(void);

/* So many calls were made of the driver since `before`, and no more. */
void expect_driver_calls_since(const wp_stats *before, uint64_t allocs, uint64_t frees);

uint32_t next_random(uint32_t *state);

#endif
