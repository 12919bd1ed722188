/* SPDX-License-Identifier: Apache-2.0 */
/* While a delegate is open, memory stays mapped over synchronisations: seen in reserved bytes, never in time. */
#include "conformance.h"

SUITE(warmth);

static void cycle(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  give(take(delegate, bytes, stream), stream);
  rig_stream_synchronize(stream);
}

BOTH_CONTRACTS(warmth, survives_synchronisations) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  cycle(delegate, 2 * granule(), stream);
  uint64_t warm = reserved(0);
  cr_assert_geq(warm, 2 * granule());
  for (int i = 0; i < 20; i++) {
    cycle(delegate, 2 * granule(), stream);
    cr_assert_eq(reserved(0), warm);
  }
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* cuda-python#771 */
BOTH_CONTRACTS(warmth, does_not_depend_on_a_live_byte) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  cycle(delegate, granule(), stream);
  uint64_t warm = reserved(0);
  void *byte = take(delegate, 1, stream);
  for (int i = 0; i < 5; i++) cycle(delegate, granule() / 2, stream);
  cr_expect_eq(reserved(0), warm);
  give(byte, stream);
  for (int i = 0; i < 5; i++) cycle(delegate, granule() / 2, stream);
  cr_expect_eq(reserved(0), warm);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* rocm-systems#11690, llama.cpp#5429 */
BOTH_CONTRACTS(warmth, holds_for_each_block_of_a_burst) {
  void *blocks[3];
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  for (unsigned i = 0; i < 3; i++) blocks[i] = take(delegate, 2 * granule(), stream);
  uint64_t warm = reserved(0);
  give(blocks[0], stream);
  give(blocks[1], stream);
  rig_stream_synchronize(stream);
  OK(wp_tick(runtime));
  give(blocks[2], stream);
  rig_stream_synchronize(stream);
  cr_expect_eq(reserved(0), warm);
  for (unsigned i = 0; i < 3; i++) blocks[i] = take(delegate, 2 * granule(), stream);
  cr_expect_eq(reserved(0), warm);
  for (unsigned i = 0; i < 3; i++) give(blocks[i], stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* 25 delegates in sequence on one stream need the largest one's memory, not the sum. */
BOTH_CONTRACTS(warmth, is_shared_by_the_delegates_of_a_device) {
  wp_delegate *delegates[25];
  start(NULL);
  wp_stream stream = rig_stream_create(0);
  for (unsigned i = 0; i < 25; i++) delegates[i] = open_on(0);
  cycle(delegates[0], granule(), stream);
  for (unsigned i = 1; i < 25; i++) {
    cycle(delegates[i], granule(), stream);
    expect_reserved(0, 1);
  }
  for (unsigned i = 0; i < 24; i++) OK(wp_delegate_close(delegates[i], NULL));
  expect_reserved(0, 1);
  (void)last_close(delegates[24], WP_OK);
  end_stream(0, stream);
}

BOTH_CONTRACTS(warmth, returns_with_the_first_delegate_after_a_last_close) {
  start(NULL);
  wp_stream stream = rig_stream_create(0);
  for (int i = 0; i < 3; i++) {
    wp_delegate *delegate = open_on(0);
    cycle(delegate, granule(), stream);
    expect_reserved(0, 1);
    cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  }
  end_stream(0, stream);
}

BOTH_CONTRACTS(warmth, is_limited_by_the_release_threshold) {
  void *blocks[4];
  wp_runtime_options options = defaults();
  options.release_threshold = 2 * granule();
  start(&options);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  for (unsigned i = 0; i < 4; i++) blocks[i] = take(delegate, granule(), stream);
  for (unsigned i = 0; i < 4; i++) give(blocks[i], stream);
  rig_stream_synchronize(stream);
  expect_reserved(0, 2);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* The control: without a threshold memory is cold after each synchronisation, so the tests above can fail. */
Test(warmth, is_none_with_a_threshold_of_zero) {
  wp_runtime_options options = defaults();
  options.release_threshold = 0;
  start(&options);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  cycle(delegate, granule(), stream);
  cr_expect_eq(reserved(0), 0);
  (void)last_close(delegate, WP_OK);
}

/* -- wp_prime -- */

BOTH_CONTRACTS(warmth, comes_from_priming) {
  void *blocks[4];
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  OK(wp_prime(delegate, 4 * granule(), stream));
  uint64_t primed = reserved(0);
  cr_expect_geq(primed, 4 * granule());
  rig_stream_synchronize(stream);
  cr_expect_eq(reserved(0), primed);
  for (unsigned i = 0; i < 4; i++) blocks[i] = take(delegate, granule(), stream);
  cr_expect_eq(reserved(0), primed);
  for (unsigned i = 0; i < 4; i++) give(blocks[i], stream);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

BOTH_CONTRACTS(warmth, of_priming_is_idle_memory) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  OK(wp_prime(delegate, 0, stream));
  cr_expect_eq(reserved(0), 0);
  OK(wp_prime(delegate, 2 * granule(), stream));
  wp_stats now = stats(0);
  cr_expect_eq(now.live_bytes, 0);
  cr_expect_eq(now.live_peak, 0);
  cr_expect_eq(now.allocs, 0);
  cr_expect_eq(now.frees, 0);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_expect_geq(report.returned_bytes, 2 * granule());
  cr_expect_eq(report.reserved_after, 0);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}
