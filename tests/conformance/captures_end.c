/* SPDX-License-Identifier: Apache-2.0 */
/* Declared captures: their end, beside others, and bad input. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "captured.h"
#include "in_lanes.h"

/* -- the end -- */

BOTH_CONTRACTS(captures, are_released_while_the_last_launch_still_runs) {
  void *output;
  wp_graph_memory *memory;
  set_up();
  wp_stream other = rig_stream_create(0);
  rig_graph *graph = capture_output(&output, &memory);
  give(output, stream);
  rig_hold *hold = rig_hold_stream(stream);
  launch(graph);
  OK(wp_graph_memory_release(memory, &stream, 1));
  void *block = take(delegate, 4 * MIB, other);
  rig_fill(other, block, LATER, 4 * MIB);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_status trimmed = wp_trim(runtime, 0, 0, WP_NO_WAIT, &report);
  rig_release(hold);
  cr_expect_eq(trimmed, WP_PENDING, "%s", wp_status_name(trimmed));
  cr_expect_geq(report.pending_bytes, 6 * MIB);
  expect_bytes(other, block, LATER, 4 * MIB);
  rig_stream_synchronize(stream);
  expect_bytes(other, block, LATER, 4 * MIB);
  give(block, other);
  rig_graph_destroy(graph);
  tear_down();
  end_stream(0, other);
}

BOTH_CONTRACTS(captures, leave_outputs_that_are_live_at_the_release) {
  set_up();
  void *output = make_output();
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  expect_bytes(stream, output, INSIDE, 2 * MIB);
  cr_expect_eq(stats(0).live_bytes, 2 * MIB);
  give(output, stream);
  tear_down();
}

BOTH_CONTRACTS(captures, that_are_aborted_keep_nothing) {
  set_up();
  void *outside = take(delegate, 2 * MIB, stream);
  wp_capture *capture = begin(NULL);
  void *inside = take(delegate, 4 * MIB, stream), *live = take(delegate, MIB, stream);
  rig_fill(stream, inside, INSIDE, MIB);
  give(outside, stream);
  give(inside, stream);
  rig_graph *graph = rig_capture_end(stream);
  OK(wp_capture_abort(capture));
  if (graph != NULL) rig_graph_destroy(graph);
  rig_stream_synchronize(stream);
  OK(wp_tick(runtime));
  cr_expect_eq(stats(0).capture_bytes, 0);
  cr_expect_eq(stats(0).parked_bytes, 0);
  check_sums();
  cr_expect_eq(stats(0).live_bytes, MIB);
  give(live, stream);
  tear_down();
}

BOTH_CONTRACTS(captures, that_the_vendor_has_not_ended_go_on) {
  set_up();
  bool believes = !driver_can(WP_CAP_CAPTURES_END);
  wp_capture *capture = begin(NULL);
  void *inside = take(delegate, 4 * MIB, stream);
  give(inside, stream);
  wp_graph_memory *none = NULL;
  REFUSES(WP_ERROR_CAPTURING, wp_capture_end(capture, &none));
  if (!believes) REFUSES(WP_ERROR_CAPTURING, wp_capture_abort(capture));
  rig_graph *graph = rig_capture_end(stream);
  OK(wp_capture_abort(capture));
  if (graph != NULL) rig_graph_destroy(graph);
  tear_down();
}

/* A stream that was forked into it has not joined again, for which the vendor invalidates it. */
static wp_capture *fail_to_capture(wp_stream other, void *outside) {
  wp_capture *capture = NULL;
  OK(wp_capture_begin(delegate, stream, NULL, &capture));
  OK(wp_capture_join(capture, other));
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  rig_wait(other, stream);
  void *inside = take(delegate, 4 * MIB, stream), *beside = take(delegate, 2 * MIB, other);
  rig_fill(other, beside, INSIDE, MIB);
  give(beside, other);
  give(inside, stream);
  give(outside, stream);
  rig_graph *graph = rig_capture_end(stream);
  if (graph != NULL) rig_graph_destroy(graph); /* a driver made one all the same */
  return capture;
}

BOTH_CONTRACTS(captures, that_the_vendor_invalidates_give_everything_back_when_aborted) {
  set_up();
  wp_stream other = rig_stream_create(0), third = rig_stream_create(0);
  void *outside = take(delegate, 2 * MIB, stream);
  rig_fill(stream, outside, OUTSIDE, MIB);
  rig_wait(other, stream);
  rig_fill(other, outside, OUTSIDE, MIB);
  rig_stream_synchronize(other);
  OK(wp_capture_abort(fail_to_capture(other, outside)));
  cr_expect_eq(stats(0).capture_bytes, 0);
  void *block = take(delegate, 4 * MIB, third);
  rig_fill(third, block, LATER, MIB);
  expect_bytes(third, block, LATER, MIB);
  give(block, third);
  cr_expect_eq(stats(0).live_bytes, 0);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, third);
}

