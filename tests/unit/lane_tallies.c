/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane counts for each delegate, and in all. */
#include <criterion/criterion.h>
#include <string.h>

#include "lane.h"

static wp__lane lane;
static wp__tally *spare;

static void start(void) {
  memset(&lane, 0, sizeof lane);
  spare = NULL;
}
static void end(void) {
  wp__os_free(spare);
  wp__lane_free_tallies(&lane);
  cr_assert_eq(wp__test_allocations(), 0);
}
TestSuite(lane_tallies, .init = start);

/* Never looked into. The 16th after another one is in the same bucket. */
static wp_delegate *delegate(size_t n) { return (wp_delegate *)(0x100000 + 128 * n); }

static wp__tally *make(size_t n, uint64_t life) {
  if (spare == NULL) spare = wp__os_calloc(1, sizeof *spare);
  return wp__tally_make(&lane, delegate(n), life, &spare);
}
static void count(wp__tally *tally, uint64_t allocs, uint64_t bytes, uint64_t frees) {
  wp__block block = {.range = {.bytes = bytes}};
  for (uint64_t i = 0; i < allocs; i++) wp__tally_alloc(tally, &block);
  for (uint64_t i = 0; i < frees; i++) wp__tally_free(block.tally, block.range.bytes);
}

Test(lane_tallies, one_is_found_in_its_own_life_only) {
  wp__tally *tally = make(1, 7);
  cr_assert_not_null(tally);
  cr_assert_eq(wp__tally_find(&lane, delegate(1), 7), tally);
  cr_assert_null(wp__tally_find(&lane, delegate(1), 8));
  cr_assert_null(wp__tally_find(&lane, delegate(1), 0));
  cr_assert_null(wp__tally_find(&lane, delegate(17), 7), "of the same bucket");
  end();
}

Test(lane_tallies, one_is_made_of_the_spare_record_once) {
  wp__tally *tally = make(1, 7);
  cr_assert_null(spare, "it is in use");
  cr_assert_eq(wp__tally_make(&lane, delegate(1), 7, &spare), tally, "no record is needed any more");
  cr_assert_null(wp__tally_make(&lane, delegate(17), 7, &spare));
  cr_assert_null(wp__tally_find(&lane, delegate(17), 7));
  end();
}

Test(lane_tallies, a_bucket_holds_many) {
  wp__tally *tallies[4];
  for (size_t i = 0; i < 4; i++) tallies[i] = make(1 + 16 * i, i + 1);
  for (size_t i = 0; i < 4; i++) cr_assert_eq(wp__tally_find(&lane, delegate(1 + 16 * i), i + 1), tallies[i]);
  end();
}

Test(lane_tallies, a_delegate_s_next_life_starts_from_nothing_and_the_lane_forgets_nothing) {
  wp__counts sum;
  wp__tally *tally = make(1, 7);
  count(tally, 3, 512, 3);
  tally->counts.misses = 2;
  tally->counts.steals = 1;
  cr_assert_eq(make(1, 8), tally, "the record serves again");
  cr_assert_null(wp__tally_find(&lane, delegate(1), 7));
  cr_assert_eq(tally->counts.allocs, 0);
  count(tally, 2, 1024, 1);
  wp__lane_sum(&lane, &sum);
  cr_assert_eq(sum.allocs, 5);
  cr_assert_eq(sum.frees, 4);
  cr_assert_eq(sum.misses, 2);
  cr_assert_eq(sum.steals, 1);
  cr_assert_eq(wp__counts_live(&sum), 1024);
  end();
}

Test(lane_tallies, the_sum_is_of_all_delegates) {
  wp__counts sum;
  for (size_t i = 0; i < 40; i++) count(make(i, 1), 2, 512, 1);
  wp__lane_sum(&lane, &sum);
  cr_assert_eq(sum.allocs, 80);
  cr_assert_eq(sum.frees, 40);
  cr_assert_eq(sum.alloc_bytes, 80 * 512);
  cr_assert_eq(wp__counts_live(&sum), 40 * 512);
  end();
}

Test(lane_tallies, what_is_neither_live_nor_parked_is_idle) {
  wp__counts sum;
  count(make(1, 1), 3, 512, 1);
  lane.held_bytes = 8192;
  lane.parked_bytes = 2048;
  wp__lane_sum(&lane, &sum);
  cr_assert_eq(wp__lane_idle(&lane, &sum), 8192 - 1024 - 2048);
  end();
}
