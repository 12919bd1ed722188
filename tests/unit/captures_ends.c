/* SPDX-License-Identifier: Apache-2.0 */
/* Declared captures that share, are aborted, are refused, or meet the end of their device; and their streams
 * afterwards. */
#include "captures_world.h"

/* -- a footprint for several -- */

CAPTURE_TEST(that_share_need_what_one_of_them_needs) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  wp_graph_memory *one = end_on(capture, world.s);
  capture = begin_on(world.t, one);
  free_on(world_alloc(&world, 4 * MIB, world.t), world.t);
  wp_graph_memory *other = end_on(capture, world.t);
  cr_assert_eq(world_stats(&world).reserved_bytes, 4 * MIB);
  expect(WP_OK, wp_graph_memory_release(one, NULL, 0));
  cr_assert_eq(world_stats(&world).capture_bytes, 4 * MIB);
  release_all(other);
}

CAPTURE_TEST(that_share_leave_each_others_outputs_alone) {
  wp_capture *capture = begin_on(world.s, NULL);
  void *output = world_alloc(&world, 4 * MIB, world.s);
  wp_graph_memory *one = end_on(capture, world.s);
  capture = begin_on(world.s, one);
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  cr_assert_neq(ptr, output);
  free_on(ptr, world.s);
  wp_graph_memory *other = end_on(capture, world.s);
  expect(WP_OK, wp_graph_memory_release(other, NULL, 0));
  free_on(output, world.s);
  release_all(one);
}

/* -- aborts -- */

CAPTURE_TEST(that_are_aborted_keep_nothing) {
  void *outside = world_alloc(&world, 2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(outside, world.s);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  expect(WP_ERROR_CAPTURING, wp_capture_abort(capture));
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_capture_abort(capture));
  cr_assert_eq(world_stats(&world).capture_bytes, 0);
  check_held();
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

CAPTURE_TEST(that_are_aborted_wait_for_what_was_sent_before) {
  wp_capture *capture = NULL;
  expect(WP_OK, wp_capture_begin(world.delegate, world.s, NULL, &capture));
  fake_stream_busy(world.s);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  expect(WP_OK, wp_capture_abort(capture));
  cr_assert_eq(world_stats(&world).parked_bytes, 4 * MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

CAPTURE_TEST(that_are_aborted_after_the_last_close_keep_nothing) {
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_capture_abort(capture));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

/* -- what is refused -- */

CAPTURE_TEST(refuse_calls_that_a_capture_cannot_take_in) {
  void *ptr = world_alloc(&world, MIB, world.t), *none = &none;
  wp_capture *capture = begin_on(world.s, NULL), *second = NULL;
  wp_graph_memory *memory = NULL;
  wp_stream streams[] = {world.t, world.s};
  expect(WP_ERROR_CAPTURING, wp_note_use(world.runtime, ptr, world.s));
  expect(WP_ERROR_CAPTURING, wp_free_after(world.runtime, ptr, streams, 2));
  cr_assert(world_is_live(&world, ptr));
  expect(WP_ERROR_CAPTURING, wp_prime(world.delegate, MIB, world.s));
  expect(WP_ERROR_CAPTURING, wp_stream_retire(world.runtime, 0, world.s));
  expect(WP_ERROR_CAPTURING, wp_capture_begin(world.delegate, world.s, NULL, &second));
  expect(WP_ERROR_CAPTURING, wp_capture_join(capture, world.s));
  expect(WP_ERROR_CAPTURING, wp_capture_end(capture, &memory));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_capture_end(capture, NULL));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_capture_end(NULL, &memory));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_capture_join(NULL, world.t));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_capture_join(capture, WP_STREAM_LEGACY));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_capture_begin(world.delegate, (wp_stream)1, NULL, &second));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_capture_begin(world.delegate, world.t, NULL, NULL));
  expect(WP_OK, wp_capture_abort(NULL));
  expect(WP_OK, wp_graph_memory_release(NULL, NULL, 0));
  (void)none;
  free_on(ptr, world.t);
  memory = end_on(capture, world.s);
  expect(WP_ERROR_INVALID_ARGUMENT, wp_graph_memory_release(memory, NULL, 1));
  fake_stream_capture(world.t, true);
  expect(WP_ERROR_CAPTURING, wp_graph_memory_release(memory, &world.t, 1));
  fake_stream_capture(world.t, false);
  release_all(memory);
}

CAPTURE_TEST(keep_the_runtime_from_its_destruction) {
  wp_capture *capture = begin_on(world.s, NULL);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  cr_assert_not_null(strstr(world_error().message, "the memory not released"));
  wp_graph_memory *memory = end_on(capture, world.s);
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  release_all(memory);
  reopen();
}

