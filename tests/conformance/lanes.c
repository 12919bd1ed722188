/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WP_CACHING_LANES: freed memory stays in the library, in the lane of its stream. Here: what a lane serves, what it
 * counts, and that it loses nothing. lanes_order.c has what passes between lanes, and when.
 */
#include "in_lanes.h"

#include <stdlib.h>
#include <string.h>

SUITE(lanes);

/* -- what in_lanes.h has -- */

wp_runtime_options in_lanes(void) {
  wp_runtime_options options = defaults();
  options.caching = WP_CACHING_LANES;
  return options;
}

wp_delegate *start_in_lanes(void) {
  wp_runtime_options options = in_lanes();
  (void)whole(); /* before anything is held */
  start(&options);
  return open_on(0);
}

size_t whole(void) { return (granule() + 32 * MIB - 1) / (32 * MIB) * (32 * MIB); }

void expect_driver_calls_since(const wp_stats *before, uint64_t allocs, uint64_t frees) {
  wp_stats now = stats(0);
  cr_expect_eq(now.driver_allocs - before->driver_allocs, allocs, "%llu allocations of the driver's, not %llu",
               (unsigned long long)(now.driver_allocs - before->driver_allocs), (unsigned long long)allocs);
  cr_expect_eq(now.driver_frees - before->driver_frees, frees, "%llu frees of the driver's, not %llu",
               (unsigned long long)(now.driver_frees - before->driver_frees), (unsigned long long)frees);
}

uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* -- hits -- */

/* Several sizes, less than 16 MiB live at once; the last half of each is freed and allocated once more meanwhile. */
static void run_pattern(wp_delegate *delegate, wp_stream stream) {
  static const size_t sizes[] = {1, 700, 4096, 100000, MIB, 3 * MIB + 1, 8 * MIB};
  void *blocks[COUNT_OF(sizes)];
  for (size_t i = 0; i < COUNT_OF(sizes); i++) blocks[i] = take(delegate, sizes[i], stream);
  for (size_t i = 3; i < COUNT_OF(sizes); i++) give(blocks[i], stream);
  for (size_t i = 3; i < COUNT_OF(sizes); i++) blocks[i] = take(delegate, sizes[i], stream);
  for (size_t i = 0; i < COUNT_OF(sizes); i++) give(blocks[i], stream);
}

