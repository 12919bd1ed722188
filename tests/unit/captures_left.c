/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that failed, on a driver that goes on saying of their streams that they are being captured, and answers no
 * question about them (H21): the caller says that they are over. */
#include <pthread.h>

#include "captures_world.h"

static void start_left_checked(void) {
  fake.capabilities &= ~WP_CAP_CAPTURES_END;
  start_checked();
}
static void start_left_declared(void) {
  fake.capabilities &= ~WP_CAP_CAPTURES_END;
  start_declared();
}
static void start_left_driver(void) {
  fake.capabilities &= ~WP_CAP_CAPTURES_END;
  start_driver();
}

#define LEFT_TEST(name)                                                                                                \
  static void left_##name(void);                                                                                       \
  WORLD_TEST(left_checked, name, start_left_checked) { left_##name(); }                                                \
  WORLD_TEST(left_declared, name, start_left_declared) { left_##name(); }                                              \
  WORLD_TEST(left_driver, name, start_left_driver) { left_##name(); }                                                  \
  static void left_##name(void)

/* -- what had been sent to their streams before had finished -- */

LEFT_TEST(captures_give_everything_back) {
  wp_graph_memory *none = NULL;
  void *outside = world_alloc(&world, 2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  void *live = world_alloc(&world, MIB, world.s);
  free_on(outside, world.s);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  expect(WP_ERROR_CAPTURING, wp_capture_end(capture, &none));
  expect(WP_OK, wp_capture_abort(capture));
  cr_assert_eq(world_stats(&world).capture_bytes, 0);
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  check_held();
  free_on(live, world.t);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

LEFT_TEST(captures_leave_what_was_freed_before_to_others) {
  pair(2 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  expect(WP_OK, wp_capture_abort(capture));
  free_on(world_alloc(&world, 2 * MIB, world.t), world.t);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

LEFT_TEST(captures_give_back_what_was_freed_before) {
  pair(2 * MIB, world.s);
  expect(WP_OK, wp_capture_abort(begin_on(world.s, NULL)));
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

LEFT_TEST(captures_give_back_what_could_not_be_recorded_before) {
  void *block = world_alloc(&world, 2 * MIB, world.s);
  fake_fail("event_record", 1, WP_ERROR_DRIVER);
  free_on(block, world.s);
  expect(WP_OK, wp_capture_abort(begin_on(world.s, NULL)));
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

LEFT_TEST(captures_have_no_block_wait_for_their_streams) {
  void *block = world_alloc(&world, 2 * MIB, world.t);
  expect(WP_OK, wp_note_use(world.runtime, block, world.s));
  wp_capture *capture = begin_on(world.s, NULL);
  expect(WP_OK, wp_capture_abort(capture));
  free_on(block, world.t);
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
}

LEFT_TEST(captures_free_the_streams_that_the_driver_lets_go) {
  wp_capture *capture = begin_on(world.s, NULL);
  expect(WP_OK, wp_capture_join(capture, world.t));
  fake_stream_capture(world.t, true);
  free_on(world_alloc(&world, 4 * MIB, world.t), world.t);
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_capture_abort(capture));
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  cr_assert_eq(fake_reserved(0), 4 * MIB);
}

LEFT_TEST(captures_wait_for_the_streams_that_the_driver_lets_go) {
  wp_capture *capture = begin_on(world.s, NULL);
  expect(WP_OK, wp_capture_join(capture, world.t));
  fake_stream_capture(world.t, true);
  void *used = world_alloc(&world, 4 * MIB, world.s);
  fake_stream_capture(world.s, false);
  fake_stream_busy(world.s);
  free_on(used, world.s);
  expect(WP_OK, wp_capture_abort(capture));
  wp_stream other = fake_stream(0);
  void *block = world_alloc(&world, 4 * MIB, other);
  cr_assert_neq(block, used);
  free_on(block, other);
}

LEFT_TEST(captures_tell_their_stream_from_the_next_of_its_handle) {
  pair(2 * MIB, world.s);
  for (int i = 0; i < 3; i++) {
    wp_capture *capture = begin_on(world.s, NULL);
    free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
    expect(WP_OK, wp_capture_abort(capture));
    fake_stream_capture(world.s, false);
    pair(2 * MIB, world.s);
    release_all(end_on(begin_on(world.s, NULL), world.s));
  }
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

LEFT_TEST(captures_say_nothing_of_an_earlier_stream_of_the_handle) {
  void *block = world_alloc(&world, 2 * MIB, world.t);
  fake_stream_busy(world.s);
  expect(WP_OK, wp_note_use(world.runtime, block, world.s));
  if (world_options.stream_contract == WP_STREAMS_DECLARED) {
    expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  }
  wp_stream again = fake_stream_recycled(world.s);
  wp_capture *capture = begin_on(again, NULL);
  expect(WP_OK, wp_capture_abort(capture));
  free_on(block, world.t);
  cr_assert_eq(world_stats(&world).parked_bytes, 2 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
}

/* -- it had not, and nobody will know when it has -- */

static void end_with(uint64_t bytes, int objects) {
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  expect(WP_PENDING, wp_runtime_destroy(world.runtime));
  cr_assert_not_null(strstr(world.logged, "left to the driver"));
  cr_assert_geq(fake_reserved(0), bytes);
  cr_assert_eq(fake_objects(), objects, "%d driver objects are left", fake_objects());
  fake_reset();
  world_start(&world);
}

static int pools_left(void) { return world_options.caching == WP_CACHING_LANES ? 1 : 0; }

LEFT_TEST(captures_keep_what_their_streams_may_still_use) {
  void *outside = world_alloc(&world, 2 * MIB, world.s), *noted = world_alloc(&world, 2 * MIB, world.t);
  expect(WP_OK, wp_note_use(world.runtime, noted, world.s));
  fake_stream_busy(world.s);
  pair(8 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(outside, world.s);
  free_on(world_alloc(&world, 4 * MIB, world.s), world.s);
  expect(WP_OK, wp_capture_abort(capture));
  free_on(noted, world.t);
  cr_assert_eq(world_stats(&world).parked_bytes, 4 * MIB);
  check_held();
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), (8 + 4) * MIB, "what the capture allocated itself is free");
  cr_assert_eq(fake_waits(), 0);
  end_with(4 * MIB, pools_left());
}

LEFT_TEST(captures_lose_no_event_of_a_block_that_they_keep) {
  void *outside = world_alloc(&world, 2 * MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, outside, world.t));
  fake_stream_busy(world.s);
  pair(8 * MIB, world.s);
  wp_capture *capture = begin_on(world.s, NULL);
  free_on(outside, world.s);
  expect(WP_OK, wp_capture_abort(capture));
  end_with(2 * MIB, pools_left());
}

/* A block that waits for a stream which was left, idle, and for another one. */
static void end_while_others_are_busy(void) {
  wp_stream other = fake_stream(0), both[] = {world.s, other};
  void *block = world_alloc(&world, 2 * MIB, world.t);
  fake_stream_busy(other);
  expect(WP_OK, wp_free_after(world.runtime, block, both, 2));
  expect(WP_OK, wp_capture_abort(begin_on(world.s, NULL)));
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  expect(WP_PENDING, wp_runtime_destroy(world.runtime));
  cr_assert_eq(fake_objects(), 0, "%d driver objects are left", fake_objects());
  fake_reset();
  world_start(&world);
}
static void start_left_checked_without_waits(void) {
  world_options.release_wait = WP_NO_WAIT;
  start_left_checked();
}
static void start_left_driver_without_waits(void) {
  world_options.release_wait = WP_NO_WAIT;
  start_left_driver();
}
WORLD_TEST(left_checked, captures_are_not_waited_for_in_the_end, start_left_checked_without_waits) {
  end_while_others_are_busy();
}
WORLD_TEST(left_driver, captures_are_not_waited_for_in_the_end, start_left_driver_without_waits) {
  end_while_others_are_busy();
}

/* -- a capture that begins while somebody waits for its stream -- */

static void *trim_and_wait(void *answer) {
  *(wp_status *)answer = wp_trim(world.runtime, 0, 0, WP_WAIT, NULL);
  return NULL;
}

static void begin_while_another_waits(void) {
  wp_status answer = WP_OK;
  pthread_t thread;
  fake_forget();
  cr_assert_eq(pthread_create(&thread, NULL, trim_and_wait, &answer), 0);
  while (fake_count("event_query") < 3) wp__yield();
  wp_capture *capture = begin_on(world.s, NULL);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_assert_eq(answer, WP_PENDING);
  fake_all_idle();
  release_all(end_on(capture, world.s));
}

LEFT_TEST(captures_begin_while_another_waits_for_frees_of_the_stream) {
  pair(2 * MIB, world.s);
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  begin_while_another_waits();
}

LEFT_TEST(captures_begin_while_another_waits_for_uses_of_the_stream) {
  void *block = world_alloc(&world, 2 * MIB, world.t);
  fake_stream_busy(world.s);
  expect(WP_OK, wp_note_use(world.runtime, block, world.s));
  free_on(block, world.t);
  begin_while_another_waits();
}

/* -- refusals -- */

LEFT_TEST(captures_that_cannot_note_earlier_work_do_not_begin) {
  static const char *const entries[] = {"event_create", "event_record", "event_query"};
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    wp_capture *capture = NULL;
    fake_fail(entries[i], 1, WP_ERROR_DRIVER);
    expect(WP_ERROR_DRIVER, wp_capture_begin(world.delegate, world.s, NULL, &capture));
    capture = begin_on(world.s, NULL);
    fake_fail(i == 0 ? "event_record" : entries[i], 1, WP_ERROR_DRIVER); /* there is an event to spare now */
    expect(WP_ERROR_DRIVER, wp_capture_join(capture, world.t));
    release_all(end_on(capture, world.s));
  }
}

/* -- another thread's own stream has the same handle -- */

static void *use_own_stream(void *nothing) {
  pair(MIB, WP_STREAM_PER_THREAD);
  return nothing;
}

LEFT_TEST(captures_of_a_threads_stream_are_not_asked_about_for_anothers) {
  pthread_t thread;
  pair(2 * MIB, WP_STREAM_PER_THREAD);
  fake_stream_busy(WP_STREAM_PER_THREAD);
  pair(2 * MIB, WP_STREAM_PER_THREAD);
  wp_capture *capture = begin_on(WP_STREAM_PER_THREAD, NULL);
  cr_assert_eq(pthread_create(&thread, NULL, use_own_stream, NULL), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  wp_graph_memory *memory = end_on(capture, WP_STREAM_PER_THREAD);
  fake_stream_idle(WP_STREAM_PER_THREAD);
  release_all(memory);
}
