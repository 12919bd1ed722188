/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of WP_CACHING_LANES have in common. */
#ifndef WARMPOOL_TESTS_UNIT_LANES_WORLD_H
#define WARMPOOL_TESTS_UNIT_LANES_WORLD_H

#include "world.h"

static struct world world;

static inline void start_checked(void) {
  world_options.caching = WP_CACHING_LANES;
  world_start(&world);
}
static inline void start_declared(void) {
  world_options.stream_contract = WP_STREAMS_DECLARED;
  start_checked();
}
static inline void nothing_yet(void) {} /* the test starts the world itself, with other options */

static inline void free_on(void *ptr, wp_stream stream) { expect(WP_OK, wp_free(world.runtime, ptr, stream)); }
static inline void pair(size_t bytes, wp_stream stream) { free_on(world_alloc(&world, bytes, stream), stream); }
/* Afterwards the stream's list of that size has a block, and nothing is due any more. */
static inline void warm_up(size_t bytes, wp_stream stream) {
  for (int i = 0; i < 3; i++) pair(bytes, stream);
  fake_forget();
}
static inline wp_delegate *open_delegate(void) {
  wp_delegate *delegate = NULL;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &delegate));
  return delegate;
}
static inline void reopen(void) { world.delegate = open_delegate(); }

/* All that the library holds is somewhere. */
static inline void check_sums(void) {
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.reserved_bytes, stats.live_bytes + stats.cached_bytes + stats.parked_bytes,
               "%llu bytes are held, %llu live, %llu cached, %llu parked", (unsigned long long)stats.reserved_bytes,
               (unsigned long long)stats.live_bytes, (unsigned long long)stats.cached_bytes,
               (unsigned long long)stats.parked_bytes);
  cr_assert_eq(stats.live_blocks, stats.allocs - stats.frees);
  cr_assert_eq(stats.allocs, stats.lane_hits + stats.lane_misses);
}

/* lanes_failures.c: every nth call of `entry` (NULL: of any; "": every host allocation) fails, in every step. */
void lanes_try_all(const char *entry, wp_status injected);

#endif
