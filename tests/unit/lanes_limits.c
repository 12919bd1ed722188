/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, peaks, the release threshold, what a trim keeps, and exhaustion, in WP_CACHING_LANES. */
#include "lanes_world.h"

static wp_delegate *open_limited(uint64_t bytes) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  wp_delegate *delegate = NULL;
  options.limit_bytes = bytes;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, &options, &delegate));
  return delegate;
}
static uint64_t peak_of(wp_delegate *delegate) {
  wp_stats stats = WP_STATS_INIT;
  expect(WP_OK, wp_delegate_stats(delegate, &stats));
  return stats.live_peak;
}

/* -- limits -- */

static void fill_limit(wp_delegate *delegate) {
  void *ptrs[2], *out = &world;
  for (int i = 0; i < 2; i++) expect(WP_OK, wp_alloc(delegate, MIB, world.s, &ptrs[i]));
  expect(WP_ERROR_LIMIT, wp_alloc(delegate, 1, world.s, &out));
  cr_assert_eq(out, &world);
  cr_assert_eq(world_error().live_bytes, 2 * MIB);
  for (int i = 0; i < 2; i++) free_on(ptrs[i], world.s);
}

WORLD_TEST(lanes_limits, a_delegate_s_limit_holds_for_growths_carves_and_hits, start_declared) {
  wp_delegate *limited = open_limited(2 * MIB);
  fill_limit(limited); /* a growth, and a carve */
  fill_limit(limited); /* hits */
  pair(2 * MIB, world.s);
  fill_limit(limited); /* carves */
  expect(WP_OK, wp_delegate_close(limited, NULL));
}

WORLD_TEST(lanes_limits, the_runtime_s_limit_holds_for_growths_and_hits, nothing_yet) {
  world_options.limit_bytes = 2 * MIB;
  start_declared();
  fill_limit(world.delegate);
  fill_limit(world.delegate);
}

WORLD_TEST(lanes_limits, a_request_counts_with_its_class, nothing_yet) {
  void *out = NULL;
  world_options.limit_bytes = 33 * 512;
  start_checked();
  expect(WP_ERROR_LIMIT, wp_alloc(world.delegate, 32 * 512 + 1, world.s, &out)); /* the class has 34 * 512 */
  void *ptr = world_alloc(&world, 31 * 512 + 1, world.s);
  cr_assert_eq(world_stats(&world).live_bytes, 32 * 512);
  free_on(ptr, world.s);
}

/* Whatever way a block goes back, and whatever a request fails of. */
WORLD_TEST(lanes_limits, nothing_stays_claimed, nothing_yet) {
  void *out = NULL;
  world_options.limit_bytes = 8 * MIB;
  start_checked();
  fake_fail("memory_alloc", 1, WP_ERROR_DRIVER);
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, 8 * MIB, world.s, &out));
  wp__test_fail_allocation(1);
  expect(WP_ERROR_OUT_OF_HOST_MEMORY, wp_alloc(world.delegate, 8 * MIB, world.s, &out));
  fake_stream_capture(world.s, true);
  expect(WP_ERROR_CAPTURING, wp_alloc(world.delegate, 8 * MIB, world.s, &out));
  fake_stream_capture(world.s, false);
  pair(8 * MIB, world.s);
  pair(8 * MIB, world.s);
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 8 * MIB, world.s), world.t));
  expect(WP_OK, wp_free_after(world.runtime, world_alloc(&world, 8 * MIB, world.s), NULL, 0));
  pair(8 * MIB, world.s);
}

/* -- peaks -- */

