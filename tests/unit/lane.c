/* SPDX-License-Identifier: Apache-2.0 */
/* A lane by itself: lists, heap, segments, tallies and spare records. No driver, no stream. */
#include "lane.h"

#include <criterion/criterion.h>
#include <string.h>

#define UNIT WP__CLASS_UNIT

static wp__blocks blocks;
static wp__lane lane;

static void start(void) {
  memset(&lane, 0, sizeof lane);
  cr_assert(wp__blocks_init(&blocks));
}
static void end(void) {
  wp__lane_free_tallies(&lane);
  wp__blocks_destroy(&blocks);
  cr_assert_eq(wp__test_allocations(), 0);
}

/* A test between start() and end(). */
#define LANE_TEST(name)                                                                                                \
  static void lane_##name(void);                                                                                       \
  Test(lane, name) {                                                                                                   \
    start();                                                                                                           \
    lane_##name();                                                                                                     \
    end();                                                                                                             \
  }                                                                                                                    \
  static void lane_##name(void)

static wp__block *take_record(void) {
  wp__block *record = wp__block_take(&blocks);
  cr_assert_not_null(record);
  return record;
}
static void give_record(void) { wp__lane_keep_record(&lane, &blocks, take_record()); }
static void add(size_t address, size_t bytes, uint64_t position) {
  wp__lane_add(&lane, take_record(), (char *)address, bytes, position);
}
static wp__block *carve(size_t bytes) {
  if (wp__lane_needs_record(&lane)) give_record();
  return wp__lane_carve(&lane, bytes);
}
static size_t address_of(const wp__block *block) { return (size_t)block->range.address; }
/* Carved and entered in the map, as one that is handed out. */
static wp__block *hand_out(size_t bytes) {
  wp__block *block = carve(bytes);
  cr_assert_not_null(block);
  cr_assert(wp__map_set(&blocks.map, block->range.address, block));
  return block;
}
static unsigned made(void) { return atomic_load(&blocks.made); }

/* -- lists -- */

LANE_TEST(a_list_gives_back_what_came_last_first) {
  add(0x100000, 64 * UNIT, 0);
  wp__block *first = hand_out(2 * UNIT), *second = hand_out(2 * UNIT), *other = hand_out(3 * UNIT);
  wp__lane_push(&lane, first);
  wp__lane_push(&lane, other);
  wp__lane_push(&lane, second);
  cr_assert_eq(wp__lane_pop(&lane, 1), second);
  cr_assert_eq(wp__lane_pop(&lane, 1), first);
  cr_assert_null(wp__lane_pop(&lane, 1));
  cr_assert_eq(wp__lane_pop(&lane, 2), other);
}

LANE_TEST(a_listed_block_is_found_by_its_address_until_a_merge) {
  add(0x100000, 64 * UNIT, 0);
  wp__block *block = hand_out(UNIT);
  wp__lane_push(&lane, block);
  cr_assert_eq(wp__map_get(&blocks.map, (void *)0x100000), block);
  wp__lane_merge(&lane, &blocks);
  cr_assert_null(wp__map_get(&blocks.map, (void *)0x100000));
}

LANE_TEST(a_merge_makes_the_segment_whole_again) {
  enum { COUNT = 8 };
  wp__block *parts[COUNT];
  add(0x100000, COUNT * 40 * UNIT, 3);
  for (int i = 0; i < COUNT; i++) parts[i] = hand_out(40 * UNIT);
  cr_assert_null(carve(UNIT));
  for (int i = 0; i < COUNT; i++) {
    parts[i * 3 % COUNT]->range.position = (uint64_t)i + 10;
    wp__lane_push(&lane, parts[i * 3 % COUNT]);
  }
  cr_assert_null(carve(UNIT), "what is listed is not in the heap");
  wp__lane_merge(&lane, &blocks);
  for (unsigned c = 0; c < WP__CLASSES; c++) cr_assert_null(lane.lists[c]);
  for (unsigned word = 0; word < WP__HEAP_WORDS; word++) cr_assert_eq(lane.listed[word], 0);
  cr_assert_null(wp__lane_take(&lane, 16, UNIT, UINT64_MAX), "the last part was used up to 17");
  wp__block *segment = wp__lane_take(&lane, 17, UNIT, UINT64_MAX);
  cr_assert_not_null(segment);
  cr_assert_eq(segment->range.bytes, COUNT * 40 * UNIT);
}

LANE_TEST(a_merge_of_empty_lists_changes_nothing) {
  add(0x100000, 8 * UNIT, 0);
  wp__block *block = hand_out(UNIT);
  wp__lane_push(&lane, block);
  cr_assert_eq(wp__lane_pop(&lane, 0), block);
  wp__lane_merge(&lane, &blocks);
  cr_assert_eq(wp__map_get(&blocks.map, (void *)0x100000), block, "it is handed out");
  cr_assert_eq(lane.heap.free_bytes, 7 * UNIT);
}

/* -- carving -- */

LANE_TEST(a_carved_block_knows_its_class) {
  add(0x100000, 4096 * UNIT, 5);
  wp__block *block = carve(34 * UNIT);
  cr_assert_eq(block->class, wp__class_below(34 * UNIT));
  cr_assert_eq(block->range.bytes, 34 * UNIT);
  cr_assert_eq(block->range.position, 5);
}

LANE_TEST(a_carve_uses_a_record_only_for_what_is_left) {
  add(0x100000, 8 * UNIT, 0);
  give_record();
  cr_assert_null(wp__lane_carve(&lane, 9 * UNIT));
  cr_assert_eq(lane.spare_count, 1);
  cr_assert_not_null(wp__lane_carve(&lane, 3 * UNIT));
  cr_assert_eq(lane.spare_count, 0);
  cr_assert(wp__lane_needs_record(&lane));
  give_record();
  cr_assert_not_null(wp__lane_carve(&lane, 5 * UNIT));
  cr_assert_eq(lane.spare_count, 1, "the rest of 5 was carved whole");
}