BOTH_CONTRACTS(captures, that_the_vendor_invalidates_can_be_ended) {
  wp_graph_memory *memory;
  set_up();
  wp_stream other = rig_stream_create(0);
  OK(wp_capture_end(fail_to_capture(other, NULL), &memory));
  OK(wp_graph_memory_release(memory, NULL, 0));
  for (int i = 0; i < 2; i++) { /* and the streams are ordinary ones again */
    wp_stream user = i == 0 ? stream : other;
    void *block = take(delegate, MIB, user);
    rig_fill(user, block, LATER, MIB);
    expect_bytes(user, block, LATER, MIB);
    give(block, user);
  }
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  cr_expect_eq(stats(0).capture_bytes, 0);
  cr_expect_eq(stats(0).live_bytes, 0);
  tear_down();
  end_stream(0, other);
}

BOTH_CONTRACTS(captures, keep_a_runtime_until_their_memory_is_released) {
  void *output;
  wp_graph_memory *memory;
  set_up();
  rig_graph *graph = capture_output(&output, &memory);
  give(output, stream);
  rig_stream_synchronize(stream);
  OK(wp_tick(runtime));
  rig_graph_destroy(graph);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  OK(wp_delegate_close(delegate, &report));
  cr_expect_gt(report.reserved_after, 0);
  cr_expect_eq(report.live_bytes, 0);
  REFUSES(WP_ERROR_BUSY, wp_runtime_destroy(runtime));
  OK(wp_graph_memory_release(memory, NULL, 0));
  OK(wp_tick(runtime));
  cr_expect_eq(reserved(0), 0);
  end_stream(0, stream);
}

/* -- beside others -- */

struct neighbour {
  wp_stream stream;
  atomic_bool stops;
};

static void disturb(unsigned index, void *argument) {
  struct neighbour *neighbour = argument;
  (void)index;
  while (!atomic_load(&neighbour->stops)) {
    wp_delegate *mine = NULL;
    OK(wp_delegate_open(runtime, 0, NULL, &mine));
    for (int i = 0; i < 4; i++) give(take(mine, (size_t)(i + 1) * MIB, neighbour->stream), neighbour->stream);
    ANSWERS(WP_OK, wp_delegate_close(mine, NULL));
    (void)wp_trim(runtime, 0, 0, WP_NO_WAIT, NULL);
    (void)sched_yield();
  }
}

static void capture_many(unsigned index, void *argument) {
  struct neighbour *neighbour = argument;
  if (index == 1) {
    disturb(index, argument);
    return;
  }
  for (int i = 0; i < 200; i++) {
    void *output;
    wp_graph_memory *memory;
    rig_graph *graph = capture_output(&output, &memory);
    give(output, stream);
    rig_graph_destroy(graph);
    OK(wp_graph_memory_release(memory, &stream, 1));
    if (i % 16 == 0) rig_stream_synchronize(stream); /* or a slow device holds the memory of all of them */
  }
  atomic_store(&neighbour->stops, true);
}

BOTH_CONTRACTS(captures, survive_what_another_thread_does) {
  struct neighbour neighbour = {.stops = false};
  set_up();
  neighbour.stream = rig_stream_create(0);
  run_threads(2, capture_many, &neighbour);
  rig_stream_synchronize(neighbour.stream);
  tear_down();
  end_stream(0, neighbour.stream);
}

/* -- bad input -- */

BOTH_CONTRACTS(captures, refuse_what_they_cannot_take_in) {
  wp_capture *capture = NULL, *second = NULL;
  wp_graph_memory *memory = NULL;
  set_up();
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_capture_begin(NULL, stream, NULL, &capture));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_capture_begin(delegate, stream, NULL, NULL));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_capture_begin(delegate, WP_STREAM_LEGACY, NULL, &capture));
  void *block = take(delegate, MIB, stream);
  OK(wp_capture_begin(delegate, stream, NULL, &capture));
  REFUSES(WP_ERROR_CAPTURING, wp_capture_begin(delegate, stream, NULL, &second));
  REFUSES(WP_ERROR_CAPTURING, wp_capture_join(capture, stream));
  REFUSES(WP_ERROR_CAPTURING, wp_note_use(runtime, block, stream));
  REFUSES(WP_ERROR_CAPTURING, wp_prime(delegate, MIB, stream));
  REFUSES(WP_ERROR_CAPTURING, wp_stream_retire(runtime, 0, stream));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_capture_end(capture, NULL));
  OK(wp_capture_end(capture, &memory));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_graph_memory_release(memory, NULL, 1));
  OK(wp_graph_memory_release(memory, &stream, 1));
  OK(wp_graph_memory_release(NULL, NULL, 0));
  OK(wp_capture_abort(NULL));
  give(block, stream);
  tear_down();
}

BOTH_CONTRACTS(captures, that_nobody_declares_are_told_how) {
  void *none = &none;
  if (contract == WP_STREAMS_DECLARED) return; /* the promise is the caller's */
  delegate = start_in_lanes();
  stream = rig_stream_create(0);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  REFUSES(WP_ERROR_CAPTURING, wp_alloc(delegate, MIB, stream, &none));
  cr_expect_not_null(strstr(last_error().message, "wp_capture_begin"));
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  rig_graph_destroy(graph);
  tear_down();
}
