/* SPDX-License-Identifier: Apache-2.0 */
/* Many rounds of opening, work, closing: what goes back, and when. */
#include <pthread.h>
#include <stdatomic.h>

#include "rounds.h"

ROUNDS_SUITE(many_closes);
ROUNDS_SUITE(many_opens);

/* Blocks of 64 MiB, for of larger ones 7.2.4 keeps a part (H25). */
enum { BLOCKS = 4 };
#define BLOCK (64 * MIB)
#define ALL (BLOCKS * BLOCK)

static rig_hold *free_all_behind_work(wp_delegate *delegate, wp_stream stream) {
  void *blocks[BLOCKS];
  for (unsigned i = 0; i < BLOCKS; i++) blocks[i] = take(delegate, BLOCK, stream);
  rig_fill(stream, blocks[0], 0x11, 4096);
  synchronize(stream); /* or it would write to what a library that does not wait has unmapped, and nobody were told */
  rig_hold *hold = rig_hold_stream(stream);
  for (unsigned i = 0; i < BLOCKS; i++) give(blocks[i], stream);
  return hold;
}

/* What the runtime makes for itself when it is first used is on the device, then. */
static uint64_t start_warmed_up(wp_wait release_wait, wp_stream stream) {
  wp_runtime_options options = in_lanes_of(WP_WAIT);
  start(&options);
  wp_delegate *delegate = open_on(0);
  rig_release(free_all_behind_work(delegate, stream));
  rig_stream_synchronize(stream);
  (void)last_close(delegate, WP_OK);
  OK(wp_stream_retire(runtime, 0, stream));
  end();
  pause_for(100000);
  options.release_wait = release_wait;
  start(&options);
  return device_bytes();
}

/* -- executorch#22312 -- */

/* The close does not wait, and says so; when the work has ended, ticks give back all there is. */
BOTH_CONTRACTS(many_closes, that_do_not_wait_say_what_is_pending_and_a_tick_gives_it_back) {
  wp_stream stream = rig_stream_create(0);
  uint64_t before = start_warmed_up(WP_NO_WAIT, stream);
  for (begin_rounds(1000); next_round();) {
    wp_delegate *delegate = open_on(0);
    rig_hold *hold = free_all_behind_work(delegate, stream);
    wp_release_report report = WP_RELEASE_REPORT_INIT;
    wp_status status = wp_delegate_close(delegate, &report);
    rig_release(hold);
    ANSWERS(WP_PENDING, status);
    cr_assert_eq(report.returned_bytes, 0, "round %u", this_round());
    cr_assert_eq(report.pending_bytes, ALL, "round %u: %llu", this_round(), (unsigned long long)report.pending_bytes);
    cr_assert_eq(report.live_bytes, 0);
    cr_assert_geq(report.reserved_after, ALL);
    synchronize(stream);
    tick_until_reserved(0, 0);
    cr_assert_eq(stats(0).reserved_bytes, 0);
    expect_device_bytes(before);
  }
  end_stream(0, stream);
}

struct work {
  rig_hold *hold;
  atomic_bool has_ended;
};

static void *end_work(void *argument) {
  struct work *work = argument;
  pause_for(500);
  atomic_store(&work->has_ended, true);
  rig_release(work->hold);
  return NULL;
}

/* The close comes back when the work has ended, not before, and with everything. */
BOTH_CONTRACTS(many_closes, that_wait_come_back_with_everything_when_the_work_has_ended) {
  wp_stream stream = rig_stream_create(0);
  uint64_t before = start_warmed_up(WP_WAIT, stream);
  for (begin_rounds(1000); next_round();) {
    pthread_t thread;
    wp_delegate *delegate = open_on(0);
    struct work work = {.hold = free_all_behind_work(delegate, stream), .has_ended = false};
    cr_assert_eq(pthread_create(&thread, NULL, end_work, &work), 0);
    wp_release_report report = WP_RELEASE_REPORT_INIT;
    wp_status status = wp_delegate_close(delegate, &report);
    bool has_waited = atomic_load(&work.has_ended);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert(has_waited, "round %u: the close did not wait", this_round());
    ANSWERS(WP_OK, status);
    cr_assert_geq(report.returned_bytes, ALL, "round %u", this_round());
    cr_assert_eq(report.pending_bytes, 0);
    cr_assert_eq(report.reserved_after, 0, "round %u: %llu", this_round(), (unsigned long long)report.reserved_after);
    cr_assert_eq(reserved(0), 0);
    synchronize(stream);
    expect_device_bytes(before);
  }
  end_stream(0, stream);
}

/* -- chipStar#1422, xgboost#12217: what opens has been tried, whatever an attribute says (H14) -- */

static void use(wp_delegate *delegate, wp_stream stream) {
  void *memory = take(delegate, MIB, stream);
  rig_fill(stream, memory, (int)(this_round() & 0x7f), 4096);
  expect_bytes(stream, memory, (int)(this_round() & 0x7f), 4096);
  give(memory, stream);
}

/* The delegate is used, and all of it ends. */
static void use_up(wp_delegate *delegate, wp_stream stream, uint64_t before) {
  use(delegate, stream);
  cr_assert_eq(last_close(delegate, WP_OK).reserved_after, 0, "round %u", this_round());
  OK(wp_stream_retire(runtime, 0, stream));
  end();
  expect_device_bytes(before);
}

BOTH_CONTRACTS(many_opens, serve_at_once_and_leave_nothing) {
  wp_stream stream = rig_stream_create(0);
  uint64_t before = start_warmed_up(WP_WAIT, stream);
  end();
  for (begin_rounds(500); next_round();) {
    wp_runtime_options options = in_lanes_of(WP_WAIT);
    start(&options);
    use_up(open_on(0), stream, before);
  }
  rig_stream_destroy(stream);
}

/* A device that refuses the one allocation that opening tries refuses the open; the next one is served. */
BOTH_CONTRACTS(many_opens, say_no_where_trying_fails_and_yes_the_next_time) {
  need_device_refusals();
  wp_stream stream = rig_stream_create(0);
  uint64_t before = start_warmed_up(WP_WAIT, stream);
  end();
  for (begin_rounds(500); next_round();) {
    wp_runtime_options options = in_lanes_of(WP_WAIT);
    wp_delegate *delegate = NULL;
    start(&options);
    refuse_next_device_allocation(true);
    wp_status status = wp_delegate_open(runtime, 0, NULL, &delegate);
    refuse_next_device_allocation(false);
    cr_assert_eq(status, WP_ERROR_OUT_OF_MEMORY, "round %u: %s", this_round(), wp_status_name(status));
    cr_assert_null(delegate);
    use_up(open_on(0), stream, before);
  }
  rig_stream_destroy(stream);
}
