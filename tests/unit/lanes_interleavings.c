/* SPDX-License-Identifier: Apache-2.0 */
/* Two calls at once in WP_CACHING_LANES, with the second one forced into the middle of the first. */
#include <string.h>

#include "hooks.h"
#include "lanes_world.h"

TestSuite(lanes_interleavings, .timeout = 10);

static void *shared, *taken;
static wp_delegate *other;
static wp_status other_status;

static void start(void) {
  world_options.backend = hooks_backend();
  start_checked();
}

/* -- closes and opens -- */

static void close_now(void) { other_status = wp_delegate_close(world.delegate, NULL); }

WORLD_TEST(lanes_interleavings, a_delegate_closed_under_its_allocation_gets_no_block, start) {
  void *out = &world;
  other = open_delegate();
  hooks_arm("memory_alloc", 1, close_now);
  expect(WP_ERROR_INVALID_ARGUMENT, wp_alloc(world.delegate, MIB, world.s, &out));
  expect(WP_OK, other_status);
  cr_assert_eq(out, &world);
  check_sums();
  world.delegate = other; /* to which the memory is warm */
  fake_forget();
  pair(MIB, world.s);
  cr_assert_eq(fake_count("memory_alloc"), 0);
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime)); /* for `other` alone */
  cr_assert_not_null(strstr(world_error().message, "1 delegates are open, and 0 are closed"), "%s",
                     world_error().message);
}

WORLD_TEST(lanes_interleavings, a_block_outlives_a_delegate_closed_under_its_free, start) {
  other = open_delegate();
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  hooks_arm("stream_capturing", 1, close_now);
  free_on(ptr, world.s);
  cr_assert(hooks_ran());
  check_sums();
  wp_stats stats = WP_STATS_INIT;
  expect(WP_ERROR_INVALID_ARGUMENT, wp_delegate_stats(world.delegate, &stats)); /* its record is free again */
  world.delegate = other;
}

static void open_and_alloc(void) {
  other = open_delegate();
  expect(WP_OK, wp_alloc(other, MIB, world.s, &shared));
}

WORLD_TEST(lanes_interleavings, an_open_during_the_last_close_keeps_what_it_has, start) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  warm_up(MIB, world.s);
  hooks_arm("pool_usage", 1, open_and_alloc);
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert(hooks_ran());
  cr_assert_eq(report.live_bytes, MIB);
  cr_assert(world_is_live(&world, shared));
  world.delegate = other;
  free_on(shared, world.s);
  expect(WP_OK, wp_tick(world.runtime)); /* takes nothing from the one that is open */
  fake_forget();
  pair(MIB, world.s);
  cr_assert_eq(fake_count("memory_alloc"), 0);
}

/* -- two of one stream -- */

static void free_shared(void) { other_status = wp_free(world.runtime, shared, world.s); }
static void free_twice(const char *entry, int nth, wp_status hooked, wp_status interrupted) {
  warm_up(MIB, world.s);
  shared = world_alloc(&world, MIB, world.s);
  hooks_arm(entry, nth, free_shared);
  expect(interrupted, wp_free(world.runtime, shared, world.s));
  cr_assert(hooks_ran());
  expect(hooked, other_status);
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  check_sums();
  void *one = world_alloc(&world, MIB, world.s), *two = world_alloc(&world, MIB, world.s);
  cr_assert_neq(one, two);
  free_on(one, world.s);
  free_on(two, world.s);
}

WORLD_TEST(lanes_interleavings, of_two_frees_at_once_one_is_a_hit, start) {
  free_twice("stream_capturing", 1, WP_OK, WP_ERROR_INVALID_POINTER);
  free_twice("event_record", 1, WP_ERROR_INVALID_POINTER, WP_OK);
}

static void free_there(void) { other_status = wp_free(world.runtime, shared, world.t); }

WORLD_TEST(lanes_interleavings, of_two_frees_on_two_streams_one_counts, start) {
  warm_up(MIB, world.s);
  shared = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  hooks_arm("stream_capturing", 1, free_there);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, shared, world.s));
  expect(WP_OK, other_status);
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  check_sums();
}

/* -- notes beside a free -- */

WORLD_TEST(lanes_interleavings, a_note_of_a_block_freed_meanwhile_is_refused, start) {
  warm_up(MIB, world.s);
  shared = world_alloc(&world, MIB, world.s);
  hooks_arm("event_record", 1, free_shared);
  expect(WP_ERROR_INVALID_POINTER, wp_note_use(world.runtime, shared, world.t));
  expect(WP_OK, other_status);
  pair(MIB, world.s);
}

static void free_and_alloc(void) {
  free_shared();
  taken = world_alloc(&world, MIB, world.s);
}

WORLD_TEST(lanes_interleavings, a_note_does_not_stick_to_the_next_block_at_the_address, start) {
  warm_up(MIB, world.s);
  shared = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  hooks_arm("event_record", 1, free_and_alloc);
  expect(WP_ERROR_INVALID_POINTER, wp_note_use(world.runtime, shared, world.t));
  cr_assert_eq(taken, shared);
  free_on(taken, world.s);
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
}

