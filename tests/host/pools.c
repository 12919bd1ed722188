/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine's pools: limits, carving, lifetime, bad input, and what exactly a synchronisation observes. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "engine_test.h"

TestSuite(host_pools, .init = use_small_devices, .timeout = 20);

/* -- observing -- */

Test(host_pools, an_event_before_the_free_does_not_observe_it) {
  void *pool = make_pool(0), *stream = make_stream(0), *event = make_event(0);
  void *memory = allocate(pool, MIB, stream);
  OK(wp__host_event_record(event, stream));
  OK(wp__host_memory_free(memory, stream));
  OK(wp__host_event_synchronize(event));
  cr_expect_eq(reserved_after_trim(pool), 32 * MIB);
  OK(wp__host_event_record(event, stream));
  OK(wp__host_event_synchronize(event));
  cr_expect_eq(reserved_after_trim(pool), 0);
}

Test(host_pools, waits_hand_on_what_the_other_stream_waited_for) {
  void *pool = make_pool(0);
  void *first = make_stream(0), *second = make_stream(0), *third = make_stream(0), *event = make_event(0);
  rig_hold *hold = rig_hold_stream(first);
  OK(wp__host_memory_free(allocate(pool, MIB, first), first));
  OK(wp__host_stream_join(second, first));
  OK(wp__host_event_record(event, second));
  OK(wp__host_stream_wait(third, event));
  rig_release(hold);
  OK(wp__host_stream_synchronize(third));
  cr_expect_eq(reserved_after_trim(pool), 0);
}

Test(host_pools, a_wait_after_the_record_is_not_the_events) {
  void *pool = make_pool(0), *one = make_stream(0), *other = make_stream(0), *event = make_event(0);
  OK(wp__host_memory_free(allocate(pool, MIB, one), one));
  OK(wp__host_event_record(event, other));
  OK(wp__host_stream_join(other, one));
  OK(wp__host_event_synchronize(event));
  cr_expect_eq(reserved_after_trim(pool), 32 * MIB);
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(reserved_after_trim(pool), 0);
}

Test(host_pools, streams_that_waited_for_each_other_can_end) {
  for (int round = 0; round < 100; ++round) {
    void *pool = make_pool(0), *one = make_stream(0), *other = make_stream(0);
    OK(wp__host_memory_free(allocate(pool, MIB, one), one));
    OK(wp__host_memory_free(allocate(pool, MIB, other), other));
    OK(wp__host_stream_join(one, other));
    OK(wp__host_stream_join(other, one));
    OK(wp__host_stream_destroy(one));
    OK(wp__host_stream_destroy(other));
    OK(wp__host_pool_destroy(pool));
  }
  cr_expect_eq(device_free(0), 256 * MIB);
}

Test(host_pools, a_synchronisation_gives_back_down_to_the_threshold) {
  void *pool = make_pool(0), *stream = make_stream(0);
  OK(wp__host_pool_set_threshold(pool, 64 * MIB));
  void *memory[3];
  for (int i = 0; i < 3; ++i) memory[i] = allocate(pool, 32 * MIB, stream);
  for (int i = 0; i < 3; ++i) OK(wp__host_memory_free(memory[i], stream));
  cr_expect_eq(measure(pool).reserved, 96 * MIB);
  OK(wp__host_stream_synchronize(stream));
  cr_expect_eq(measure(pool).reserved, 64 * MIB);
}

Test(host_pools, a_trim_keeps_what_it_is_told_to) {
  void *pool = make_pool(0), *stream = make_stream(0);
  void *memory[3];
  for (int i = 0; i < 3; ++i) memory[i] = allocate(pool, 32 * MIB, stream);
  OK(wp__host_memory_free(memory[0], stream));
  OK(wp__host_memory_free(memory[1], stream));
  OK(wp__host_stream_synchronize(stream));
  OK(wp__host_pool_trim(pool, 64 * MIB));
  cr_expect_eq(measure(pool).reserved, 64 * MIB);
  cr_expect_eq(reserved_after_trim(pool), 32 * MIB);
}

/* -- carving -- */

Test(host_pools, blocks_share_a_segment_and_merge_again) {
  void *pool = make_pool(0), *stream = make_stream(0);
  char *one = allocate(pool, 1, stream), *other = allocate(pool, 513, stream), *third = allocate(pool, 512, stream);
  cr_expect_eq((uintptr_t)one % 512, 0);
  cr_expect_eq(other - one, 512);
  cr_expect_eq(third - one, 512 * 3);
  cr_expect_eq(measure(pool).used, 512 * 4);
  OK(wp__host_memory_free(other, stream));
  OK(wp__host_memory_free(one, stream));
  OK(wp__host_memory_free(third, stream));
  cr_expect_eq(allocate(pool, 32 * MIB, stream), one);
  cr_expect_eq(measure(pool).reserved, 32 * MIB);
}

