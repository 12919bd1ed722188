/* SPDX-License-Identifier: Apache-2.0 */
/* Declared captures: which calls reach the driver, whose memory is whose, and when it is everybody's again. */
#include "captures_world.h"

/* -- what a capture is served -- */

CAPTURE_TEST(are_served_without_naming_their_streams) {
  wp_capture *capture = begin_on(world.s, NULL);
  fake_forget();
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_null(strstr(fake_steps(), ":s"), "%s", fake_steps());
  fake_forget();
  free_on(ptr, world.s);
  cr_assert_str_eq(fake_steps(), "");
  check_held();
  release_all(end_on(capture, world.s));
}

/* No node makes the graph wait for home, so the thread does. */
CAPTURE_TEST(wait_for_memory_that_is_new) {
  void *other = world_alloc(&world, MIB, world.t); /* after a pool's first allocation a threshold is told again */
  wp_capture *capture = begin_on(world.s, NULL);
  fake_forget();
  void *ptr = world_alloc(&world, 3 * MIB, world.s);
  cr_assert_not_null(strstr(fake_steps(), "memory_alloc:home"), "%s", fake_steps());
  cr_assert_not_null(strstr(fake_steps(), "event_record:home"), "%s", fake_steps());
  cr_assert_null(strstr(fake_steps(), ":s"), "%s", fake_steps());
  cr_assert_geq(fake_count("event_query"), 1);
  free_on(ptr, world.s);
  release_all(end_on(capture, world.s));
  free_on(other, world.t);
}

CAPTURE_TEST(reuse_what_is_freed_on_the_same_stream) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *ptr = world_alloc(&world, 3 * MIB, world.s);
  for (int i = 0; i < 3; i++) {
    free_on(ptr, world.s);
    cr_assert_eq(world_alloc(&world, 3 * MIB, world.s), ptr);
  }
  free_on(ptr, world.s);
  cr_assert_eq(world_stats(&world).capture_bytes, 4 * MIB);
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  release_all(end_on(capture, world.s));
}

CAPTURE_TEST_IN_LANES(take_finished_memory_of_lanes)
static void captures_take_finished_memory_of_lanes(void) {
  warm_up(2 * MIB, world.t);
  wp_capture *capture = begin_on(world.s, NULL);
  fake_forget();
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  cr_assert_eq(fake_count("memory_alloc"), 0);
  free_on(ptr, world.s);
  release_all(end_on(capture, world.s));
}

CAPTURE_TEST_IN_LANES(take_nothing_unfinished)
static void captures_take_nothing_unfinished(void) {
  warm_up(2 * MIB, world.t);
  fake_stream_busy(world.t);
  pair(2 * MIB, world.t);
  wp_capture *capture = begin_on(world.s, NULL);
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  cr_assert_eq(world_stats(&world).reserved_bytes, 4 * MIB);
  cr_assert_eq(fake_waits(), 0);
  free_on(ptr, world.s);
  release_all(end_on(capture, world.s));
}

CAPTURE_TEST(give_their_memory_to_nobody_else) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  void *ptr = world_alloc(&world, 4 * MIB, world.t);
  cr_assert_eq(world_stats(&world).reserved_bytes, 8 * MIB);
  free_on(ptr, world.t);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 4 * MIB);
  wp_graph_memory *memory = end_on(capture, world.s);
  pair(2 * MIB, world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 4 * MIB);
  cr_assert_eq(world_stats(&world).capture_bytes, 4 * MIB);
  release_all(memory);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

CAPTURE_TEST(have_memory_of_its_own_for_each_of_their_streams) {
  wp_capture *capture = begin_on(world.s, NULL);
  expect(WP_OK, wp_capture_join(capture, world.t));
  fake_stream_capture(world.t, true);
  void *one = world_alloc(&world, MIB, world.s);
  free_on(one, world.s);
  void *other = world_alloc(&world, MIB, world.t);
  cr_assert_neq(one, other);
  free_on(other, world.s); /* of the other stream's: kept */
  void *third = world_alloc(&world, MIB, world.t);
  cr_assert_neq(third, other);
  fake_stream_capture(world.t, false);
  wp_graph_memory *memory = end_on(capture, world.s);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, other, world.t));
  check_held();
  release_all(memory);
  free_on(third, world.t);
}

/* -- blocks that come from outside, or stay -- */

CAPTURE_TEST(keep_what_is_freed_in_them_until_the_release) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(ptr, world.s);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  cr_assert_eq(world_stats(&world).capture_bytes, 2 * MIB);
  check_held();
  wp_graph_memory *memory = end_on(capture, world.s);
  void *next = world_alloc(&world, 2 * MIB, world.s);
  cr_assert_neq(next, ptr);
  free_on(next, world.s);
  release_all(memory);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

