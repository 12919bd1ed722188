/* SPDX-License-Identifier: Apache-2.0 */
/* Options, the environment, and arguments that mean nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"
#include "warmpool/version.h"
#include "world.h"

static struct world world;
static void start(void) { world_start(&world); }
static void nothing_yet(void) {} /* the test starts the world itself, with other options */
TestSuite(options, .timeout = 10);

#define refuse(text, call)                                                                                             \
  do {                                                                                                                 \
    expect(WP_ERROR_INVALID_ARGUMENT, call);                                                                           \
    wp_error_info refuse_info_ = world_error();                                                                        \
    cr_assert_not_null(strstr(refuse_info_.message, text), "the message does not say '%s': %s", text,                  \
                       refuse_info_.message);                                                                          \
  } while (0)

Test(options, every_member_of_a_backend_is_required) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_runtime *runtime = NULL;
  wp_backend backend;
  options.backend = &backend;
#define WITHOUT(member)                                                                                                \
  backend = fake_backend;                                                                                              \
  backend.member = NULL;                                                                                               \
  refuse("wp_backend." #member, wp_runtime_create(&options, &runtime));
  WP_BACKEND_LIST(WITHOUT)
  WITHOUT(name)
  backend = fake_backend;
  backend.size--;
  refuse("wp_backend.size", wp_runtime_create(&options, &runtime));
  cr_assert_null(runtime);
}

/* A member that the list forgets would go unchecked. */
Test(options, the_list_of_members_is_complete) {
  size_t listed = 0;
#define COUNT(member) listed++;
  WP_BACKEND_LIST(COUNT)
  size_t before = offsetof(wp_backend, device_count);
  cr_assert_eq((sizeof(wp_backend) - before) / sizeof(void (*)(void)), listed);
}

Test(options, values_out_of_range_are_named) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_runtime *runtime = NULL;
  refuse("out is NULL", wp_runtime_create(NULL, NULL));
  options.size = sizeof options - 1;
  refuse("wp_runtime_options.size", wp_runtime_create(&options, &runtime));
  options.size = sizeof options + 8;
  refuse("wp_runtime_options.size", wp_runtime_create(&options, &runtime));
  options.size = sizeof options;
  options.caching = (wp_caching)2;
  refuse("caching", wp_runtime_create(&options, &runtime));
  options.caching = WP_CACHING_LANES;
  options.stream_contract = (wp_stream_contract)2;
  refuse("stream_contract", wp_runtime_create(&options, &runtime));
  options.stream_contract = WP_STREAMS_CHECKED;
  options.release_wait = (wp_wait)7;
  refuse("release_wait", wp_runtime_create(&options, &runtime));
  options.release_wait = WP_WAIT;
  options.oom_policy = (wp_oom_policy)3;
  refuse("oom_policy", wp_runtime_create(&options, &runtime));
  options.oom_policy = WP_OOM_FAIL;
  options.graph_trim = (wp_graph_trim)2;
  refuse("graph_trim", wp_runtime_create(&options, &runtime));
  cr_assert_null(runtime);
}

Test(options, the_default_runtime_reads_the_environment) {
  static const char *const wrong[][2] = {{"WARMPOOL_STREAMS", "sometimes"},
                                         {"WARMPOOL_RELEASE_WAIT", "yes"},
                                         {"WARMPOOL_OOM", "kill"},
                                         {"WARMPOOL_RELEASE_THRESHOLD", "1Q"},
                                         {"WARMPOOL_LIMIT_BYTES", "-1"},
                                         {"WARMPOOL_KEEP_BYTES", "1Mi"},
                                         {"WARMPOOL_KEEP_BYTES", "99999999999999999999"},
                                         {"WARMPOOL_KEEP_BYTES", "99999999999T"},
                                         {"WARMPOOL_GRAPH_TRIM", "always"}};
  wp_runtime *runtime = NULL, *again = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cr_assert_eq(setenv(wrong[i][0], wrong[i][1], 1), 0);
    refuse(wrong[i][0], wp_runtime_default(&runtime));
    cr_assert_eq(unsetenv(wrong[i][0]), 0);
  }
  cr_assert_null(runtime);
  (void)setenv("WARMPOOL_STREAMS", "declared", 1);
  (void)setenv("WARMPOOL_RELEASE_WAIT", "no-wait", 1);
  (void)setenv("WARMPOOL_OOM", "reclaim", 1);
  (void)setenv("WARMPOOL_GRAPH_TRIM", "never", 1);
  (void)setenv("WARMPOOL_RELEASE_THRESHOLD", "2G", 1);
  (void)setenv("WARMPOOL_LIMIT_BYTES", "3M", 1);
  (void)setenv("WARMPOOL_KEEP_BYTES", "12345", 1);
  expect(WP_OK, wp_runtime_default(&runtime));
  cr_assert_eq(runtime->options.stream_contract, WP_STREAMS_DECLARED);
  cr_assert_eq(runtime->options.release_wait, WP_NO_WAIT);
  cr_assert_eq(runtime->options.oom_policy, WP_OOM_RECLAIM);
  cr_assert_eq(runtime->options.graph_trim, WP_GRAPH_TRIM_NEVER);
  cr_assert_eq(runtime->options.release_threshold, (uint64_t)2 << 30);
  cr_assert_eq(runtime->options.limit_bytes, (uint64_t)3 << 20);
  cr_assert_eq(runtime->options.keep_bytes, 12345);
  expect(WP_OK, wp_runtime_default(&again));
  cr_assert_eq(runtime, again);
  refuse("default runtime", wp_runtime_destroy(runtime));
  refuse("out is NULL", wp_runtime_default(NULL));
  wp__test_set_fork_generation(1);
  expect(WP_ERROR_FORKED, wp_runtime_default(&again));
  wp__test_set_fork_generation(0);
}

