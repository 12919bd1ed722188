/* SPDX-License-Identifier: Apache-2.0 */
/* Size classes, and the heap that ranges are carved from. */
#include "heap.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* -- classes -- */

Test(classes, are_each_their_own_size) {
  size_t before = 0;
  for (unsigned c = 0; c < WP__CLASSES && wp__class_bytes(c) <= WP__CLASS_LARGEST; c++) {
    size_t bytes = wp__class_bytes(c);
    cr_assert_gt(bytes, before);
    cr_assert_eq(wp__class_above(bytes), c);
    cr_assert_eq(wp__class_below(bytes), c);
    cr_assert_eq(wp__class_above(before + 1), c);
    if (c > 0) cr_assert_eq(wp__class_below(bytes - WP__CLASS_UNIT), c - 1);
    before = bytes;
  }
  cr_assert_geq(before, WP__CLASS_LARGEST);
}

Test(classes, add_less_than_a_sixteenth_or_a_unit) {
  for (size_t bytes = 1; bytes < (size_t)1 << 40; bytes += bytes / 97 + 1) {
    size_t rounded = wp__class_bytes(wp__class_above(bytes));
    cr_assert_geq(rounded, bytes);
    cr_assert(rounded - bytes < WP__CLASS_UNIT || (rounded - bytes) * 16 < bytes, "%zu became %zu", bytes, rounded);
  }
}

/* -- a heap and its records -- */

enum { RECORDS = 4096 };
static wp__heap heap;
static wp__range records[RECORDS], *spares;

static void start(void) {
  memset(&heap, 0, sizeof heap);
  spares = NULL;
  for (int i = RECORDS - 1; i >= 0; i--) {
    records[i].next = spares;
    spares = &records[i];
  }
}

static wp__range *take_record(void) {
  wp__range *record = spares;
  spares = record->next;
  return record;
}

static wp__range *carve(size_t bytes) {
  wp__range *spare = take_record();
  wp__range *range = wp__heap_carve(&heap, bytes, &spare);
  if (spare != NULL) {
    spare->next = spares;
    spares = spare;
  }
  return range;
}

static wp__range *merge(wp__range *range) { return wp__heap_merge(&heap, range, &spares); }

static wp__range *add(size_t address, size_t bytes) {
  wp__range *range = take_record();
  wp__heap_add(&heap, range, (char *)address, bytes, 0);
  return range;
}

TestSuite(heap, .init = start);

Test(heap, carves_from_the_smallest_range_that_fits) {
  add(0x100000, 64 * WP__CLASS_UNIT);
  add(0x200000, 20 * WP__CLASS_UNIT);
  add(0x300000, 24 * WP__CLASS_UNIT);
  cr_assert_eq((size_t)carve(21 * WP__CLASS_UNIT)->address, 0x300000);
  cr_assert_eq((size_t)carve(20 * WP__CLASS_UNIT)->address, 0x200000);
  cr_assert_eq((size_t)carve(3 * WP__CLASS_UNIT)->address, 0x300000 + 21 * WP__CLASS_UNIT);
  cr_assert_eq((size_t)carve(30 * WP__CLASS_UNIT)->address, 0x100000);
  cr_assert_null(carve(36 * WP__CLASS_UNIT));
  cr_assert_eq(heap.free_bytes, 34 * WP__CLASS_UNIT);
}

Test(heap, takes_the_smallest_of_one_bin_too) {
  unsigned large = wp__class_above((size_t)1 << 30);
  size_t step = wp__class_bytes(large + 1) - wp__class_bytes(large);
  add((size_t)1 << 40, wp__class_bytes(large) + step / 2);
  add((size_t)2 << 40, wp__class_bytes(large) + step / 4);
  add((size_t)3 << 40, wp__class_bytes(large) + step / 3 / WP__CLASS_UNIT * WP__CLASS_UNIT);
  cr_assert_eq((size_t)carve(wp__class_bytes(large))->address, (size_t)2 << 40);
}

Test(heap, merges_on_both_sides_and_gives_the_records_back) {
  wp__range *whole = add(0x100000, 8 * WP__CLASS_UNIT), *parts[8];
  cr_assert(wp__range_is_whole(whole));
  for (int i = 0; i < 8; i++) parts[i] = carve(WP__CLASS_UNIT);
  cr_assert_eq(heap.free_bytes, 0);
  static const int order[] = {1, 3, 2, 0, 7, 5, 6, 4};
  wp__range *range = NULL;
  for (int i = 0; i < 8; i++) {
    cr_assert(i == 0 || !wp__range_is_whole(range));
    parts[order[i]]->position = (uint64_t)(i == 4 ? 100 : i);
    range = merge(parts[order[i]]);
  }
  cr_assert(wp__range_is_whole(range));
  cr_assert_eq(range->bytes, 8 * WP__CLASS_UNIT);
  cr_assert_eq(range->position, 100, "the latest of all");
  int count = 0;
  for (wp__range *spare = spares; spare != NULL; spare = spare->next) count++;
  cr_assert_eq(count, RECORDS - 1);
}