/* It lies in the memory that the second capture takes over, and is another graph's or nobody's all the same. */
static void free_output_of(wp_graph_memory *earlier, void *output, wp_graph_memory *share) {
  if (share == NULL) release_all(earlier);
  wp_capture *capture = begin_on(world.s, share);
  free_on(output, world.s);
  void *next = world_alloc(&world, 2 * MIB, world.s);
  cr_assert_neq(next, output, "launched twice, the graph would find what it wrote itself");
  free_on(next, world.s);
  check_held();
  expect(WP_OK, wp_graph_memory_release(end_on(capture, world.s), NULL, 0));
  if (share != NULL) release_all(earlier);
}

CAPTURE_TEST(keep_outputs_of_earlier_graphs_that_are_freed_in_them) {
  for (int shares = 0; shares < 2; shares++) {
    wp_capture *capture = begin_on(world.s, NULL);
    void *output = world_alloc(&world, 2 * MIB, world.s);
    wp_graph_memory *memory = end_on(capture, world.s);
    free_output_of(memory, output, shares ? memory : NULL);
  }
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

/* Launches may be sent to another stream, which does not come after that work. */
CAPTURE_TEST(keep_what_is_freed_in_them_for_work_from_before) {
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  wp_capture *capture = NULL;
  expect(WP_OK, wp_capture_begin(world.delegate, world.s, NULL, &capture));
  fake_stream_busy(world.s); /* also between the two */
  fake_stream_capture(world.s, true);
  free_on(ptr, world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  expect(WP_OK, wp_graph_memory_release(memory, &world.t, 1));
  void *next = world_alloc(&world, 2 * MIB, world.t);
  cr_assert_neq(next, ptr);
  free_on(next, world.t);
  cr_assert_eq(world_stats(&world).parked_bytes, 2 * MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  check_held();
}

CAPTURE_TEST(keep_their_outputs_memory_after_its_free) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *output = world_alloc(&world, 2 * MIB, world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  free_on(output, world.t);
  expect(WP_OK, wp_tick(world.runtime));
  check_held();
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  release_all(memory);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

CAPTURE_TEST(leave_outputs_to_their_owners_after_the_release) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *output = world_alloc(&world, MIB, world.s);
  free_on(world_alloc(&world, MIB / 2, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  release_all(memory);
  cr_assert(world_is_live(&world, output));
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  free_on(output, world.t);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

/* -- the release -- */

CAPTURE_TEST(that_may_still_run_are_waited_for) {
  void *outside = world_alloc(&world, 2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(outside, world.s);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_graph_memory_release(memory, &world.t, 1));
  cr_assert_eq(world_stats(&world).parked_bytes, 6 * MIB);
  check_held();
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, &report));
  cr_assert_eq(report.pending_bytes, 6 * MIB);
  fake_stream_idle(world.t);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
  check_held();
}

/* A loop of captures, launches and releases makes no other call that could look. */
CAPTURE_TEST(that_have_finished_make_room_for_the_next) {
  for (int i = 0; i < 20; i++) {
    wp_capture *capture = begin_on(world.s, NULL);
    void *output = world_alloc(&world, 2 * MIB, world.s);
    wp_graph_memory *memory = end_on(capture, world.s);
    free_on(output, world.s);
    fake_stream_busy(world.s);
    expect(WP_OK, wp_graph_memory_release(memory, &world.s, 1));
    fake_stream_idle(world.s);
    cr_assert_leq(world_stats(&world).reserved_bytes, 2 * MIB, "round %d", i);
  }
  expect(WP_OK, wp_tick(world.runtime));
}

CAPTURE_TEST(are_waited_for_by_the_last_close) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  wp_stream streams[] = {world.s, world.t};
  fake_stream_busy(world.t);
  expect(WP_OK, wp_graph_memory_release(memory, streams, 2));
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_waits(), 1);
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

CAPTURE_TEST(that_finish_after_the_last_close_are_given_back_later) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_reserved(0), 4 * MIB);
  expect(WP_OK, wp_graph_memory_release(memory, &world.t, 1));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

CAPTURE_TEST(hold_an_output_that_is_freed_while_they_may_still_run) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *output = world_alloc(&world, 2 * MIB, world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_graph_memory_release(memory, &world.t, 1));
  free_on(output, world.s);
  expect(WP_OK, wp_tick(world.runtime));
  check_held();
  cr_assert_eq(world_stats(&world).parked_bytes, 2 * MIB);
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  cr_assert_neq(ptr, output);
  free_on(ptr, world.s);
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  check_held();
}