LANE_TEST(an_uncarved_block_joins_what_it_came_from) {
  add(0x100000, 8 * UNIT, 0);
  wp__block *block = carve(3 * UNIT);
  cr_assert_null(wp__lane_take(&lane, 0, UNIT, UINT64_MAX), "a part is handed out");
  wp__lane_uncarve(&lane, &blocks, block);
  cr_assert_eq(lane.spare_count, 1);
  cr_assert_not_null(wp__lane_take(&lane, 0, UNIT, UINT64_MAX));
}

LANE_TEST(a_lane_keeps_so_many_spare_records_and_no_more) {
  for (unsigned i = 0; i < WP__LANE_SPARES; i++) give_record();
  cr_assert_eq(lane.spare_count, WP__LANE_SPARES);
  unsigned before = made();
  for (int i = 0; i < 10; i++) give_record();
  cr_assert_eq(lane.spare_count, WP__LANE_SPARES);
  cr_assert_eq(made(), before + 1, "nine of the ten were the same record");
}

LANE_TEST(a_merge_hands_records_it_does_not_need_back) {
  enum { COUNT = WP__LANE_SPARES + 20 };
  wp__block *parts[COUNT];
  add(0x100000, COUNT * UNIT, 0);
  for (int i = 0; i < COUNT; i++) parts[i] = hand_out(UNIT);
  for (int i = 0; i < COUNT; i++) wp__lane_push(&lane, parts[i]);
  wp__lane_merge(&lane, &blocks);
  cr_assert_eq(lane.spare_count, WP__LANE_SPARES);
  unsigned before = made();
  for (int i = 0; i < 19; i++) (void)take_record();
  cr_assert_eq(made(), before);
}

/* -- segments -- */

LANE_TEST(the_smallest_finished_segment_within_the_bounds_is_taken) {
  add(0x1000000, 4096 * UNIT, 1);
  add(0x2000000, 8192 * UNIT, 2);
  add(0x3000000, 16384 * UNIT, 3);
  add(0x4000000, 4097 * UNIT, 9);
  cr_assert_null(wp__lane_take(&lane, 3, 4098 * UNIT, 8191 * UNIT));
  cr_assert_eq(address_of(wp__lane_take(&lane, 3, 4097 * UNIT, UINT64_MAX)), 0x2000000);
  cr_assert_eq(address_of(wp__lane_take(&lane, 3, UNIT, UINT64_MAX)), 0x1000000);
  cr_assert_null(wp__lane_take(&lane, 3, UNIT, 16383 * UNIT), "the small one has not finished");
  cr_assert_eq(lane.held_bytes, (16384 + 4097) * UNIT);
}

LANE_TEST(a_segment_with_a_listed_part_is_not_taken) {
  add(0x100000, 8 * UNIT, 0);
  wp__lane_push(&lane, hand_out(UNIT));
  cr_assert_null(wp__lane_take(&lane, UINT64_MAX, UNIT, UINT64_MAX));
}

LANE_TEST(what_lies_behind_a_position_or_is_a_whole_small_segment_is_due) {
  add(0x100000, 8 * UNIT, 4);
  add(0x200000, 16 * UNIT, 7);
  cr_assert_eq(wp__lane_due(&lane, 3, 0), 24 * UNIT);
  cr_assert_eq(wp__lane_due(&lane, 4, 7 * UNIT), 16 * UNIT);
  cr_assert_eq(wp__lane_due(&lane, 4, 8 * UNIT), 24 * UNIT);
  cr_assert_eq(wp__lane_due(&lane, 7, 15 * UNIT), 8 * UNIT);
  wp__block *part = hand_out(UNIT);
  cr_assert_eq(wp__lane_due(&lane, 7, UINT64_MAX), 16 * UNIT, "a segment with a block in it is not due");
  wp__lane_push(&lane, part);
}

/* Its neighbours are free up to both ends, and have finished. */
LANE_TEST(a_segment_goes_with_its_last_block) {
  add(0x100000, 8 * UNIT, 2);
  wp__block *one = hand_out(2 * UNIT), *last = hand_out(2 * UNIT);
  cr_assert_null(wp__lane_take_around(&lane, &blocks, last, 9), "the other one is not free");
  one->range.position = 5;
  wp__lane_push(&lane, one);
  cr_assert_null(wp__lane_take_around(&lane, &blocks, last, 4), "the other one has not finished");
  wp__block *segment = wp__lane_take_around(&lane, &blocks, last, 5);
  cr_assert_not_null(segment);
  cr_assert_eq(address_of(segment), 0x100000);
  cr_assert_eq(segment->range.bytes, 8 * UNIT);
  cr_assert_eq(lane.held_bytes, 0);
  cr_assert_eq(lane.heap.free_bytes, 0);
}

LANE_TEST(forgetting_drops_every_record) {
  add(0x100000, 64 * UNIT, 0);
  add(0x200000, 64 * UNIT, 0);
  for (int i = 0; i < 8; i++) wp__lane_push(&lane, hand_out(((size_t)i + 1) * UNIT));
  give_record();
  unsigned before = made();
  wp__lane_forget(&lane, &blocks);
  cr_assert_eq(lane.held_bytes, 0);
  cr_assert_eq(lane.spare_count, 0);
  cr_assert_eq(lane.heap.free_bytes, 0);
  cr_assert_null(wp__map_get(&blocks.map, (void *)0x100000));
  for (unsigned i = 0; i < before; i++) (void)take_record();
  cr_assert_eq(made(), before);
}
