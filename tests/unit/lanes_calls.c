/* SPDX-License-Identifier: Apache-2.0 */
/* Which driver calls an allocation and a free make in WP_CACHING_LANES, in which order, under both contracts. */
#include <string.h>

#include "lanes_world.h"

/* -- hits -- */

WORLD_TEST(lanes_declared, hits_make_no_call_at_all, start_declared) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_str_eq(fake_log(false), "");
  free_on(ptr, world.s);
  cr_assert_str_eq(fake_log(false), "");
  cr_assert_eq(world_stats(&world).lane_hits, 3);
}

WORLD_TEST(lanes_declared, hits_do_not_care_which_device_is_current, start_declared) {
  warm_up(MIB, world.s);
  fake_set_current(1);
  pair(MIB, world.s);
  cr_assert_str_eq(fake_log(false), "");
  fake_set_current(0);
}

WORLD_TEST(lanes_declared, the_legacy_stream_has_hits_under_both_of_its_names, start_declared) {
  warm_up(MIB, WP_STREAM_LEGACY);
  free_on(world_alloc(&world, MIB, (wp_stream)1), WP_STREAM_LEGACY);
  free_on(world_alloc(&world, MIB, WP_STREAM_LEGACY), (wp_stream)1);
  cr_assert_str_eq(fake_log(false), "");
}

WORLD_TEST(lanes_declared, what_one_delegate_freed_serves_another_without_a_call, start_declared) {
  warm_up(MIB, world.s);
  wp_delegate *other = open_delegate();
  void *ptr = NULL;
  fake_forget();
  expect(WP_OK, wp_alloc(other, MIB, world.s, &ptr));
  free_on(ptr, world.s);
  cr_assert_str_eq(fake_log(false), "");
  expect(WP_OK, wp_delegate_close(other, NULL));
}

WORLD_TEST(lanes_declared, a_carve_out_of_held_memory_makes_no_call, start_declared) {
  void *first = world_alloc(&world, 512, world.s);
  fake_forget();
  void *second = world_alloc(&world, MIB, world.s);
  void *third = world_alloc(&world, 3 * 512, world.s);
  cr_assert_str_eq(fake_log(false), "");
  free_on(second, world.s);
  free_on(third, world.s);
  free_on(first, world.s);
  cr_assert_str_eq(fake_log(false), "");
  cr_assert_eq(world_stats(&world).reserved_bytes, 2 * MIB);
  cr_assert_eq(world_stats(&world).lane_misses, 3);
}

WORLD_TEST(lanes_declared, freed_neighbours_serve_a_larger_request_without_a_call, start_declared) {
  void *ptrs[4];
  for (int i = 0; i < 4; i++) ptrs[i] = world_alloc(&world, MIB / 2, world.s);
  for (int i = 0; i < 4; i++) free_on(ptrs[i], world.s);
  fake_forget();
  void *whole = world_alloc(&world, 2 * MIB, world.s);
  cr_assert_str_eq(fake_log(false), "");
  cr_assert_eq(whole, ptrs[0]);
  free_on(whole, world.s);
}

/* One of another size, which a whole merge would lose. */
WORLD_TEST(lanes_declared, a_miss_leaves_a_few_listed_blocks_where_they_are, start_declared) {
  void *large = world_alloc(&world, 62 * MIB, world.s);
  pair(MIB, world.s);
  uint64_t hits = world_stats(&world).lane_hits;
  pair(MIB / 2, world.s); /* carved */
  cr_assert_eq(world_stats(&world).lane_hits, hits);
  pair(MIB, world.s);
  pair(MIB / 2, world.s);
  cr_assert_eq(world_stats(&world).lane_hits, hits + 2);
  free_on(large, world.s);
}

WORLD_TEST(lanes_declared, a_miss_merges_many_listed_blocks, start_declared) {
  void *ptrs[3];
  void *large = world_alloc(&world, 60 * MIB, world.s);
  for (int i = 0; i < 3; i++) ptrs[i] = world_alloc(&world, MIB, world.s);
  for (int i = 0; i < 3; i++) free_on(ptrs[i], world.s);
  void *low = world_alloc(&world, MIB / 2, world.s); /* there is room behind the three as well */
  cr_assert_eq(low, ptrs[0] < ptrs[2] ? ptrs[0] : ptrs[2]);
  uint64_t hits = world_stats(&world).lane_hits;
  pair(MIB, world.s);
  cr_assert_eq(world_stats(&world).lane_hits, hits, "none is listed any more");
  free_on(low, world.s);
  free_on(large, world.s);
}

WORLD_TEST(lanes_checked, a_hit_asks_who_the_stream_is, start_checked) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_str_eq(fake_log(false), "stream_capturing stream_identity");
  fake_forget();
  free_on(ptr, world.s);
  cr_assert_str_eq(fake_log(false), "stream_capturing stream_identity event_record");
  cr_assert_str_eq(fake_steps(), "event_record:s");
}

WORLD_TEST(lanes_checked, hits_do_not_care_which_device_is_current, start_checked) {
  warm_up(MIB, world.s);
  fake_set_current(1);
  pair(MIB, world.s);
  cr_assert_str_eq(fake_log(true), "event_record");
  fake_set_current(0);
}

WORLD_TEST(lanes_checked, a_hit_asks_no_identity_where_there_is_none, nothing_yet) {
  fake.capabilities = WP_CAP_POOLS | WP_CAP_KEEPS_FREED;
  start_checked();
  warm_up(MIB, world.s);
  pair(MIB, world.s);
  cr_assert_str_eq(fake_log(false), "stream_capturing stream_capturing event_record");
}