BOTH_CONTRACTS(lanes, serve_a_repeated_pattern_without_the_driver) {
  wp_delegate *delegate = start_in_lanes();
  wp_stream stream = rig_stream_create(0);
  run_pattern(delegate, stream);
  wp_stats before = stats(0);
  for (int i = 0; i < 10; i++) {
    run_pattern(delegate, stream);
    rig_stream_synchronize(stream);
    OK(wp_tick(runtime));
  }
  expect_driver_calls_since(&before, 0, 0);
  cr_expect_eq(stats(0).lane_hits - before.lane_hits, stats(0).allocs - before.allocs);
  cr_expect_eq(stats(0).lane_misses, before.lane_misses);
  rig_hold *hold = rig_hold_stream(stream); /* nor does it wait for what it sent */
  run_pattern(delegate, stream);
  run_pattern(delegate, stream);
  expect_driver_calls_since(&before, 0, 0);
  rig_release(hold);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* Whatever the sizes are, as long as there is far more than is live. */
BOTH_CONTRACTS(lanes, serve_any_pattern_that_fits_without_the_driver) {
  void *blocks[32] = {NULL};
  uint32_t random = 7;
  wp_delegate *delegate = start_in_lanes();
  wp_stream stream = rig_stream_create(0);
  OK(wp_prime(delegate, 64 * MIB, stream));
  wp_stats before = stats(0);
  for (int i = 0; i < 3000; i++) {
    void **block = &blocks[next_random(&random) % COUNT_OF(blocks)];
    if (*block != NULL) give(*block, stream);
    *block = take(delegate, 1 + next_random(&random) % ((size_t)1 << next_random(&random) % 21), stream);
    if (i % 500 == 0) rig_stream_synchronize(stream);
  }
  for (size_t i = 0; i < COUNT_OF(blocks); i++) give(blocks[i], stream);
  expect_driver_calls_since(&before, 0, 0);
  cr_expect_gt(stats(0).lane_hits, 0);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

BOTH_CONTRACTS(lanes, are_warm_after_priming) {
  wp_delegate *delegate = start_in_lanes();
  wp_stream stream = rig_stream_create(0);
  OK(wp_prime(delegate, 2 * whole(), stream));
  wp_stats before = stats(0);
  cr_expect_geq(before.cached_bytes, 2 * whole());
  cr_expect_eq(before.allocs + before.lane_hits + before.lane_misses, 0, "priming is no allocation of the caller's");
  OK(wp_prime(delegate, whole(), stream)); /* there is so much already */
  void *one = take(delegate, whole(), stream), *other = take(delegate, whole(), stream);
  rig_fill(stream, one, 0x11, MIB);
  rig_fill(stream, other, 0x22, MIB);
  expect_bytes(stream, one, 0x11, MIB);
  expect_driver_calls_since(&before, 0, 0);
  cr_expect_eq(stats(0).steals, 0);
  give(one, stream);
  give(other, stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* -- what is counted -- */

static void expect_calls_add_up(const wp_stats *one, const wp_stats *other, const wp_stats *all) {
  cr_expect_eq(one->lane_hits + one->lane_misses, one->allocs);
  cr_expect_eq(other->lane_hits + other->lane_misses, other->allocs);
  cr_expect_eq(one->allocs + other->allocs, all->allocs);
  cr_expect_eq(one->lane_hits + other->lane_hits, all->lane_hits);
  cr_expect_eq(one->frees + other->frees, all->frees);
  cr_expect_eq(one->live_bytes + other->live_bytes, all->live_bytes);
  cr_expect_eq(all->live_blocks, all->allocs - all->frees);
}

static uint64_t used_of_driver(void) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  OK(wp_query_driver(runtime, 0, &driver));
  return driver.pool_used;
}

static void expect_adds_up(wp_delegate *one, wp_delegate *other) {
  uint64_t used = used_of_driver(); /* first, for the question may finish something */
  wp_stats all = stats(0), of_one = stats_of(one), of_other = stats_of(other);
  cr_expect_eq(all.reserved_bytes, all.live_bytes + all.cached_bytes + all.parked_bytes);
  cr_expect_eq(all.reserved_bytes, used);
  cr_expect_leq(all.reserved_bytes, all.reserved_peak);
  expect_calls_add_up(&of_one, &of_other, &all);
  cr_expect_eq(of_one.cached_bytes + of_one.parked_bytes + of_one.reserved_bytes + of_one.driver_allocs, 0);
}

BOTH_CONTRACTS(lanes, account_for_every_byte_and_call) {
  wp_delegate *one = start_in_lanes(), *other = open_on(0);
  wp_stream s1 = rig_stream_create(0), s2 = rig_stream_create(0);
  void *blocks[6];
  for (unsigned i = 0; i < 6; i++) {
    blocks[i] = take(i % 2 ? other : one, 1000 + i * 700000, i < 3 ? s1 : s2);
    expect_adds_up(one, other);
  }
  rig_hold *hold = rig_hold_stream(s2);
  for (unsigned i = 0; i < 4; i++) { /* the first three are parked */
    give(blocks[i], s2);
    expect_adds_up(one, other);
  }
  cr_expect_gt(stats(0).parked_bytes, 0);
  blocks[0] = take(other, 1000, s1);
  expect_adds_up(one, other);
  rig_release(hold);
  rig_stream_synchronize(s2);
  OK(wp_tick(runtime));
  cr_expect_eq(stats(0).parked_bytes, 0);
  expect_adds_up(one, other);
  give(take(one, 5 * MIB, s2), s2);
  OK(wp_prime(one, 9 * MIB, s1));
  expect_adds_up(one, other);
  OK(wp_trim(runtime, 0, 2 * MIB, WP_WAIT, NULL));
  expect_adds_up(one, other);
  give(blocks[0], s1);
  give(blocks[4], s2);
  give(blocks[5], s2);
  expect_adds_up(one, other);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  expect_adds_up(one, other);
  cr_expect_eq(stats(0).reserved_bytes, 0);
  OK(wp_delegate_close(one, NULL));
  (void)last_close(other, WP_OK);
  end_stream(0, s1);
  end_stream(0, s2);
}

static void give_from_thread(unsigned index, void *block) {
  (void)index;
  give(block, WP_STREAM_LEGACY);
}

BOTH_CONTRACTS(lanes, count_a_closed_delegate_s_blocks_until_they_are_freed) {
  wp_delegate *open = start_in_lanes(), *closed = open_on(0);
  wp_stats now = WP_STATS_INIT;
  void *none = &none, *a = take(closed, 3000, WP_STREAM_LEGACY), *b = take(closed, MIB, WP_STREAM_LEGACY);
  OK(wp_delegate_close(closed, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_alloc(closed, 3000, WP_STREAM_LEGACY, &none));
  cr_expect_eq(stats_of(closed).live_blocks, 2);
  run_threads(1, give_from_thread, a);
  now = stats_of(closed);
  cr_expect_eq(now.live_blocks, 1);
  cr_expect_eq(now.live_bytes, MIB);
  cr_expect_eq(now.frees, 1);
  cr_expect_eq(stats(0).live_bytes, MIB);
  give(take(open, 3000, WP_STREAM_LEGACY), WP_STREAM_LEGACY); /* the block that was freed, perhaps */
  cr_expect_eq(stats_of(closed).allocs, 2);
  run_threads(1, give_from_thread, b);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_stats(closed, &now));
  cr_expect_eq(stats(0).live_bytes, 0);
  cr_expect_eq(stats(0).frees, stats(0).allocs);
  (void)last_close(open, WP_OK);
}

BOTH_CONTRACTS(lanes, keep_no_more_than_the_release_threshold) {
  void *blocks[4];
  wp_runtime_options options = in_lanes();
  uint64_t most = options.release_threshold = 2 * whole();
  start(&options);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  for (int round = 0; round < 3; round++) {
    for (unsigned i = 0; i < 4; i++) blocks[i] = take(delegate, whole(), stream);
    rig_hold *hold = rig_hold_stream(stream);
    for (unsigned i = 0; i < 4; i++) give(blocks[i], stream);
    rig_release(hold);
    rig_stream_synchronize(stream);
    OK(wp_tick(runtime));
    cr_expect_eq(stats(0).cached_bytes, most, "%llu bytes", (unsigned long long)stats(0).cached_bytes);
    cr_expect_eq(used_of_driver(), most);
  }
  wp_stats before = stats(0); /* what is below stays warm */
  for (unsigned i = 0; i < 2; i++) blocks[i] = take(delegate, whole(), stream);
  for (unsigned i = 0; i < 2; i++) give(blocks[i], stream);
  rig_stream_synchronize(stream);
  OK(wp_tick(runtime));
  expect_driver_calls_since(&before, 0, 0);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* -- segments: they merge, go back, and serve other sizes -- */

/* Each delegate needs more than the one before, and its memory goes when it does not fit. */
BOTH_CONTRACTS(lanes, serve_delegates_one_after_the_other_with_the_largest_one_s_memory) {
  size_t bytes = 4 * MIB, largest = 0;
  wp_delegate *keeper = start_in_lanes();
  wp_stream stream = rig_stream_create(0);
  for (int i = 0; i < 10; i++, bytes += bytes / 4 + 1) {
    wp_delegate *delegate = open_on(0);
    for (int j = 0; j < 3; j++) give(take(delegate, largest = bytes, stream), stream);
    OK(wp_delegate_close(delegate, NULL));
    rig_stream_synchronize(stream);
  }
  uint64_t bound = largest + largest / 8 + granule();
  cr_expect_leq(stats(0).reserved_peak, bound, "%llu bytes", (unsigned long long)stats(0).reserved_peak);
  cr_expect_leq(reserved(0), bound + rig_shared_step(), "%llu bytes", (unsigned long long)reserved(0));
  wp_stats before = stats(0);
  for (bytes = largest; bytes > 1000; bytes -= bytes / 5) { /* and smaller ones have room in it */
    wp_delegate *delegate = open_on(0);
    give(take(delegate, bytes, stream), stream);
    OK(wp_delegate_close(delegate, NULL));
  }
  expect_driver_calls_since(&before, 0, 0);
  (void)last_close(keeper, WP_OK);
  end_stream(0, stream);
}

enum { SLOTS = 40 };

static struct slot {
  unsigned char *memory; /* NULL: none */
  size_t bytes;
  int byte; /* it is filled with this */
  unsigned stream;
} slots[SLOTS];

static void fill_slot(struct slot *slot, wp_delegate *delegate, const wp_stream *streams, uint32_t *random) {
  slot->stream = next_random(random) % 2;
  slot->bytes = 1 + next_random(random) % ((size_t)1 << next_random(random) % 20);
  slot->byte = (int)(next_random(random) & 0xff);
  unsigned char *memory = take(delegate, slot->bytes, streams[slot->stream]);
  for (unsigned i = 0; i < SLOTS; i++) {
    if (slots[i].memory == NULL) continue;
    cr_assert(memory + slot->bytes <= slots[i].memory || slots[i].memory + slots[i].bytes <= memory,
              "%zu bytes at %p overlap %zu at %p", slot->bytes, (void *)memory, slots[i].bytes,
              (void *)slots[i].memory);
  }
  slot->memory = memory;
  rig_fill(streams[slot->stream], memory, slot->byte, slot->bytes);
}

/* Some are freed on the other stream, which has nothing to do with them. */
static void empty_slot(struct slot *slot, const wp_stream *streams, uint32_t *random) {
  expect_bytes(streams[slot->stream], slot->memory, slot->byte, slot->bytes);
  give(slot->memory, streams[next_random(random) % 8 == 0 ? 1 - slot->stream : slot->stream]);
  slot->memory = NULL;
}

static void shuffle(wp_delegate *delegate, const wp_stream *streams, uint32_t *random) {
  for (int i = 0; i < 150; i++) {
    struct slot *slot = &slots[next_random(random) % SLOTS];
    if (slot->memory != NULL) empty_slot(slot, streams, random);
    fill_slot(slot, delegate, streams, random);
  }
  for (unsigned left = SLOTS; left > 0;) {
    struct slot *slot = &slots[next_random(random) % SLOTS];
    if (slot->memory != NULL) empty_slot(slot, streams, random);
    for (left = 0; left < SLOTS && slots[left].memory == NULL;) left++;
    left = SLOTS - left;
  }
}

BOTH_CONTRACTS(lanes, keep_blocks_apart_and_lose_nothing) {
  uint32_t random = 1;
  void *large[2];
  wp_delegate *delegate = start_in_lanes();
  wp_stream streams[2] = {rig_stream_create(0), rig_stream_create(0)};
  for (unsigned i = 0; i < 2; i++) large[i] = take(delegate, 16 * MIB, streams[i]); /* all will fit in these */
  for (unsigned i = 0; i < 2; i++) give(large[i], streams[i]);
  for (int round = 0; round < 2; round++) {
    shuffle(delegate, streams, &random);
    for (unsigned i = 0; i < 2; i++) rig_stream_synchronize(streams[i]);
    OK(wp_tick(runtime));
    wp_stats before = stats(0);
    cr_assert_eq(before.live_bytes + before.parked_bytes, 0);
    cr_assert_eq(before.cached_bytes, before.reserved_bytes);
    for (unsigned i = 0; i < 2; i++) large[i] = take(delegate, 16 * MIB, streams[i]);
    for (unsigned i = 0; i < 2; i++) give(large[i], streams[i]);
    expect_driver_calls_since(&before, 0, 0); /* each is in one piece again */
  }
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  cr_expect_eq(stats(0).reserved_bytes, 0);
  for (unsigned i = 0; i < 2; i++) end_stream(0, streams[i]);
}

/* -- a full device -- */

enum { PIECES = 8, PIECES_MAX = 64 };

/* Fills the device with pieces, the first of which lie side by side. Returns how many there are. */
static unsigned fill_device(wp_delegate *delegate, wp_stream stream, size_t piece, unsigned char **pieces) {
  unsigned count = 0;
  wp_status status = wp_prime(delegate, PIECES * piece, stream);
  while (status == WP_OK && count < PIECES_MAX) {
    void *memory = NULL;
    status = wp_alloc(delegate, piece, stream, &memory);
    if (status == WP_OK) pieces[count++] = memory;
  }
  ANSWERS(WP_ERROR_OUT_OF_MEMORY, status);
  cr_assert_gt(count, PIECES);
  return count;
}

static void give_every_second(unsigned char **pieces, size_t piece, wp_stream stream, size_t odd) {
  unsigned char *first = pieces[0];
  for (unsigned i = 1; i < PIECES; i++) first = pieces[i] < first ? pieces[i] : first;
  for (unsigned i = 0; i < PIECES; i++) {
    if ((size_t)(pieces[i] - first) / piece % 2 == odd) give(pieces[i], stream);
  }
}

/* A suite of its own, as it needs the device for itself. */
SUITE(full_lanes);

BOTH_CONTRACTS(full_lanes, serve_what_has_merged) {
  unsigned char *pieces[PIECES_MAX], *first;
  void *none = &none;
  (void)setenv("WARMPOOL_HOST_MEMORY", "256M", 1); /* filling one costs the host backend real pages */
  wp_runtime_options options = in_lanes();
  options.oom_policy = WP_OOM_FAIL; /* nothing but the lane can help */
  (void)whole();
  start(&options);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  size_t piece = device_total(0) / 16 / (2 * MIB) * (2 * MIB);
  unsigned count = fill_device(delegate, stream, piece, pieces);
  give_every_second(pieces, piece, stream, 1);
  first = pieces[0];
  ANSWERS(WP_ERROR_OUT_OF_MEMORY, wp_alloc(delegate, 2 * piece, stream, &none)); /* they are no neighbours */
  give(take(delegate, piece, stream), stream);
  give_every_second(pieces, piece, stream, 0);
  wp_stats before = stats(0);
  unsigned char *all = take(delegate, PIECES * piece, stream);
  cr_expect(first >= all && first < all + PIECES * piece);
  expect_driver_calls_since(&before, 0, 0);
  give(all, stream);
  while (count > PIECES) give(pieces[--count], stream);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}
