/* SPDX-License-Identifier: Apache-2.0 */
/* wp_note_use, wp_free_after, and the blocks that wait for other streams. */
#include "world.h"

#include <pthread.h>

static struct world world;
static void start(void) { world_start(&world); }
static void start_unordered(void) {
  fake.capabilities &= ~WP_CAP_ORDERED_FREE;
  world_start(&world);
}
static void start_declared(void) {
  world_options.stream_contract = WP_STREAMS_DECLARED;
  world_start(&world);
}

WORLD_TEST(uses, a_free_waits_for_the_noted_stream_and_holds_up_nobody, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(fake_count("memory_free"), 0);
  cr_assert_eq(fake_count("event_wait"), 0);
  cr_assert_eq(fake_waits(), 0);
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.live_bytes, 0);
  cr_assert_eq(stats.parked_bytes, MIB);
  cr_assert_eq(stats.reserved_bytes, MIB);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count("memory_free"), 1);
  cr_assert_not(fake_named(world.t));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
}

static void free_elsewhere(wp_stream stream, const char *other_calls) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(stream);
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, stream));
  cr_assert_str_eq(fake_log(true), other_calls);
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  fake_stream_idle(stream);
  fake_forget();
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count("memory_free"), 1);
  cr_assert_not(fake_named(stream));
  cr_assert_not(fake_named(world.s));
}

WORLD_TEST(uses, a_free_on_another_stream_reaches_the_driver_when_that_has_finished, start) {
  free_elsewhere(world.t, "event_create event_record");
}

WORLD_TEST(uses, a_free_on_another_stream_reaches_the_driver_then_when_declared_too, start_declared) {
  free_elsewhere(world.t, "event_create event_record");
}

WORLD_TEST(uses, a_free_on_another_stream_harms_no_capture_of_that, start_declared) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_capture(world.t, true);
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, world.t));
  fake_stream_capture(world.t, false);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(uses, a_free_on_another_stream_goes_to_the_driver_at_once_when_all_are_closed, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  world.delegate = NULL;
  fake_stream_busy(world.t);
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, world.t));
  cr_assert_eq(fake_count("memory_free"), 1);
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  fake_stream_idle(world.t);
}

WORLD_TEST(uses, a_free_on_another_stream_waits_then_too_where_the_driver_orders_none, start_unordered) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  world.delegate = NULL;
  fake_stream_busy(world.t);
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, world.t));
  cr_assert_eq(fake_count("memory_free"), 0);
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count("memory_free"), 1);
}

/* A handle that was retired may be another stream's now, and that one may be captured. */
WORLD_TEST(uses, a_free_on_a_retired_stream_s_handle_harms_no_capture, start_declared) {
  void *old = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  wp_stream next = fake_stream_recycled(world.s);
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, next), next));
  fake_stream_capture(next, true);
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, old, next));
  fake_stream_capture(next, false);
  expect(WP_OK, wp_free(world.runtime, old, next));
}

static void *take_on_own_stream(void *out) {
  *(void **)out = world_alloc(&world, MIB, WP_STREAM_PER_THREAD);
  return NULL;
}

WORLD_TEST(uses, a_block_of_another_thread_s_own_stream_is_of_another_stream, start) {
  pthread_t thread;
  void *ptr = NULL;
  cr_assert_eq(pthread_create(&thread, NULL, take_on_own_stream, &ptr), 0);
  (void)pthread_join(thread, NULL);
  fake_stream_busy(WP_STREAM_PER_THREAD);
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, WP_STREAM_PER_THREAD));
  cr_assert_eq(fake_count("memory_free"), 0);
  fake_all_idle();
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count("memory_free"), 1);
}

WORLD_TEST(uses, a_parked_block_is_freed_by_later_calls_too, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_stream_idle(world.t);
  void *other = world_alloc(&world, MIB, world.s);
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  expect(WP_OK, wp_free(world.runtime, other, world.s));
}

WORLD_TEST(uses, notes_that_have_finished_cost_no_parking, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_str_eq(fake_log(true), "memory_free event_record");
}

WORLD_TEST(uses, a_note_of_the_freeing_stream_needs_no_waiting, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.s);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.s));
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_str_eq(fake_log(true), "event_create memory_free event_record");
}

WORLD_TEST(uses, a_free_that_fails_keeps_the_notes, start) {
  for (int i = 0; i < 3; i++) {
    static const char *const failing[] = {"memory_free", "event_create", "stream_capturing"};
    void *ptr = world_alloc(&world, MIB, world.s);
    fake_stream_busy(world.t);
    expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
    fake_fail(failing[i], 1, WP_ERROR_DRIVER);
    if (wp_free(world.runtime, ptr, world.t) != WP_OK) {
      fake_forget();
      expect(WP_OK, wp_free(world.runtime, ptr, world.s));
      cr_assert_eq(fake_count("memory_free"), 0, "%s: freed while the noted stream uses it", failing[i]);
    }
    fake_fail(NULL, 0, WP_OK);
    fake_stream_idle(world.t);
    expect(WP_OK, wp_tick(world.runtime));
  }
}

