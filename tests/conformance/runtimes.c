/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes: their life, the default one, and two beside one another. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

SUITE(runtimes);

BOTH_CONTRACTS(runtimes, are_busy_while_a_delegate_is_open_or_a_block_is_live) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  REFUSES(WP_ERROR_BUSY, wp_runtime_destroy(runtime));
  void *memory = take(delegate, MIB, WP_STREAM_LEGACY);
  OK(wp_delegate_close(delegate, NULL));
  REFUSES(WP_ERROR_BUSY, wp_runtime_destroy(runtime));
  give(memory, WP_STREAM_LEGACY); /* and all is as before */
  delegate = open_on(0);
  give(take(delegate, MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
  OK(wp_runtime_destroy(runtime));
  runtime = NULL;
}

BOTH_CONTRACTS(runtimes, need_not_be_used) {
  for (int i = 0; i < 50; i++) {
    start(NULL);
    OK(wp_tick(runtime));
    cr_expect_gt(wp_stats_json(runtime, NULL, 0), 1);
    OK(wp_runtime_destroy(runtime));
  }
  runtime = NULL;
}

BOTH_CONTRACTS(runtimes, give_kept_bytes_back_when_destroyed) {
  wp_driver_stats before = WP_DRIVER_STATS_INIT, after = WP_DRIVER_STATS_INIT;
  wp_runtime *observer = NULL;
  wp_runtime_options options = defaults();
  options.keep_bytes = UINT64_MAX;
  OK(wp_runtime_create(NULL, &observer));
  start(&options);
  wp_delegate *delegate = open_on(0);
  give(take(delegate, 4 * MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  cr_expect_geq(last_close(delegate, WP_OK).reserved_after, 4 * MIB);
  OK(wp_query_driver(observer, 0, &before));
  OK(wp_runtime_destroy(runtime));
  runtime = NULL;
  OK(wp_query_driver(observer, 0, &after));
  cr_expect_geq(after.device_free, before.device_free + 4 * MIB);
  OK(wp_runtime_destroy(observer));
}

BOTH_CONTRACTS(runtimes, have_pools_of_their_own) {
  start(NULL);
  wp_runtime *other = NULL;
  wp_delegate *one = open_on(0), *two = NULL;
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  void *memory = NULL;
  wp_runtime_options options = defaults();
  OK(wp_runtime_create(&options, &other));
  OK(wp_delegate_open(other, 0, NULL, &two));
  OK(wp_alloc(two, granule(), WP_STREAM_LEGACY, &memory));
  rig_fill(WP_STREAM_LEGACY, memory, 0x44, MIB);
  give(take(one, 2 * granule(), WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  OK(wp_query_driver(other, 0, &driver));
  expect_mapped(driver.pool_reserved, 1);
  expect_reserved(0, 2);
  expect_mapped(last_close(one, WP_OK).returned_bytes, 2);
  OK(wp_query_driver(other, 0, &driver));
  expect_mapped(driver.pool_reserved, 1);
  expect_bytes(WP_STREAM_LEGACY, memory, 0x44, MIB);
  OK(wp_free(other, memory, WP_STREAM_LEGACY));
  OK(wp_delegate_close(two, NULL));
  OK(wp_runtime_destroy(other));
}

/* -- the default runtime -- */

static void find_default(unsigned index, void *found) {
  wp_runtime **all = found;
  OK(wp_runtime_default(&all[index]));
}

Test(runtimes, by_default_are_one) {
  wp_runtime *found[8] = {NULL}, *again = NULL;
  wp_delegate *delegate = NULL;
  void *memory = NULL;
  run_threads(8, find_default, (void *)found);
  OK(wp_runtime_default(&again));
  for (unsigned i = 0; i < 8; i++) cr_expect_eq(found[i], again);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_runtime_destroy(again));
  OK(wp_delegate_open(again, 0, NULL, &delegate));
  OK(wp_alloc(delegate, MIB, WP_STREAM_LEGACY, &memory));
  OK(wp_free(again, memory, WP_STREAM_LEGACY));
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_eq(report.reserved_after, 0);
}

static void expect_variable_refused(const char *variable, const char *value) {
  wp_runtime *none = NULL;
  cr_assert_eq(setenv(variable, value, 1), 0);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_runtime_default(&none));
  cr_expect_null(none);
  wp_error_info info = last_error();
  cr_expect_not_null(strstr(info.message, variable), "%s=%s: %s", variable, value, info.message);
  cr_assert_eq(unsetenv(variable), 0);
}

Test(runtimes, by_default_are_configured_by_the_environment) {
  wp_runtime *the_default = NULL;
  wp_delegate *delegate = NULL;
  void *memory = NULL;
  expect_variable_refused("WARMPOOL_STREAMS", "none");
  expect_variable_refused("WARMPOOL_RELEASE_WAIT", "WAIT");
  expect_variable_refused("WARMPOOL_OOM", "0");
  expect_variable_refused("WARMPOOL_RELEASE_THRESHOLD", "-1");
  expect_variable_refused("WARMPOOL_LIMIT_BYTES", "12Q");
  expect_variable_refused("WARMPOOL_LIMIT_BYTES", "99999999999999999999");
  expect_variable_refused("WARMPOOL_KEEP_BYTES", " 1");
  expect_variable_refused("WARMPOOL_KEEP_BYTES", "1MB");
  (void)setenv("WARMPOOL_LIMIT_BYTES", "2M", 1);
  (void)setenv("WARMPOOL_STREAMS", "declared", 1);
  (void)setenv("WARMPOOL_RELEASE_WAIT", "no-wait", 1);
  (void)setenv("WARMPOOL_KEEP_BYTES", "", 1);
  OK(wp_runtime_default(&the_default)); /* after the failures above */
  OK(wp_delegate_open(the_default, 0, NULL, &delegate));
  ANSWERS(WP_ERROR_LIMIT, wp_alloc(delegate, 2 * MIB + 1, WP_STREAM_LEGACY, &memory));
  OK(wp_alloc(delegate, 2 * MIB, WP_STREAM_LEGACY, &memory));
  rig_hold *hold = rig_hold_stream(WP_STREAM_LEGACY);
  OK(wp_free(the_default, memory, WP_STREAM_LEGACY));
  ANSWERS(WP_PENDING, wp_delegate_close(delegate, NULL));
  rig_release(hold);
}