static void note_shared(void) {
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, shared, world.t));
}

WORLD_TEST(lanes_interleavings, a_note_that_comes_before_the_claim_is_waited_for, start) {
  warm_up(MIB, world.s);
  shared = world_alloc(&world, MIB, world.s);
  hooks_arm("stream_capturing", 1, note_shared);
  free_on(shared, world.s);
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  void *next = world_alloc(&world, MIB, world.s);
  cr_assert_neq(next, shared);
  free_on(next, world.s);
}

/* -- steals and trims beside frees -- */

static void free_busy(void) {
  fake_stream_busy(world.s);
  expect(WP_OK, wp_free(world.runtime, shared, world.s));
}

/* Both parts of the segment are free when the thief looks, one of them finished. */
WORLD_TEST(lanes_interleavings, a_steal_does_not_take_what_is_freed_meanwhile, start) {
  shared = world_alloc(&world, MIB, world.s);
  pair(MIB, world.s);
  hooks_arm("event_query", 1, free_busy);
  void *ptr = world_alloc(&world, 512, world.t);
  cr_assert(hooks_ran());
  cr_assert_eq(world_stats(&world).steals, 0);
  check_sums();
  free_on(ptr, world.t);
}

static void alloc_there(void) { taken = world_alloc(&world, 2 * MIB, world.t); }

/* The free is in the list and not yet recorded. */
WORLD_TEST(lanes_interleavings, a_steal_waits_for_the_record_of_a_free, start) {
  warm_up(2 * MIB, world.s);
  void *ptr = world_alloc(&world, 2 * MIB, world.s);
  fake_stream_busy(world.s);
  hooks_arm("event_record", 1, alloc_there);
  free_on(ptr, world.s);
  cr_assert(hooks_ran());
  cr_assert_neq(taken, ptr);
  cr_assert_eq(world_stats(&world).steals, 0);
  free_on(taken, world.t);
}

static void trim_now(void) { other_status = wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL); }

WORLD_TEST(lanes_interleavings, a_trim_during_a_free_leaves_it_pending, start) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  hooks_arm("event_record", 1, trim_now);
  free_on(ptr, world.s);
  expect(WP_PENDING, other_status);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  check_sums();
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

WORLD_TEST(lanes_interleavings, a_trim_before_the_claim_of_a_free_takes_nothing_of_it, start) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  hooks_arm("stream_capturing", 1, trim_now);
  free_on(ptr, world.s);
  expect(WP_OK, other_status);
  cr_assert_eq(world_stats(&world).cached_bytes, 2 * MIB);
  pair(MIB, world.s);
}

static void alloc_here(void) { taken = world_alloc(&world, 2 * MIB, world.s); }

/* The segment is in no lane at that moment. */
WORLD_TEST(lanes_interleavings, an_allocation_during_a_trim_does_not_get_what_is_on_its_way, start) {
  warm_up(2 * MIB, world.s);
  hooks_arm("memory_free", 1, alloc_here);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert(hooks_ran());
  cr_assert_eq(fake_count("memory_alloc"), 1);
  cr_assert_eq(world_stats(&world).reserved_bytes, 2 * MIB);
  check_sums();
  free_on(taken, world.s);
}

/* -- a free in the order of the stream -- */

static void *second;

static void trim_and_wait_now(void) { (void)wp_trim(world.runtime, 0, 0, WP_WAIT, NULL); }
static void free_second_now(void) {
  free_on(second, world.s);
  hooks_arm("event_record", 1, trim_and_wait_now);
}

/* What was recorded of the stream meanwhile, and has been seen to finish, does not stand for it. */
WORLD_TEST(lanes_interleavings, a_free_beside_a_record_of_its_stream_is_seen_to_finish, start) {
  void *first = world_alloc(&world, 64 * MIB, world.s);
  second = world_alloc(&world, 64 * MIB, world.s);
  (void)wp_delegate_close(world.delegate, NULL);
  hooks_arm("memory_free", 1, free_second_now);
  free_on(first, world.s);
  cr_assert(hooks_ran());
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

/* -- a record by others beside the beginning of a capture that nobody declares -- */

static void begin_capture(void) { fake_stream_capture(world.s, true); }

WORLD_TEST(lanes_interleavings, an_event_that_got_into_a_capture_is_not_asked_for, nothing_yet) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  world_options.backend = hooks_backend();
  start_declared();
  pair(2 * MIB, world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, UINT64_MAX, WP_WAIT, NULL)); /* what was recorded has been seen to finish */
  pair(2 * MIB, world.s);
  fake_forget();
  hooks_arm("event_record", 1, begin_capture);
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert(hooks_ran());
  cr_assert_eq(report.pending_bytes, 2 * MIB);
  cr_assert_eq(fake_count("event_query"), 0, "%s", fake_log(false));
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}
