/* SPDX-License-Identifier: Apache-2.0 */
/* The last close of a device gives everything back; no other close gives anything. */
#include "conformance.h"

SUITE(last_close);

#define BYTES (2 * granule())

BOTH_CONTRACTS(last_close, gives_everything_back) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  give(take(delegate, BYTES, stream), stream);
  give(take(delegate, 3 * MIB, stream), stream);
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_geq(report.reserved_before, BYTES);
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_eq(report.live_bytes, 0);
  cr_expect_eq(report.pending_bytes, 0);
  cr_expect_eq(reserved(0), 0);
  cr_expect_eq(stats(0).reserved_bytes, 0);
  cr_expect_eq(stats(0).trimmed_bytes, report.returned_bytes);
  cr_expect_eq(stats(0).trims, 1);
  end_stream(0, stream);
}

BOTH_CONTRACTS(last_close, gives_back_what_hundreds_of_small_blocks_used) {
  static void *blocks[300];
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream streams[3] = {rig_stream_create(0), rig_stream_create(0), WP_STREAM_LEGACY};
  for (unsigned i = 0; i < COUNT_OF(blocks); i++) blocks[i] = take(delegate, 1 + i * 700, streams[i % 3]);
  for (unsigned i = 0; i < COUNT_OF(blocks); i++) give(blocks[i], streams[i % 3]);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, streams[0]);
  end_stream(0, streams[1]);
}

/* Nothing was ever allocated. */
BOTH_CONTRACTS(last_close, of_an_unused_delegate_has_nothing_to_give) {
  start(NULL);
  wp_release_report report = last_close(open_on(0), WP_OK);
  cr_expect_eq(report.reserved_before, 0);
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_eq(report.waited_ns, 0);
}

/* executorch#22312; CHECKED: with no word about it; DECLARED: after wp_stream_retire. */
BOTH_CONTRACTS(last_close, needs_no_stream_to_exist) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *memory = take(delegate, BYTES, stream);
  rig_busy(stream, 20);
  give(memory, stream);
  end_stream(0, stream);
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_eq(reserved(0), 0);
}

/* triton#1082 */
BOTH_CONTRACTS(last_close, is_not_the_close_of_one_of_two) {
  start(NULL);
  wp_delegate *one = open_on(0), *other = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *kept = take(other, granule(), stream);
  rig_fill(stream, kept, 0x5a, MIB);
  give(take(one, BYTES, stream), stream);
  uint64_t before = reserved(0);
  wp_release_report report = last_close(one, WP_OK); /* not the last one, that is */
  cr_expect_eq(report.returned_bytes, 0);
  cr_expect_eq(report.reserved_after, before);
  cr_expect_eq(report.live_bytes, stats(0).live_bytes);
  cr_expect_eq(reserved(0), before);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  expect_reserved(0, 1);
  expect_bytes(stream, kept, 0x5a, MIB);
  give(kept, stream);
  cr_expect_eq(last_close(other, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

BOTH_CONTRACTS(last_close, is_not_put_off_by_an_open_that_failed) {
  wp_delegate *none = NULL;
  wp_delegate_options bad = WP_DELEGATE_OPTIONS_INIT;
  bad.size = 1;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  give(take(delegate, BYTES, stream), stream);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_open(runtime, 0, &bad, &none));
  REFUSES(WP_ERROR_NO_DEVICE, wp_delegate_open(runtime, rig_device_count(), NULL, &none));
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

/* -- live blocks -- */

/* intel/llvm#17411 */
BOTH_CONTRACTS(last_close, leaves_live_blocks_valid_and_they_go_back_when_freed) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *memory = take(delegate, granule(), stream);
  rig_fill(stream, memory, 0x3c, MIB);
  give(take(delegate, BYTES, stream), stream);
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_eq(report.live_bytes, granule());
  cr_expect_eq(report.pending_bytes, 0);
  expect_mapped(report.reserved_after, 1);
  cr_expect_eq(stats_of(delegate).live_bytes, granule());
  expect_bytes(stream, memory, 0x3c, MIB);
  give(memory, stream);
  tick_until_reserved(0, 0);
  cr_expect_eq(stats(0).live_bytes, 0);
  end_stream(0, stream);
}

BOTH_CONTRACTS(last_close, does_not_wait_for_the_work_on_live_blocks) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *memory = take(delegate, granule(), stream);
  rig_hold *hold = rig_hold_stream(stream);
  rig_fill(stream, memory, 0x77, MIB);
  cr_expect_eq(last_close(delegate, WP_OK).live_bytes, granule());
  rig_release(hold);
  expect_bytes(stream, memory, 0x77, MIB);
  give(memory, stream);
  tick_until_reserved(0, 0);
  end_stream(0, stream);
}

BOTH_CONTRACTS(last_close, is_followed_by_frees_behind_unfinished_work) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *memory = take(delegate, granule(), stream);
  (void)last_close(delegate, WP_OK);
  rig_hold *hold = rig_hold_stream(stream);
  give(memory, stream);
  cr_expect_eq(stats(0).live_bytes, 0);
  OK(wp_tick(runtime));
  expect_reserved(0, 1);
  rig_release(hold);
  tick_until_reserved(0, 0);
  end_stream(0, stream);
}

/* -- keep_bytes -- */

BOTH_CONTRACTS(last_close, keeps_what_it_was_told_to_keep) {
  void *blocks[4];
  wp_runtime_options options = defaults();
  options.keep_bytes = 2 * granule();
  start(&options);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  for (unsigned i = 0; i < 4; i++) blocks[i] = take(delegate, granule(), stream);
  for (unsigned i = 0; i < 4; i++) give(blocks[i], stream);
  wp_release_report report = last_close(delegate, WP_OK);
  expect_mapped(report.reserved_after, 2);
  rig_stream_synchronize(stream);
  expect_reserved(0, 2);
  delegate = open_on(0);
  for (unsigned i = 0; i < 2; i++) blocks[i] = take(delegate, granule(), stream);
  expect_reserved(0, 2);
  for (unsigned i = 0; i < 2; i++) give(blocks[i], stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* -- the delegate -- */

BOTH_CONTRACTS(last_close, comes_once) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  start(NULL);
  wp_delegate *one = open_on(0), *other = open_on(0);
  void *memory = take(one, 1, WP_STREAM_LEGACY), *none = &none;
  OK(wp_delegate_close(NULL, NULL));
  OK(wp_delegate_close(one, NULL));
  report.returned_bytes = 7;
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_close(one, &report)); /* closed, with a block */
  cr_expect_eq(report.returned_bytes, 7);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_alloc(one, 1, WP_STREAM_LEGACY, &none));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_prime(one, 1, WP_STREAM_LEGACY));
  cr_expect_eq(none, &none);
  give(memory, WP_STREAM_LEGACY);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_close(one, &report)); /* closed, and gone */
  OK(wp_delegate_close(other, NULL));
}

/* A wrong report is found before anything is done. */
BOTH_CONTRACTS(last_close, is_refused_where_the_report_has_another_size) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  report.size--;
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_close(delegate, &report));
  report.size += 2;
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_close(delegate, &report));
  give(take(delegate, 1, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}
