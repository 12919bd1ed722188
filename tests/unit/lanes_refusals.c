/* SPDX-License-Identifier: Apache-2.0 */
/* Single failures in WP_CACHING_LANES, and what exactly becomes of the memory. */
#include <string.h>

#include "lanes_world.h"

static void refuse_alloc(wp_status expected, size_t bytes) {
  void *out = &world;
  wp_stats before = world_stats(&world);
  expect(expected, wp_alloc(world.delegate, bytes, world.s, &out));
  cr_assert_eq(out, &world);
  cr_assert_str_eq(world_error().call, "wp_alloc");
  cr_assert_neq(world_error().message[0], '\0');
  cr_assert_eq(world_stats(&world).live_bytes, before.live_bytes);
  cr_assert_eq(world_stats(&world).allocs, before.allocs);
  check_sums();
}

/* -- getting a segment -- */

WORLD_TEST(lanes_refusals, a_full_device_is_out_of_memory, nothing_yet) {
  world_options.oom_policy = WP_OOM_FAIL;
  start_checked();
  fake_fail("memory_alloc", 1, WP_ERROR_OUT_OF_MEMORY);
  refuse_alloc(WP_ERROR_OUT_OF_MEMORY, MIB);
  cr_assert_eq(world_error().requested_bytes, MIB);
  fake.device_memory = MIB;
  fake.null_when_full = true;
  refuse_alloc(WP_ERROR_OUT_OF_MEMORY, MIB);
  cr_assert_eq(world_stats(&world).driver_allocs, 0);
  cr_assert_eq(world_stats(&world).oom_retries, 0);
}

WORLD_TEST(lanes_refusals, a_driver_that_refuses_is_not_asked_again, start_checked) {
  fake_fail("memory_alloc", 1, WP_ERROR_DRIVER);
  refuse_alloc(WP_ERROR_DRIVER, MIB);
  cr_assert_str_eq(world_error().name, "FAKE_ERROR");
  cr_assert_eq(fake_count("memory_alloc"), 1);
}

WORLD_TEST(lanes_refusals, an_address_that_no_map_holds_goes_back, start_checked) {
  fake.odd_addresses = true;
  refuse_alloc(WP_ERROR_DRIVER, MIB);
  cr_assert_not_null(strstr(world_error().message, "not aligned"), "%s", world_error().message);
  cr_assert_eq(fake_blocks(), 0);
  cr_assert_eq(world.log_lines, 0);
  fake.odd_addresses = false;
}

static void refuse_order(const char *entry, const char *steps) {
  fake_forget();
  fake_fail(entry, 1, WP_ERROR_DRIVER);
  refuse_alloc(WP_ERROR_DRIVER, MIB);
  cr_assert_str_eq(fake_steps(), steps);
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
  cr_assert_eq(world.log_lines, 0);
}

WORLD_TEST(lanes_refusals, a_segment_that_cannot_be_ordered_goes_back, start_checked) {
  refuse_order("event_create", "memory_alloc:home event_create memory_free:home");
  refuse_order("event_record", "memory_alloc:home event_create event_record:home memory_free:home");
  refuse_order("event_wait", "memory_alloc:home event_record:home event_wait:s memory_free:home");
}

WORLD_TEST(lanes_refusals, a_segment_that_can_neither_be_ordered_nor_go_back_does_so_later, start_checked) {
  fake.captures_forbid = true;
  fake_fail("event_wait", 1, WP_ERROR_DRIVER);
  refuse_alloc(WP_ERROR_DRIVER, MIB);
  cr_assert_str_eq(world_error().name, "FAKE_ERROR");
  cr_assert_eq(world_stats(&world).parked_bytes, 2 * MIB);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert_eq(report.pending_bytes, 2 * MIB);
  fake.captures_forbid = false;
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
  cr_assert_eq(world.log_lines, 0, "%s", world.logged);
}