WORLD_TEST(lanes_checked, an_identity_is_not_asked_of_the_special_streams, start_checked) {
  /* The fake driver aborts where it is. */
  warm_up(MIB, WP_STREAM_LEGACY);
  warm_up(MIB, (wp_stream)1);
  warm_up(MIB, WP_STREAM_PER_THREAD);
  cr_assert_eq(world_stats(&world).driver_allocs + world_stats(&world).steals, 2);
}

/* -- the first allocation, and misses -- */

WORLD_TEST(lanes_checked, a_stream_s_first_allocation_is_ordered_behind_home, start_checked) {
  fake_forget();
  void *ptr = world_alloc(&world, 512, world.s);
  cr_assert_str_eq(fake_steps(), "memory_alloc:home event_create event_record:home event_wait:s");
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_declared, a_stream_s_first_allocation_is_ordered_behind_home, start_declared) {
  fake_forget();
  void *ptr = world_alloc(&world, 512, world.s);
  cr_assert_str_eq(fake_steps(), "memory_alloc:home event_create event_record:home event_wait:s");
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_checked, a_growth_looks_at_what_other_streams_have_first, start_checked) {
  void *ptr = world_alloc(&world, 512, world.s);
  pair(MIB, world.s); /* idle, in a segment that is not */
  fake_forget();
  void *other = world_alloc(&world, 512, world.t);
  cr_assert_str_eq(fake_steps(), "event_synchronize memory_alloc:home event_create event_record:home event_wait:t");
  free_on(ptr, world.s);
  free_on(other, world.t);
}

WORLD_TEST(lanes_checked, a_miss_asks_in_a_scope, start_checked) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  const char *log = fake_log(false);
  const char *begin = "stream_capturing stream_identity device_current capture_relax stream_capturing stream_identity ";
  cr_assert_eq(strncmp(log, begin, strlen(begin)), 0, "%s", log);
  cr_assert_str_eq(log + strlen(log) - strlen(" capture_restore"), " capture_restore");
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_checked, a_miss_returns_segments_that_are_too_small, start_checked) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  cr_assert_str_eq(fake_steps(), "event_synchronize memory_free:home memory_alloc:home event_create event_record:home "
                                 "event_wait:s stream_synchronize:home pool_trim");
  cr_assert_eq(fake_reserved(0), 4 * MIB);
  check_sums();
  free_on(ptr, world.s);
}

/* No more is given up for it than what is of no use to it. */
WORLD_TEST(lanes_checked, a_miss_has_them_unmapped_first_where_the_driver_is_short, nothing_yet) {
  fake.device_memory = 6 * MIB;
  world_options.oom_policy = WP_OOM_FAIL;
  start_checked();
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, 6 * MIB, world.s);
  cr_assert_str_eq(fake_steps(), "event_synchronize memory_free:home memory_alloc:home stream_synchronize:home "
                                 "pool_trim memory_alloc:home event_create event_record:home event_wait:s");
  cr_assert_eq(world_stats(&world).oom_retries, 0);
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_declared, a_miss_records_what_it_wants_to_return, start_declared) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  cr_assert_str_eq(fake_steps(),
                   "event_create event_record:s event_synchronize memory_free:home memory_alloc:home event_create "
                   "event_record:home event_wait:s stream_synchronize:home pool_trim");
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_checked, a_miss_keeps_segments_whose_work_has_not_finished, start_checked) {
  void *small = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.s);
  free_on(small, world.s);
  fake_forget();
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  cr_assert_eq(fake_count("memory_free"), 0);
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(world_stats(&world).reserved_bytes, 6 * MIB);
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_checked, a_miss_shows_the_driver_nothing_where_it_sees_frees_late, nothing_yet) {
  fake.capabilities &= ~WP_CAP_ORDERED_FREE;
  start_checked();
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  cr_assert_str_eq(fake_steps(), "memory_free:home memory_alloc:home event_create event_record:home event_wait:s "
                                 "stream_synchronize:home pool_trim");
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_checked, segments_come_in_steps_of_two_mebibytes, start_checked) {
  void *small = world_alloc(&world, 1, world.s), *large = world_alloc(&world, 3 * MIB, world.s);
  cr_assert_eq(fake_reserved(0), 6 * MIB);
  cr_assert_eq(world_stats(&world).live_bytes, 3 * MIB + 512);
  check_sums();
  free_on(small, world.s);
  free_on(large, world.s);
}

WORLD_TEST(lanes_checked, priming_makes_the_first_allocation_a_carve, start_checked) {
  expect(WP_OK, wp_prime(world.delegate, 8 * MIB, world.s));
  cr_assert_eq(fake_reserved(0), 8 * MIB);
  cr_assert_eq(world_stats(&world).allocs, 0);
  check_sums();
  fake_forget();
  void *ptr = world_alloc(&world, 8 * MIB, world.s);
  cr_assert_eq(fake_count("memory_alloc"), 0);
  free_on(ptr, world.s);
  expect(WP_OK, wp_prime(world.delegate, 8 * MIB, world.s)); /* it has that */
  expect(WP_OK, wp_prime(world.delegate, MIB, world.s));
  cr_assert_eq(fake_reserved(0), 8 * MIB);
  cr_assert_eq(world_stats(&world).allocs, 1);
}
