/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine when the host has no memory left: each allocation of its own fails in turn. */
#include "../../src/common/os.h"
#include "engine_test.h"

TestSuite(host_exhaustion, .init = use_small_devices, .timeout = 20);

static void nothing(void *argument) { (void)argument; }

/* One of everything; a handle that was not made is NULL. */
struct world {
  void *pool, *one, *other, *event, *memory[3];
};

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    wp__host_result result = (call);                                                                                   \
    if (result != WP__HOST_SUCCESS) return result;                                                                     \
  } while (0)

static wp__host_result build(struct world *world) {
  TRY(wp__host_pool_create(0, &world->pool));
  TRY(wp__host_stream_create(0, &world->one));
  TRY(wp__host_stream_create(0, &world->other));
  TRY(wp__host_event_create(0, &world->event));
  for (int i = 0; i < 3; ++i) TRY(wp__host_memory_alloc(world->pool, MIB, world->one, &world->memory[i]));
  TRY(wp__host_memory_free(world->memory[1], world->one));
  world->memory[1] = NULL;
  TRY(wp__host_memory_alloc(world->pool, 512, world->one, &world->memory[1]));
  TRY(wp__host_memory_free(world->memory[2], world->one));
  world->memory[2] = NULL;
  TRY(wp__host_launch(world->one, nothing, NULL));
  TRY(wp__host_event_record(world->event, world->one));
  TRY(wp__host_stream_wait(world->other, world->event));
  TRY(wp__host_stream_join(WP__HOST_STREAM_PER_THREAD, world->other));
  TRY(wp__host_stream_synchronize(WP__HOST_STREAM_PER_THREAD));
  return WP__HOST_SUCCESS;
}

static void clear(const struct world *world) {
  for (int i = 0; i < 3; ++i) OK(wp__host_memory_free(world->memory[i], WP__HOST_STREAM_LEGACY));
  if (world->event != NULL) OK(wp__host_event_destroy(world->event));
  if (world->other != NULL) OK(wp__host_stream_destroy(world->other));
  if (world->one != NULL) OK(wp__host_stream_destroy(world->one));
  if (world->pool != NULL) OK(wp__host_pool_destroy(world->pool));
}

Test(host_exhaustion, is_answered_and_leaves_all_else_as_it_was) {
  long nth = 1;
  for (bool has_failed = true; has_failed; ++nth) {
    struct world world = {NULL, NULL, NULL, NULL, {NULL, NULL, NULL}};
    (void)wp__host_error_take();
    wp__test_fail_allocation(nth);
    wp__host_result result = build(&world);
    has_failed = wp__test_allocation_failed();
    wp__test_fail_allocation(0);
    cr_expect_eq(result, has_failed ? WP__HOST_OUT_OF_HOST_MEMORY : WP__HOST_SUCCESS, "allocation %ld", nth);
    cr_expect_eq(wp__host_error_take(), result);
    clear(&world);
    while (device_free(0) != 256 * MIB) wp__yield(); /* the work of destroyed streams */
  }
  cr_expect_gt(nth, 15);
}

Test(host_exhaustion, does_not_hinder_frees_and_synchronisation) {
  struct world world = {NULL, NULL, NULL, NULL, {NULL, NULL, NULL}};
  OK(build(&world));
  OK(wp__host_stream_synchronize(world.other));
  wp__test_fail_allocations(true);
  for (int i = 0; i < 3; ++i) {
    OK(wp__host_memory_free(world.memory[i], world.one));
    world.memory[i] = NULL;
  }
  OK(wp__host_stream_synchronize(world.one));
  cr_expect_eq(reserved_after_trim(world.pool), 0);
  clear(&world);
  wp__test_fail_allocations(false);
}
