/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of declared captures have in common. */
#ifndef WARMPOOL_TESTS_UNIT_CAPTURES_WORLD_H
#define WARMPOOL_TESTS_UNIT_CAPTURES_WORLD_H

#include <string.h>

#include "lanes_world.h"

static inline void start_driver(void) {
  world_options.caching = WP_CACHING_DRIVER;
  world_start(&world);
}

static inline wp_capture *begin_on(wp_stream stream, wp_graph_memory *share) {
  wp_capture *capture = NULL;
  expect(WP_OK, wp_capture_begin(world.delegate, stream, share, &capture));
  fake_stream_capture(stream, true);
  return capture;
}

static inline wp_graph_memory *end_on(wp_capture *capture, wp_stream stream) {
  wp_graph_memory *memory = NULL;
  fake_stream_capture(stream, false);
  expect(WP_OK, wp_capture_end(capture, &memory));
  return memory;
}

/* What the library holds, with what graphs hold. */
static inline void check_held(void) {
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.reserved_bytes, stats.live_bytes + stats.cached_bytes + stats.parked_bytes + stats.capture_bytes,
               "%llu bytes are held, %llu live, %llu cached, %llu parked, %llu captured",
               (unsigned long long)stats.reserved_bytes, (unsigned long long)stats.live_bytes,
               (unsigned long long)stats.cached_bytes, (unsigned long long)stats.parked_bytes,
               (unsigned long long)stats.capture_bytes);
}

static inline void release_all(wp_graph_memory *memory) {
  expect(WP_OK, wp_graph_memory_release(memory, NULL, 0));
  cr_assert_eq(world_stats(&world).capture_bytes, 0);
  check_held();
}

/* In both contracts, with lanes beside the captures or, as the last, with the driver's caching. */
#define CAPTURE_TEST(name)                                                                                             \
  CAPTURE_TEST_IN_LANES(name)                                                                                          \
  WORLD_TEST(captures_driver, name, start_driver) { captures_##name(); }                                               \
  static void captures_##name(void)

#define CAPTURE_TEST_IN_LANES(name)                                                                                    \
  static void captures_##name(void);                                                                                   \
  WORLD_TEST(captures_checked, name, start_checked) { captures_##name(); }                                             \
  WORLD_TEST(captures_declared, name, start_declared) { captures_##name(); }

#endif
