/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and losing devices; several of them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static struct world world;
static void start(void) { world_start(&world); }
TestSuite(devices_fresh, .timeout = 10);

static wp_runtime *fresh(void) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_runtime *runtime;
  options.backend = &fake_backend;
  expect(WP_OK, wp_runtime_create(&options, &runtime));
  return runtime;
}

Test(devices_fresh, a_runtime_touches_no_device_before_the_first_open) {
  wp_runtime *runtime = fresh();
  wp_stats stats = WP_STATS_INIT;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  expect(WP_OK, wp_device_stats(runtime, 5, &stats)); /* nobody knows yet how many there are */
  expect(WP_OK, wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report));
  expect(WP_OK, wp_tick(runtime));
  expect(WP_OK, wp_reset_peaks(runtime, WP_DEVICE_ALL));
  expect(WP_OK, wp_device_lost(runtime, 0));
  cr_assert_eq(report.devices, 0);
  cr_assert_eq(fake_count(NULL), 0);
  expect(WP_OK, wp_runtime_destroy(runtime));
}

Test(devices_fresh, the_first_open_makes_the_pool_and_later_ones_do_not) {
  wp_runtime *runtime = fresh();
  wp_delegate *first, *second;
  expect(WP_OK, wp_delegate_open(runtime, 1, NULL, &first));
  cr_assert_str_eq(fake_log(true), "device_set device_capabilities stream_create pool_create device_set "
                                   "device_set pool_set_threshold device_set");
  fake_forget();
  expect(WP_OK, wp_delegate_open(runtime, 1, NULL, &second));
  cr_assert_str_eq(fake_log(true), "");
  expect(WP_OK, wp_delegate_close(first, NULL));
  expect(WP_OK, wp_delegate_close(second, NULL));
  cr_assert_eq(fake_count("pool_destroy"), 0); /* kept for the next open */
  expect(WP_OK, wp_delegate_open(runtime, 1, NULL, &first));
  cr_assert_eq(fake_count("pool_create"), 0);
  expect(WP_OK, wp_delegate_close(first, NULL));
  expect(WP_OK, wp_runtime_destroy(runtime));
  cr_assert_eq(fake_objects(), 0);
}

struct opener {
  wp_runtime *runtime;
  wp_delegate *delegate;
};
static void *open_in_thread(void *argument) {
  struct opener *opener = argument;
  expect(WP_OK, wp_delegate_open(opener->runtime, 0, NULL, &opener->delegate));
  return NULL;
}

Test(devices_fresh, threads_that_open_together_make_one_pool) {
  wp_runtime *runtime = fresh();
  struct opener openers[8];
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) {
    openers[i] = (struct opener){runtime, NULL};
    cr_assert_eq(pthread_create(&threads[i], NULL, open_in_thread, &openers[i]), 0);
  }
  for (int i = 0; i < 8; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
  cr_assert_eq(fake_count("pool_create"), 1);
  for (int i = 0; i < 8; i++) expect(WP_OK, wp_delegate_close(openers[i].delegate, NULL));
  expect(WP_OK, wp_runtime_destroy(runtime));
}

Test(devices_fresh, no_driver_is_no_device_with_the_driver_s_text) {
  wp_runtime *runtime = fresh();
  wp_delegate *delegate = NULL;
  fake.devices = 0;
  expect(WP_ERROR_NO_DEVICE, wp_delegate_open(runtime, 0, NULL, &delegate));
  wp_error_info info = world_error();
  cr_assert_str_eq(info.call, "wp_delegate_open");
  cr_assert_str_eq(info.name, "FAKE_ERROR");
  cr_assert_str_eq(info.message, "device_count: the script says so");
  cr_assert_null(delegate);
  fake.devices = -1; /* a driver that counts wrong */
  expect(WP_ERROR_NO_DEVICE, wp_delegate_open(runtime, 0, NULL, &delegate));
  fake.devices = 1; /* appears later */
  expect(WP_OK, wp_delegate_open(runtime, 0, NULL, &delegate));
  expect(WP_OK, wp_delegate_close(delegate, NULL));
  expect(WP_OK, wp_runtime_destroy(runtime));
}