WORLD_TEST(lanes_refusals, a_segment_that_goes_back_later_leaves_a_pool_that_keeps_nothing, nothing_yet) {
  fake.capabilities &= ~(uint32_t)WP_CAP_KEEPS_FREED;
  start_checked();
  fake.captures_forbid = true;
  fake_fail("event_wait", 1, WP_ERROR_DRIVER);
  refuse_alloc(WP_ERROR_DRIVER, MIB);
  fake.captures_forbid = false;
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(fake_reserved(0), 0);
}

/* Stolen, and nobody has used it yet: the thief would have to wait for home. */
WORLD_TEST(lanes_refusals, a_stolen_segment_that_can_neither_be_ordered_nor_go_back_is_in_no_lane, start_checked) {
  expect(WP_OK, wp_prime(world.delegate, 2 * MIB, world.t));
  fake.captures_forbid = true;
  fake_fail("event_wait", 1, WP_ERROR_DRIVER);
  refuse_alloc(WP_ERROR_DRIVER, MIB);
  cr_assert_eq(world_stats(&world).cached_bytes, 0);
  cr_assert_eq(world_stats(&world).parked_bytes, 2 * MIB);
  fake.captures_forbid = false;
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).reserved_bytes, 0);
}

/* Its last block was freed on another stream, with no delegate open. */
WORLD_TEST(lanes_refusals, a_segment_that_can_neither_go_back_nor_be_recorded_is_the_freeing_stream_s, start_declared) {
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake.captures_forbid = true;
  fake_fail("event_record", 2, WP_ERROR_DRIVER); /* another one than vouches for the stream */
  free_on(ptr, world.t);
  cr_assert_eq(world_stats(&world).cached_bytes, 2 * MIB);
  check_sums();
  fake.captures_forbid = false;
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
  reopen();
}

/* Nobody knows then whether the stream is being captured. */
WORLD_TEST(lanes_refusals, a_free_is_refused_where_the_driver_has_no_memory_to_tell_of_a_capture, start_checked) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_capture(world.s, true);
  fake_fail("stream_capturing", 2, WP_ERROR_OUT_OF_HOST_MEMORY);
  expect(WP_ERROR_OUT_OF_HOST_MEMORY, wp_free(world.runtime, ptr, world.s));
  cr_assert(fake_failed());
  cr_assert(world_is_live(&world, ptr));
  fake_stream_capture(world.s, false);
  free_on(ptr, world.s);
}

/* It is destroyed; that the driver frees nothing just now leaves memory to it. */
static void destroy_while_forbidden(wp_caching caching) {
  void *ptr;
  world_options.caching = caching;
  world_start(&world);
  expect(WP_OK, wp_alloc(world.delegate, MIB, world.s, &ptr));
  fake.captures_forbid = true;
  expect(WP_OK, wp_free_after(world.runtime, ptr, NULL, 0));
  expect(WP_PENDING, wp_delegate_close(world.delegate, NULL));
  expect(WP_PENDING, wp_runtime_destroy(world.runtime));
}
Test(lanes_refusals, of_frees_make_a_destroy_pending_in_lanes, .timeout = 10) {
  destroy_while_forbidden(WP_CACHING_LANES);
}
Test(lanes_refusals, of_frees_make_a_destroy_pending_in_the_driver_s_pool, .timeout = 10) {
  destroy_while_forbidden(WP_CACHING_DRIVER);
}

/* -- giving one back on the way to another: that it fails is no failure of the request's -- */

