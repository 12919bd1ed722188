/* SPDX-License-Identifier: Apache-2.0 */
/* Several devices: each has its own pool, streams and counters, and the caller's current device is left alone. */
#include "conformance.h"

SUITE(devices);

/* executorch#22312 */
BOTH_CONTRACTS(devices, have_streams_of_their_own) {
  void *none = &none;
  need_devices(2);
  if (!driver_can(WP_CAP_STREAM_DEVICE)) cr_skip_test("the driver cannot tell a stream's device");
  start(NULL);
  wp_delegate *delegate = open_on(1);
  wp_stream wrong = rig_stream_create(0), right = rig_stream_create(1);
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_alloc(delegate, MIB, wrong, &none));
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_alloc(delegate, MIB, wrong, &none)); /* nor is it learned from */
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_prime(delegate, MIB, wrong));
  cr_expect_eq(none, &none);
  cr_expect_eq(reserved(1), 0);
  void *memory = take(delegate, MIB, right);
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_free(runtime, memory, wrong));
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_note_use(runtime, memory, wrong));
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_free_after(runtime, memory, &wrong, 1));
  REFUSES(WP_ERROR_WRONG_DEVICE, wp_free_after(runtime, memory, (wp_stream[]){right, wrong}, 2));
  cr_expect_eq(rig_device_current(), 0);
  give(memory, right); /* it was live all the time */
  (void)last_close(delegate, WP_OK);
  end_stream(1, right);
  rig_stream_destroy(wrong);
}

/* -- the current device -- */

static void expect_current(int device, const char *after) {
  cr_expect_eq(rig_device_current(), device, "%s left device %d current", after, rig_device_current());
}

#define LEAVES_CURRENT(call)                                                                                           \
  do {                                                                                                                 \
    (void)(call);                                                                                                      \
    expect_current(current, #call);                                                                                    \
  } while (0)

static void call_everything(int current, int other) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  wp_delegate *delegate = NULL;
  void *memory = NULL;
  wp_stream stream = rig_stream_create(other), wrong = rig_stream_create(current);
  bool refuses = current != other && driver_can(WP_CAP_STREAM_DEVICE);
  start(NULL);
  rig_device_set(current);
  LEAVES_CURRENT(wp_delegate_open(runtime, other, NULL, &delegate));
  LEAVES_CURRENT(wp_prime(delegate, MIB, stream));
  LEAVES_CURRENT(wp_alloc(delegate, MIB, stream, &memory));
  if (refuses) LEAVES_CURRENT(wp_alloc(delegate, MIB, wrong, &memory));
  LEAVES_CURRENT(wp_alloc(delegate, device_total(other) + 1, stream, &memory));
  LEAVES_CURRENT(wp_note_use(runtime, memory, stream));
  if (refuses) LEAVES_CURRENT(wp_note_use(runtime, memory, wrong));
  if (refuses) LEAVES_CURRENT(wp_free(runtime, memory, wrong));
  LEAVES_CURRENT(wp_free(runtime, memory, stream));
  LEAVES_CURRENT(wp_alloc(delegate, MIB, WP_STREAM_LEGACY, &memory));
  LEAVES_CURRENT(wp_free_after(runtime, memory, (wp_stream[]){stream, WP_STREAM_LEGACY}, 2));
  LEAVES_CURRENT(wp_alloc(delegate, MIB, WP_STREAM_PER_THREAD, &memory));
  LEAVES_CURRENT(wp_free_after(runtime, memory, NULL, 0));
  LEAVES_CURRENT(wp_query_driver(runtime, other, &driver));
  LEAVES_CURRENT(wp_reset_peaks(runtime, WP_DEVICE_ALL));
  LEAVES_CURRENT(wp_trim(runtime, other, 0, WP_WAIT, &report));
  LEAVES_CURRENT(wp_trim(runtime, WP_DEVICE_ALL, 0, WP_NO_WAIT, NULL));
  LEAVES_CURRENT(wp_tick(runtime));
  LEAVES_CURRENT(wp_stream_retire(runtime, other, stream));
  LEAVES_CURRENT(wp_delegate_open(runtime, 1000, NULL, &delegate));
  LEAVES_CURRENT(wp_delegate_close(delegate, &report));
  OK(wp_runtime_destroy(runtime));
  expect_current(current, "wp_runtime_destroy");
  runtime = NULL;
  rig_stream_destroy(stream);
  rig_stream_destroy(wrong);
}

BOTH_CONTRACTS(devices, stay_current_over_every_call) {
  need_devices(2);
  call_everything(0, 1);
  call_everything(1, 0);
  call_everything(1, 1);
}

