/* SPDX-License-Identifier: Apache-2.0 */
/* Which frees are recorded in WP_CACHING_LANES, where freed memory goes, and what other streams can have of it. */
#include <string.h>

#include "lanes_world.h"

/* -- records -- */

WORLD_TEST(lanes_declared, frees_after_a_growth_are_recorded_until_something_is_served, start_declared) {
  void *ptrs[3];
  for (int i = 0; i < 3; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  for (int i = 0; i < 3; i++) {
    fake_forget();
    free_on(ptrs[i], world.s);
    cr_assert_eq(fake_count("event_record"), 1, "%s", fake_steps());
  }
  for (int i = 0; i < 3; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  fake_forget();
  for (int i = 0; i < 3; i++) free_on(ptrs[i], world.s);
  cr_assert_str_eq(fake_log(false), "");
}

WORLD_TEST(lanes_declared, a_thread_s_own_stream_records_every_free, start_declared) {
  warm_up(MIB, WP_STREAM_PER_THREAD);
  for (int i = 0; i < 3; i++) {
    fake_forget();
    void *ptr = world_alloc(&world, MIB, WP_STREAM_PER_THREAD);
    cr_assert_str_eq(fake_log(false), "");
    free_on(ptr, WP_STREAM_PER_THREAD);
    cr_assert_str_eq(fake_steps(), "event_record:2");
  }
}

WORLD_TEST(lanes_declared, a_stream_in_need_records_what_another_one_has_freed_and_takes_it, start_declared) {
  warm_up(2 * MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.t);
  /* The first is for what had been recorded before. */
  cr_assert_str_eq(fake_steps(), "event_synchronize event_create event_record:s event_synchronize");
  cr_assert_eq(world_stats(&world).steals, 1);
  check_sums();
  free_on(ptr, world.t);
}

/* Whichever of the two is looked at first. */
WORLD_TEST(lanes_declared, a_busy_stream_hides_nothing_that_an_idle_one_has_freed, nothing_yet) {
  for (int idle = 0; idle < 2; idle++) {
    if (idle > 0) world_end(&world);
    start_declared();
    wp_stream streams[2] = {world.s, fake_stream(0)};
    for (int i = 0; i < 3; i++) { /* each in turn would take the other's */
      void *ptrs[2] = {world_alloc(&world, 2 * MIB, streams[0]), world_alloc(&world, 2 * MIB, streams[1])};
      for (int k = 0; k < 2; k++) free_on(ptrs[k], streams[k]);
    }
    fake_stream_busy(streams[!idle]);
    fake_forget();
    void *ptr = world_alloc(&world, MIB, world.t);
    cr_assert_eq(world_stats(&world).steals, 1, "%s", fake_steps());
    fake_all_idle();
    free_on(ptr, world.t);
  }
}

/* It would be put off for ever otherwise. */
WORLD_TEST(lanes_declared, what_is_recorded_and_unfinished_is_not_recorded_anew, start_declared) {
  warm_up(2 * MIB, world.s);
  fake_stream_busy(world.s);
  void *ptr = world_alloc(&world, MIB, world.t);
  cr_assert_eq(fake_count("event_record"), 2, "%s", fake_steps()); /* of s, and of home for the new segment */
  pair(2 * MIB, world.s);
  fake_forget();
  void *other = world_alloc(&world, 2 * MIB, world.t);
  cr_assert_eq(world_stats(&world).steals, 0);
  cr_assert(!fake_named(world.s), "%s", fake_log(false));
  free_on(ptr, world.t);
  free_on(other, world.t);
}

WORLD_TEST(lanes_declared, a_stream_that_is_retired_is_not_named_for_another_one, start_declared) {
  warm_up(2 * MIB, world.s);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  fake_stream_die(world.s);
  void *ptr = world_alloc(&world, MIB, world.t);
  cr_assert_eq(world_stats(&world).steals, 1);
  free_on(ptr, world.t);
}

/* A record there has other streams wait. What the one look may not have, the next one finds. */
WORLD_TEST(lanes_declared, the_legacy_stream_that_another_one_looked_at_records_its_next_free, start_declared) {
  warm_up(2 * MIB, WP_STREAM_LEGACY);
  void *held = world_alloc(&world, 2 * MIB, WP_STREAM_LEGACY), *more = world_alloc(&world, 2 * MIB, WP_STREAM_LEGACY);
  free_on(held, WP_STREAM_LEGACY);
  held = world_alloc(&world, 2 * MIB, WP_STREAM_LEGACY); /* a hit: nothing is recorded from here on */
  free_on(more, WP_STREAM_LEGACY);
  fake_forget();
  void *ptr = world_alloc(&world, MIB, world.t);
  cr_assert_eq(world_stats(&world).steals, 0, "the last free is not recorded");
  cr_assert(!fake_named(WP_STREAM_LEGACY), "%s", fake_log(false));
  fake_forget();
  free_on(held, WP_STREAM_LEGACY);
  cr_assert_eq(fake_count("event_record"), 1);
  void *other = world_alloc(&world, 2 * MIB, world.t);
  cr_assert_eq(world_stats(&world).steals, 1);
  free_on(ptr, world.t);
  free_on(other, world.t);
}

WORLD_TEST(lanes_checked, a_record_that_fails_is_logged_and_the_free_stands, start_checked) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_fail("event_record", 1, WP_ERROR_DRIVER);
  free_on(ptr, world.s);
  cr_assert_eq(world.log_lines, 1);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  pair(MIB, world.s); /* the next record vouches for both */
  cr_assert_eq(world.log_lines, 1);
}

/* -- frees from elsewhere -- */

WORLD_TEST(lanes_checked, a_free_on_another_stream_returns_to_its_lane_when_that_has_finished, start_checked) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  fake_stream_busy(world.t);
  fake_forget();
  free_on(ptr, world.t);
  cr_assert_str_eq(fake_steps(), "event_record:t");
  cr_assert_eq(world_stats(&world).parked_bytes, 2 * MIB);
  check_sums();
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  cr_assert_eq(world_stats(&world).cached_bytes, 2 * MIB);
  cr_assert_eq(world_alloc(&world, 2 * MIB, world.s), ptr);
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_declared, a_note_keeps_a_free_from_being_a_hit, start_declared) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  free_on(ptr, world.s);
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  void *next = world_alloc(&world, MIB, world.s);
  cr_assert_neq(next, ptr);
  free_on(next, world.s);
}