static void grow_past(const char *entry, wp_status injected, uint64_t reserved) {
  void *small = world_alloc(&world, MIB, world.s);
  free_on(small, world.s);
  fake_fail(entry, 1, injected);
  void *ptr = world_alloc(&world, 4 * MIB, world.s);
  cr_assert(fake_failed());
  cr_assert_eq(world.log_lines, 0, "%s", world.logged);
  cr_assert_eq(world_stats(&world).reserved_bytes, reserved);
  check_sums();
  free_on(ptr, world.s);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

WORLD_TEST(lanes_refusals, a_segment_that_the_driver_does_not_take_stays_in_its_lane, start_checked) {
  grow_past("memory_free", WP_ERROR_DRIVER, 6 * MIB);
  grow_past("memory_free", WP_ERROR_CAPTURING, 6 * MIB);
}
WORLD_TEST(lanes_refusals, what_was_returned_is_unmapped_later_where_that_fails, start_checked) {
  grow_past("stream_synchronize", WP_ERROR_DRIVER, 4 * MIB);
  grow_past("pool_trim", WP_ERROR_DRIVER, 4 * MIB);
}
WORLD_TEST(lanes_refusals, what_cannot_be_observed_is_not_returned, start_checked) {
  grow_past("event_query", WP_ERROR_DRIVER, 6 * MIB);
  grow_past("event_synchronize", WP_ERROR_DRIVER, 6 * MIB);
}

WORLD_TEST(lanes_refusals, what_cannot_be_observed_is_not_stolen, start_checked) {
  warm_up(2 * MIB, world.t);
  fake_fail("event_query", 1, WP_ERROR_DRIVER);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_eq(world_stats(&world).steals, 0);
  cr_assert_eq(world.log_lines, 0);
  free_on(ptr, world.s);
}

/* -- asking -- */

WORLD_TEST(lanes_refusals, a_hit_that_cannot_ask_goes_the_long_way, start_checked) {
  static const char *const entries[] = {"stream_capturing", "stream_identity"};
  for (int i = 0; i < 2; i++) {
    warm_up(MIB, world.s);
    fake_fail(entries[i], 1, WP_ERROR_DRIVER);
    void *ptr = world_alloc(&world, MIB, world.s);
    cr_assert_eq(fake_count("device_current"), 1);
    fake_fail(entries[i], 1, WP_ERROR_DRIVER);
    free_on(ptr, world.s);
    cr_assert_eq(fake_count("device_current"), 2);
    cr_assert_eq(fake_count("memory_alloc"), 0);
  }
}

WORLD_TEST(lanes_refusals, the_long_way_tells_what_fails, start_checked) {
  static const char *const entries[] = {"stream_capturing", "stream_identity"};
  static const char *const of_scope[] = {"device_current", "capture_relax"};
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  for (int i = 0; i < 2; i++) {
    fake_fail(entries[i], 2, WP_ERROR_DRIVER);
    refuse_alloc(WP_ERROR_DRIVER, 4 * MIB);
    fake_fail(of_scope[i], 1, WP_ERROR_DRIVER);
    refuse_alloc(WP_ERROR_DRIVER, 4 * MIB);
    fake_fail(of_scope[i], 1, WP_ERROR_DRIVER);
    expect(WP_ERROR_DRIVER, wp_free(world.runtime, ptr, world.t));
    cr_assert(world_is_live(&world, ptr));
    check_sums();
  }
  free_on(ptr, world.s);
}

WORLD_TEST(lanes_refusals, a_capturing_stream_is_refused, start_checked) {
  warm_up(MIB, world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_capture(world.s, true);
  refuse_alloc(WP_ERROR_CAPTURING, MIB);
  expect(WP_ERROR_CAPTURING, wp_prime(world.delegate, MIB, world.s));
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, world.s));
  cr_assert(world_is_live(&world, ptr));
  fake_stream_capture(world.s, false);
  free_on(ptr, world.s);
}

/* -- with no delegate open -- */

WORLD_TEST(lanes_refusals, a_late_free_that_the_driver_does_not_take_goes_with_a_tick, start_checked) {
  static const char *const entries[] = {"memory_free", "pool_trim", "pool_usage"};
  for (int i = 0; i < 3; i++) {
    void *ptr = world_alloc(&world, MIB, world.s);
    expect(WP_OK, wp_delegate_close(world.delegate, NULL));
    fake_fail(entries[i], 1, WP_ERROR_DRIVER);
    free_on(ptr, world.s);
    cr_assert_eq(world.log_lines, i + 1);
    check_sums();
    expect(WP_OK, wp_tick(world.runtime));
    cr_assert_eq(fake_reserved(0), 0);
    reopen();
  }
}
