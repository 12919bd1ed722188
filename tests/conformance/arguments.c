/* SPDX-License-Identifier: Apache-2.0 */
/* Bad arguments: a status from the list, wp_last_error filled, nothing done. */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "conformance.h"

SUITE(arguments);

static void *none;
static wp_delegate *no_delegate;
static wp_release_report report;
static wp_stats counters;
static wp_driver_stats driver_stats;
static wp_pointer_info_t info;

static const size_t wrong_sizes[] = {0, 1, sizeof(size_t), SIZE_MAX};

Test(arguments, that_are_no_runtime_are_refused) {
  report = (wp_release_report)WP_RELEASE_REPORT_INIT;
  counters = (wp_stats)WP_STATS_INIT;
  driver_stats = (wp_driver_stats)WP_DRIVER_STATS_INIT;
  info = (wp_pointer_info_t)WP_POINTER_INFO_INIT;
  OK(wp_runtime_destroy(NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_runtime_create(NULL, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_runtime_default(NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_trim(NULL, 0, 0, WP_WAIT, &report));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_tick(NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_stream_retire(NULL, 0, WP_STREAM_LEGACY));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_device_lost(NULL, 0));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_open(NULL, 0, NULL, &no_delegate));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_free(NULL, &none, WP_STREAM_LEGACY));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_free_after(NULL, &none, NULL, 0));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_note_use(NULL, &none, WP_STREAM_LEGACY));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_pointer_info(NULL, &none, &info));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_device_stats(NULL, 0, &counters));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_query_driver(NULL, 0, &driver_stats));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_reset_peaks(NULL, 0));
}

