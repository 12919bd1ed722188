/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on live bytes: of the runtime on each device, and of a delegate. */
#include "conformance.h"

SUITE(limits);

static wp_delegate *open_limited(uint64_t bytes) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  wp_delegate *delegate = NULL;
  options.limit_bytes = bytes;
  OK(wp_delegate_open(runtime, 0, &options, &delegate));
  return delegate;
}

static void start_limited(uint64_t bytes) {
  wp_runtime_options options = defaults();
  options.limit_bytes = bytes;
  start(&options);
}

static void expect_figures(uint64_t requested, uint64_t live) {
  wp_error_info info = last_error();
  cr_expect_geq(info.requested_bytes, requested);
  cr_expect_eq(info.live_bytes, live);
}

BOTH_CONTRACTS(limits, of_a_delegate_are_exact) {
  void *none = &none;
  start(NULL);
  wp_delegate *delegate = open_limited(4 * MIB), *free_one = open_on(0);
  void *one = take(delegate, 3 * MIB, WP_STREAM_LEGACY);
  REFUSES(WP_ERROR_LIMIT, wp_alloc(delegate, MIB + 1, WP_STREAM_LEGACY, &none));
  expect_figures(MIB + 1, 3 * MIB);
  cr_expect_eq(none, &none);
  void *rest = take(delegate, MIB, WP_STREAM_LEGACY);
  REFUSES(WP_ERROR_LIMIT, wp_alloc(delegate, 1, WP_STREAM_LEGACY, &none));
  void *theirs = take(free_one, MIB, WP_STREAM_LEGACY);
  give(one, WP_STREAM_LEGACY);
  one = take(delegate, 3 * MIB, WP_STREAM_LEGACY);
  give(one, WP_STREAM_LEGACY);
  give(rest, WP_STREAM_LEGACY);
  give(theirs, WP_STREAM_LEGACY);
  OK(wp_delegate_close(free_one, NULL));
  (void)last_close(delegate, WP_OK);
}

BOTH_CONTRACTS(limits, of_the_runtime_hold_for_all_delegates_of_a_device) {
  void *none = &none;
  start_limited(4 * MIB);
  wp_delegate *one = open_on(0), *other = open_on(0);
  void *a = take(one, 2 * MIB, WP_STREAM_LEGACY), *b = take(other, 2 * MIB, WP_STREAM_LEGACY);
  REFUSES(WP_ERROR_LIMIT, wp_alloc(one, 1, WP_STREAM_LEGACY, &none));
  REFUSES(WP_ERROR_LIMIT, wp_alloc(other, 1, WP_STREAM_LEGACY, &none));
  expect_figures(1, 4 * MIB);
  OK(wp_delegate_close(other, NULL));
  REFUSES(WP_ERROR_LIMIT, wp_alloc(one, 1, WP_STREAM_LEGACY, &none)); /* the block of the closed one still counts */
  give(b, WP_STREAM_LEGACY);
  b = take(one, 2 * MIB, WP_STREAM_LEGACY);
  give(a, WP_STREAM_LEGACY);
  give(b, WP_STREAM_LEGACY);
  (void)last_close(one, WP_OK);
}

BOTH_CONTRACTS(limits, of_the_runtime_hold_for_each_device) {
  void *none = &none;
  need_devices(2);
  start_limited(MIB);
  wp_delegate *one = open_on(0), *other = open_on(1);
  void *a = take(one, MIB, WP_STREAM_LEGACY), *b = take(other, MIB, WP_STREAM_LEGACY);
  REFUSES(WP_ERROR_LIMIT, wp_alloc(other, 1, WP_STREAM_LEGACY, &none));
  cr_expect_eq(last_error().device, 1);
  give(a, WP_STREAM_LEGACY);
  give(b, WP_STREAM_LEGACY);
  OK(wp_delegate_close(one, NULL));
  (void)last_close(other, WP_OK);
}

/* A claim that came to nothing is given back, in the other account as well. */
BOTH_CONTRACTS(limits, are_not_used_up_by_refusals) {
  void *none = &none;
  start_limited(2 * MIB);
  wp_delegate *delegate = open_limited(3 * MIB);
  for (int i = 0; i < 10; i++) {
    REFUSES(WP_ERROR_LIMIT, wp_alloc(delegate, 2 * MIB + 1, WP_STREAM_LEGACY, &none));
    REFUSES(WP_ERROR_LIMIT, wp_alloc(delegate, 3 * MIB + 1, WP_STREAM_LEGACY, &none));
  }
  give(take(delegate, 2 * MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}

/* Nor by what the device has not got. */
BOTH_CONTRACTS(limits, are_not_used_up_by_exhaustion) {
  void *none = &none;
  start(NULL);
  uint64_t limit = 2 * device_total(0); /* room for what a request is rounded up by */
  end();
  start_limited(limit);
  wp_delegate *delegate = open_limited(limit);
  for (int i = 0; i < 3; i++) {
    REFUSES(WP_ERROR_OUT_OF_MEMORY, wp_alloc(delegate, device_total(0) + 512, WP_STREAM_LEGACY, &none));
  }
  give(take(delegate, MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}

BOTH_CONTRACTS(limits, do_not_concern_idle_memory) {
  start_limited(MIB);
  wp_delegate *delegate = open_limited(MIB);
  OK(wp_prime(delegate, 4 * MIB, WP_STREAM_LEGACY));
  for (int i = 0; i < 5; i++) give(take(delegate, MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}

static void allocate_at_random(unsigned index, void *delegate) {
  for (unsigned i = 0; i < 300; i++) {
    void *memory;
    wp_status status = wp_alloc(delegate, 1 + (index * 7919 + i * 104729) % MIB, WP_STREAM_LEGACY, &memory);
    if (status == WP_OK) status = wp_free(runtime, memory, WP_STREAM_LEGACY);
    cr_assert(status == WP_OK || status == WP_ERROR_LIMIT, "%s", wp_status_name(status));
  }
}

BOTH_CONTRACTS(limits, hold_for_threads_together) {
  start_limited(2 * MIB);
  wp_delegate *delegate = open_on(0);
  run_threads(8, allocate_at_random, delegate);
  cr_expect_leq(stats(0).live_peak, 2 * MIB);
  cr_expect_eq(stats(0).live_bytes, 0);
  give(take(delegate, 2 * MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}
