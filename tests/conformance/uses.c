/* SPDX-License-Identifier: Apache-2.0 */
/* wp_note_use and wp_free_after: blocks that several streams use. */
#include "conformance.h"

SUITE(uses);

static wp_delegate *delegate;
static wp_stream s1, s2;
static void *copy;

static void set_up(void) {
  (void)granule();
  start(NULL);
  delegate = open_on(0);
  s1 = rig_stream_create(0);
  s2 = rig_stream_create(0);
  copy = take(delegate, granule(), s2);
}

static void tear_down(void) {
  give(copy, s2);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, s1);
  end_stream(0, s2);
}

/* A block of s1 that s2 has yet to read; `hold` keeps it from that. */
static void *block_that_s2_reads(rig_hold **hold) {
  void *memory = take(delegate, granule(), s1);
  rig_fill(s1, memory, 0x5a, MIB);
  rig_wait(s2, s1);
  *hold = rig_hold_stream(s2);
  rig_copy(s2, copy, memory, MIB);
  return memory;
}

/* Overwrites whatever s1 gets, three times, and frees it. */
static void scribble(void) {
  void *blocks[3];
  for (unsigned i = 0; i < 3; i++) {
    blocks[i] = take(delegate, granule(), s1);
    rig_fill(s1, blocks[i], 0xff, MIB);
  }
  for (unsigned i = 0; i < 3; i++) give(blocks[i], s1);
  rig_stream_synchronize(s1); /* so nothing holds s1 up */
}

/* The freed block is not handed out while s2 is held; s2 reads the right bytes; then it is idle memory like any. */
static void expect_kept_until_released(rig_hold *hold) {
  cr_expect_eq(stats(0).parked_bytes, granule());
  cr_expect_eq(stats(0).reserved_bytes, stats(0).live_bytes + granule());
  scribble();
  cr_expect_eq(stats(0).parked_bytes, granule());
  uint64_t before = reserved(0);
  rig_release(hold);
  expect_bytes(s2, copy, 0x5a, MIB);
  OK(wp_tick(runtime));
  cr_expect_eq(stats(0).parked_bytes, 0);
  void *blocks[4];
  for (unsigned i = 0; i < 4; i++) blocks[i] = take(delegate, granule(), s1);
  cr_expect_eq(reserved(0), before, "the block was not handed out again");
  for (unsigned i = 0; i < 4; i++) give(blocks[i], s1);
}

/* -- wp_note_use -- */

BOTH_CONTRACTS(uses, that_were_noted_are_waited_for_by_the_free) {
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_note_use(runtime, memory, s2));
  wp_stats before = stats(0);
  give(memory, s1);
  wp_stats after = stats(0);
  cr_expect_eq(after.frees, before.frees + 1);
  cr_expect_eq(after.live_bytes, before.live_bytes - granule());
  ANSWERS(WP_ERROR_INVALID_POINTER, wp_free(runtime, memory, s1));
  expect_kept_until_released(hold);
  tear_down();
}

/* The control: without the note nothing holds the block back. */
Test(uses, that_were_not_noted_are_not_waited_for) {
  rig_hold *hold;
  set_up();
  give(block_that_s2_reads(&hold), s1);
  cr_expect_eq(stats(0).parked_bytes, 0);
  uint64_t before = reserved(0);
  give(take(delegate, granule(), s1), s1);
  cr_expect_eq(reserved(0), before);
  rig_release(hold);
  rig_stream_synchronize(s2); /* it reads what the close may take from under it, for nobody noted that */
  tear_down();
}

BOTH_CONTRACTS(uses, are_replaced_by_later_ones_of_the_stream) {
  rig_hold *hold;
  set_up();
  void *memory = take(delegate, granule(), s1);
  rig_fill(s1, memory, 0x5a, MIB);
  OK(wp_note_use(runtime, memory, s2)); /* nothing to wait for */
  rig_wait(s2, s1);
  hold = rig_hold_stream(s2);
  rig_copy(s2, copy, memory, MIB);
  OK(wp_note_use(runtime, memory, s2));
  OK(wp_note_use(runtime, memory, s2));
  give(memory, s1);
  expect_kept_until_released(hold);
  tear_down();
}

BOTH_CONTRACTS(uses, of_the_freeing_stream_or_finished_ones_need_no_waiting) {
  set_up();
  void *memory = take(delegate, granule(), s1);
  rig_hold *hold = rig_hold_stream(s1);
  OK(wp_note_use(runtime, memory, s1));
  OK(wp_note_use(runtime, memory, s2));
  rig_stream_synchronize(s2);
  give(memory, s1);
  cr_expect_eq(stats(0).parked_bytes, 0);
  rig_release(hold);
  tear_down();
}

BOTH_CONTRACTS(uses, do_not_pass_on_to_the_next_life_of_a_block) {
  rig_hold *hold;
  set_up();
  void *memory = take(delegate, granule(), s1);
  OK(wp_note_use(runtime, memory, s2));
  rig_stream_synchronize(s2);
  give(memory, s1);
  hold = rig_hold_stream(s2);
  for (int i = 0; i < 3; i++) give(take(delegate, granule(), s1), s1);
  cr_expect_eq(stats(0).parked_bytes, 0);
  rig_release(hold);
  tear_down();
}