BOTH_CONTRACTS(devices, that_are_current_can_be_named_so) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  need_devices(2);
  start(NULL);
  rig_device_set(1);
  wp_delegate *delegate = open_on(WP_DEVICE_CURRENT);
  void *memory = take(delegate, MIB, WP_STREAM_LEGACY);
  OK(wp_pointer_info(runtime, memory, &info));
  cr_expect_eq(info.device, 1);
  cr_expect_eq(stats(WP_DEVICE_CURRENT).live_bytes, MIB);
  OK(wp_query_driver(runtime, WP_DEVICE_CURRENT, &driver));
  cr_expect_geq(driver.pool_reserved, MIB);
  rig_device_set(0);
  cr_expect_eq(stats(WP_DEVICE_CURRENT).live_bytes, 0);
  OK(wp_free(runtime, memory, WP_STREAM_LEGACY));
  (void)last_close(delegate, WP_OK);
}

/* -- pools -- */

/* rmm#2510: the pool of the second device is made later. */
BOTH_CONTRACTS(devices, are_each_warm_and_close_apart) {
  need_devices(2);
  start(NULL);
  wp_delegate *delegates[2];
  wp_stream streams[2];
  for (int i = 0; i < 2; i++) {
    delegates[i] = open_on(i);
    streams[i] = rig_stream_create(i);
    for (int j = 0; j < 3; j++) {
      give(take(delegates[i], granule(), streams[i]), streams[i]);
      rig_stream_synchronize(streams[i]);
      expect_reserved(i, 1);
    }
  }
  expect_mapped(last_close(delegates[0], WP_OK).returned_bytes, 1);
  cr_expect_eq(reserved(0), 0);
  expect_reserved(1, 1);
  give(take(delegates[1], granule(), streams[1]), streams[1]);
  rig_stream_synchronize(streams[1]);
  expect_reserved(1, 1);
  expect_mapped(last_close(delegates[1], WP_OK).returned_bytes, 1);
  for (int i = 0; i < 2; i++) end_stream(i, streams[i]);
}

BOTH_CONTRACTS(devices, are_counted_apart) {
  need_devices(2);
  start(NULL);
  wp_delegate *zero = open_on(0), *one = open_on(1);
  void *a = take(zero, 1024, WP_STREAM_LEGACY), *b = take(one, 4096, WP_STREAM_LEGACY);
  cr_expect_eq(stats(0).live_bytes, 1024);
  cr_expect_eq(stats(1).live_bytes, 4096);
  give(b, WP_STREAM_LEGACY);
  cr_expect_eq(stats(0).frees, 0);
  cr_expect_eq(stats(1).frees, 1);
  OK(wp_reset_peaks(runtime, 1));
  cr_expect_eq(stats(0).live_peak, 1024);
  cr_expect_eq(stats(1).live_peak, 0);
  give(a, WP_STREAM_LEGACY);
  OK(wp_delegate_close(zero, NULL));
  (void)last_close(one, WP_OK);
}

BOTH_CONTRACTS(devices, are_all_trimmed_together) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  need_devices(2);
  start(NULL);
  wp_delegate *zero = open_on(0), *one = open_on(1);
  give(take(zero, granule(), WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  give(take(one, 2 * granule(), WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  OK(wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report));
  cr_expect_eq(report.devices, 2);
  expect_mapped(report.reserved_before, 3);
  expect_mapped(report.returned_bytes, 3);
  cr_expect_eq(report.reserved_after, 0);
  OK(wp_delegate_close(zero, NULL));
  (void)last_close(one, WP_OK);
}

/* vllm#42873 */
BOTH_CONTRACTS(devices, that_were_not_used_are_left_alone) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  need_devices(2);
  start(NULL);
  wp_delegate *delegate = open_on(1);
  OK(wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report));
  cr_expect_eq(report.devices, 1);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_expect_eq(report.devices, 0);
  OK(wp_stream_retire(runtime, 0, WP_STREAM_LEGACY));
  OK(wp_reset_peaks(runtime, 0));
  cr_expect_eq(stats(0).allocs + stats(0).trims, 0);
  (void)last_close(delegate, WP_OK);
}

/* The legacy stream, and a thread's own, are one of each device. */
BOTH_CONTRACTS(devices, have_special_streams_of_their_own) {
  static const wp_stream handles[] = {WP_STREAM_LEGACY, WP_STREAM_PER_THREAD};
  need_devices(2);
  (void)granule();
  start(NULL);
  wp_delegate *delegate = open_on(1);
  for (size_t i = 0; i < COUNT_OF(handles); i++) {
    rig_hold *hold = rig_hold_stream(handles[i]); /* of device 0, which is current */
    give(take(delegate, granule(), handles[i]), handles[i]);
    OK(wp_trim(runtime, 1, 0, WP_WAIT, NULL));
    cr_expect_eq(reserved(1), 0);
    rig_release(hold);
  }
  void *memory = take(delegate, granule(), WP_STREAM_LEGACY);
  rig_device_set(1);
  rig_fill(WP_STREAM_LEGACY, memory, 0x31, MIB);
  expect_bytes(WP_STREAM_LEGACY, memory, 0x31, MIB);
  rig_hold *hold = rig_hold_stream(WP_STREAM_LEGACY);
  rig_device_set(0);
  give(memory, WP_STREAM_LEGACY);
  release_later(hold);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  release_is_over();
}
