/* SPDX-License-Identifier: Apache-2.0 */
/* wp_device_lost: CUDA.jl#1579 and #16. The built-in backend is wrapped, to count the calls it gets. */
#include <stdatomic.h>

#include "conformance.h"

SUITE(lost);

static atomic_uint calls;
static const wp_backend *inner;

static wp_status alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->memory_alloc(self, pool, bytes, stream, out);
}
static wp_status release(void *self, void *memory, wp_stream stream) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->memory_free(self, memory, stream);
}
static wp_status query(void *self, wp_event event, bool *complete) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->event_query(self, event, complete);
}
static wp_status synchronize(void *self, wp_event event) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->event_synchronize(self, event);
}
static wp_status trim(void *self, wp_pool pool, uint64_t keep) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->pool_trim(self, pool, keep);
}
static wp_status destroy(void *self, wp_pool pool) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->pool_destroy(self, pool);
}
static wp_status set_device(void *self, int device) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->device_set(self, device);
}
static wp_status current(void *self, int *out) {
  (void)atomic_fetch_add(&calls, 1);
  return inner->device_current(self, out);
}

static void start_counting(void) {
  static wp_backend counting;
  wp_runtime_options options = defaults();
  inner = wp_backend_builtin();
  counting = *inner;
  counting.memory_alloc = alloc;
  counting.memory_free = release;
  counting.event_query = query;
  counting.event_synchronize = synchronize;
  counting.pool_trim = trim;
  counting.pool_destroy = destroy;
  counting.device_set = set_device;
  counting.device_current = current;
  options.backend = &counting;
  start(&options);
}

BOTH_CONTRACTS(lost, devices_are_forgotten_without_asking_the_driver) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  void *none = &none;
  start_counting();
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0), other = rig_stream_create(0);
  void *live = take(delegate, MIB, stream), *parked = take(delegate, MIB, stream);
  rig_hold *hold = rig_hold_stream(other);
  OK(wp_note_use(runtime, parked, other));
  OK(wp_note_use(runtime, live, other));
  give(parked, stream);
  cr_expect_eq(stats(0).parked_bytes, MIB);

  unsigned before = atomic_load(&calls);
  OK(wp_device_lost(runtime, 0));
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_free(runtime, live, stream));
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_free(runtime, parked, stream));
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_free_after(runtime, live, NULL, 0));
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_note_use(runtime, live, stream));
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_pointer_info(runtime, live, &info));
  ANSWERS(WP_ERROR_NO_DEVICE, wp_alloc(delegate, MIB, stream, &none));
  cr_expect_not_null(last_error().call);
  ANSWERS(WP_ERROR_NO_DEVICE, wp_prime(delegate, MIB, stream));
  cr_expect_eq(none, &none);
  OK(wp_tick(runtime));
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  OK(wp_stream_retire(runtime, 0, stream));
  cr_expect_eq(stats_of(delegate).live_bytes, 0);
  cr_expect_eq(stats(0).live_bytes, 0);
  cr_expect_eq(stats(0).parked_bytes, 0);
  OK(wp_device_lost(runtime, 0)); /* again: it is not in use */
  OK(wp_delegate_close(delegate, &report));
  ANSWERS(WP_ERROR_INVALID_ARGUMENT, wp_delegate_close(delegate, NULL));
  cr_expect_eq(atomic_load(&calls), before, "%u calls of the driver", atomic_load(&calls) - before);
  rig_release(hold);
}

BOTH_CONTRACTS(lost, devices_come_back_with_a_fresh_pool) {
  start_counting();
  wp_delegate *old = open_on(0);
  void *live = take(old, MIB, WP_STREAM_LEGACY);
  OK(wp_device_lost(runtime, 0));
  wp_delegate *delegate = open_on(0); /* beside the old one, which is still open */
  cr_expect_eq(reserved(0), 0);
  void *memory = take(delegate, MIB, WP_STREAM_LEGACY);
  rig_fill(WP_STREAM_LEGACY, memory, 0x17, MIB);
  expect_bytes(WP_STREAM_LEGACY, memory, 0x17, MIB);
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_free(runtime, live, WP_STREAM_LEGACY));
  ANSWERS(WP_ERROR_BUSY, wp_runtime_destroy(runtime));
  OK(wp_delegate_close(old, NULL));
  cr_expect_eq(stats(0).live_bytes, MIB);
  give(memory, WP_STREAM_LEGACY);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
}

BOTH_CONTRACTS(lost, devices_leave_the_others_alone) {
  need_devices(2);
  start_counting();
  wp_delegate *zero = open_on(0), *one = open_on(1);
  void *gone = take(zero, MIB, WP_STREAM_LEGACY), *kept = take(one, MIB, WP_STREAM_LEGACY);
  OK(wp_device_lost(runtime, 0));
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_free(runtime, gone, WP_STREAM_LEGACY));
  cr_expect_eq(stats(1).live_bytes, MIB);
  give(kept, WP_STREAM_LEGACY);
  OK(wp_delegate_close(zero, NULL));
  cr_expect_eq(last_close(one, WP_OK).reserved_after, 0);
}
