/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two calls at once, with the second one forced into the middle of the first: it runs to its end on another thread
 * while the first is inside a named entry of the driver.
 */
#include "hooks.h"
#include "world.h"

TestSuite(interleavings, .timeout = 10);

static struct world world;
static void *shared;
static wp_delegate *other;
static wp_status other_status;

static void start(void) {
  world_options.backend = hooks_backend();
  world_start(&world);
}
static void start_no_wait(void) {
  world_options.release_wait = WP_NO_WAIT;
  start();
}
static void reopen(void) { expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &world.delegate)); }
static void close_now(void) { other_status = wp_delegate_close(world.delegate, NULL); }

/* -- captures that begin or end meanwhile -- */

static void end_implicit_capture(void) { fake_legacy_implicit(0, false); }

WORLD_TEST(interleavings, an_allocation_that_saw_a_capture_end_is_refused_or_gives_a_block, start) {
  void *out = &world;
  fake_legacy_implicit(0, true);
  hooks_arm("stream_capturing", 1, end_implicit_capture);
  expect(WP_ERROR_CAPTURING, wp_alloc(world.delegate, MIB, WP_STREAM_LEGACY, &out));
  cr_assert_eq(out, &world);
}

static void end_capture(void) { fake_stream_capture(world.s, false); }

WORLD_TEST(interleavings, a_free_that_saw_a_capture_end_is_refused, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_capture(world.s, true);
  hooks_arm("stream_capturing", 1, end_capture);
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

/* -- notes -- */

static void note_later_work(void) {
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, shared, world.t));
}

WORLD_TEST(interleavings, the_later_of_two_notes_of_a_stream_counts, start) {
  shared = world_alloc(&world, MIB, world.s);
  hooks_arm("event_record", 1, note_later_work);
  expect(WP_OK, wp_note_use(world.runtime, shared, world.t));
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, shared, world.s));
  cr_assert_eq(fake_count("memory_free"), 0, "freed while the noted stream uses it");
}

/* -- releases -- */

static void free_busy(void) {
  fake_stream_busy(world.s);
  expect(WP_OK, wp_free(world.runtime, shared, world.s));
}

WORLD_TEST(interleavings, a_release_without_waiting_does_not_wait_for_a_later_free, start) {
  shared = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, world.s), world.s));
  hooks_arm("event_query", 1, free_busy);
  wp_status trimmed = wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL);
  cr_assert(trimmed == WP_OK || trimmed == WP_PENDING);
  cr_assert_eq(fake_waits(), 0);
}

static void tick_when_finished(void) {
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
}

WORLD_TEST(interleavings, a_tick_beside_the_last_close_strands_nothing, start_no_wait) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  hooks_arm("pool_usage", 2, tick_when_finished);
  wp_status closed = wp_delegate_close(world.delegate, NULL);
  cr_assert(closed == WP_OK || closed == WP_PENDING);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(interleavings, a_close_beside_a_trim_that_keeps_strands_nothing, start) {
  expect(WP_OK, wp_free_after(world.runtime, world_alloc(&world, MIB, world.s), NULL, 0));
  hooks_arm("stream_synchronize", 1, close_now);
  expect(WP_OK, wp_trim(world.runtime, 0, 512 * MIB, WP_WAIT, NULL));
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

static void free_late(void) {
  expect(WP_OK, wp_free(world.runtime, shared, world.s));
  fake_fail("pool_set_threshold", 1, WP_ERROR_DRIVER);
}

WORLD_TEST(interleavings, a_late_free_beside_an_open_that_fails_goes_back, start) {
  shared = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  hooks_arm("pool_set_threshold", 1, free_late);
  expect(WP_ERROR_DRIVER, wp_delegate_open(world.runtime, 0, NULL, &other));
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(interleavings, priming_beside_the_last_close_strands_nothing, start) {
  hooks_arm("memory_alloc", 1, close_now);
  expect(WP_OK, wp_prime(world.delegate, MIB, world.s));
  expect(WP_OK, other_status);
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

/* -- a delegate that closes under an allocation -- */

WORLD_TEST(interleavings, a_block_of_a_delegate_closed_meanwhile_keeps_the_runtime, start) {
  void *ptr = NULL;
  hooks_arm("memory_alloc", 1, close_now);
  expect(WP_OK, wp_alloc(world.delegate, MIB, world.s, &ptr));
  expect(WP_OK, other_status);
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  reopen();
}

WORLD_TEST(interleavings, a_record_is_listed_once_whoever_lets_it_go_last, start) {
  wp_delegate *opened[3];
  void *ptr = NULL;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &other));
  hooks_arm("memory_alloc", 1, close_now);
  expect(WP_OK, wp_alloc(world.delegate, MIB, world.s, &ptr));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime)); /* `other` is open */
  for (int i = 0; i < 3; i++) expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &opened[i]));
  cr_assert(opened[0] != opened[1] && opened[1] != opened[2] && opened[0] != opened[2] && opened[0] != other);
  for (int i = 0; i < 3; i++) expect(WP_OK, wp_delegate_close(opened[i], NULL));
  world.delegate = other;
}