WORLD_TEST(lanes_limits, peaks_are_exact_where_there_is_a_limit, nothing_yet) {
  world_options.limit_bytes = 64 * MIB;
  start_declared();
  wp_delegate *limited = open_limited(16 * MIB);
  void *first = world_alloc(&world, 512, world.s), *second;
  expect(WP_OK, wp_alloc(limited, MIB, world.s, &second)); /* a carve */
  free_on(first, world.s);
  free_on(second, world.s);
  cr_assert_eq(world_stats(&world).live_peak, MIB + 512);
  cr_assert_eq(peak_of(limited), MIB);
  cr_assert_eq(peak_of(world.delegate), 512);
  expect(WP_OK, wp_reset_peaks(world.runtime, 0));
  pair(512, world.s); /* hits */
  expect(WP_OK, wp_alloc(limited, MIB, world.s, &second));
  free_on(second, world.s);
  cr_assert_eq(world_stats(&world).live_peak, MIB);
  cr_assert_eq(peak_of(limited), MIB);
  expect(WP_OK, wp_delegate_close(limited, NULL));
}

WORLD_TEST(lanes_limits, a_growth_and_a_look_raise_the_peaks, start_checked) {
  pair(2 * MIB, world.s);
  cr_assert_eq(world_stats(&world).live_peak, 2 * MIB);
  cr_assert_eq(peak_of(world.delegate), 2 * MIB);
  void *large = world_alloc(&world, 2 * MIB, world.s), *small = world_alloc(&world, 512, world.t);
  void *carved = world_alloc(&world, MIB, world.t);
  (void)world_stats(&world); /* the look */
  free_on(large, world.s);
  free_on(small, world.t);
  free_on(carved, world.t);
  cr_assert_eq(world_stats(&world).live_peak, 3 * MIB + 512);
  cr_assert_eq(world_stats(&world).reserved_peak, 4 * MIB);
}

