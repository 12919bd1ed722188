/* SPDX-License-Identifier: Apache-2.0 */
/* When AMD's pools give memory back, and to whom they hand it out. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <time.h>

#include "hip_facts.h"

#define BYTES (64 * MIB)

TestSuite(hip_pools, .init = facts_init, .fini = facts_fini, .timeout = 20);

/* H2: from 6.1 on, synchronising any stream makes every pool of the device give back down to its threshold. */
Test(hip_pools, are_emptied_to_their_threshold_by_anybodys_synchronisation) {
  wp_pool neighbour = make_pool(0);
  wp_stream theirs = rig_stream_create(0);
  release(allocate(neighbour, BYTES, theirs), theirs);
  await_by_query(record(theirs));
  cr_expect_geq(reserved(neighbour), BYTES, "a query is none");
  synchronize(stream);
  cr_expect_eq(reserved(neighbour) == 0, BY_VERSION(false, true, true));
  trim(neighbour);
  cr_expect_eq(reserved(neighbour), 0);
}

/* H3: with the highest threshold. From 6.2 on, a free gives back what else is cached, if that is more than is live. */
Test(hip_pools, lose_memory_by_a_free_whatever_the_threshold) {
  void *memory[3];
  for (int i = 0; i < 3; i++) memory[i] = allocate(pool, BYTES, stream);
  uint64_t all = reserved(pool);
  driver->pool_set_threshold(driver->self, pool, UINT64_MAX); /* H4 */
  for (int i = 0; i < 2; i++) release(memory[i], stream);
  synchronize(stream);
  cr_expect_eq(reserved(pool) == all, BY_VERSION(true, true, true));
  release(memory[2], stream);
  cr_expect_eq(reserved(pool) == all, BY_VERSION(true, false, true));
}

static uint64_t kept_after_synchronising(bool sets_again) {
  void *memory = allocate(pool, BYTES, stream), *live = allocate(pool, BYTES, stream);
  if (sets_again) cr_assert_eq(driver->pool_set_threshold(driver->self, pool, UINT64_MAX), WP_OK);
  uint64_t before = reserved(pool);
  release(memory, stream);
  synchronize(stream);
  uint64_t after = reserved(pool);
  release(live, stream);
  return after * 100 / before;
}

/* H4 */
Test(hip_pools, forget_a_threshold_from_before_the_first_allocation) {
  cr_expect_eq(kept_after_synchronising(false) == 100, BY_VERSION(true, true, false));
}

/* H4 */
Test(hip_pools, know_a_threshold_from_after_the_first_allocation) { cr_expect_eq(kept_after_synchronising(true), 100); }

/* H25: a pool's first block lies at the beginning of a chunk. */
Test(hip_pools, keep_a_chunk_of_a_block_that_lies_in_four) {
  release(allocate(pool, 120 * MIB, stream), stream);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), BY_VERSION(0, 0, 32) * MIB);
  release(allocate(pool, 60 * MIB, stream), stream);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* H5 */