WORLD_TEST(uses, nothing_fails_while_a_driver_frees_nothing, start) {
  void *noted = world_alloc(&world, MIB, world.t);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, noted, world.t));
  fake.captures_forbid = true;
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, noted, world.t));
  expect(WP_OK, wp_free_after(world.runtime, world_alloc(&world, MIB, world.s), NULL, 0));
  expect(WP_OK, wp_tick(world.runtime));
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  fake.captures_forbid = false;
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, noted, world.s));
  cr_assert_eq(fake_count("memory_free"), 1); /* the parked one; the noted stream still uses the other */
}

WORLD_TEST(uses, a_report_tells_what_is_parked_where_others_stay_open, start) {
  wp_delegate *second;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &second));
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_delegate_close(second, &report));
  cr_assert_eq(report.pending_bytes, MIB);
}

WORLD_TEST(uses, a_later_note_of_a_stream_replaces_the_earlier_one, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  long before = wp__test_allocations();
  for (int i = 0; i < 100; i++) expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  cr_assert_eq(wp__test_allocations(), before);
  cr_assert_leq(fake_count("event_create"), 2);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
}

WORLD_TEST(uses, free_after_waits_for_each_stream, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  wp_stream third = fake_stream(0);
  wp_stream streams[] = {world.s, world.t, third};
  fake_stream_busy(world.t);
  fake_stream_busy(third);
  expect(WP_OK, wp_free_after(world.runtime, ptr, streams, 3));
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  fake_stream_idle(third);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
}

WORLD_TEST(uses, free_after_nothing_frees_on_the_library_s_own_stream_at_once, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.s);
  fake_forget();
  expect(WP_OK, wp_free_after(world.runtime, ptr, NULL, 0));
  cr_assert_str_eq(fake_log(true), "memory_free");
  cr_assert_not(fake_named(world.s));
}

WORLD_TEST(uses, free_after_one_stream_is_a_free, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_forget();
  expect(WP_OK, wp_free_after(world.runtime, ptr, &world.s, 1));
  cr_assert_str_eq(fake_log(true), "event_create memory_free event_record");
}

WORLD_TEST(uses, a_capturing_stream_cannot_be_noted_or_waited_for, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  wp_stream streams[] = {world.s, world.t};
  fake_stream_capture(world.t, true);
  expect(WP_ERROR_CAPTURING, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_ERROR_CAPTURING, wp_free_after(world.runtime, ptr, streams, 2));
  cr_assert(world_is_live(&world, ptr));
  fake_stream_capture(world.t, false);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  fake_stream_capture(world.s, true);
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, world.s));
  cr_assert(world_is_live(&world, ptr));
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(uses, a_driver_that_frees_nothing_during_a_capture_is_asked_again, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake.captures_forbid = true;
  expect(WP_OK, wp_free_after(world.runtime, ptr, NULL, 0));
  cr_assert_eq(world.log_lines, 0);
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  fake.captures_forbid = false;
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
}

WORLD_TEST(uses, wp_free_works_without_host_memory, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  void *other = world_alloc(&world, MIB, world.s);
  wp__test_fail_allocations(true);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_free(world.runtime, other, world.t)); /* a stream that was not seen before */
  wp__test_fail_allocations(false);
  cr_assert_eq(world_stats(&world).live_blocks, 0);
}

WORLD_TEST(uses, a_release_waits_for_parked_blocks, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, &report));
  cr_assert_eq(report.pending_bytes, MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert_eq(report.returned_bytes, MIB);
  cr_assert_eq(report.reserved_after, 0);
  cr_assert_eq(fake_waits(), 1);
}

WORLD_TEST(uses, many_events_are_returned_to_the_driver, start) {
  void *ptrs[100];
  fake_stream_busy(world.t);
  for (int i = 0; i < 100; i++) {
    ptrs[i] = world_alloc(&world, 512, world.s);
    expect(WP_OK, wp_note_use(world.runtime, ptrs[i], world.t));
  }
  for (int i = 0; i < 100; i++) expect(WP_OK, wp_free(world.runtime, ptrs[i], world.s));
  cr_assert_gt(fake_objects(), 100);
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_leq(fake_objects(), 64 + 4); /* the cache of events; pool, home, the streams' own */
}