WORLD_TEST(lanes_limits, peaks_are_lowered_to_what_is_there, start_checked) {
  void *live = world_alloc(&world, 512, world.s);
  pair(4 * MIB, world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  expect(WP_OK, wp_reset_peaks(world.runtime, 0));
  free_on(live, world.s);
  cr_assert_eq(world_stats(&world).live_peak, 512);
  cr_assert_eq(peak_of(world.delegate), 512);
  cr_assert_eq(world_stats(&world).reserved_peak, 2 * MIB);
}

WORLD_TEST(lanes_limits, a_delegate_that_reuses_a_record_starts_from_nothing, start_checked) {
  wp_delegate *opened = NULL, *first = open_delegate();
  void *ptr = NULL;
  expect(WP_OK, wp_alloc(first, MIB, world.s, &ptr));
  free_on(ptr, world.s);
  expect(WP_OK, wp_delegate_close(first, NULL));
  for (int i = 0; i < 40 && opened != first; i++) {
    if (opened != NULL) expect(WP_OK, wp_delegate_close(opened, NULL));
    opened = open_delegate();
  }
  cr_assert_eq(opened, first);
  wp_stats stats = WP_STATS_INIT;
  expect(WP_OK, wp_alloc(opened, MIB, world.s, &ptr));
  expect(WP_OK, wp_delegate_stats(opened, &stats));
  cr_assert_eq(stats.allocs, 1);
  cr_assert_eq(stats.live_bytes, MIB);
  cr_assert_eq(world_stats(&world).allocs, 2);
  free_on(ptr, world.s);
  expect(WP_OK, wp_delegate_close(opened, NULL));
}

/* -- the threshold -- */

static void start_bounded(uint64_t bytes) {
  world_options.release_threshold = bytes;
  start_checked();
}
static void free_all(void **ptrs, int count) {
  for (int i = 0; i < count; i++) free_on(ptrs[i], world.s);
}

WORLD_TEST(lanes_threshold, a_free_returns_what_is_idle_beyond_it, nothing_yet) {
  void *ptrs[3];
  start_bounded(2 * MIB);
  cr_assert_eq(fake_threshold(0), 0);
  for (int i = 0; i < 3; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  free_all(ptrs, 1);
  cr_assert_eq(fake_reserved(0), 6 * MIB);
  free_all(ptrs + 1, 2);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  check_sums();
}

WORLD_TEST(lanes_threshold, a_segment_on_both_sides_of_it_goes, nothing_yet) {
  void *ptrs[2];
  start_bounded(3 * MIB);
  for (int i = 0; i < 2; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  free_all(ptrs, 2);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
}

WORLD_TEST(lanes_threshold, none_keeps_nothing, nothing_yet) {
  start_bounded(0);
  pair(MIB, world.s);
  cr_assert_eq(fake_reserved(0), 0);
  void *live = world_alloc(&world, 512, world.s);
  pair(MIB, world.s);
  cr_assert_eq(fake_reserved(0), 2 * MIB, "a part of it is live");
  free_on(live, world.s);
}

WORLD_TEST(lanes_threshold, a_tick_returns_what_has_finished_since, nothing_yet) {
  start_bounded(0);
  fake_stream_busy(world.s);
  pair(MIB, world.s);
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 2 * MIB);
  fake_stream_idle(world.s);
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
  cr_assert_eq(fake_waits(), 0);
}

WORLD_TEST(lanes_threshold, what_the_driver_does_not_take_is_logged_and_goes_later, nothing_yet) {
  start_bounded(0);
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_fail("memory_free", 1, WP_ERROR_DRIVER);
  free_on(ptr, world.s);
  cr_assert_eq(world.log_lines, 1);
  check_sums();
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
}

/* -- trims -- */

WORLD_TEST(lanes_limits, a_trim_keeps_segments_up_to_what_it_is_told, start_checked) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  void *ptrs[3], *live = world_alloc(&world, 512, world.t);
  for (int i = 0; i < 3; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  free_all(ptrs, 3);
  expect(WP_OK, wp_trim(world.runtime, 0, 6 * MIB, WP_WAIT, &report));
  cr_assert_eq(report.reserved_after, 8 * MIB, "a segment with bytes on both sides of the mark stays");
  expect(WP_OK, wp_trim(world.runtime, 0, 5 * MIB, WP_WAIT, &report));
  cr_assert_eq(report.reserved_after, 6 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert_eq(report.reserved_after, 2 * MIB);
  cr_assert_eq(report.live_bytes, 512);
  cr_assert_eq(report.returned_bytes, 4 * MIB);
  check_sums();
  free_on(live, world.t);
}

WORLD_TEST(lanes_limits, a_trim_without_waiting_says_what_is_pending, start_checked) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
  pair(2 * MIB, world.t);
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, &report));
  cr_assert_eq(report.returned_bytes, 2 * MIB);
  cr_assert_eq(report.pending_bytes, 2 * MIB);
  expect(WP_OK, wp_trim(world.runtime, 0, 2 * MIB, WP_NO_WAIT, &report));
  cr_assert_eq(fake_waits(), 0);
}

/* -- exhaustion -- */

static void fill_device(bool busy) {
  fake.device_memory = 4 * MIB;
  if (busy) fake_stream_busy(world.s);
  pair(2 * MIB, world.s);
}

WORLD_TEST(lanes_limits, other_lanes_give_way_to_an_allocation_that_none_of_their_segments_serves, start_checked) {
  fill_device(false);
  void *ptr = world_alloc(&world, 4 * MIB, world.t);
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(world_stats(&world).oom_retries, 0);
  cr_assert_eq(world_stats(&world).reserved_peak, 4 * MIB);
  check_sums();
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_limits, no_more_gives_way_than_is_needed, start_checked) {
  void *ptrs[4];
  for (int i = 0; i < 4; i++) ptrs[i] = world_alloc(&world, 2 * MIB, world.s);
  for (int i = 0; i < 4; i++) free_on(ptrs[i], world.s);
  void *ptr = world_alloc(&world, 4 * MIB, world.t);
  cr_assert_eq(world_stats(&world).cached_bytes, 4 * MIB);
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_limits, nothing_gives_way_to_priming, start_checked) {
  pair(2 * MIB, world.s);
  expect(WP_OK, wp_prime(world.delegate, 4 * MIB, world.t));
  cr_assert_eq(world_stats(&world).cached_bytes, 6 * MIB);
}

