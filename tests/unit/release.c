/* SPDX-License-Identifier: Apache-2.0 */
/* What the last close, a trim and a tick give back, when, and what they report. */
#include "world.h"

static struct world world;
static void start(void) { world_start(&world); }
static void nothing_yet(void) {} /* the test starts the world itself, with other options */
static void start_no_wait(void) {
  world_options.release_wait = WP_NO_WAIT;
  world_start(&world);
}
static void reopen(void) { expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &world.delegate)); }

static void free_busy(size_t bytes) {
  void *ptr = world_alloc(&world, bytes, world.s);
  fake_stream_busy(world.s);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(release, the_last_close_waits_for_recorded_frees_and_nothing_else, start) {
  free_busy(256 * MIB);
  fake_stream_busy(world.t);
  void *ptr = world_alloc(&world, MIB, world.t);
  fake_stream_never(world.t); /* has work, but no free of ours */
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(fake_waits(), 1);
  cr_assert_eq(report.devices, 1);
  cr_assert_eq(report.reserved_before, 257 * MIB);
  cr_assert_eq(report.reserved_after, MIB);
  cr_assert_eq(report.returned_bytes, 256 * MIB);
  cr_assert_eq(report.live_bytes, MIB);
  cr_assert_eq(report.pending_bytes, 0);
  reopen();
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

/* executorch#22312 */
WORLD_TEST(release_no_wait, the_last_close_says_what_is_pending_and_a_tick_finishes, start_no_wait) {
  free_busy(256 * MIB);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_PENDING, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(report.returned_bytes, 0);
  cr_assert_eq(report.pending_bytes, 256 * MIB);
  cr_assert_eq(report.waited_ns, 0);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 256 * MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  cr_assert_eq(fake_waits(), 0);
  fake_forget();
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_count(NULL), 0); /* nothing is due: no call */
  reopen();
}

WORLD_TEST(release_no_wait, a_later_call_on_the_device_finishes_too, start_no_wait) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  free_busy(MIB);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_stream_idle(world.s);
  expect(WP_OK, wp_query_driver(world.runtime, 0, &driver));
  cr_assert_eq(driver.pool_reserved, 0);
  reopen();
  free_busy(MIB);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_stream_idle(world.s);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(release_no_wait, opening_again_keeps_what_was_pending, start_no_wait) {
  free_busy(MIB);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  reopen();
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), MIB); /* warm for the new delegate */
}

WORLD_TEST(release, a_stream_destroyed_before_the_close_is_not_named, start) {
  free_busy(MIB);
  fake_stream_die(world.s);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(report.returned_bytes, MIB);
  reopen();
}

WORLD_TEST(release, closing_one_of_two_gives_nothing_back, start) {
  wp_delegate *second;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &second));
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, world.s), world.s));
  fake_forget();
  expect(WP_OK, wp_delegate_close(second, &report));
  cr_assert_str_eq(fake_log(true), "");
  cr_assert_eq(report.reserved_before, MIB);
  cr_assert_eq(report.reserved_after, MIB);
  cr_assert_eq(report.returned_bytes, 0);
  cr_assert_eq(fake_reserved(0), MIB);
}

WORLD_TEST(release, a_block_freed_after_the_last_close_goes_back_at_once, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(report.live_bytes, MIB);
  cr_assert(world_is_live(&world, ptr));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(release, a_block_freed_busy_after_the_last_close_goes_back_without_another_call, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_threshold(0), 0); /* so that the user's own synchronisation gives it back */
  fake_stream_busy(world.s);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(fake_reserved(0), MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

WORLD_TEST(release, the_threshold_follows_the_open_delegates, start) {
  wp_delegate *second;
  cr_assert_eq(fake_threshold(0), UINT64_MAX);
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &second));
  expect(WP_OK, wp_delegate_close(second, NULL));
  cr_assert_eq(fake_threshold(0), UINT64_MAX);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_threshold(0), 0);
  reopen();
  cr_assert_eq(fake_threshold(0), UINT64_MAX);
}

