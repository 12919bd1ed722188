/* SPDX-License-Identifier: Apache-2.0 */
/* wp_trim beside open delegates. */
#include "conformance.h"

SUITE(trim);

BOTH_CONTRACTS(trim, gives_idle_memory_back_and_leaves_live_blocks) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *live = take(delegate, granule(), stream);
  rig_fill(stream, live, 0x11, MIB);
  give(take(delegate, 3 * granule(), stream), stream);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_expect_eq(report.devices, 1);
  expect_mapped(report.reserved_before, 4);
  expect_mapped(report.returned_bytes, 3);
  expect_mapped(report.reserved_after, 1);
  cr_expect_eq(report.live_bytes, granule());
  expect_mapped(stats(0).trimmed_bytes, 3);
  expect_bytes(stream, live, 0x11, MIB);
  void *again = take(delegate, granule(), stream);
  rig_fill(stream, again, 0x22, MIB);
  expect_bytes(stream, live, 0x11, MIB);
  give(again, stream);
  give(live, stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* onnxruntime#26535 */
BOTH_CONTRACTS(trim, keeps_as_many_idle_bytes_as_it_was_told) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  void *blocks[6];
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  for (unsigned i = 0; i < 6; i++) blocks[i] = take(delegate, granule(), stream);
  for (unsigned i = 0; i < 6; i++) give(blocks[i], stream);
  OK(wp_trim(runtime, 0, UINT64_MAX, WP_WAIT, &report));
  expect_mapped(report.reserved_after, 6);
  OK(wp_trim(runtime, 0, 4 * granule(), WP_WAIT, &report));
  expect_mapped(report.reserved_after, 4);
  OK(wp_trim(runtime, 0, 4 * granule() - 1, WP_WAIT, &report)); /* drivers round either way */
  cr_expect_geq(report.reserved_after, 3 * granule());
  cr_expect_leq(report.reserved_after, most_mapped(4));
  for (unsigned i = 0; i < 3; i++) blocks[i] = take(delegate, granule(), stream);
  cr_expect_eq(reserved(0), report.reserved_after);
  for (unsigned i = 0; i < 3; i++) give(blocks[i], stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* "at most `keep_bytes` idle bytes are left on each": what is live does not use the allowance up. */
BOTH_CONTRACTS(trim, keeps_idle_bytes_besides_live_ones) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  void *blocks[4];
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  for (unsigned i = 0; i < 4; i++) blocks[i] = take(delegate, granule(), stream);
  give(blocks[2], stream);
  give(blocks[3], stream);
  OK(wp_trim(runtime, 0, granule(), WP_WAIT, &report));
  cr_expect_eq(report.live_bytes, 2 * granule());
  cr_expect_leq(report.reserved_after, most_mapped(3));
  cr_expect_geq(report.reserved_after, 2 * granule());
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_assert_geq(report.reserved_after, 2 * granule());
  give(blocks[0], stream);
  give(blocks[1], stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

BOTH_CONTRACTS(trim, of_nothing_is_no_trouble) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  start(NULL);
  OK(wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report)); /* no device was used so far */
  cr_expect_eq(report.devices, 0);
  cr_expect_eq(report.reserved_before, 0);
  OK(wp_trim(runtime, 0, 0, WP_NO_WAIT, &report));
  cr_expect_eq(report.devices, 0);
  OK(wp_trim(runtime, WP_DEVICE_CURRENT, 0, WP_WAIT, NULL));
  wp_delegate *delegate = open_on(0);
  OK(wp_trim(runtime, WP_DEVICE_CURRENT, 0, WP_WAIT, &report));
  cr_expect_eq(report.devices, 1);
  cr_expect_eq(report.returned_bytes, 0);
  (void)last_close(delegate, WP_OK);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_expect_eq(report.reserved_after, 0);
}

/* A report is filled anew each time, not added to. */
BOTH_CONTRACTS(trim, fills_its_report_anew) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  give(take(delegate, granule(), WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  expect_mapped(report.returned_bytes, 1);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_expect_eq(report.returned_bytes, 0);
  cr_expect_eq(report.devices, 1);
  cr_expect_eq(report.size, sizeof report);
  (void)last_close(delegate, WP_OK);
}