BOTH_CONTRACTS(arguments, that_are_null_are_refused) {
  counters = (wp_stats)WP_STATS_INIT;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  OK(wp_delegate_close(NULL, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_open(runtime, 0, NULL, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_alloc(NULL, 1, WP_STREAM_LEGACY, &none));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_alloc(delegate, 1, WP_STREAM_LEGACY, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_alloc(delegate, 0, WP_STREAM_LEGACY, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_prime(NULL, 1, WP_STREAM_LEGACY));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_stats(NULL, &counters));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_stats(delegate, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_device_stats(runtime, 0, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_query_driver(runtime, 0, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_trim(runtime, 0, 0, (wp_wait)2, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_trim(runtime, 0, 0, (wp_wait)-1, NULL));
  (void)last_close(delegate, WP_OK);
}

/* -- sizes of structs -- */

BOTH_CONTRACTS(arguments, with_another_size_are_refused) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  void *memory = take(delegate, 1, WP_STREAM_LEGACY);
#define REFUSES_SIZES(type, object, call)                                                                              \
  for (size_t i = 0; i < COUNT_OF(wrong_sizes) + 2; i++) {                                                             \
    type untouched;                                                                                                    \
    memset(&object, 0xa5, sizeof object);                                                                              \
    object.size = i < COUNT_OF(wrong_sizes) ? wrong_sizes[i] : sizeof object - 1 + 2 * (i - COUNT_OF(wrong_sizes));    \
    memcpy(&untouched, &object, sizeof object);                                                                        \
    REFUSES(WP_ERROR_INVALID_ARGUMENT, call);                                                                          \
    cr_expect_eq(memcmp(&untouched, &object, sizeof object), 0, #type " was touched");                                 \
  }
  REFUSES_SIZES(wp_stats, counters, wp_device_stats(runtime, 0, &counters))
  REFUSES_SIZES(wp_stats, counters, wp_delegate_stats(delegate, &counters))
  REFUSES_SIZES(wp_driver_stats, driver_stats, wp_query_driver(runtime, 0, &driver_stats))
  REFUSES_SIZES(wp_release_report, report, wp_trim(runtime, 0, 0, WP_WAIT, &report))
  REFUSES_SIZES(wp_release_report, report, wp_delegate_close(delegate, &report))
  REFUSES_SIZES(wp_pointer_info_t, info, wp_pointer_info(runtime, memory, &info))
  static wp_delegate_options options;
  REFUSES_SIZES(wp_delegate_options, options, wp_delegate_open(runtime, 0, &options, &no_delegate))
  static wp_runtime_options wide;
  static wp_runtime *no_runtime;
  REFUSES_SIZES(wp_runtime_options, wide, wp_runtime_create(&wide, &no_runtime))
#undef REFUSES_SIZES
  cr_expect_null(no_delegate);
  cr_expect_null(no_runtime);
  give(memory, WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}

/* -- options -- */

static void expect_options_refused(const wp_runtime_options *options, const char *named) {
  wp_runtime *made = NULL;
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_runtime_create(options, &made));
  cr_expect_null(made);
  wp_error_info error = last_error();
  cr_expect_not_null(strstr(error.message, named), "%s is not named: %s", named, error.message);
}

Test(arguments, that_no_option_has_are_refused) {
  static const int bad[] = {-1, 3, 1000, INT_MAX, INT_MIN};
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
    options.stream_contract = (wp_stream_contract)bad[i];
    expect_options_refused(&options, "stream_contract");
    options = (wp_runtime_options)WP_RUNTIME_OPTIONS_INIT;
    options.release_wait = (wp_wait)bad[i];
    expect_options_refused(&options, "release_wait");
    options = (wp_runtime_options)WP_RUNTIME_OPTIONS_INIT;
    options.oom_policy = (wp_oom_policy)bad[i];
    expect_options_refused(&options, "oom_policy");
  }
}

Test(arguments, that_are_half_a_backend_are_refused) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_backend half;
  options.backend = &half;
#define LACKING(member)                                                                                                \
  half = *wp_backend_builtin();                                                                                        \
  half.member = NULL;                                                                                                  \
  expect_options_refused(&options, #member);
  WP_BACKEND_LIST(LACKING)
#undef LACKING
  half = *wp_backend_builtin();
  half.size--;
  expect_options_refused(&options, "size");
}

/* -- devices -- */

static void expect_device_refused(int device, wp_status expected) {
  counters = (wp_stats)WP_STATS_INIT;
  driver_stats = (wp_driver_stats)WP_DRIVER_STATS_INIT;
  report = (wp_release_report)WP_RELEASE_REPORT_INIT;
  REFUSES(expected, wp_delegate_open(runtime, device, NULL, &no_delegate));
  REFUSES(expected, wp_query_driver(runtime, device, &driver_stats));
  REFUSES(expected, wp_device_stats(runtime, device, &counters));
  REFUSES(expected, wp_stream_retire(runtime, device, WP_STREAM_LEGACY));
  if (device == WP_DEVICE_ALL) return;
  REFUSES(expected, wp_reset_peaks(runtime, device));
  REFUSES(expected, wp_trim(runtime, device, 0, WP_WAIT, &report));
}

BOTH_CONTRACTS(arguments, that_are_no_device_are_refused) {
  start(NULL);
  REFUSES(WP_ERROR_NO_DEVICE, wp_delegate_open(runtime, rig_device_count(), NULL, &no_delegate)); /* the first open */
  REFUSES(WP_ERROR_NO_DEVICE, wp_delegate_open(runtime, INT_MAX, NULL, &no_delegate));
  wp_delegate *delegate = open_on(0);
  expect_device_refused(rig_device_count(), WP_ERROR_NO_DEVICE);
  expect_device_refused(INT_MAX, WP_ERROR_NO_DEVICE);
  expect_device_refused(WP_DEVICE_ALL, WP_ERROR_INVALID_ARGUMENT);
  expect_device_refused(-3, WP_ERROR_INVALID_ARGUMENT);
  expect_device_refused(INT_MIN, WP_ERROR_INVALID_ARGUMENT);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_device_lost(runtime, WP_DEVICE_CURRENT));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_device_lost(runtime, WP_DEVICE_ALL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_device_lost(runtime, INT_MIN));
  OK(wp_device_lost(runtime, INT_MAX)); /* "a device that was not in use" */
  cr_expect_null(no_delegate);
  (void)last_close(delegate, WP_OK);
}

/* -- bytes -- */

BOTH_CONTRACTS(arguments, of_too_many_bytes_are_refused) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  uint64_t total = device_total(0);
  size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 511, SIZE_MAX - 512, SIZE_MAX / 2, total + 1, total + 4096};
  none = &none;
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    REFUSES(WP_ERROR_OUT_OF_MEMORY, wp_alloc(delegate, sizes[i], WP_STREAM_LEGACY, &none));
    cr_expect_geq(last_error().requested_bytes, sizes[i]);
    REFUSES(WP_ERROR_OUT_OF_MEMORY, wp_prime(delegate, sizes[i], WP_STREAM_LEGACY));
    cr_expect_geq(last_error().requested_bytes, sizes[i]);
  }
  cr_expect_eq(none, &none);
  cr_expect_eq(reserved(0), 0);
  give(take(delegate, 1, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}

/* -- wp_last_error itself, and the texts -- */

static void *expect_no_error_here(void *argument) {
  (void)argument;
  cr_expect_null(last_error().call, "errors belong to their thread");
  return NULL;
}

Test(arguments, that_failed_are_remembered_for_their_thread) {
  wp_error_info small = WP_ERROR_INFO_INIT;
  pthread_t thread;
  cr_expect_null(last_error().call);
  ANSWERS(WP_ERROR_INVALID_ARGUMENT, wp_tick(NULL));
  start(NULL);
  OK(wp_tick(runtime));
  cr_expect_str_eq(last_error().call, "wp_tick"); /* success does not change it */
  cr_expect_eq(last_error().code, WP_ERROR_INVALID_ARGUMENT);
  cr_expect_str_eq(last_error().name, "WP_ERROR_INVALID_ARGUMENT");
  cr_assert_eq(pthread_create(&thread, NULL, expect_no_error_here, NULL), 0);
  (void)pthread_join(thread, NULL);
  wp_last_error(NULL);
  small.size--;
  small.code = 42;
  wp_last_error(&small);
  cr_expect_eq(small.code, 42);
}

Test(arguments, of_statuses_have_names_and_phrases) {
#define NAMED(name, value, message)                                                                                    \
  cr_expect_str_eq(wp_status_name((wp_status)value), #name);                                                           \
  cr_expect_str_eq(wp_status_message((wp_status)value), message);
  WP_STATUS_LIST(NAMED)
#undef NAMED
  cr_expect_str_eq(wp_status_name((wp_status)99), "WP_ERROR_UNKNOWN");
  cr_expect_str_eq(wp_status_name((wp_status)-1), "WP_ERROR_UNKNOWN");
  cr_expect_not_null(wp_status_message((wp_status)99));
}