WORLD_TEST(devices, a_device_whose_pools_may_keep_nothing_is_refused_and_asked_once, start) {
  wp_delegate *delegate = NULL;
  fake.capabilities &= ~WP_CAP_KEEPS_FREED;
  fake_forget();
  expect(WP_ERROR_NOT_SUPPORTED, wp_delegate_open(world.runtime, 1, NULL, &delegate));
  cr_assert_eq(fake_count("pool_create"), 0);
  fake_forget();
  expect(WP_ERROR_NOT_SUPPORTED, wp_delegate_open(world.runtime, 1, NULL, &delegate));
  cr_assert_eq(fake_count("device_capabilities"), 0);
  cr_assert_null(delegate);
}

/* openvdb#2255 */
WORLD_TEST(devices, a_device_without_pools_is_refused_and_asked_once, start) {
  wp_delegate *delegate = NULL;
  fake.capabilities = 0;
  expect(WP_ERROR_NOT_SUPPORTED, wp_delegate_open(world.runtime, 1, NULL, &delegate));
  fake_forget();
  expect(WP_ERROR_NOT_SUPPORTED, wp_delegate_open(world.runtime, 1, NULL, &delegate));
  cr_assert_eq(fake_count("device_capabilities"), 0);
  cr_assert_null(delegate);
}

WORLD_TEST(devices, a_driver_that_refuses_the_pool_leaves_nothing_behind, start) {
  wp_delegate *delegate = NULL;
  int before = fake_objects();
  fake.refuse_pools = true;
  expect(WP_ERROR_NOT_SUPPORTED, wp_delegate_open(world.runtime, 1, NULL, &delegate));
  cr_assert_eq(fake_objects(), before);
}

WORLD_TEST(devices, ordinals_that_do_not_exist_are_refused, start) {
  wp_delegate *delegate = NULL;
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  expect(WP_ERROR_NO_DEVICE, wp_delegate_open(world.runtime, 2, NULL, &delegate));
  expect(WP_ERROR_NO_DEVICE, wp_trim(world.runtime, 2, 0, WP_WAIT, NULL));
  expect(WP_ERROR_NO_DEVICE, wp_query_driver(world.runtime, 2, &driver));
  expect(WP_ERROR_NO_DEVICE, wp_stream_retire(world.runtime, 2, world.s));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_delegate_open(world.runtime, WP_DEVICE_ALL, NULL, &delegate));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_trim(world.runtime, -3, 0, WP_WAIT, NULL));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_device_lost(world.runtime, WP_DEVICE_CURRENT));
}

/* vllm#42873 */
WORLD_TEST(devices, trimming_all_touches_only_the_devices_in_use, start) {
  fake.devices = 8;
  fake_forget();
  expect(WP_OK, wp_trim(world.runtime, WP_DEVICE_ALL, 0, WP_WAIT, NULL));
  cr_assert_eq(fake_count("pool_trim"), 1);
  cr_assert_eq(fake_count("device_set"), 0);
}

/* executorch#22312 */
WORLD_TEST(devices, a_stream_of_another_device_is_refused_and_nothing_is_allocated, start) {
  wp_delegate *other;
  void *ptr = &world;
  expect(WP_OK, wp_delegate_open(world.runtime, 1, NULL, &other));
  expect(WP_ERROR_WRONG_DEVICE, wp_alloc(other, MIB, world.s, &ptr));
  expect(WP_ERROR_WRONG_DEVICE, wp_prime(other, MIB, world.s));
  cr_assert_eq(ptr, &world);
  cr_assert_eq(fake_blocks(), 0);
  wp_stream right = fake_stream(1);
  expect(WP_OK, wp_alloc(other, MIB, right, &ptr));
  expect(WP_ERROR_WRONG_DEVICE, wp_free(world.runtime, ptr, world.s));
  expect(WP_ERROR_WRONG_DEVICE, wp_note_use(world.runtime, ptr, world.s));
  wp_stream both[] = {right, world.s};
  expect(WP_ERROR_WRONG_DEVICE, wp_free_after(world.runtime, ptr, both, 2));
  fake_forget();
  expect(WP_OK, wp_free(world.runtime, ptr, right));
  cr_assert_eq(fake_count("stream_device"), 0); /* asked once a stream */
  expect(WP_OK, wp_delegate_close(other, NULL));
}