WORLD_TEST(lanes_checked, a_block_without_uses_is_warm_at_once, start_checked) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_free_after(world.runtime, ptr, NULL, 0));
  cr_assert_eq(world_stats(&world).cached_bytes, 2 * MIB);
  cr_assert_eq(world_alloc(&world, MIB, world.s), ptr);
  free_on(ptr, world.s);
}

/* -- steals -- */

WORLD_TEST(lanes_checked, a_steal_allocates_nothing, start_checked) {
  warm_up(2 * MIB, world.s);
  void *ptr = world_alloc(&world, 512, world.t);
  cr_assert_str_eq(fake_steps(), "event_synchronize"); /* what has been used came after home already */
  cr_assert_eq(world_stats(&world).steals, 1);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  check_sums();
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_checked, a_steal_of_what_nobody_has_used_comes_after_home, start_checked) {
  expect(WP_OK, wp_prime(world.delegate, 2 * MIB, world.s));
  fake_forget();
  void *ptr = world_alloc(&world, 512, world.t);
  cr_assert_str_eq(fake_steps(), "event_record:home event_wait:t");
  cr_assert_eq(world_stats(&world).steals, 1);
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_checked, the_smallest_segment_that_does_is_stolen, start_checked) {
  void *large = world_alloc(&world, 8 * MIB, world.s), *small = world_alloc(&world, 4 * MIB, world.s);
  free_on(large, world.s);
  free_on(small, world.s);
  cr_assert_eq(world_alloc(&world, 3 * MIB, world.t), small);
  free_on(small, world.t);
}

WORLD_TEST(lanes_checked, what_has_not_finished_is_not_stolen, start_checked) {
  warm_up(2 * MIB, world.s);
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.t);
  cr_assert_eq(world_stats(&world).steals, 0);
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(fake_reserved(0), 4 * MIB);
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_checked, a_segment_with_a_live_part_is_not_stolen, start_checked) {
  void *live = world_alloc(&world, 512, world.s);
  pair(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.t);
  cr_assert_eq(world_stats(&world).steals, 0);
  free_on(ptr, world.t);
  free_on(live, world.s);
}

WORLD_TEST(lanes_declared, what_a_retired_stream_left_is_stolen_without_naming_it, start_declared) {
  warm_up(2 * MIB, world.s);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  fake_stream_die(world.s); /* the fake driver aborts where it is named now */
  fake_forget();
  void *ptr = world_alloc(&world, MIB, world.t);
  cr_assert_eq(fake_count("memory_alloc"), 0);
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_checked, a_recycled_handle_takes_over_what_has_finished, start_checked) {
  warm_up(2 * MIB, world.s);
  wp_stream again = fake_stream_recycled(world.s);
  fake_forget();
  pair(2 * MIB, again);
  cr_assert_eq(fake_count("memory_alloc"), 0);
  cr_assert_eq(world_stats(&world).steals, 0);
}