Test(host_pools, what_is_idle_beside_a_pending_block_serves_other_streams) {
  void *pool = make_pool(0), *stream = make_stream(0), *other = make_stream(0);
  void *memory = allocate(pool, MIB, stream);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_memory_free(memory, stream));
  cr_expect_neq(allocate(pool, MIB, other), memory);
  cr_expect_eq(measure(pool).reserved, 32 * MIB);
  rig_release(hold);
}

Test(host_pools, blocks_merge_once_their_work_has_finished) {
  void *pool = make_pool(0), *stream = make_stream(0), *other = make_stream(0), *event = make_event(0);
  void *memory = allocate(pool, MIB, stream);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_memory_free(memory, stream));
  OK(wp__host_event_record(event, stream));
  rig_release(hold);
  bool complete = false;
  while (!complete) OK(wp__host_event_query(event, &complete));
  cr_expect_eq(allocate(pool, 32 * MIB, other), memory);
}

Test(host_pools, neighbours_of_different_streams_stay_apart) {
  void *pool = make_pool(0), *one = make_stream(0), *other = make_stream(0);
  void *first = allocate(pool, 16 * MIB, one), *second = allocate(pool, 16 * MIB, other);
  rig_hold *hold = rig_hold_stream(one);
  OK(wp__host_memory_free(first, one));
  OK(wp__host_memory_free(second, other));
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(reserved_after_trim(pool), 32 * MIB);
  cr_expect_neq(allocate(pool, 32 * MIB, other), first);
  cr_expect_eq(allocate(pool, 16 * MIB, other), second);
  cr_expect_eq(allocate(pool, 16 * MIB, one), first);
  rig_release(hold);
  OK(wp__host_stream_synchronize(one));
}

Test(host_pools, finished_neighbours_of_which_one_was_observed_are_given_back_after_the_other) {
  void *pool = make_pool(0), *one = make_stream(0), *other = make_stream(0);
  void *first = allocate(pool, 16 * MIB, one), *second = allocate(pool, 16 * MIB, other);
  OK(wp__host_memory_free(first, one));
  OK(wp__host_memory_free(second, other));
  OK(wp__host_stream_synchronize(one));
  cr_expect_eq(reserved_after_trim(pool), 32 * MIB);
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(reserved_after_trim(pool), 0);
}

Test(host_pools, the_smallest_block_that_fits_is_taken) {
  void *pool = make_pool(0), *stream = make_stream(0);
  char *memory[5];
  static const size_t sizes[] = {3 * MIB, 512, 2 * MIB, 512, 27 * MIB};
  for (int i = 0; i < 5; ++i) memory[i] = allocate(pool, sizes[i], stream);
  OK(wp__host_memory_free(memory[4], stream));
  OK(wp__host_memory_free(memory[0], stream));
  OK(wp__host_memory_free(memory[2], stream));
  cr_expect_eq(allocate(pool, 2 * MIB - 1024, stream), memory[2]);
  cr_expect_eq(allocate(pool, 5 * MIB / 2, stream), memory[0]);
}

Test(host_pools, peaks_stay_until_they_are_reset) {
  void *pool = make_pool(0), *stream = make_stream(0);
  OK(wp__host_memory_free(allocate(pool, 40 * MIB, stream), stream));
  OK(wp__host_stream_synchronize(stream));
  cr_expect_eq(reserved_after_trim(pool), 0);
  cr_expect_eq(measure(pool).used_peak, 40 * MIB);
  cr_expect_eq(measure(pool).reserved_peak, 64 * MIB);
  OK(wp__host_pool_reset_peaks(pool, true, false));
  cr_expect_eq(measure(pool).used_peak, 40 * MIB);
  cr_expect_eq(measure(pool).reserved_peak, 0);
  OK(wp__host_pool_reset_peaks(pool, false, true));
  cr_expect_eq(measure(pool).used_peak, 0);
}

/* -- the device's limit -- */

Test(host_pools, share_their_devices_memory) {
  void *one = make_pool(0), *other = make_pool(0), *far = make_pool(1), *stream = make_stream(0);
  void *memory = NULL;
  (void)allocate(one, 128 * MIB, stream);
  cr_expect_eq(device_free(0), 128 * MIB);
  cr_expect_eq(wp__host_memory_alloc(other, 129 * MIB, stream, &memory), WP__HOST_OUT_OF_MEMORY);
  cr_expect_null(memory);
  cr_expect_eq(measure(other).reserved, 0);
  cr_expect_eq(wp__host_error_take(), WP__HOST_OUT_OF_MEMORY);
  (void)allocate(other, 128 * MIB, stream);
  cr_expect_eq(device_free(0), 0);
  (void)allocate(far, 256 * MIB, make_stream(1));
}