WORLD_TEST(arguments, nulls_are_refused, start) {
  void *ptr = world_alloc(&world, MIB, world.s), *out = NULL;
  wp_delegate *delegate = NULL;
  wp_stats stats = WP_STATS_INIT;
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  wp_runtime *runtime = world.runtime;
  refuse("runtime is NULL", wp_delegate_open(NULL, 0, NULL, &delegate));
  refuse("out is NULL", wp_delegate_open(runtime, 0, NULL, NULL));
  refuse("delegate is NULL", wp_alloc(NULL, MIB, world.s, &out));
  refuse("out is NULL", wp_alloc(world.delegate, MIB, world.s, NULL));
  refuse("delegate is NULL", wp_prime(NULL, MIB, world.s));
  refuse("runtime is NULL", wp_free(NULL, ptr, world.s));
  refuse("streams is NULL", wp_free_after(runtime, ptr, NULL, 1));
  refuse("ptr is NULL", wp_note_use(runtime, NULL, world.s));
  refuse("runtime is NULL", wp_note_use(NULL, ptr, world.s));
  refuse("ptr is NULL", wp_pointer_info(runtime, NULL, &info));
  refuse("out is NULL", wp_pointer_info(runtime, ptr, NULL));
  refuse("runtime is NULL", wp_trim(NULL, 0, 0, WP_WAIT, NULL));
  refuse("runtime is NULL", wp_tick(NULL));
  refuse("runtime is NULL", wp_stream_retire(NULL, 0, world.s));
  refuse("runtime is NULL", wp_device_lost(NULL, 0));
  refuse("runtime is NULL", wp_reset_peaks(NULL, 0));
  refuse("runtime is NULL", wp_device_stats(NULL, 0, &stats));
  refuse("out is NULL", wp_device_stats(runtime, 0, NULL));
  refuse("delegate is NULL", wp_delegate_stats(NULL, &stats));
  refuse("out is NULL", wp_delegate_stats(world.delegate, NULL));
  refuse("out is NULL", wp_query_driver(runtime, 0, NULL));
  refuse("runtime is NULL", wp_query_driver(NULL, 0, &driver));
  cr_assert_eq(wp_stats_json(NULL, NULL, 0), 0);
  expect(WP_OK, wp_free(runtime, NULL, world.s));
  expect(WP_OK, wp_free_after(runtime, NULL, NULL, 0));
  expect(WP_OK, wp_delegate_close(NULL, NULL));
  expect(WP_OK, wp_runtime_destroy(NULL));
  expect(WP_OK, wp_free(runtime, ptr, world.s));
}

