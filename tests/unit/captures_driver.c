/* SPDX-License-Identifier: Apache-2.0 */
/* Declared captures with WP_CACHING_DRIVER: beside them every allocation is the driver's, theirs come from lanes. */
#include "captures_world.h"

static wp_stats delegate_stats(void) {
  wp_stats stats = WP_STATS_INIT;
  expect(WP_OK, wp_delegate_stats(world.delegate, &stats));
  return stats;
}

#define DRIVER_TEST(name) WORLD_TEST(captures_driver, name, start_driver)

DRIVER_TEST(leave_their_memory_to_the_drivers_pool) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_forget();
  release_all(memory);
  cr_assert_str_eq(fake_steps(), "memory_free:home");
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
  cr_assert_eq(world_stats(&world).cached_bytes, 0);
}

DRIVER_TEST(that_still_run_keep_it_from_the_drivers_pool) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_stream_busy(world.s);
  expect(WP_OK, wp_graph_memory_release(memory, &world.s, 1));
  cr_assert_eq(world_stats(&world).reserved_bytes, 4 * MIB);
  cr_assert_eq(world_stats(&world).parked_bytes, 4 * MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
}

/* What is the driver's own, and what is a capture's, are counted, limited and freed side by side. */
DRIVER_TEST(count_with_what_is_the_drivers) {
  void *own = world_alloc(&world, MIB, world.t);
  wp_capture *capture = begin_on(world.s, NULL);
  void *output = world_alloc(&world, 3 * MIB, world.s);
  check_held();
  wp_stats stats = world_stats(&world), ours = delegate_stats();
  cr_assert_eq(stats.live_bytes, 4 * MIB);
  cr_assert_eq(stats.live_blocks, 2);
  cr_assert_eq(stats.live_peak, 4 * MIB);
  cr_assert_eq(stats.reserved_bytes, MIB + 4 * MIB);
  cr_assert_eq(stats.reserved_peak, MIB + 4 * MIB);
  cr_assert_eq(ours.live_bytes, 4 * MIB);
  wp_graph_memory *memory = end_on(capture, world.s);
  free_on(own, world.t);
  check_held();
  free_on(output, world.t);
  check_held();
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  cr_assert_eq(delegate_stats().live_blocks, 0);
  release_all(memory);
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
}

DRIVER_TEST(claim_the_limit_as_their_lanes_round) {
  wp_delegate *delegate = NULL;
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  wp_capture *capture = NULL;
  void *ptr = NULL, *none = NULL;
  options.limit_bytes = MIB;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, &options, &delegate));
  expect(WP_OK, wp_capture_begin(delegate, world.s, NULL, &capture));
  fake_stream_capture(world.s, true);
  for (int i = 0; i < 3; i++) { /* of a size that is not its class's */
    expect(WP_OK, wp_alloc(delegate, MIB - 70000, world.s, &ptr));
    expect(WP_ERROR_LIMIT, wp_alloc(delegate, 128 * 1024, world.s, &none));
    free_on(ptr, world.s);
  }
  expect(WP_OK, wp_alloc(delegate, MIB, world.s, &ptr));
  free_on(ptr, world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  expect(WP_OK, wp_delegate_close(delegate, NULL));
  release_all(memory);
}

/* Undeclared ones stay what they are. */
DRIVER_TEST(leave_captures_that_nobody_declares_to_the_driver) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *ours = world_alloc(&world, MIB, world.s);
  fake_stream_capture(world.t, true);
  void *theirs = world_alloc(&world, MIB, world.t);
  cr_assert_not_null(strstr(fake_steps(), "memory_alloc:t"), "%s", fake_steps());
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ours, world.t));
  uint64_t before = world_stats(&world).capture_bytes;
  free_on(theirs, world.s); /* from outside: it is kept */
  cr_assert_eq(world_stats(&world).capture_bytes, before + MIB);
  check_held();
  free_on(ours, world.s);
  fake_stream_capture(world.t, false);
  release_all(end_on(capture, world.s));
}

DRIVER_TEST(that_outlive_the_last_close_go_to_the_device) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_reserved(0), 4 * MIB);
  release_all(memory);
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}
