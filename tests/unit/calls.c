/* SPDX-License-Identifier: Apache-2.0 */
/* Which driver calls an allocation and a free make, in which order, under both contracts. */
#include "world.h"

static struct world world;

static void start_checked(void) { world_start(&world); }
static void start_declared(void) {
  world_options.stream_contract = WP_STREAMS_DECLARED;
  world_start(&world);
}

/* First pairs, so that what happens once is over: a stream has two events in turn. */
static void warm_up(wp_stream stream) {
  for (int i = 0; i < 2; i++) expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, stream), stream));
  fake_forget();
}

WORLD_TEST(calls_checked, a_pair_asks_who_the_stream_is_and_records_the_free, start_checked) {
  warm_up(world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_str_eq(fake_log(false),
                   "device_current capture_relax stream_capturing stream_identity memory_alloc capture_restore");
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_str_eq(
      fake_log(false),
      "device_current capture_relax stream_capturing stream_identity memory_free event_record capture_restore");
}

WORLD_TEST(calls_declared, a_pair_makes_only_the_calls_it_cannot_do_without, start_declared) {
  warm_up(world.s);
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_str_eq(fake_log(false), "device_current capture_relax stream_capturing memory_alloc capture_restore "
                                    "device_current capture_relax memory_free capture_restore");
}

WORLD_TEST(calls_declared, frees_are_recorded_every_so_many, start_declared) {
  for (int i = 0; i < 64 * 3; i++) {
    expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 512, world.s), world.s));
  }
  cr_assert_eq(fake_count("event_record"), 3);
}

WORLD_TEST(calls_declared, frees_are_recorded_every_so_many_bytes, start_declared) {
  for (int i = 0; i < 6; i++) {
    expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 512 * MIB, world.s), world.s));
  }
  cr_assert_eq(fake_count("event_record"), 3);
}

WORLD_TEST(calls_declared, frees_of_a_thread_s_own_stream_are_always_recorded, start_declared) {
  for (int i = 0; i < 3; i++) warm_up(WP_STREAM_PER_THREAD);
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, WP_STREAM_PER_THREAD), WP_STREAM_PER_THREAD));
  cr_assert_eq(fake_count("event_record"), 1);
}

WORLD_TEST(calls_checked, an_identity_is_not_asked_of_the_special_streams, start_checked) {
  /* The fake driver aborts where it is. */
  warm_up(WP_STREAM_LEGACY);
  warm_up((wp_stream)1);
  warm_up(WP_STREAM_PER_THREAD);
}

WORLD_TEST(calls_checked, handle_1_is_the_legacy_stream, start_checked) {
  void *ptr = world_alloc(&world, MIB, (wp_stream)1);
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  expect(WP_OK, wp_pointer_info(world.runtime, ptr, &info));
  cr_assert_eq(info.stream, WP_STREAM_LEGACY);
  expect(WP_OK, wp_free(world.runtime, ptr, WP_STREAM_LEGACY));
  cr_assert_eq(fake_count("event_create"), 1);
}

WORLD_TEST(calls_declared, nothing_is_recorded_on_a_capturing_stream, start_declared) {
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 512, world.s), world.s));
  fake_stream_capture(world.s, true); /* the fake driver aborts at a record */
  expect(WP_ERROR_CAPTURING, wp_stream_retire(world.runtime, 0, world.s));
  expect(WP_ERROR_CAPTURING, wp_prime(world.delegate, MIB, world.s));
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert_eq(report.pending_bytes, 512); /* nobody can vouch for it yet */
  cr_assert_eq(world.log_lines, 0, "%s", world.logged);
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
}

WORLD_TEST(calls_declared, a_record_that_is_due_during_a_capture_is_made_later, start_declared) {
  void *ptrs[64];
  for (int i = 0; i < 64; i++) ptrs[i] = world_alloc(&world, 512, world.s);
  for (int i = 0; i < 63; i++) expect(WP_OK, wp_free(world.runtime, ptrs[i], world.s));
  fake_fail("stream_capturing", 1, WP_ERROR_DRIVER);
  expect(WP_OK, wp_free(world.runtime, ptrs[63], world.s));
  cr_assert_eq(world.log_lines, 1);
  cr_assert_eq(fake_count("event_record"), 0);
}

/* It could not be freed in the order of the stream. */
WORLD_TEST(calls_checked, priming_asks_for_no_memory_where_there_is_none_for_an_event, start_checked) {
  fake_fail("event_create", 1, WP_ERROR_OUT_OF_MEMORY);
  fake_forget();
  expect(WP_ERROR_OUT_OF_MEMORY, wp_prime(world.delegate, MIB, world.s));
  cr_assert_eq(fake_count("memory_alloc"), 0);
}

WORLD_TEST(calls_checked, a_call_names_no_other_stream, start_checked) {
  warm_up(world.s);
  warm_up(world.t);
  void *ptr = world_alloc(&world, MIB, world.s);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.s));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_prime(world.delegate, MIB, world.s));
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_not(fake_named(world.t));
}