BOTH_CONTRACTS(uses, of_several_streams_are_all_waited_for) {
  wp_stream streams[4];
  rig_hold *holds[4];
  set_up();
  void *memory = take(delegate, granule(), s1);
  for (unsigned i = 0; i < 4; i++) {
    holds[i] = rig_hold_stream(streams[i] = rig_stream_create(0));
    OK(wp_note_use(runtime, memory, streams[i]));
  }
  give(memory, s1);
  for (unsigned i = 0; i < 4; i++) {
    OK(wp_tick(runtime));
    cr_expect_eq(stats(0).parked_bytes, granule());
    rig_release(holds[3 - i]);
    rig_stream_synchronize(streams[3 - i]);
  }
  OK(wp_tick(runtime));
  cr_expect_eq(stats(0).parked_bytes, 0);
  for (unsigned i = 0; i < 4; i++) end_stream(0, streams[i]);
  tear_down();
}

BOTH_CONTRACTS(uses, may_be_of_streams_that_are_destroyed) {
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_note_use(runtime, memory, s2));
  rig_wait(s1, s2); /* s1 frees the copy in the end */
  end_stream(0, s2);
  s2 = rig_stream_create(0); /* perhaps of the same handle: a note of the old one is not one of this one */
  OK(wp_note_use(runtime, memory, s2));
  give(memory, s2);
  cr_expect_eq(stats(0).parked_bytes, granule());
  release_later(hold);
  cr_expect_eq(stats(0).live_bytes, granule());
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  release_is_over();
  cr_expect_eq(stats(0).parked_bytes, 0);
  expect_bytes(s1, copy, 0x5a, MIB);
  tear_down();
}

/* -- wp_free_after -- */

BOTH_CONTRACTS(uses, that_a_free_names_are_waited_for) {
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_free_after(runtime, memory, (wp_stream[]){s1, s2, s1, s2}, 4));
  expect_kept_until_released(hold);
  tear_down();
}

BOTH_CONTRACTS(uses, that_were_noted_are_waited_for_by_free_after) {
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_note_use(runtime, memory, s2));
  rig_stream_synchronize(s1);
  OK(wp_free_after(runtime, memory, NULL, 0));
  expect_kept_until_released(hold);
  tear_down();
}

BOTH_CONTRACTS(uses, of_one_stream_are_waited_for_by_free_after) {
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_free_after(runtime, memory, &s2, 1));
  for (int i = 0; i < 3; i++) scribble();
  rig_release(hold);
  expect_bytes(s2, copy, 0x5a, MIB);
  tear_down();
}

BOTH_CONTRACTS(uses, that_have_all_finished_let_a_block_go_at_once) {
  set_up();
  void *memory = take(delegate, granule(), s1);
  rig_hold *hold = rig_hold_stream(s1); /* its work is none of the block's */
  wp_stats before = stats(0);
  OK(wp_free_after(runtime, memory, NULL, 0));
  cr_expect_eq(stats(0).parked_bytes, 0);
  cr_expect_eq(stats(0).frees, before.frees + 1);
  uint64_t held = reserved(0);
  memory = take(delegate, granule(), s2);
  cr_expect_eq(reserved(0), held);
  give(memory, s2);
  OK(wp_free_after(runtime, NULL, NULL, 0));
  OK(wp_free_after(runtime, NULL, &s1, 1));
  rig_release(hold);
  tear_down();
}

/* -- the last close -- */

BOTH_CONTRACTS(uses, are_waited_for_by_the_last_close_and_nothing_else_is) {
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_note_use(runtime, memory, s2));
  rig_hold *foreign = rig_hold_stream(s1); /* the close knows s1, and that it owes nothing */
  rig_stream_synchronize(WP_STREAM_LEGACY);
  OK(wp_free_after(runtime, memory, NULL, 0));
  give(copy, s2);
  release_later(hold);
  wp_release_report report = last_close(delegate, WP_OK);
  release_is_over();
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_eq(stats(0).parked_bytes, 0);
  rig_release(foreign);
  end_stream(0, s1);
  end_stream(0, s2);
}

BOTH_CONTRACTS(uses, leave_a_release_pending_where_nobody_waits) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  rig_hold *hold;
  set_up();
  void *memory = block_that_s2_reads(&hold);
  OK(wp_note_use(runtime, memory, s2));
  give(memory, s1);
  rig_stream_synchronize(s1);
  ANSWERS(WP_PENDING, wp_trim(runtime, 0, 0, WP_NO_WAIT, &report));
  cr_expect_eq(report.pending_bytes, granule());
  rig_release(hold);
  expect_bytes(s2, copy, 0x5a, MIB);
  OK(wp_trim(runtime, 0, 0, WP_NO_WAIT, &report));
  expect_mapped(report.reserved_after, 1); /* the copy */
  tear_down();
}