Test(hip_pools, are_trimmed_with_success_and_keep_what_is_freed_behind_work) {
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  trim(pool);
  cr_expect_geq(reserved(pool), BYTES);
  rig_release(hold);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* H6 */
Test(hip_pools, hand_out_a_cached_block_whole) {
  void *live = allocate(pool, 2 * BYTES, stream);
  release(allocate(pool, BYTES, stream), stream);
  synchronize(stream);
  uint64_t before = used(pool);
  void *byte = allocate(pool, 1, stream);
  cr_expect_eq(used(pool) - before >= BYTES, BY_VERSION(true, true, false));
  release(byte, stream);
  release(live, stream);
}

/* H6: absorbed, as 5.x refuses to reset one of the two. */
Test(hip_pools, have_peaks_that_can_be_reset) {
  cr_expect_eq(driver->pool_reset_peaks(driver->self, pool), WP_OK);
  cr_expect_eq(rig_last_error(), 0);
}

/* H7: so a free may come only after the work has finished. */
Test(hip_pools, give_the_allocating_stream_a_block_that_another_still_works_on) {
  wp_stream other = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(other);
  release(memory, other);
  cr_expect_eq(allocate(pool, BYTES, stream), memory);
  rig_release(hold);
  rig_stream_destroy(other);
}

/* H7: ordering a third stream behind the work, and freeing there, does not help. */
Test(hip_pools, give_the_allocating_stream_a_block_that_was_freed_behind_a_wait) {
  wp_stream worker = rig_stream_create(0), third = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(worker);
  wait_for(third, record(worker));
  release(memory, third);
  cr_expect_eq(allocate(pool, BYTES, stream), memory);
  rig_release(hold);
  synchronize(third);
  rig_stream_destroy(third);
  rig_stream_destroy(worker);
}

/* H7, the control: freed on its own stream, it is kept from others. */
Test(hip_pools, keep_a_block_freed_on_its_own_busy_stream_from_others) {
  wp_stream other = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  cr_expect_neq(allocate(pool, BYTES, other), memory);
  rig_release(hold);
  synchronize(stream);
  rig_stream_destroy(other);
}

/* Bytes of device 0 that are in use, as the stand-in for what is below the runtime counts them, after a while; after
 * seconds, if they are more than `most` until then. */
static uint64_t device_bytes(uint64_t most) {
  const struct timespec pause = {0, 50000000};
  uint64_t (*count)(int gpu);
  *(void **)&count = dlsym(RTLD_DEFAULT, "softhsa_device_bytes");
  if (count == NULL) cr_skip_test("nobody counts what is in use on this device");
  (void)nanosleep(&pause, NULL);
  for (int i = 0; i < 100 && count(0) > most; i++) (void)nanosleep(&pause, NULL);
  return count(0);
}

static void use_and_give_back(wp_stream other) {
  void *memory = allocate(pool, BYTES, stream);
  rig_fill(stream, memory, 1, 4096);
  wp_event event = record(stream);
  cr_assert_eq(driver->event_synchronize(driver->self, event), WP_OK);
  cr_assert_eq(driver->event_destroy(driver->self, event), WP_OK);
  release(memory, other);
  synchronize(other);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* H26: the last command of a stream, finished though it is, holds on to what it used and the pool has given back. */
Test(hip_pools, give_back_what_a_stream_used_last_when_that_stream_is_synchronised) {
  wp_stream other = rig_stream_create(0);
  use_and_give_back(other); /* what the runtime makes for itself is there, then */
  synchronize(stream);
  bool holds_on = BY_VERSION(false, true, false);
  uint64_t before = device_bytes(UINT64_MAX);
  use_and_give_back(other);
  cr_expect_eq(device_bytes(holds_on ? UINT64_MAX : before) >= before + BYTES, holds_on);
  synchronize(stream);
  cr_expect_leq(device_bytes(before), before);
  rig_stream_destroy(other);
}

/* H13: what is captured is not the pool's. In virtual-memory mode it is mapped at a launch and unmapped after it. */
Test(hip_pools, have_no_part_in_captured_allocations) {
  if ((hip_capabilities() & WP_CAP_GRAPH_MEMORY) == 0) {
    cr_expect_eq(BY_VERSION(true, false, false), true); /* H14 */
    return;
  }
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  void *memory = allocate(pool, BYTES, stream);
  rig_fill(stream, memory, 1, BYTES);
  release(memory, stream);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  cr_expect(rig_graph_launch(graph, stream));
  synchronize(stream);
  cr_expect_eq(reserved(pool), 0);
  cr_expect_eq(graph_reserved(), 0);
  rig_graph_destroy(graph);
  graph_trim();
}

/* H17: the second free of a block that was handed out again behind unfinished work waits for that work. */
Test(hip_pools, let_a_free_wait_where_the_block_is_freed_for_the_second_time_behind_the_same_work) {
  void *live = allocate(pool, 4 * BYTES, stream);
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  cr_assert_eq(allocate(pool, BYTES, stream), memory);
  bool waits = BY_VERSION(false, true, true);
  hip_release_later(hold, waits);
  release(memory, stream);
  cr_expect_eq(hip_has_waited(), waits);
  release(live, stream);
}

static void expect_wait_for(wp_stream held, bool waits) {
  hip_release_later(rig_hold_stream(held), waits);
  void *memory = allocate(pool, BYTES, stream);
  cr_expect_eq(hip_has_waited(), waits);
  release(memory, stream);
}

/* H19: what 7.2.4 maps it maps in the order of the legacy stream, and waits. */
Test(hip_pools, let_an_allocation_that_maps_wait_for_blocking_streams) {
  wp_stream blocking = rig_stream_create_blocking(0);
  expect_wait_for(blocking, BY_VERSION(false, false, true));
  rig_stream_destroy(blocking);
}

/* H19, the control. */
Test(hip_pools, let_no_allocation_wait_for_other_streams) {
  wp_stream other = rig_stream_create(0);
  expect_wait_for(other, false);
  rig_stream_destroy(other);
}