WORLD_TEST(calls_checked, the_current_device_is_restored, start_checked) {
  fake_set_current(1);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_eq(fake_current(), 1);
  expect(WP_OK, wp_note_use(world.runtime, ptr, world.t));
  cr_assert_eq(fake_current(), 1);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(fake_current(), 1);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_current(), 1);
  fake_set_current(0);
}

WORLD_TEST(calls_checked, a_device_that_cannot_be_restored_is_logged, start_checked) {
  fake_set_current(1);
  fake_fail("device_set", 2, WP_ERROR_DRIVER);
  void *ptr = world_alloc(&world, MIB, world.s);
  cr_assert_eq(world.log_lines, 1);
  fake_set_current(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(calls_checked, a_record_that_fails_is_logged_and_the_free_stands, start_checked) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_fail("event_record", 1, WP_ERROR_DRIVER);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(world.log_lines, 1);
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  warm_up(world.s); /* the next record vouches for both */
}

WORLD_TEST(calls_checked, sizes_are_rounded_to_512_bytes, start_checked) {
  void *ptr = world_alloc(&world, 513, world.s);
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  expect(WP_OK, wp_pointer_info(world.runtime, (char *)ptr + 1023, &info));
  cr_assert_eq(info.base, ptr);
  cr_assert_eq(info.bytes, 1024);
  expect(WP_ERROR_INVALID_POINTER, wp_pointer_info(world.runtime, (char *)ptr + 1024, &info));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(calls_checked, an_address_that_cannot_be_registered_goes_back_to_the_driver, start_checked) {
  void *ptr = &world;
  fake.odd_addresses = true;
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, MIB, world.s, &ptr));
  cr_assert_eq(ptr, &world);
  cr_assert_eq(fake_blocks(), 0);
  fake.odd_addresses = false;
}

/* -- recycled handles -- */

WORLD_TEST(calls_checked, a_recycled_handle_is_another_stream, start_checked) {
  fake_stream_busy(world.s);
  warm_up(world.s);
  wp_stream again = fake_stream_recycled(world.s);
  cr_assert_eq(again, world.s);
  warm_up(again);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, &report));
  cr_assert_eq(report.pending_bytes, MIB); /* the destroyed stream's; the new stream's free is vouched for by its own */
  cr_assert_eq(report.returned_bytes, MIB);
}

WORLD_TEST(calls_checked, records_of_recycled_streams_are_used_again, start_checked) {
  warm_up(world.s);
  long before = wp__test_allocations();
  for (int i = 0; i < 100; i++) {
    (void)fake_stream_recycled(world.s);
    warm_up(world.s);
  }
  cr_assert_eq(wp__test_allocations(), before);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0); /* home vouches for the frees of those that are gone */
}

WORLD_TEST(calls_declared, a_retired_handle_is_another_stream, start_declared) {
  fake_stream_busy(world.s);
  warm_up(world.s);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  wp_stream again = fake_stream_recycled(world.s);
  warm_up(again);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_PENDING, wp_trim(world.runtime, 0, 0, WP_NO_WAIT, &report));
  cr_assert_eq(report.pending_bytes, MIB);
  cr_assert_eq(report.returned_bytes, MIB);
}

WORLD_TEST(calls_declared, a_release_never_names_a_retired_stream, start_declared) {
  warm_up(world.s);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.s));
  fake_stream_die(world.s); /* the fake driver aborts where it is named now */
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_reserved(0), 0);
}

WORLD_TEST(calls_declared, a_release_records_what_is_not_recorded_yet, start_declared) {
  warm_up(world.s);
  cr_assert_eq(fake_count("event_record"), 0);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_count("event_record"), 1);
  cr_assert_eq(fake_reserved(0), 0);
}

WORLD_TEST(calls_declared, retiring_an_unknown_stream_makes_no_call, start_declared) {
  fake_forget();
  expect(WP_OK, wp_stream_retire(world.runtime, 0, world.t));
  cr_assert_str_eq(fake_log(true), "");
  expect(WP_OK, wp_stream_retire(world.runtime, 1, world.t)); /* a device that is not in use */
}

WORLD_TEST(calls_checked, drivers_without_identities_are_taken_by_the_handle, start_checked) {
  wp_delegate *other;
  fake.capabilities = WP_CAP_POOLS | WP_CAP_KEEPS_FREED;
  expect(WP_OK, wp_delegate_open(world.runtime, 1, NULL, &other));
  wp_stream stream = fake_stream(1);
  void *ptr;
  fake_forget();
  expect(WP_OK, wp_alloc(other, MIB, stream, &ptr)); /* the fake driver aborts where it is asked */
  expect(WP_OK, wp_free(world.runtime, ptr, stream));
  cr_assert_eq(fake_count("stream_identity") + fake_count("stream_device"), 0);
  expect(WP_OK, wp_delegate_close(other, NULL));
}
