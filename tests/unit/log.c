/* SPDX-License-Identifier: Apache-2.0 */
/* What a log callback may do. */
#include "world.h"

static struct world world;

static int asked;
static void ask_all(void *user, const char *message) {
  (void)user, (void)message;
  char text[4096];
  for (int i = 0; i < fake.devices; i++) {
    wp_stats stats = WP_STATS_INIT;
    wp_driver_stats driver = WP_DRIVER_STATS_INIT;
    expect(WP_OK, wp_device_stats(world.runtime, i, &stats));
    expect(WP_OK, wp_query_driver(world.runtime, i, &driver));
  }
  cr_assert_gt(wp_stats_json(world.runtime, text, sizeof text), 0);
  asked++;
}

/* Of what its questions meet it is not told: with this driver that has no end. */
static void ask_and_fail(void *user, const char *message) {
  fake_fail("pool_trim", 1, WP_ERROR_DRIVER);
  cr_assert_lt(asked, 10);
  ask_all(user, message);
}
Test(log, is_told_once_of_what_goes_on_failing, .timeout = 10) {
  wp_delegate *delegate;
  void *ptr;
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.backend = &fake_backend;
  options.log = ask_and_fail;
  expect(WP_OK, wp_runtime_create(&options, &world.runtime));
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &delegate));
  wp_stream stream = fake_stream(0);
  expect(WP_OK, wp_alloc(delegate, MIB, stream, &ptr));
  expect(WP_OK, wp_delegate_close(delegate, NULL));
  fake_fail("pool_trim", 1, WP_ERROR_DRIVER);
  expect(WP_OK, wp_free(world.runtime, ptr, stream));
  cr_assert_eq(asked, 1);
  fake_fail("pool_trim", 1, WP_ERROR_DRIVER);
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  expect(WP_OK, wp_query_driver(world.runtime, 0, &driver));
  cr_assert_eq(asked, 2);
}

/* Each restores the thread's mode at its end, which can fail and is logged. */
Test(log, may_ask_for_statistics_while_the_runtime_ends, .timeout = 10) {
  for (int nth = 1; nth <= 16; nth++) {
    wp_delegate *delegates[2];
    wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
    options.backend = &fake_backend;
    options.log = ask_all;
    options.trace_path = "/dev/full"; /* told at the very end */
    asked = 0;
    expect(WP_OK, wp_runtime_create(&options, &world.runtime));
    for (int i = 0; i < 2; i++) expect(WP_OK, wp_delegate_open(world.runtime, i, NULL, &delegates[i]));
    for (int i = 0; i < 2; i++) expect(WP_OK, wp_delegate_close(delegates[i], NULL));
    fake_fail("capture_restore", nth, WP_ERROR_DRIVER);
    expect(WP_OK, wp_runtime_destroy(world.runtime));
    cr_assert_geq(asked, 1);
  }
}