Test(host_pools, use_their_own_finished_memory_before_they_fail) {
  void *pool = make_pool(0), *stream = make_stream(0), *busy = make_stream(0);
  void *memory = allocate(pool, 96 * MIB, stream), *held = allocate(pool, 96 * MIB, busy), *failed = NULL;
  rig_hold *hold = rig_hold_stream(busy);
  OK(wp__host_memory_free(memory, stream)); /* finished, though nobody has observed it */
  OK(wp__host_memory_free(held, busy));
  memory = allocate(pool, 128 * MIB, stream);
  cr_expect_eq(wp__host_memory_alloc(pool, 64 * MIB, stream, &failed), WP__HOST_OUT_OF_MEMORY);
  cr_expect_eq(measure(pool).reserved, 224 * MIB);
  rig_release(hold);
}

Test(host_pools, sizes_beyond_all_bounds_are_exhaustion) {
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 511, SIZE_MAX - 512, SIZE_MAX / 2, 257 * MIB};
  void *pool = make_pool(0), *stream = make_stream(0), *memory = NULL;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    cr_expect_eq(wp__host_memory_alloc(pool, sizes[i], stream, &memory), WP__HOST_OUT_OF_MEMORY);
  }
  cr_expect_null(memory);
}

/* -- destroyed pools -- */

Test(host_pools, destroyed_ones_give_their_memory_back_after_the_last_block) {
  void *pool = make_pool(0), *stream = make_stream(0);
  void *one = allocate(pool, MIB, stream), *other = allocate(pool, MIB, stream);
  OK(wp__host_pool_destroy(pool));
  INVALID(wp__host_pool_destroy(pool));
  OK(wp__host_memory_free(one, stream));
  cr_expect_eq(device_free(0), 224 * MIB);
  OK(wp__host_memory_free(other, stream));
  cr_expect_eq(device_free(0), 256 * MIB);
}

Test(host_pools, destroyed_ones_keep_memory_while_work_uses_it) {
  void *pool = make_pool(0), *stream = make_stream(0);
  void *memory = allocate(pool, MIB, stream);
  rig_hold *hold = rig_hold_stream(stream);
  rig_fill(stream, memory, 1, MIB);
  OK(wp__host_memory_free(memory, stream));
  OK(wp__host_pool_destroy(pool));
  cr_expect_eq(device_free(0), 224 * MIB);
  rig_release(hold);
  while (device_free(0) != 256 * MIB) (void)sched_yield();
}

/* -- bad input -- */

Test(host_pools, bad_input_is_refused) {
  void *pool = make_pool(0), *stream = make_stream(0), *far = make_stream(1), *out = NULL;
  char *memory = allocate(pool, MIB, stream);
  int local;
  INVALID(wp__host_pool_create(2, &out)); /* C10 */
  INVALID(wp__host_pool_create(-1, &out));
  INVALID(wp__host_pool_create(0, NULL));
  INVALID(wp__host_pool_destroy(NULL));
  INVALID(wp__host_pool_destroy(&local));
  INVALID(wp__host_pool_trim(stream, 0));
  INVALID(wp__host_memory_alloc(pool, 1, far, &out));
  INVALID(wp__host_memory_alloc(pool, 1, stream, NULL));
  INVALID(wp__host_memory_alloc(&local, 1, stream, &out));
  INVALID(wp__host_memory_free(&local, stream));
  INVALID(wp__host_memory_free(memory + 512, stream));
  INVALID(wp__host_memory_free(memory, far));
  cr_expect_null(out);
  cr_expect_eq(measure(pool).used, MIB);
  OK(wp__host_memory_free(memory, stream));
}

struct race {
  void *memory, *stream;
  atomic_int *started, *successes;
};

static void *free_it(void *argument) {
  struct race *race = argument;
  (void)atomic_fetch_add(race->started, 1);
  while (atomic_load(race->started) < 2) (void)sched_yield();
  if (wp__host_memory_free(race->memory, race->stream) == WP__HOST_SUCCESS) (void)atomic_fetch_add(race->successes, 1);
  return NULL;
}

Test(host_pools, one_of_two_threads_that_free_the_same_block_succeeds) {
  void *pool = make_pool(0), *stream = make_stream(0);
  for (int round = 0; round < 200; ++round) {
    atomic_int started = 0, successes = 0;
    struct race race = {allocate(pool, 512, stream), stream, &started, &successes};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, free_it, &race), 0);
    (void)free_it(&race);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(atomic_load(&successes), 1);
  }
  cr_expect_eq(measure(pool).used, 0);
}