Test(heap, gives_whole_segments_away) {
  wp__range *first = add(0x100000, 16 * WP__CLASS_UNIT), *second = add(0x200000, 16 * WP__CLASS_UNIT);
  wp__heap_remove(&heap, first);
  cr_assert_eq((size_t)carve(16 * WP__CLASS_UNIT)->address, (size_t)second->address);
  cr_assert_null(carve(WP__CLASS_UNIT));
  cr_assert_eq(heap.free_bytes, 0);
}

Test(heap, walks_what_is_free_from_small_to_large_bins) {
  for (size_t units = 1; units <= 40; units++) add(units << 20, units * WP__CLASS_UNIT);
  unsigned count = 0, bin = 0;
  for (wp__range *range = wp__heap_next(&heap, NULL, WP__CLASS_UNIT); range != NULL;
       range = wp__heap_next(&heap, range, WP__CLASS_UNIT)) {
    cr_assert_geq(wp__class_below(range->bytes), bin);
    bin = wp__class_below(range->bytes);
    count++;
  }
  cr_assert_eq(count, 40);
  cr_assert_eq(wp__heap_next(&heap, NULL, 40 * WP__CLASS_UNIT)->bytes, 40 * WP__CLASS_UNIT);
}

/* -- at random, against a map of units -- */

enum { SEGMENTS = 3, UNITS = 512, TAKEN = 600 };
static unsigned char owner[SEGMENTS][UNITS]; /* 0: free */

static void mark(const wp__range *range, unsigned char value) {
  size_t segment = (size_t)range->address >> 30, unit = ((size_t)range->address & 0x3fffffff) / WP__CLASS_UNIT;
  for (size_t i = 0; i < range->bytes / WP__CLASS_UNIT; i++) {
    cr_assert_eq(owner[segment - 1][unit + i] != 0, value == 0, "handed out twice, or never");
    owner[segment - 1][unit + i] = value;
  }
}

static size_t longest_gap(void) {
  size_t longest = 0;
  for (int s = 0; s < SEGMENTS; s++) {
    size_t gap = 0;
    for (int u = 0; u < UNITS; u++) {
      gap = owner[s][u] == 0 ? gap + 1 : 0;
      if (gap > longest) longest = gap;
    }
  }
  return longest * WP__CLASS_UNIT;
}

static void check_free_ranges(void) {
  size_t bytes = 0;
  for (wp__range *range = wp__heap_next(&heap, NULL, WP__CLASS_UNIT); range != NULL;
       range = wp__heap_next(&heap, range, WP__CLASS_UNIT)) {
    cr_assert(range->is_free);
    cr_assert(range->before == NULL || !range->before->is_free, "two free neighbours");
    cr_assert(range->before == NULL || range->before->address + range->before->bytes == range->address, "a gap");
    bytes += range->bytes;
  }
  cr_assert_eq(bytes, heap.free_bytes);
}

Test(heap, loses_and_doubles_nothing_whatever_is_carved_and_merged) {
  wp__range *taken[TAKEN];
  unsigned count = 0;
  srand(7);
  for (size_t s = 0; s < SEGMENTS; s++) add((s + 1) << 30, UNITS * WP__CLASS_UNIT);
  for (int step = 0; step < 200000; step++) {
    if (count < TAKEN && rand() % 100 < 53) {
      size_t bytes = wp__class_bytes((unsigned)(rand() % (rand() % 8 == 0 ? 60 : 12)));
      wp__range *range = carve(bytes);
      if (range == NULL) {
        cr_assert_lt(longest_gap(), bytes, "a range that fits was not found");
        continue;
      }
      cr_assert_eq(range->bytes, bytes);
      mark(range, 1);
      taken[count++] = range;
    } else if (count > 0) {
      unsigned which = (unsigned)rand() % count;
      mark(taken[which], 0);
      (void)merge(taken[which]);
      taken[which] = taken[--count];
    }
    if (step % 1000 == 0) check_free_ranges();
  }
  while (count > 0) (void)merge(taken[--count]);
  cr_assert_eq(heap.free_bytes, (size_t)SEGMENTS * UNITS * WP__CLASS_UNIT);
  for (wp__range *range = wp__heap_next(&heap, NULL, WP__CLASS_UNIT); range != NULL;
       range = wp__heap_next(&heap, range, WP__CLASS_UNIT)) {
    cr_assert(wp__range_is_whole(range));
  }
}