/* A look at other lanes has its bounds; beyond those, exhaustion sees to it. */
WORLD_TEST(lanes_limits, an_allocation_reclaims_other_lanes_when_the_device_is_full, start_checked) {
  enum { STREAMS = 24 };
  void *ptrs[STREAMS];
  wp_stream streams[STREAMS];
  fake.device_memory = STREAMS * 2 * MIB;
  for (int i = 0; i < STREAMS; i++) streams[i] = fake_stream(0);
  for (int i = 0; i < STREAMS; i++) ptrs[i] = world_alloc(&world, 2 * MIB, streams[i]);
  for (int i = 0; i < STREAMS; i++) free_on(ptrs[i], streams[i]);
  void *ptr = world_alloc(&world, STREAMS * 2 * MIB, world.t);
  cr_assert_eq(fake_waits(), 0);
  cr_assert_eq(world_stats(&world).oom_retries, 1);
  free_on(ptr, world.t);
}

/* -- growth -- */

static uint64_t grown_by(size_t bytes) {
  uint64_t before = world_stats(&world).reserved_bytes;
  void *ptr = world_alloc(&world, bytes, world.t);
  uint64_t grown = world_stats(&world).reserved_bytes - before;
  free_on(ptr, world.t);
  return grown;
}

WORLD_TEST(lanes_limits, a_large_lane_grows_in_larger_steps, start_checked) {
  static const struct {
    size_t held, asked, grown;
  } rows[] = {{16, 1, 2}, {34, 1, 4}, {34, 5, 8}, {68, 1, 8}, {136, 3, 16}, {272, 1, 32}, {704, 1, 32}, {304, 33, 64}};
  fake.device_memory = 4096 * MIB;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *held = world_alloc(&world, rows[i].held * MIB, world.t);
    cr_assert_eq(grown_by(rows[i].asked * MIB), rows[i].grown * MIB, "%zu MiB are held", rows[i].held);
    free_on(held, world.t);
    expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  }
}

WORLD_TEST(lanes_limits, a_large_lane_gets_what_it_asks_for_where_there_is_no_more, start_checked) {
  fake.device_memory = 130 * MIB;
  void *held = world_alloc(&world, 128 * MIB, world.t);
  cr_assert_eq(grown_by(MIB), 2 * MIB);
  cr_assert_eq(world_stats(&world).oom_retries, 0);
  cr_assert_eq(world.log_lines, 0);
  free_on(held, world.t);
}

WORLD_TEST(lanes_limits, an_allocation_waits_for_other_lanes_when_the_device_is_full, start_checked) {
  fill_device(true);
  void *ptr = world_alloc(&world, 4 * MIB, world.t);
  cr_assert_eq(fake_waits(), 1);
  cr_assert_eq(world_stats(&world).oom_retries, 2);
  free_on(ptr, world.t);
}

WORLD_TEST(lanes_limits, exhaustion_tells_the_figures_and_leaves_nothing_behind, start_checked) {
  void *live = world_alloc(&world, MIB, world.s);
  fake.device_memory = 4 * MIB;
  for (int i = 0; i < 2; i++) {
    void *ptr = &world;
    fake.null_when_full = i == 1; /* fact H12 */
    expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(world.delegate, 16 * MIB, world.s, &ptr));
    cr_assert_eq(ptr, &world);
    wp_error_info info = world_error();
    cr_assert_eq(info.requested_bytes, 16 * MIB);
    cr_assert_eq(info.live_bytes, MIB);
    cr_assert_eq(info.reserved_bytes, 2 * MIB);
    cr_assert_eq(info.cached_bytes, MIB);
    cr_assert_eq(world.log_lines, 0);
    check_sums();
  }
  free_on(live, world.s);
}
