/* SPDX-License-Identifier: Apache-2.0 */
/* What reviews of the lanes have found, one test each: closes beside other calls, and what a driver may refuse. */
#include "hooks.h"
#include "lanes_world.h"

TestSuite(lanes_reviewed, .timeout = 10);

static wp_delegate *other;
static wp_status other_status;

static void start_hooked(void) {
  world_options.backend = hooks_backend();
  start_checked();
}
static void close_now(void) { other_status = wp_delegate_close(world.delegate, NULL); }

/* The close of a delegate that is not the last records what it freed, whatever device is current. */
WORLD_TEST(lanes_reviewed, a_close_makes_its_event_on_the_delegate_s_device, start_declared) {
  other = open_delegate();
  void *live = world_alloc(&world, 512, world.s);
  pair(MIB, world.s); /* a carve, so that nothing is recorded and no event is spare */
  pair(512, world.t); /* takes the last event that is cached */
  fake_set_current(1);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_set_current(0);
  world.delegate = other;
  free_on(live, world.s);
}

/* The legacy stream's handle names that of the current device. */
WORLD_TEST(lanes_reviewed, a_close_records_on_the_legacy_stream_of_the_delegate_s_device, start_declared) {
  other = open_delegate();
  warm_up(2 * MIB, WP_STREAM_LEGACY);
  fake_set_current(1);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_set_current(0);
  world.delegate = other;
}

/* Both together would give away what is still in use. */
WORLD_TEST(lanes_reviewed, a_close_does_not_vouch_for_unfinished_work_of_the_legacy_stream, start_declared) {
  other = open_delegate();
  void *first = world_alloc(&world, 512, WP_STREAM_LEGACY);
  fake_stream_busy(WP_STREAM_LEGACY);
  pair(MIB, WP_STREAM_LEGACY);
  free_on(first, WP_STREAM_LEGACY); /* all of the segment is free, and busy */
  pair(512, world.t);
  fake_set_current(1);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  world.delegate = other;
  wp_status status = wp_trim(world.runtime, 0, 0, WP_NO_WAIT, &report);
  fake_set_current(0);
  expect(WP_PENDING, status);
}

/* The delegate closes between the first look at it and the block. */
WORLD_TEST(lanes_reviewed, a_hit_of_a_delegate_closed_meanwhile_is_refused_or_keeps_the_runtime, start_hooked) {
  void *ptr = NULL;
  other = open_delegate();
  warm_up(MIB, world.s);
  hooks_arm("stream_capturing", 1, close_now);
  wp_status status = wp_alloc(world.delegate, MIB, world.s, &ptr);
  cr_assert(hooks_ran());
  expect(WP_OK, other_status);
  world.delegate = other;
  if (status != WP_OK) return;
  expect(WP_OK, wp_delegate_close(other, NULL));
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  free_on(ptr, world.s);
  reopen();
}

/* The last delegate closes between the look whether one is open and the free. */
WORLD_TEST(lanes_reviewed, a_hit_of_a_free_beside_the_last_close_strands_nothing, start_hooked) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  hooks_arm("stream_capturing", 1, close_now);
  free_on(ptr, world.s);
  cr_assert(hooks_ran());
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(lanes_reviewed, an_allocation_beside_the_last_close_strands_nothing, start_hooked) {
  void *ptr = NULL;
  hooks_arm("memory_alloc", 1, close_now);
  wp_status status = wp_alloc(world.delegate, MIB, world.s, &ptr);
  if (status == WP_OK) free_on(ptr, world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(lanes_reviewed, priming_beside_the_last_close_strands_nothing, start_hooked) {
  hooks_arm("memory_alloc", 1, close_now);
  expect(WP_OK, wp_prime(world.delegate, MIB, world.s));
  expect(WP_OK, other_status);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

/* Some drivers free nothing while a stream captures (H10). */
WORLD_TEST(lanes_reviewed, a_trim_while_the_driver_frees_nothing_leaves_it_pending, start_checked) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  pair(MIB, world.s);
  fake.captures_forbid = true;
  wp_status status = wp_trim(world.runtime, 0, 0, WP_WAIT, &report);
  fake.captures_forbid = false;
  expect(WP_PENDING, status);
  cr_assert_eq(report.pending_bytes, 2 * MIB);
}

WORLD_TEST(lanes_reviewed, the_last_close_while_the_driver_frees_nothing_leaves_it_pending, start_checked) {
  pair(MIB, world.s);
  fake.captures_forbid = true;
  wp_status status = wp_delegate_close(world.delegate, NULL);
  fake.captures_forbid = false;
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  expect(WP_PENDING, status);
  reopen();
}

WORLD_TEST(lanes_reviewed, a_tick_holds_what_was_parked_against_the_threshold, nothing_yet) {
  world_options.release_threshold = 0;
  start_checked();
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  fake_stream_busy(world.t);
  free_on(ptr, world.t);
  fake_stream_idle(world.t);
  for (int i = 0; i < 3; i++) expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
}

/* What cannot be recorded, for the stream is being captured, is left to the driver. */
Test(defects, a_destroyed_runtime_frees_nothing_that_was_not_recorded) {
  world_options.release_wait = WP_NO_WAIT;
  start_declared();
  warm_up(MIB, world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, 2 * MIB, WP_WAIT, NULL)); /* all so far is recorded and finished */
  fake_stream_busy(world.s);
  pair(MIB, world.s);
  fake_stream_capture(world.s, true);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_forget();
  wp_status status = wp_runtime_destroy(world.runtime);
  cr_assert(fake_count("memory_free") == 0 || fake_count("event_wait") > 0,
            "%s, and \"%s\": freed on home, behind nothing", wp_status_name(status), fake_steps());
}

WORLD_TEST(lanes_reviewed, an_allocation_that_ran_out_of_host_memory_loses_no_block, start_declared) {
  void *live = world_alloc(&world, 512, world.s);
  wp__test_fail_allocation(1);
  void *ptr = world_alloc(&world, MIB, world.s);
  wp__test_fail_allocation(0);
  free_on(ptr, world.s);
  free_on(live, world.s);
  cr_assert_eq(world_stats(&world).live_bytes, 0, "%llu bytes", (unsigned long long)world_stats(&world).live_bytes);
}
