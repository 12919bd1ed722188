/* SPDX-License-Identifier: Apache-2.0 */
/* Frees queued behind unfinished work: what a release waits for, and what it leaves for later. */
#define _DEFAULT_SOURCE
#include <sched.h>
#include <unistd.h>

#include "conformance.h"

SUITE(pending);

#define BYTES (2 * granule())

static wp_delegate *delegate;
static wp_stream stream, foreign;
static rig_hold *foreign_hold;

/*
 * A delegate, a stream, and another stream of the same device that has the device busy until the end. In CHECKED it
 * has freed something before that; in DECLARED the place of such a free is recorded later, and stands for what the
 * stream was given since, too.
 */
static void set_up(wp_wait release_wait) {
  wp_runtime_options options = defaults();
  options.release_wait = release_wait;
  (void)granule(); /* before anything is held */
  start(&options);
  delegate = open_on(0);
  stream = rig_stream_create(0);
  foreign = rig_stream_create(0);
  void *memory = take(delegate, 1, foreign);
  if (contract == WP_STREAMS_CHECKED) {
    give(memory, foreign);
  } else {
    OK(wp_free_after(runtime, memory, NULL, 0));
  }
  foreign_hold = rig_hold_stream(foreign);
}

static void tear_down(void) {
  rig_release(foreign_hold);
  rig_stream_synchronize(foreign);
  end_stream(0, foreign);
}