WORLD_TEST(lanes_checked, a_recycled_handle_gets_nothing_that_the_old_stream_still_uses, start_checked) {
  warm_up(2 * MIB, world.s);
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  wp_stream again = fake_stream_recycled(world.s);
  pair(2 * MIB, again);
  cr_assert_eq(fake_reserved(0), 4 * MIB);
}

WORLD_TEST(lanes_declared, a_close_of_one_of_two_records_what_it_freed, start_declared) {
  wp_delegate *other = open_delegate();
  warm_up(2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_str_eq(fake_steps(), "event_create event_record:s");
  world.delegate = other;
  pair(MIB, world.t);
  cr_assert_eq(fake_count("memory_alloc"), 0);
}

/* -- with no delegate open -- */

static void close_with(void **ptr) {
  *ptr = world_alloc(&world, 2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_stream_busy(world.s);
  fake_forget();
}

WORLD_TEST(lanes_closed, a_free_goes_back_in_the_order_of_its_stream_where_the_driver_has_that, start_checked) {
  void *ptr;
  close_with(&ptr);
  free_on(ptr, world.s);
  cr_assert_str_eq(fake_steps(), "event_record:s memory_free:s event_create event_record:s pool_trim");
  cr_assert_eq(fake_blocks(), 0);
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
  check_sums();
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(lanes_closed, a_free_goes_back_at_the_next_call_where_the_driver_has_no_such_order, nothing_yet) {
  void *ptr;
  fake.capabilities &= ~WP_CAP_ORDERED_FREE;
  start_checked();
  close_with(&ptr);
  free_on(ptr, world.s);
  cr_assert_eq(fake_count("memory_free"), 0);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count("memory_free"), 0);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(lanes_closed, a_free_leaves_what_may_be_kept, nothing_yet) {
  world_options.keep_bytes = 2 * MIB;
  void *ptrs[2];
  start_checked();
  for (int i = 0; i < 2; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  for (int i = 0; i < 2; i++) free_on(ptrs[i], world.s);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  reopen();
}

WORLD_TEST(lanes_closed, the_last_close_waits_and_returns_all_segments, start_checked) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  pair(4 * MIB, world.t);
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(report.reserved_before, 6 * MIB);
  cr_assert_eq(report.reserved_after, 0);
  cr_assert_eq(fake_waits(), 1);
  reopen();
}

WORLD_TEST(lanes_closed, the_last_close_without_waiting_leaves_the_rest_to_a_tick, nothing_yet) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  world_options.release_wait = WP_NO_WAIT;
  start_checked();
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  pair(4 * MIB, world.t);
  expect(WP_PENDING, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(report.pending_bytes, 2 * MIB);
  cr_assert_eq(report.reserved_after, 2 * MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  cr_assert_eq(fake_waits(), 0);
  reopen();
}

Test(lanes_closed, a_destroyed_runtime_frees_behind_what_is_recorded, .timeout = 10) {
  world_options.release_wait = WP_NO_WAIT;
  start_checked();
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_forget();
  expect(WP_PENDING, wp_runtime_destroy(world.runtime));
  const char *waits = strstr(fake_steps(), "event_wait:home memory_free:home");
  cr_assert_not_null(waits, "%s", fake_steps());
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(fake_blocks(), 0);
  cr_assert_eq(fake_objects(), 0);
}

WORLD_TEST(lanes_closed, a_lost_device_is_forgotten_without_a_call, start_checked) {
  void *live = world_alloc(&world, MIB, world.s), *parked = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  free_on(parked, world.t);
  pair(512, world.t);
  pair(MIB, world.s);
  fake_forget();
  expect(WP_OK, wp_device_lost(world.runtime, 0));
  cr_assert_str_eq(fake_log(false), "");
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, live, world.s));
  void *out = NULL;
  expect(WP_ERROR_NO_DEVICE, wp_alloc(world.delegate, MIB, world.s, &out));
  wp_stats stats = WP_STATS_INIT;
  expect(WP_OK, wp_delegate_stats(world.delegate, &stats));
  cr_assert_eq(stats.live_bytes, 0);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_reset(); /* the driver forgot everything, too */
  world.s = fake_stream(0);
  reopen();
  pair(MIB, world.s);
}