/* Fact H4. */
WORLD_TEST(release, the_threshold_is_set_again_after_the_first_allocation, start) {
  fake_forget();
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_str_eq(fake_log(true), "memory_alloc pool_set_threshold");
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_forget();
  ptr = world_alloc(&world, MIB, world.s);
  cr_assert_eq(fake_count("pool_set_threshold"), 0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(release, a_threshold_that_cannot_be_set_again_is_tried_at_the_next_allocation, start) {
  fake_fail("pool_set_threshold", 1, WP_ERROR_DRIVER);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_eq(world.log_lines, 1);
  fake_forget();
  void *other = world_alloc(&world, MIB, world.s);
  cr_assert_eq(fake_count("pool_set_threshold"), 1);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_free(world.runtime, other, world.s));
}

Test(release, keep_bytes_stay_after_the_last_close, .timeout = 10) {
  world_options.keep_bytes = 3 * MIB;
  world_start(&world);
  for (int i = 0; i < 2; i++) {
    void *ptrs[5];
    for (int k = 0; k < 5; k++) ptrs[k] = world_alloc(&world, MIB, world.s);
    for (int k = 0; k < 5; k++) expect(WP_OK, wp_free(world.runtime, ptrs[k], world.s));
    wp_release_report report = WP_RELEASE_REPORT_INIT;
    expect(WP_OK, wp_delegate_close(world.delegate, &report));
    cr_assert_eq(report.reserved_after, 3 * MIB);
    cr_assert_eq(report.pending_bytes, 0);
    cr_assert_eq(fake_threshold(0), 3 * MIB);
    reopen();
  }
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  expect(WP_OK, wp_runtime_destroy(world.runtime));
  cr_assert_eq(fake_objects(), 0);
}

WORLD_TEST(release, a_trim_counts_what_it_took, start) {
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 2 * MIB, world.s), world.s));
  expect(WP_OK, wp_trim(world.runtime, WP_DEVICE_CURRENT, 0, WP_WAIT, NULL));
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.trims, 1);
  cr_assert_eq(stats.trimmed_bytes, 2 * MIB);
}

WORLD_TEST(release, priming_maps_memory_for_later, start) {
  expect(WP_OK, wp_prime(world.delegate, 8 * MIB, world.s));
  cr_assert_eq(fake_reserved(0), 8 * MIB);
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.allocs, 0);
  cr_assert_eq(stats.live_peak, 0);
  void *ptr = world_alloc(&world, 8 * MIB, world.s);
  cr_assert_eq(fake_reserved(0), 8 * MIB);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_prime(world.delegate, 0, world.s));
}

Test(release_no_wait, destroying_with_pending_memory_says_so, .timeout = 10) {
  start_no_wait();
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_forget();
  expect(WP_PENDING, wp_runtime_destroy(world.runtime));
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(fake_count("event_wait"), 1); /* the free is ordered behind the use */
  cr_assert_eq(fake_blocks(), 0);
  cr_assert_eq(fake_objects(), 0);
}

WORLD_TEST(release, a_busy_runtime_is_not_destroyed, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  reopen();
}

/* -- exhaustion -- */

static void fill(bool busy) {
  fake.device_memory = 4 * MIB;
  void *ptr = world_alloc(&world, 3 * MIB, world.s);
  if (busy) fake_stream_busy(world.s);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

/* pytorch#188110 */
WORLD_TEST(release, an_allocation_reclaims_idle_memory_when_the_device_is_full, start) {
  fill(false);
  void *ptr = world_alloc(&world, 4 * MIB, world.t);
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(world_stats(&world).oom_retries, 1);
  expect(WP_OK, wp_free(world.runtime, ptr, world.t));
}

WORLD_TEST(release, an_allocation_waits_for_freed_memory_when_the_device_is_full, start) {
  fill(true);
  void *ptr = world_alloc(&world, 4 * MIB, world.t);
  cr_assert_eq(fake_waits(), 1);
  cr_assert_eq(world_stats(&world).oom_retries, 2);
  expect(WP_OK, wp_free(world.runtime, ptr, world.t));
}

/* tensorflow#50699 */
WORLD_TEST(release, the_policy_without_waiting_never_waits, nothing_yet) {
  void *ptr = NULL;
  world_options.oom_policy = WP_OOM_RECLAIM;
  world_start(&world);
  fill(true);
  expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(world.delegate, 4 * MIB, world.t, &ptr));
  cr_assert_eq(fake_waits(), 0);
}