CAPTURE_TEST(of_a_lost_device_end_without_the_driver) {
  void *outside = world_alloc(&world, 2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL), *second = NULL;
  wp_graph_memory *memory = NULL;
  free_on(outside, world.s);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_capture_end(capture, &memory));
  expect(WP_OK, wp_capture_begin(world.delegate, world.t, NULL, &second));
  expect(WP_OK, wp_device_lost(world.runtime, 0));
  fake_forget();
  expect(WP_ERROR_NO_DEVICE, wp_capture_end(second, &memory));
  expect(WP_OK, wp_capture_abort(second));
  expect(WP_OK, wp_graph_memory_release(memory, &world.t, 1));
  cr_assert_eq(fake_count(NULL), 0, "%s", fake_log(false));
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_reset(); /* the reset, as far as the driver is concerned */
  world.s = fake_stream(0);
  reopen();
}

/* -- the streams are ordinary ones again -- */

CAPTURE_TEST_IN_LANES(leave_their_streams_as_they_were)
static void captures_leave_their_streams_as_they_were(void) {
  warm_up(MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, MIB, world.s), world.s);
  release_all(end_on(capture, world.s));
  pair(MIB, world.s);
  uint64_t hits = world_stats(&world).lane_hits;
  pair(MIB, world.s);
  cr_assert_eq(world_stats(&world).lane_hits, hits + 1);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
}

/* It would invalidate some drivers' captures. */
CAPTURE_TEST(have_no_event_of_their_streams_asked_for) {
  pair(2 * MIB, world.s);
  void *parked = world_alloc(&world, 2 * MIB, world.t);
  fake_stream_busy(world.s);
  free_on(parked, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  fake_forget();
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_count("event_query"), 0, "%s", fake_log(false));
  cr_assert_eq(fake_waits(), 0);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
  release_all(memory);
}

WORLD_TEST(captures_declared, record_what_was_put_off_when_they_begin, start_declared) {
  warm_up(2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  cr_assert_eq(fake_count("event_record"), 1);
  release_all(end_on(capture, world.s)); /* which waits for what another event, recorded at the end, stands for */
  void *ptr = world_alloc(&world, 2 * MIB, world.t);
  cr_assert_eq(fake_count("event_record"), 2);
  cr_assert_eq(world_stats(&world).steals, 1);
  free_on(ptr, world.t);
}

/* One arena after the other lives in the same records and memory. */
CAPTURE_TEST_IN_LANES(that_come_and_go_need_no_more_each_time)
static void captures_that_come_and_go_need_no_more_each_time(void) {
  for (int i = 0; i < 50; i++) {
    wp_capture *capture = begin_on(world.s, NULL);
    free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
    release_all(end_on(capture, world.s));
    cr_assert_eq(world_stats(&world).reserved_bytes, 4 * MIB);
  }
  cr_assert_eq(world_stats(&world).driver_allocs, 1);
}

/* -- what a graph leaves -- */

CAPTURE_TEST(that_kept_a_block_others_still_use_are_all_waited_for_by_a_release) {
  void *outside = world_alloc(&world, 4 * MIB, world.s);
  wp_stream launches = fake_stream(0);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, outside, world.t));
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(outside, world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_stream_busy(launches);
  expect(WP_OK, wp_graph_memory_release(memory, &launches, 1));
  cr_assert_eq(world_stats(&world).parked_bytes, 4 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_waits(), 2);
  cr_assert_eq(fake_reserved(0), 0);
}

static void expect_bounded(bool aborts) {
  world_options.release_threshold = 8 * MIB;
  start_checked();
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 64 * MIB, world.s), world.s);
  if (aborts) {
    fake_stream_capture(world.s, false);
    expect(WP_OK, wp_capture_abort(capture));
  } else {
    release_all(end_on(capture, world.s));
  }
  cr_assert_leq(world_stats(&world).cached_bytes, 8 * MIB);
  check_held();
}
WORLD_TEST(captures_bounded, that_are_released_leave_no_more_than_the_threshold, nothing_yet) { expect_bounded(false); }
WORLD_TEST(captures_bounded, that_are_aborted_leave_no_more_than_the_threshold, nothing_yet) { expect_bounded(true); }

WORLD_TEST(captures_bounded, whose_last_launch_ends_later_leave_no_more_than_the_threshold_after_a_tick, nothing_yet) {
  world_options.release_threshold = 8 * MIB;
  start_checked();
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(world_alloc(&world, 64 * MIB, world.s), world.s);
  wp_graph_memory *memory = end_on(capture, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_graph_memory_release(memory, &world.t, 1));
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_leq(world_stats(&world).cached_bytes, 8 * MIB);
  check_held();
}