WORLD_TEST(arguments, sizes_of_structs_are_checked, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  for (int i = -1; i <= 1; i += 2) {
    wp_stats stats = WP_STATS_INIT;
    wp_driver_stats driver = WP_DRIVER_STATS_INIT;
    wp_pointer_info_t info = WP_POINTER_INFO_INIT;
    wp_release_report report = WP_RELEASE_REPORT_INIT;
    wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
    wp_delegate *delegate = NULL;
    size_t change = (size_t)(i * 8);
    stats.size += change;
    driver.size += change;
    info.size += change;
    report.size += change;
    options.size += change;
    refuse("wp_stats.size", wp_device_stats(world.runtime, 0, &stats));
    refuse("wp_stats.size", wp_delegate_stats(world.delegate, &stats));
    refuse("wp_driver_stats.size", wp_query_driver(world.runtime, 0, &driver));
    refuse("wp_pointer_info_t.size", wp_pointer_info(world.runtime, ptr, &info));
    refuse("wp_release_report.size", wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
    refuse("wp_release_report.size", wp_delegate_close(world.delegate, &report));
    refuse("wp_delegate_options.size", wp_delegate_open(world.runtime, 0, &options, &delegate));
    cr_assert_eq(stats.allocs, 0);
  }
  wp_error_info info = WP_ERROR_INFO_INIT;
  info.size = 1;
  wp_last_error(&info); /* leaves it alone */
  wp_last_error(NULL);
  cr_assert_null(info.call);
  refuse("wp_wait", wp_trim(world.runtime, 0, 0, (wp_wait)2, NULL));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(arguments, a_closed_delegate_is_refused, start) {
  wp_delegate *second;
  wp_stats stats = WP_STATS_INIT;
  void *ptr, *out = NULL;
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &second));
  expect(WP_OK, wp_alloc(second, MIB, world.s, &ptr));
  expect(WP_OK, wp_delegate_close(second, NULL));
  refuse("closed", wp_delegate_close(second, NULL));
  refuse("closed", wp_alloc(second, MIB, world.s, &out));
  expect(WP_OK, wp_delegate_stats(second, &stats)); /* its last block is live */
  cr_assert_eq(stats.live_bytes, MIB);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  refuse("closed", wp_delegate_stats(second, &stats));
  refuse("closed", wp_delegate_close(second, NULL));
  wp_delegate *third; /* does not get the record at once, so that a stale handle is noticed */
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &third));
  refuse("closed", wp_delegate_close(second, NULL));
  expect(WP_OK, wp_delegate_close(third, NULL));
}

WORLD_TEST(arguments, records_of_closed_delegates_are_used_again, start) {
  wp_delegate *delegates[3];
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  options.name = "again";
  long before = 0;
  for (int round = 0; round < 80; round++) {
    for (int i = 0; i < 3; i++) expect(WP_OK, wp_delegate_open(world.runtime, 0, &options, &delegates[i]));
    expect(WP_OK, wp_delegate_close(delegates[1], NULL)); /* from the middle, the end, the front */
    expect(WP_OK, wp_delegate_close(delegates[0], NULL));
    expect(WP_OK, wp_delegate_close(delegates[2], NULL));
    if (round == 40) before = wp__test_allocations();
  }
  cr_assert_eq(wp__test_allocations(), before);
}

WORLD_TEST(arguments, foreign_pointers_and_second_frees_are_refused, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  wp_stats before = world_stats(&world);
  void *foreign[] = {&world, (char *)ptr + 512, (char *)ptr + 1, (void *)8, (void *)UINTPTR_MAX};
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, foreign[i], world.s));
    expect(WP_ERROR_INVALID_POINTER, wp_free_after(world.runtime, foreign[i], NULL, 0));
    expect(WP_ERROR_INVALID_POINTER, wp_note_use(world.runtime, foreign[i], world.s));
  }
  wp_stats after = world_stats(&world);
  cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(world_stats(&world).frees, before.frees + 1);
}

WORLD_TEST(arguments, sizes_that_no_device_has_are_out_of_memory, start) {
  void *out = &world;
  const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 510, SIZE_MAX - 511, (size_t)1 << 40};
  for (size_t i = 0; i < 4; i++) {
    expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(world.delegate, sizes[i], world.s, &out));
    cr_assert_eq(world_error().requested_bytes, sizes[i]); /* as asked, not rounded */
    expect(WP_ERROR_OUT_OF_MEMORY, wp_prime(world.delegate, sizes[i], world.s));
  }
  cr_assert_eq(out, &world);
  expect(WP_OK, wp_alloc(world.delegate, 0, world.s, &out));
  cr_assert_null(out);
  cr_assert_eq(world_stats(&world).allocs, 0);
}

WORLD_TEST(arguments, limits_are_kept_to_the_byte, nothing_yet) {
  wp_delegate *limited;
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  void *one = NULL, *two = NULL, *out = NULL;
  world_options.limit_bytes = 3 * MIB;
  options.limit_bytes = 2 * MIB;
  world_start(&world);
  expect(WP_OK, wp_delegate_open(world.runtime, 0, &options, &limited));
  expect(WP_OK, wp_alloc(limited, 2 * MIB, world.s, &one));
  expect(WP_ERROR_LIMIT, wp_alloc(limited, 1, world.s, &out));
  cr_assert_not_null(strstr(world_error().message, "delegate's limit of 2097152"));
  expect(WP_ERROR_LIMIT, wp_alloc(world.delegate, MIB + 1, world.s, &out));
  cr_assert_not_null(strstr(world_error().message, "runtime's limit of 3145728"));
  expect(WP_OK, wp_alloc(world.delegate, MIB, world.s, &two));
  expect(WP_OK, wp_free(world.runtime, one, world.s));
  expect(WP_OK, wp_free(world.runtime, two, world.s));
  fake_fail("memory_alloc", 1, WP_ERROR_DRIVER); /* a claim that comes to nothing is dropped */
  expect(WP_ERROR_DRIVER, wp_alloc(limited, 2 * MIB, world.s, &out));
  expect(WP_OK, wp_alloc(limited, 2 * MIB, world.s, &one));
  expect(WP_OK, wp_free(world.runtime, one, world.s));
  expect(WP_OK, wp_delegate_close(limited, NULL));
}