WORLD_TEST(release, the_failing_policy_reclaims_nothing, nothing_yet) {
  void *ptr = NULL;
  world_options.oom_policy = WP_OOM_FAIL;
  world_start(&world);
  fill(false);
  expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(world.delegate, 4 * MIB, world.t, &ptr));
  cr_assert_eq(fake_count("pool_trim"), 0);
  cr_assert_eq(world_stats(&world).oom_retries, 0);
}

WORLD_TEST(release, nothing_is_waited_for_while_the_stream_is_captured, start) {
  void *ptr = NULL;
  fill(true);
  fake_stream_capture(world.t, true);
  expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(world.delegate, 4 * MIB, world.t, &ptr));
  cr_assert_eq(fake_waits(), 0);
  fake_stream_capture(world.t, false);
}

WORLD_TEST(release, exhaustion_tells_the_figures_and_leaves_nothing_behind, start) {
  void *ptr = &world;
  void *live = world_alloc(&world, MIB, world.s);
  fake.device_memory = 4 * MIB;
  for (int i = 0; i < 2; i++) {
    fake.null_when_full = i == 1; /* fact H12 */
    expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(world.delegate, 16 * MIB, world.s, &ptr));
    cr_assert_eq(ptr, &world);
    wp_error_info info = world_error();
    cr_assert_eq(info.requested_bytes, 16 * MIB);
    cr_assert_eq(info.live_bytes, MIB);
    cr_assert_eq(info.reserved_bytes, MIB);
    cr_assert_eq(info.cached_bytes, 0);
    cr_assert_eq(info.device_total, 4 * MIB);
    cr_assert_eq(info.device_free, 3 * MIB);
    cr_assert_eq(world.log_lines, 0);
  }
  void *small = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_free(world.runtime, small, world.s));
  expect(WP_OK, wp_free(world.runtime, live, world.s));
}

WORLD_TEST(release, what_is_live_does_not_use_up_what_a_trim_keeps, start) {
  void *live = world_alloc(&world, 4 * MIB, world.s);
  void *one = world_alloc(&world, MIB, world.s), *two = world_alloc(&world, MIB, world.s);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_OK, wp_free(world.runtime, one, world.s));
  expect(WP_OK, wp_free(world.runtime, two, world.s));
  expect(WP_OK, wp_trim(world.runtime, 0, MIB, WP_WAIT, &report));
  cr_assert_eq(report.reserved_after, 5 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, UINT64_MAX, WP_WAIT, &report));
  cr_assert_eq(report.reserved_after, 5 * MIB);
  expect(WP_OK, wp_free(world.runtime, live, world.s));
}

WORLD_TEST(release, what_was_parked_does_not_add_to_what_a_trim_keeps, start) {
  void *one = world_alloc(&world, MIB, world.s), *parked = world_alloc(&world, 2 * MIB, world.s);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, parked, world.t));
  expect(WP_OK, wp_free(world.runtime, parked, world.s));
  expect(WP_OK, wp_free(world.runtime, one, world.s));
  expect(WP_OK, wp_trim(world.runtime, 0, MIB, WP_WAIT, &report));
  cr_assert_leq(report.reserved_after, MIB);
}

/* -- a release that is due, and fails in a call that has done its own part -- */

static void fail_due(void (*call)(void)) {
  free_busy(MIB);
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  fake_stream_idle(world.s);
  fake_fail("pool_trim", 1, WP_ERROR_DRIVER);
  call();
  cr_assert(fake_failed());
  cr_assert_eq(world.log_lines, 1);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}
static void retire_other(void) { expect(WP_OK, wp_stream_retire(world.runtime, 0, world.t)); }
WORLD_TEST(release_no_wait, that_fails_beside_a_retire_is_logged_and_due_again, start_no_wait) {
  fail_due(retire_other);
}
static void query(void) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  expect(WP_OK, wp_query_driver(world.runtime, 0, &driver));
}
WORLD_TEST(release_no_wait, that_fails_beside_a_query_is_logged_and_due_again, start_no_wait) { fail_due(query); }