WORLD_TEST(devices, closing_one_device_leaves_the_other_warm, start) {
  wp_delegate *other;
  void *ptr;
  wp_stream stream = fake_stream(1);
  expect(WP_OK, wp_delegate_open(world.runtime, 1, NULL, &other));
  expect(WP_OK, wp_alloc(other, MIB, stream, &ptr));
  expect(WP_OK, wp_free(world.runtime, ptr, stream));
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, world.s), world.s));
  expect(WP_OK, wp_delegate_close(other, NULL));
  cr_assert_eq(fake_reserved(1), 0);
  cr_assert_eq(fake_reserved(0), MIB);
}

/* -- a device that was reset outside -- */

/* CUDA.jl#1579 */
WORLD_TEST(devices, a_lost_device_is_forgotten_without_a_call, start) {
  void *noted = world_alloc(&world, MIB, world.s);
  void *parked = world_alloc(&world, MIB, world.s);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, noted, world.t));
  expect(WP_OK, wp_note_use(world.runtime, parked, world.t));
  expect(WP_OK, wp_free(world.runtime, parked, world.s));
  wp_delegate *old = world.delegate;
  void *ptr = &world;
  wp_stats stats = WP_STATS_INIT;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  fake_forget();
  expect(WP_OK, wp_device_lost(world.runtime, 0));
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, noted, world.s));
  expect(WP_ERROR_NO_DEVICE, wp_alloc(old, MIB, world.s, &ptr));
  expect(WP_ERROR_NO_DEVICE, wp_prime(old, MIB, world.s));
  expect(WP_OK, wp_delegate_stats(old, &stats));
  cr_assert_eq(stats.live_bytes, 0);
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  expect(WP_ERROR_BUSY, wp_runtime_destroy(world.runtime));
  expect(WP_OK, wp_delegate_close(old, &report));
  cr_assert_eq(report.devices, 0);
  cr_assert_eq(fake_count(NULL), 0);
  cr_assert_eq(ptr, &world);
  fake_reset(); /* the reset, as far as the driver is concerned */
  world.s = fake_stream(0);
  expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &world.delegate));
  expect(WP_OK, wp_free(world.runtime, world_alloc(&world, MIB, world.s), world.s));
  expect(WP_OK, wp_device_lost(world.runtime, 1)); /* not in use */
  expect(WP_OK, wp_device_lost(world.runtime, 99));
}

/* -- fork -- */

/* DALI#4275 */
WORLD_TEST(devices, after_a_fork_the_child_is_refused_and_makes_no_call, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  pid_t child = fork();
  if (child == 0) {
    void *out = NULL;
    wp_delegate *delegate = NULL;
    wp_stats stats = WP_STATS_INIT;
    wp_driver_stats driver = WP_DRIVER_STATS_INIT;
    wp_pointer_info_t info = WP_POINTER_INFO_INIT;
    wp_runtime *runtime = world.runtime;
    fake_forget();
    const wp_status answers[] = {
        wp_alloc(world.delegate, MIB, world.s, &out),
        wp_free(runtime, ptr, world.s),
        wp_free_after(runtime, ptr, NULL, 0),
        wp_note_use(runtime, ptr, world.s),
        wp_prime(world.delegate, MIB, world.s),
        wp_delegate_open(runtime, 0, NULL, &delegate),
        wp_delegate_close(world.delegate, NULL),
        wp_trim(runtime, 0, 0, WP_WAIT, NULL),
        wp_tick(runtime),
        wp_stream_retire(runtime, 0, world.s),
        wp_device_lost(runtime, 0),
        wp_device_stats(runtime, 0, &stats),
        wp_delegate_stats(world.delegate, &stats),
        wp_query_driver(runtime, 0, &driver),
        wp_reset_peaks(runtime, 0),
        wp_pointer_info(runtime, ptr, &info),
        wp_runtime_destroy(runtime),
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
      if (answers[i] != WP_ERROR_FORKED) _exit((int)i + 1);
    }
    _exit(wp_stats_json(runtime, NULL, 0) == 0 && fake_count(NULL) == 0 ? 0 : 99);
  }
  int status = 0;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's answer %d is wrong", WEXITSTATUS(status) - 1);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}
