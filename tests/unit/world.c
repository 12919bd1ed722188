/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdio.h>

wp_runtime_options world_options = {
    .size = sizeof(wp_runtime_options), .caching = WP_CACHING_DRIVER, .release_threshold = UINT64_MAX};
static long allocations_before;

static void keep_line(void *user, const char *message) {
  struct world *world = user;
  world->log_lines++;
  (void)snprintf(world->logged, sizeof world->logged, "%s", message);
}

void world_start(struct world *world) {
  wp_runtime_options options = world_options;
  *world = (struct world){0};
  (void)wp__thread_self(); /* the thread's own, once; it is not the runtime's */
  allocations_before = wp__test_allocations();
  if (options.backend == NULL) options.backend = &fake_backend;
  options.log = keep_line;
  options.user = world;
  expect(WP_OK, wp_runtime_create(&options, &world->runtime));
  wp_delegate_options named = WP_DELEGATE_OPTIONS_INIT;
  named.name = "first";
  expect(WP_OK, wp_delegate_open(world->runtime, 0, &named, &world->delegate));
  world->s = fake_stream(0);
  world->t = fake_stream(0);
}

void world_end(struct world *world) {
  fake_all_idle();
  expect(WP_OK, wp_delegate_close(world->delegate, NULL));
  expect(WP_OK, wp_tick(world->runtime));
  wp_stats stats = world_stats(world);
  cr_assert_eq(stats.live_bytes, 0, "%llu bytes are live", (unsigned long long)stats.live_bytes);
  cr_assert_eq(stats.parked_bytes, 0, "%llu bytes are parked", (unsigned long long)stats.parked_bytes);
  cr_assert_eq(stats.driver_allocs, stats.driver_frees, "the driver got back %llu of %llu blocks",
               (unsigned long long)stats.driver_frees, (unsigned long long)stats.driver_allocs);
  cr_assert_eq(fake_blocks(), 0, "%d blocks of the driver's are left", fake_blocks());
  cr_assert_eq(fake_reserved(0), 0, "%llu bytes are reserved", (unsigned long long)fake_reserved(0));
  expect(WP_OK, wp_runtime_destroy(world->runtime));
  cr_assert_eq(fake_objects(), 0, "%d driver objects are left", fake_objects());
  cr_assert_eq(wp__test_allocations(), allocations_before, "%ld host allocations are left",
               wp__test_allocations() - allocations_before);
}

void *world_alloc(struct world *world, size_t bytes, wp_stream stream) {
  void *ptr = NULL;
  expect(WP_OK, wp_alloc(world->delegate, bytes, stream, &ptr));
  cr_assert_not_null(ptr);
  return ptr;
}

bool world_is_live(struct world *world, const void *ptr) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  return wp_pointer_info(world->runtime, ptr, &info) == WP_OK && info.base == ptr;
}

wp_stats world_stats(struct world *world) {
  wp_stats stats = WP_STATS_INIT;
  expect(WP_OK, wp_device_stats(world->runtime, 0, &stats));
  return stats;
}

wp_error_info world_error(void) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  return info;
}
