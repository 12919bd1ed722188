/* SPDX-License-Identifier: Apache-2.0 */
/* What a release waits for, what it leaves, and who finishes it: beside other calls, and where something is refused. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fake_state.h"
#include "hooks.h"
#include "lanes_world.h"

TestSuite(lanes_releases, .timeout = 10);

static void start_hooked(void) {
  world_options.backend = hooks_backend();
  start_checked();
}
static void start_no_wait(void) {
  world_options.release_wait = WP_NO_WAIT;
  start_hooked();
}
static void start_without_threshold(void) {
  world_options.release_threshold = 0;
  start_checked();
}

static void expect_all_back(void) {
  for (int i = 0; i < 3; i++) expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0, "%llu bytes are stranded", (unsigned long long)fake_reserved(0));
}

WORLD_TEST(lanes_releases, wait_for_no_work_that_no_free_is_behind, start_checked) {
  fake_stream_busy(world.s);
  st.streams[fake_find_stream(world.s)].submitted++; /* somebody's, before the allocation */
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_free_after(world.runtime, ptr, NULL, 0)); /* all use has finished */
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_waits(), 0, "waited %d times", fake_waits());
  reopen();
}

static void trim_now(void) { expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL)); }

WORLD_TEST(lanes_releases, of_two_threads_at_once_settle_nothing_twice, start_no_wait) {
  void *one = world_alloc(&world, 2 * MIB, world.s), *two = world_alloc(&world, 2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_stream_busy(world.s);
  free_on(one, world.s); /* in order, past the lane */
  fake_stream_idle(world.s);
  hooks_arm("pool_usage", 1, trim_now);
  trim_now();
  fake_stream_busy(world.s);
  free_on(two, world.s);
  expect(WP_OK, wp_tick(world.runtime));
  fake_stream_idle(world.s);
  expect_all_back();
  reopen();
}

static void trim_and_keep(void) {
  fake_stream_idle(world.s);
  wp_status status = wp_trim(world.runtime, 0, 512 * MIB, WP_NO_WAIT, NULL);
  cr_assert(status == WP_OK || status == WP_PENDING);
}

WORLD_TEST(lanes_releases, are_finished_though_somebody_else_saw_the_end_of_the_work, start_no_wait) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  fake_stream_busy(world.s);
  free_on(ptr, world.s);
  hooks_arm("pool_usage", 2, trim_and_keep);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  cr_assert(hooks_ran());
  expect_all_back();
  reopen();
}

/* A record that failed is nothing that home could be ordered behind. */
WORLD_TEST(lanes_releases, in_the_end_leave_to_the_driver_what_was_not_recorded, start_no_wait) {
  pair(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.s);
  fake_fail("event_record", 1, WP_ERROR_DRIVER);
  free_on(ptr, world.s);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_forget();
  wp_status status = wp_runtime_destroy(world.runtime);
  cr_assert(status == WP_PENDING || status == WP_OK, "%s", wp_status_name(status));
  cr_assert_eq(fake_count("memory_free"), 0, "%s", fake_steps());
  cr_assert_eq(fake_count("pool_destroy"), 0, "%s", fake_steps());
  fake_reset();
  start_checked();
}

WORLD_TEST(lanes_releases, for_a_threshold_are_tried_again_after_a_refusal, start_without_threshold) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  fake_stream_busy(world.s);
  free_on(ptr, world.s);
  fake_all_idle();
  fake_fail("capture_relax", 1, WP_ERROR_DRIVER);
  expect(WP_ERROR_DRIVER, wp_tick(world.runtime));
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).cached_bytes, 0);
}

/* Above the threshold by a segment with a live block. */
WORLD_TEST(lanes_releases, for_a_threshold_are_not_tried_where_nothing_can_go, start_without_threshold) {
  void *live = world_alloc(&world, 512, world.s);
  pair(512, world.s);
  for (int i = 0; i < 3; i++) expect(WP_OK, wp_tick(world.runtime));
  fake_forget();
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count(NULL), 0, "%s", fake_steps());
  free_on(live, world.s);
}

/* -- after the last close -- */

static void observe_all(void) {
  for (int i = 0; i < STREAMS; i++) {
    if (st.streams[i].used) fake_observe(i, st.streams[i].submitted);
  }
}

WORLD_TEST(lanes_releases, of_blocks_freed_on_another_stream_need_no_call, start_checked) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_stream_busy(world.t);
  free_on(ptr, world.t);
  fake_all_idle(); /* and the user synchronises */
  observe_all();
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(lanes_releases, of_such_a_block_that_the_driver_refuses_come_later, start_checked) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_stream_busy(world.t);
  fake_fail("memory_free", 1, WP_ERROR_DRIVER);
  free_on(ptr, world.t);
  cr_assert_eq(world.log_lines, 1);
  check_sums();
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  fake_all_idle();
  expect_all_back();
  reopen();
}

/* -- a segment between the driver and its lane -- */

/* Neither can it be ordered before its new stream, nor does the driver take it just now. */
WORLD_TEST(lanes_releases, find_a_segment_that_could_not_be_taken_over, start_checked) {
  void *out = NULL;
  expect(WP_OK, wp_prime(world.delegate, 2 * MIB, world.s));
  fake_fail("event_wait", 1, WP_ERROR_DRIVER);
  fake.captures_forbid = true;
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, MIB, world.t, &out));
  fake.captures_forbid = false;
  check_sums();
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

static int trims = 20;
static void trim_again(void) {
  (void)wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL);
  if (--trims > 0) hooks_arm("event_record", 1, trim_again);
}

