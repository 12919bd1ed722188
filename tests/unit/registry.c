/* SPDX-License-Identifier: Apache-2.0 */
/* The block registry and its map, by themselves and under racing threads. */
#include <pthread.h>

#include "block.h"
#include "world.h"

TestSuite(registry, .timeout = 60);

Test(registry, the_map_tells_addresses_apart_at_every_level) {
  wp__map map;
  wp__block blocks[6];
  cr_assert(wp__map_init(&map));
  const uintptr_t addresses[] = {0x100, 0x200, 0x100000, 0x7f0000000000, 0x7f8000000100, ((uintptr_t)1 << 57) - 256};
  for (size_t i = 0; i < 6; i++) {
    cr_assert_null(wp__map_get(&map, (void *)addresses[i]));
    cr_assert(wp__map_set(&map, (void *)addresses[i], &blocks[i]));
  }
  for (size_t i = 0; i < 6; i++) cr_assert_eq(wp__map_get(&map, (void *)addresses[i]), &blocks[i]);
  cr_assert(wp__map_set(&map, (void *)addresses[0], NULL));
  cr_assert_null(wp__map_get(&map, (void *)addresses[0]));
  cr_assert_eq(wp__map_get(&map, (void *)addresses[1]), &blocks[1]);
  cr_assert_null(wp__map_get(&map, (void *)0x101));
  cr_assert_null(wp__map_get(&map, (void *)((uintptr_t)1 << 57)));
  wp__map_destroy(&map);
}

Test(registry, records_are_used_again_with_another_generation) {
  wp__blocks blocks = {0};
  cr_assert(wp__blocks_init(&blocks));
  wp__block *first = wp__block_take(&blocks);
  uint64_t word = atomic_load(&first->word);
  wp__block_drop(&blocks, first);
  cr_assert_eq(wp__block_take(&blocks), first);
  cr_assert_neq(atomic_load(&first->word), word);
  wp__blocks_destroy(&blocks);
}

Test(registry, it_grows_by_slabs_and_every_record_is_its_own) {
  enum { COUNT = 3 * WP__BLOCKS_PER_SLAB + 1 };
  static wp__block *taken[COUNT];
  wp__blocks blocks = {0};
  cr_assert(wp__blocks_init(&blocks));
  for (uint32_t i = 0; i < COUNT; i++) {
    taken[i] = wp__block_take(&blocks);
    cr_assert_not_null(taken[i]);
    cr_assert_eq(wp__block_at(&blocks, i), taken[i]);
  }
  cr_assert_null(wp__block_at(&blocks, COUNT));
  for (uint32_t i = 0; i < COUNT; i++) wp__block_drop(&blocks, taken[i]);
  for (uint32_t i = 0; i < COUNT; i++) cr_assert_not_null(wp__block_take(&blocks));
  cr_assert_null(wp__block_at(&blocks, COUNT)); /* no new ones were made */
  wp__blocks_destroy(&blocks);
}

/* -- races -- */

enum { THREADS = 8, ROUNDS = 2000 };
static struct world world;
static _Atomic(void *) shared;
static atomic_int arrived, freed_by;
static atomic_bool stop;

static void meet(int round) {
  (void)atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < round * (THREADS + 1)) wp__yield();
}

static void *free_the_same(void *argument) {
  (void)argument;
  for (int round = 1; round <= ROUNDS; round++) {
    meet(2 * round - 1);
    wp_status status = wp_free(world.runtime, atomic_load(&shared), world.s);
    cr_assert(status == WP_OK || status == WP_ERROR_INVALID_POINTER, "%s", wp_status_name(status));
    if (status == WP_OK) (void)atomic_fetch_add(&freed_by, 1);
    meet(2 * round);
  }
  return NULL;
}

Test(registry, of_racing_frees_exactly_one_succeeds) {
  pthread_t threads[THREADS];
  world_start(&world);
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_create(&threads[i], NULL, free_the_same, NULL), 0);
  for (int round = 1; round <= ROUNDS; round++) {
    atomic_store(&shared, world_alloc(&world, MIB, world.s));
    atomic_store(&freed_by, 0);
    fake_forget();
    meet(2 * round - 1);
    meet(2 * round);
    cr_assert_eq(atomic_load(&freed_by), 1, "%d frees succeeded", atomic_load(&freed_by));
  }
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
  cr_assert_eq(world_stats(&world).frees, ROUNDS);
  world_end(&world);
}

static void *note_all_the_time(void *argument) {
  wp_stream stream = argument;
  while (!atomic_load(&stop)) {
    void *ptr = atomic_load(&shared);
    wp__yield(); /* the one that allocates and frees needs the lock, too */
    if (ptr == NULL) continue;
    wp_status status = wp_note_use(world.runtime, ptr, stream);
    cr_assert(status == WP_OK || status == WP_ERROR_INVALID_POINTER, "%s", wp_status_name(status));
  }
  return NULL;
}

Test(registry, notes_beside_frees_and_notes_lose_nothing) {
  pthread_t threads[3];
  world_start(&world);
  wp_stream streams[] = {world.s, world.t, fake_stream(0)};
  for (int i = 0; i < 3; i++) cr_assert_eq(pthread_create(&threads[i], NULL, note_all_the_time, streams[i]), 0);
  for (int round = 0; round < 5000; round++) {
    void *ptr = world_alloc(&world, MIB, world.s);
    atomic_store(&shared, ptr);
    if (round % 2 == 0) wp__yield();
    expect(WP_OK, wp_free(world.runtime, ptr, world.s));
    if (round % 100 == 0) fake_forget();
  }
  atomic_store(&stop, true);
  for (int i = 0; i < 3; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
  world_end(&world); /* no event, no use and no block is left */
}

static void *count_all_the_time(void *argument) {
  (void)argument;
  while (!atomic_load(&stop)) {
    wp_stats stats = WP_STATS_INIT;
    char json[4096];
    expect(WP_OK, wp_device_stats(world.runtime, 0, &stats));
    cr_assert_leq(stats.frees, stats.allocs);
    cr_assert_lt(stats.live_blocks, 1000000u);
    cr_assert_lt(stats.live_bytes, (uint64_t)1 << 40);
    expect(WP_OK, wp_delegate_stats(world.delegate, &stats));
    cr_assert_leq(stats.frees, stats.allocs);
    cr_assert_gt(wp_stats_json(world.runtime, json, sizeof json), 0);
  }
  return NULL;
}

/* tensorflow#59176 */
Test(registry, counters_read_from_another_thread_are_never_negative) {
  pthread_t thread;
  world_start(&world);
  cr_assert_eq(pthread_create(&thread, NULL, count_all_the_time, NULL), 0);
  for (int round = 0; round < 20000; round++) {
    expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 512, world.s), world.s));
    if (round % 100 == 0) fake_forget();
  }
  atomic_store(&stop, true);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  world_end(&world);
}
