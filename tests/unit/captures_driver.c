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
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, theirs, world.s)); /* its graph's own: no other can keep it */
  cr_assert_not_null(strstr(world_error().message, "free it after"));
  cr_assert_eq(world_stats(&world).capture_bytes, before);
  check_held();
  free_on(ours, world.s);
  fake_stream_capture(world.t, false);
  release_all(end_on(capture, world.s));
  free_on(theirs, world.s);
}

/* -- nothing stays in the lanes -- */

static void expect_nothing_held(void) {
  check_held();
  cr_assert_eq(world_stats(&world).cached_bytes, 0);
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
}

DRIVER_TEST(leave_an_output_that_is_freed_later_to_the_drivers_pool) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *output = world_alloc(&world, 4 * MIB, world.s);
  release_all(end_on(capture, world.s));
  free_on(output, world.t);
  expect_nothing_held();
}

DRIVER_TEST(leave_a_block_to_it_that_was_used_elsewhere_meanwhile) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *block = world_alloc(&world, 4 * MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, block, world.t));
  free_on(block, world.s);
  release_all(end_on(capture, world.s));
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  expect_nothing_held();
}

/* Some drivers free nothing while any stream captures. */
static void release_where_frees_are_refused(wp_stream stream) {
  wp_capture *capture = begin_on(stream, NULL);
  free_on(world_alloc(&world, 2 * MIB, stream), stream);
  fake.captures_forbid = true;
  release_all(end_on(capture, stream));
  fake.captures_forbid = false;
}

DRIVER_TEST(leave_to_it_later_what_it_refuses) {
  release_where_frees_are_refused(world.s);
  cr_assert_eq(world_stats(&world).cached_bytes, 2 * MIB);
  expect(WP_OK, wp_tick(world.runtime));
  expect_nothing_held();
  release_where_frees_are_refused(world.s);
  pair(MIB, world.t);
  expect_nothing_held();
}

/* What gives way for a growth is warm in the pool, with all the rest there. */
DRIVER_TEST(grow_without_a_trim_of_the_drivers_pool) {
  pair(64 * MIB, world.t);
  release_where_frees_are_refused(world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  fake_forget();
  void *block = world_alloc(&world, 16 * MIB, world.s);
  cr_assert_eq(fake_count("pool_trim"), 0, "%s", fake_steps());
  free_on(block, world.s);
  release_all(end_on(capture, world.s));
}

/* That it is refused once more on the way out is nothing that the caller asked for. */
DRIVER_TEST(say_why_they_cannot_begin_beside_what_it_refuses) {
  wp_capture *capture = NULL;
  release_where_frees_are_refused(world.s);
  fake.captures_forbid = true;
  fake_stream_capture(world.t, true);
  expect(WP_ERROR_CAPTURING, wp_capture_begin(world.delegate, world.t, NULL, &capture));
  cr_assert_not_null(strstr(world_error().message, "wp_capture_begin"), "%s", world_error().message);
  cr_assert_eq(world_error().device, 0);
  fake_stream_capture(world.t, false);
  fake.captures_forbid = false;
}

/* -- as for allocations of the driver's -- */

DRIVER_TEST(have_the_threshold_told_again) {
  wp_capture *capture = begin_on(world.s, NULL);
  fake_forget();
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  cr_assert_eq(fake_count("pool_set_threshold"), 1);
  release_all(end_on(capture, world.s));
}

DRIVER_TEST(take_over_the_address_of_a_graph_that_is_gone) {
  fake_stream_capture(world.t, true);
  void *theirs = world_alloc(&world, 2 * MIB, world.t);
  fake_stream_capture(world.t, false);
  fake_graph_destroy(0);
  wp_capture *capture = begin_on(world.s, NULL);
  fake_next_address(theirs);
  cr_assert_eq(world_alloc(&world, 2 * MIB, world.s), theirs);
  cr_assert_eq(world_stats(&world).live_blocks, 1);
  free_on(theirs, world.s);
  release_all(end_on(capture, world.s));
  expect_nothing_held();
}

DRIVER_TEST(count_towards_a_limited_delegates_peak) {
  wp_delegate *delegate = NULL;
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  wp_capture *capture = NULL;
  wp_stats stats = WP_STATS_INIT;
  void *inside = NULL, *outside = NULL;
  options.limit_bytes = 64 * MIB;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, &options, &delegate));
  expect(WP_OK, wp_capture_begin(delegate, world.s, NULL, &capture));
  fake_stream_capture(world.s, true);
  expect(WP_OK, wp_alloc(delegate, 16 * MIB, world.s, &inside));
  expect(WP_OK, wp_alloc(delegate, 16 * MIB, world.t, &outside));
  free_on(outside, world.t);
  free_on(inside, world.s);
  expect(WP_OK, wp_delegate_stats(delegate, &stats));
  cr_assert_eq(stats.live_peak, 32 * MIB);
  release_all(end_on(capture, world.s));
  expect(WP_OK, wp_delegate_close(delegate, NULL));
}

/* -- the end -- */

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