/* Frees BYTES behind work that does not end before the hold is released. */
static rig_hold *free_behind_work(void) {
  void *memory = take(delegate, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  give(memory, stream);
  return hold;
}

/* -- WP_WAIT -- */

/* The foreign stream is held throughout: whoever waits for it never comes back. */
BOTH_CONTRACTS(pending, work_is_waited_for_by_the_last_close_and_nothing_else_is) {
  set_up(WP_WAIT);
  release_later(free_behind_work());
  wp_release_report report = last_close(delegate, WP_OK);
  release_is_over();
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_eq(report.pending_bytes, 0);
  cr_expect_geq(report.returned_bytes, BYTES);
  cr_expect_gt(report.waited_ns, 0);
  cr_expect_eq(reserved(0), 0);
  end_stream(0, stream);
  tear_down();
}

BOTH_CONTRACTS(pending, work_of_a_destroyed_stream_is_waited_for) {
  set_up(WP_WAIT);
  rig_hold *hold = free_behind_work();
  end_stream(0, stream);
  release_later(hold);
  wp_release_report report = last_close(delegate, WP_OK);
  release_is_over();
  cr_expect_eq(report.reserved_after, 0);
  tear_down();
}

BOTH_CONTRACTS(pending, work_is_waited_for_when_the_runtime_is_destroyed) {
  set_up(WP_WAIT);
  void *memory = take(delegate, BYTES, stream);
  OK(wp_delegate_close(delegate, NULL));
  rig_hold *hold = rig_hold_stream(stream);
  give(memory, stream);
  end_stream(0, stream);
  if (contract == WP_STREAMS_DECLARED) OK(wp_stream_retire(runtime, 0, foreign));
  release_later(hold);
  OK(wp_runtime_destroy(runtime));
  release_is_over();
  runtime = NULL;
  rig_release(foreign_hold);
}

BOTH_CONTRACTS(pending, work_is_not_waited_for_by_other_calls) {
  wp_delegate *second;
  set_up(WP_WAIT);
  rig_hold *hold = free_behind_work();
  second = open_on(0);
  give(take(second, BYTES, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  OK(wp_prime(second, MIB, WP_STREAM_LEGACY));
  OK(wp_tick(runtime));
  cr_expect_eq(last_close(delegate, WP_OK).returned_bytes, 0); /* the second stays open */
  OK(wp_reset_peaks(runtime, 0));
  OK(wp_stream_retire(runtime, 0, stream));
  rig_release(hold);
  (void)last_close(second, WP_OK);
  cr_expect_eq(reserved(0), 0);
  rig_stream_destroy(stream);
  tear_down();
}

/* -- WP_NO_WAIT -- */

/* executorch#22312 */
static void close_with_work_pending(void) {
  wp_release_report report = last_close(delegate, WP_PENDING);
  cr_expect_eq(report.live_bytes, 0);
  cr_expect_geq(report.pending_bytes, BYTES);
  cr_expect_leq(report.pending_bytes, report.reserved_after);
  cr_expect_geq(report.reserved_after, BYTES);
  cr_expect_eq(report.waited_ns, 0);
  OK(wp_tick(runtime)); /* nothing has changed */
  cr_expect_geq(reserved(0), BYTES);
}

static void finish_by(void (*call)(void)) {
  set_up(WP_NO_WAIT);
  rig_hold *hold = free_behind_work();
  uint64_t trimmed = stats(0).trimmed_bytes;
  close_with_work_pending();
  rig_release(hold);
  do { /* by the library's own counter, for wp_query_driver is itself a call that finishes */
    call();
    (void)sched_yield();
  } while (stats(0).trimmed_bytes - trimmed < BYTES);
  rig_release(foreign_hold);
  rig_stream_synchronize(foreign);
  tick_until_reserved(0, 0);
  end_stream(0, stream);
  end_stream(0, foreign);
}

static void tick(void) { OK(wp_tick(runtime)); }
BOTH_CONTRACTS(pending, bytes_are_reported_without_waiting_and_finished_by_a_tick) { finish_by(tick); }

static void trim(void) {
  wp_status status = wp_trim(runtime, 0, 0, WP_NO_WAIT, NULL);
  cr_assert(status == WP_OK || status == WP_PENDING);
}
BOTH_CONTRACTS(pending, bytes_are_reported_without_waiting_and_finished_by_a_trim) { finish_by(trim); }

static void retire_unknown(void) { OK(wp_stream_retire(runtime, 0, WP_STREAM_PER_THREAD)); }
BOTH_CONTRACTS(pending, bytes_are_reported_without_waiting_and_finished_by_a_retire) { finish_by(retire_unknown); }

static void query(void) { (void)reserved(0); }
BOTH_CONTRACTS(pending, bytes_are_reported_without_waiting_and_finished_by_a_query) { finish_by(query); }

BOTH_CONTRACTS(pending, bytes_are_finished_by_later_frees) {
  void *blocks[500];
  set_up(WP_NO_WAIT);
  for (unsigned i = 0; i < COUNT_OF(blocks); i++) blocks[i] = take(delegate, 1, WP_STREAM_LEGACY);
  rig_hold *hold = free_behind_work();
  ANSWERS(WP_PENDING, wp_delegate_close(delegate, NULL));
  uint64_t trimmed = stats(0).trimmed_bytes;           /* what had finished before */
  uint64_t least = rig_shared_step() == 0 ? BYTES : 1; /* or the others lie in a part of what it was mapped in */
  rig_release(hold);
  unsigned freed = 0;
  while (stats(0).trimmed_bytes - trimmed < least && freed < COUNT_OF(blocks)) {
    give(blocks[freed++], WP_STREAM_LEGACY);
    (void)usleep(freed < 100 ? 1000 : 20000);
  }
  cr_expect_geq(stats(0).trimmed_bytes - trimmed, least);
  while (freed < COUNT_OF(blocks)) give(blocks[freed++], WP_STREAM_LEGACY);
  rig_release(foreign_hold);
  rig_stream_synchronize(foreign);
  tick_until_reserved(0, 0);
  end_stream(0, stream);
  end_stream(0, foreign);
}

/* The bytes are warm again for a delegate that opens meanwhile, and go back when that closes. */
BOTH_CONTRACTS(pending, bytes_serve_a_delegate_that_opens_meanwhile) {
  set_up(WP_NO_WAIT);
  rig_hold *hold = free_behind_work();
  close_with_work_pending();
  uint64_t before = reserved(0);
  delegate = open_on(0);
  void *memory = take(delegate, BYTES, stream); /* the same stream: behind its own work */
  cr_expect_eq(reserved(0), before);
  rig_release(hold);
  give(memory, stream);
  rig_stream_synchronize(stream);
  cr_expect_geq(reserved(0), BYTES);
  rig_release(foreign_hold);
  rig_stream_synchronize(foreign);
  wp_status closed = wp_delegate_close(delegate, NULL);
  cr_expect(closed == WP_OK || closed == WP_PENDING); /* DECLARED: what it records now takes its time to be seen */
  tick_until_reserved(0, 0);
  end_stream(0, stream);
  end_stream(0, foreign);
}

BOTH_CONTRACTS(pending, bytes_are_reported_when_the_runtime_is_destroyed) {
  set_up(WP_NO_WAIT);
  rig_hold *hold = free_behind_work();
  close_with_work_pending();
  if (contract == WP_STREAMS_DECLARED) {
    OK(wp_stream_retire(runtime, 0, stream));
    OK(wp_stream_retire(runtime, 0, foreign));
  }
  ANSWERS(WP_PENDING, wp_runtime_destroy(runtime));
  runtime = NULL;
  rig_release(hold);
  rig_release(foreign_hold);
}

/* -- wp_trim, with the delegate open -- */

BOTH_CONTRACTS(pending, work_is_waited_for_by_a_trim_and_nothing_else_is) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  set_up(WP_NO_WAIT); /* the option is not about trims */
  release_later(free_behind_work());
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  release_is_over();
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_gt(report.waited_ns, 0);
  end_stream(0, stream);
  (void)last_close(delegate, WP_OK);
  tear_down();
}

BOTH_CONTRACTS(pending, bytes_are_reported_by_a_trim_that_does_not_wait) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  set_up(WP_WAIT);
  void *live = take(delegate, granule(), WP_STREAM_LEGACY);
  rig_hold *hold = free_behind_work();
  ANSWERS(WP_PENDING, wp_trim(runtime, 0, 0, WP_NO_WAIT, &report));
  cr_expect_geq(report.pending_bytes, BYTES);
  cr_expect_eq(report.live_bytes, granule());
  cr_expect_eq(report.waited_ns, 0);
  rig_release(hold);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
  cr_expect_eq(report.pending_bytes, 0);
  cr_expect_geq(report.reserved_after, granule());
  cr_expect_leq(report.reserved_after, most_mapped(2)); /* the live block may lie across two mappings */
  give(live, WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
  tear_down();
}