WORLD_TEST(arguments, the_driver_s_error_is_told_with_its_name_and_call, start) {
  void *out = NULL;
  fake_fail("memory_alloc", 1, WP_ERROR_DRIVER);
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, MIB, world.s, &out));
  wp_error_info info = world_error();
  cr_assert_str_eq(info.call, "wp_alloc");
  cr_assert_eq(info.code, 713);
  cr_assert_str_eq(info.name, "FAKE_ERROR");
  cr_assert_str_eq(info.message, "memory_alloc: the script says so");
  cr_assert_eq(info.device, 0);
  expect(WP_OK, wp_tick(world.runtime)); /* a success does not change it */
  cr_assert_str_eq(world_error().call, "wp_alloc");
  fake_fail("memory_alloc", 1, (wp_status)99); /* no status an entry may answer */
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, MIB, world.s, &out));
  fake_fail("memory_alloc", 1, WP_PENDING);
  expect(WP_ERROR_DRIVER, wp_alloc(world.delegate, MIB, world.s, &out));
}

WORLD_TEST(arguments, statuses_have_names_and_messages, start) {
  cr_assert_str_eq(wp_status_name(WP_ERROR_WRONG_DEVICE), "WP_ERROR_WRONG_DEVICE");
  cr_assert_str_eq(wp_status_message(WP_OK), "success");
  cr_assert_str_eq(wp_status_name((wp_status)99), "WP_ERROR_UNKNOWN");
  cr_assert_str_eq(wp_status_message((wp_status)99), "not a status of this library");
  cr_assert_eq(WP_ERROR_DRIVER, 13);
  cr_assert_str_eq(wp_version(), WP_VERSION_STRING);
}

/* -- statistics -- */

WORLD_TEST(arguments, peaks_are_exact_and_can_be_reset, start) {
  void *one = world_alloc(&world, 3 * MIB, world.s);
  void *two = world_alloc(&world, MIB, world.s);
  wp_stats stats = WP_STATS_INIT;
  expect(WP_OK, wp_free(world.runtime, one, world.s));
  cr_assert_eq(world_stats(&world).live_peak, 4 * MIB);
  cr_assert_eq(world_stats(&world).reserved_peak, 4 * MIB);
  cr_assert_eq(world_stats(&world).live_blocks, 1);
  expect(WP_OK, wp_reset_peaks(world.runtime, 0));
  cr_assert_eq(world_stats(&world).live_peak, MIB);
  cr_assert_eq(world_stats(&world).reserved_peak, MIB);
  expect(WP_OK, wp_delegate_stats(world.delegate, &stats));
  cr_assert_eq(stats.live_peak, MIB);
  cr_assert_eq(fake_count("pool_reset_peaks"), 1);
  expect(WP_OK, wp_reset_peaks(world.runtime, 1)); /* not in use */
  expect(WP_OK, wp_free(world.runtime, two, world.s));
}

WORLD_TEST(arguments, json_follows_snprintf_and_escapes_names, start) {
  wp_delegate *odd;
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  char whole[4096], part[16];
  options.name = "a\"b\\c\n\xc3\xa9";
  expect(WP_OK, wp_delegate_open(world.runtime, 0, &options, &odd));
  size_t length = wp_stats_json(world.runtime, NULL, 0);
  cr_assert_eq(wp_stats_json(world.runtime, whole, sizeof whole), length);
  cr_assert_eq(strlen(whole), length);
  cr_assert_eq(wp_stats_json(world.runtime, part, sizeof part), length);
  cr_assert_eq(strlen(part), sizeof part - 1);
  cr_assert_eq(strncmp(part, whole, sizeof part - 1), 0);
  cr_assert_not_null(
      strstr(whole, "\"name\":\"a\\\"b\\\\c\\u000a\xc3\xa9\",\"device\":0,\"open\":true,\"live_bytes\":0"));
  cr_assert_not_null(strstr(whole, "\"backend\":\"fake\",\"devices\":[{\"device\":0,\"open_delegates\":2,"));
  expect(WP_OK, wp_delegate_close(odd, NULL));
}