WORLD_TEST(lanes_releases, take_no_segment_from_whom_it_was_got_for, start_hooked) {
  fake_forget();
  hooks_arm("event_record", 1, trim_again);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_eq(fake_count("memory_alloc"), 1, "%s", fake_steps());
  trims = 0;
  free_on(ptr, world.s);
}

/* -- where no freed memory may stay in a pool -- */

static void start_where_nothing_may_stay(void) {
  fake.capabilities &= ~(WP_CAP_KEEPS_FREED | WP_CAP_ORDERED_FREE);
  start_checked();
}

WORLD_TEST(lanes_releases, empty_the_pool_behind_each_segment_where_it_may_keep_none, start_where_nothing_may_stay) {
  void *large = world_alloc(&world, 4 * MIB, world.s), *small = world_alloc(&world, MIB, world.s);
  free_on(small, world.s);
  free_on(large, world.s);
  fake_forget();
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  const char *segment = "memory_free:home stream_synchronize:home pool_trim";
  char steps[256];
  (void)snprintf(steps, sizeof steps, "%s %s pool_trim", segment, segment);
  cr_assert_str_eq(fake_steps(), steps, "%s", fake_steps());
}

WORLD_TEST(lanes_releases, empty_the_pool_too_of_what_made_room, start_where_nothing_may_stay) {
  void *one = world_alloc(&world, 2 * MIB, world.s), *other = world_alloc(&world, 2 * MIB, world.s);
  free_on(one, world.s);
  free_on(other, world.s);
  fake_forget();
  free_on(world_alloc(&world, 8 * MIB, world.s), world.s);
  const char *first = strstr(fake_steps(), "memory_free:home stream_synchronize:home pool_trim memory_free:home");
  cr_assert_not_null(first, "%s", fake_steps());
  cr_assert_eq(fake_reserved(0), 8 * MIB);
}

WORLD_TEST(lanes_releases, empty_the_pool_too_of_what_nobody_got, start_where_nothing_may_stay) {
  void *out = NULL;
  fake_fail("event_wait", 1, WP_ERROR_DRIVER);
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, MIB, world.s, &out));
  cr_assert_not_null(strstr(fake_steps(), "memory_free:home stream_synchronize:home pool_trim"), "%s", fake_steps());
  cr_assert_eq(fake_reserved(0), 0);
}

/* The block is the driver's already: that the pool could not be emptied is no failure of the caller's. */
WORLD_TEST(lanes_releases, say_so_where_the_pool_could_not_be_emptied, start_where_nothing_may_stay) {
  pair(MIB, world.s);
  fake_fail("pool_trim", 1, WP_ERROR_DRIVER);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(world.log_lines, 1);
  cr_assert_not_null(strstr(world.logged, "still in the driver's pool"), "%s", world.logged);
  cr_assert_eq(fake_reserved(0), 0); /* the release has trimmed it besides */
  check_sums();
}

/* -- threads that have ended, where the driver waited for their work: nobody asks for their events any more -- */

static void start_where_streams_drain(void) {
  fake.capabilities |= WP_CAP_STREAMS_DRAIN;
  start_checked();
}

static void *free_on_own_stream(void *nothing) {
  void *ptr = world_alloc(&world, MIB, WP_STREAM_PER_THREAD);
  fake_stream_busy(WP_STREAM_PER_THREAD); /* and stays so: an event would say that it has not finished */
  free_on(ptr, WP_STREAM_PER_THREAD);
  return nothing;
}

static void *free_on_own_stream_what_is_of_another(void *ptr) {
  fake_stream_busy(WP_STREAM_PER_THREAD);
  free_on(ptr, WP_STREAM_PER_THREAD);
  return NULL;
}

static void in_thread(void *(*body)(void *argument), void *argument) {
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, body, argument), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
}

WORLD_TEST(lanes_releases, of_an_ended_thread_s_lane_serve_others_without_a_question, start_where_streams_drain) {
  in_thread(free_on_own_stream, NULL);
  fake_forget();
  free_on(world_alloc(&world, MIB, world.s), world.s);
  cr_assert_eq(world_stats(&world).steals, 1);
  cr_assert_eq(fake_count("event_query"), 0, "%s", fake_log(false));
}

WORLD_TEST(lanes_releases, of_an_ended_thread_wait_for_nothing, start_where_streams_drain) {
  in_thread(free_on_own_stream, NULL);
  fake_forget();
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_count("event_query") + fake_count("event_synchronize"), 0, "%s", fake_log(false));
  cr_assert_eq(fake_reserved(0), 0);
}

/* Another thread comes, whose stream has the record then. */
WORLD_TEST(lanes_releases, of_what_an_ended_thread_freed_ask_nothing, start_where_streams_drain) {
  in_thread(free_on_own_stream_what_is_of_another, world_alloc(&world, MIB, world.s));
  void *other = world_alloc(&world, MIB, world.s);
  in_thread(free_on_own_stream_what_is_of_another, other);
  fake_forget();
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  cr_assert_eq(fake_count("event_query"), 0, "%s", fake_log(false));
}

/* Elsewhere an ended thread's work may go on. */
WORLD_TEST(lanes_releases, of_an_ended_thread_wait_where_streams_do_not_drain, start_checked) {
  in_thread(free_on_own_stream, NULL);
  free_on(world_alloc(&world, MIB, world.s), world.s);
  cr_assert_eq(world_stats(&world).steals, 0);
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
}
