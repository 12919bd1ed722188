/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that are being captured, the driver's graph memory, and captures on other threads. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "conformance.h"

SUITE(graphs);

#define BYTES (2 * granule())

static wp_delegate *delegate;
static wp_stream stream;

static void set_up_with(const wp_runtime_options *options) {
  (void)granule();
  start(options);
  delegate = open_on(0);
  stream = rig_stream_create(0);
}
static void set_up(void) { set_up_with(NULL); }
/* For captured allocations, which are the driver's affair. */
static void set_up_graphs(void) {
  wp_runtime_options options = defaults();
  options.caching = WP_CACHING_DRIVER;
  set_up_with(&options);
}
static void tear_down(void) { end_stream(0, stream); }

static wp_driver_stats driver(void) {
  wp_driver_stats out = WP_DRIVER_STATS_INIT;
  OK(wp_query_driver(runtime, 0, &out));
  return out;
}

/* Ends a capture that must have survived. */
static rig_graph *end_capture(wp_stream captured) {
  rig_graph *graph = rig_capture_end(captured);
  cr_assert_not_null(graph, "the capture was invalidated");
  return graph;
}

static void launch(rig_graph *graph) {
  rig_graph_launch(graph, stream);
  rig_stream_synchronize(stream);
}

/* A graph that allocates, fills, and frees or not. */
static rig_graph *capture_block(bool frees, void **memory) {
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  *memory = take(delegate, BYTES, stream);
  rig_fill(stream, *memory, 0x5a, BYTES);
  if (frees) give(*memory, stream);
  return end_capture(stream);
}

/* -- memory of captured allocations -- */

/* warp#1524: the very first allocation happens while capturing. */
BOTH_CONTRACTS(graphs, hold_memory_of_the_driver_s_until_the_last_close) {
  void *memory;
  set_up_graphs();
  rig_graph *graph = capture_block(true, &memory);
  cr_expect_eq(stats(0).live_bytes, 0);
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free(runtime, memory, stream));
  launch(graph);
  launch(graph);
  cr_expect_eq(driver().pool_reserved, 0);
  cr_expect_geq(driver().graph_reserved, BYTES);
  rig_graph_destroy(graph);
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_geq(report.graph_reserved_before, BYTES);
  cr_expect_eq(report.graph_reserved_after, 0);
  cr_expect_eq(report.graph_live_bytes, 0);
  tear_down();
}

BOTH_CONTRACTS(graphs, keep_their_memory_where_the_policy_says_so) {
  void *memory;
  wp_runtime_options options = defaults();
  options.caching = WP_CACHING_DRIVER;
  options.graph_trim = WP_GRAPH_TRIM_NEVER;
  set_up_with(&options);
  rig_graph *graph = capture_block(true, &memory);
  launch(graph);
  rig_graph_destroy(graph);
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_geq(report.graph_reserved_after, BYTES);
  tear_down();
}

/* An idle executable maps its memory again at the next launch. */
BOTH_CONTRACTS(graphs, that_are_still_there_run_after_a_release) {
  void *memory;
  set_up_graphs();
  rig_graph *graph = capture_block(true, &memory);
  launch(graph);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  cr_expect_eq(driver().graph_reserved, 0);
  launch(graph);
  cr_expect_geq(driver().graph_reserved, BYTES);
  rig_graph_destroy(graph);
  cr_expect_eq(last_close(delegate, WP_OK).graph_reserved_after, 0);
  tear_down();
}

/* warp#1429 */
BOTH_CONTRACTS(graphs, allocate_a_block_that_nobody_frees_anew_at_each_launch) {
  void *memory;
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  set_up_graphs();
  rig_graph *graph = capture_block(false, &memory);
  for (int i = 0; i < 3; i++) {
    launch(graph);
    expect_bytes(stream, memory, 0x5a, BYTES);
    OK(wp_trim(runtime, 0, 0, WP_WAIT, &report));
    cr_expect_geq(report.graph_reserved_after, BYTES, "live memory went back");
    cr_expect_eq(report.graph_live_bytes, i == 0 ? BYTES : 0);
    OK(wp_free(runtime, memory, stream));
    cr_expect_eq(wp_pointer_info(runtime, memory, &info), WP_ERROR_INVALID_POINTER);
    ANSWERS(WP_ERROR_INVALID_POINTER, wp_free(runtime, memory, stream)); /* not launched since */
  }
  cr_expect_eq(rig_last_error(), 0); /* warp#1641 */
  rig_graph_destroy(graph);
  report = last_close(delegate, WP_OK);
  cr_expect_eq(report.graph_reserved_after, 0);
  cr_expect_eq(report.live_bytes, 0);
  tear_down();
}

/* warp#1419 */
BOTH_CONTRACTS(graphs, take_in_a_second_stream_that_allocates_and_frees) {
  set_up_graphs();
  wp_stream other = rig_stream_create(0);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  rig_wait(other, stream);
  void *one = take(delegate, BYTES, other);
  rig_fill(other, one, 1, BYTES);
  give(one, other);
  rig_wait(stream, other);
  rig_graph *graph = end_capture(stream);
  launch(graph);
  rig_graph_destroy(graph);
  cr_expect_eq(stats(0).live_bytes, 0);
  cr_expect_eq(last_close(delegate, WP_OK).graph_reserved_after, 0);
  end_stream(0, other);
  tear_down();
}

/* Fact C7 */
BOTH_CONTRACTS(graphs, refuse_a_block_from_outside_and_go_on) {
  set_up_graphs();
  void *outside = take(delegate, BYTES, stream), *memory;
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  cr_expect_neq(wp_free(runtime, outside, stream), WP_OK);
  ANSWERS(WP_ERROR_CAPTURING, wp_note_use(runtime, outside, stream));
  ANSWERS(WP_ERROR_CAPTURING, wp_free_after(runtime, outside, (wp_stream[]){stream, stream}, 2));
  ANSWERS(WP_ERROR_CAPTURING, wp_prime(delegate, BYTES, stream));
  cr_expect_eq(rig_last_error(), 0);
  memory = take(delegate, BYTES, stream);
  give(memory, stream);
  rig_graph_destroy(end_capture(stream));
  give(outside, stream);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  tear_down();
}

/* -- captures that must survive -- */

/* Fact C8: in the same thread, with the strictest mode. */
BOTH_CONTRACTS(graphs, survive_what_the_same_thread_does_elsewhere) {
  set_up();
  wp_stream other = rig_stream_create(0);
  rig_stream_synchronize(other);
  for (int mode = RIG_CAPTURE_GLOBAL; mode <= RIG_CAPTURE_RELAXED; mode++) {
    rig_capture_begin(stream, (rig_capture_mode)mode);
    wp_delegate *second = open_on(0);
    void *memory = take(second, BYTES, other);
    OK(wp_note_use(runtime, memory, other));
    give(memory, other);
    OK(wp_prime(second, BYTES, other));
    OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
    OK(wp_tick(runtime));
    OK(wp_delegate_close(second, NULL));
    rig_graph_destroy(end_capture(stream));
  }
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, other);
  tear_down();
}

static atomic_bool captures_are_over;

static void capture_or_disturb(unsigned index, void *streams) {
  wp_stream own = ((wp_stream *)streams)[index];
  if (index == 0) {
    for (int i = 0; i < 50; i++) {
      rig_capture_begin(own, RIG_CAPTURE_GLOBAL);
      void *memory = caching() == WP_CACHING_DRIVER ? take(delegate, BYTES, own) : NULL;
      (void)sched_yield();
      give(memory, own);
      rig_graph_destroy(end_capture(own));
    }
    atomic_store(&captures_are_over, true);
  } else {
    while (!atomic_load(&captures_are_over)) {
      wp_delegate *second = open_on(0);
      void *memory = take(second, BYTES, own);
      give(memory, own);
      wp_status trimmed = wp_trim(runtime, 0, 0, WP_WAIT, NULL);
      cr_assert(trimmed == WP_OK || trimmed == WP_PENDING);
      OK(wp_delegate_close(second, NULL));
    }
  }
}

/* warp#992 */
BOTH_CONTRACTS(graphs, survive_what_other_threads_do) {
  set_up();
  wp_stream streams[3] = {rig_stream_create(0), rig_stream_create(0), rig_stream_create(0)};
  run_threads(3, capture_or_disturb, streams);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  for (unsigned i = 0; i < 3; i++) end_stream(0, streams[i]);
  tear_down();
}

/* Fact C17 */
BOTH_CONTRACTS(graphs, of_blocking_streams_survive_calls_on_the_legacy_stream) {
  void *none = NULL;
  set_up();
  void *memory = take(delegate, BYTES, WP_STREAM_LEGACY);
  bool may_name = contract == WP_STREAMS_CHECKED || caching() == WP_CACHING_DRIVER;
  wp_stream blocking = rig_stream_create_blocking(0);
  rig_capture_begin(blocking, RIG_CAPTURE_RELAXED);
  ANSWERS(WP_ERROR_CAPTURING, wp_alloc(delegate, BYTES, WP_STREAM_LEGACY, &none));
  if (may_name) ANSWERS(WP_ERROR_CAPTURING, wp_free(runtime, memory, WP_STREAM_LEGACY));
  ANSWERS(WP_ERROR_CAPTURING, wp_note_use(runtime, memory, WP_STREAM_LEGACY));
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  rig_graph_destroy(end_capture(blocking));
  give(memory, WP_STREAM_LEGACY);
  rig_stream_destroy(blocking);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  tear_down();
}

/* Lanes refuse what would become part of a graph, with what to do about it, and nothing is lost. */
Test(graphs, are_told_that_lanes_do_not_serve_them) {
  void *none = &none;
  wp_runtime_options options = defaults();
  options.caching = WP_CACHING_LANES;
  set_up_with(&options);
  void *outside = take(delegate, BYTES, stream);
  give(take(delegate, MIB, stream), stream);
  wp_stats before = stats(0);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  ANSWERS(WP_ERROR_CAPTURING, wp_alloc(delegate, MIB, stream, &none));
  cr_expect_not_null(strstr(last_error().message, "after the capture"), "%s", last_error().message);
  cr_expect_eq(none, &none);
  ANSWERS(WP_ERROR_CAPTURING, wp_free(runtime, outside, stream));
  cr_expect_not_null(strstr(last_error().message, "after the capture"), "%s", last_error().message);
  ANSWERS(WP_ERROR_CAPTURING, wp_free_after(runtime, outside, &stream, 1));
  ANSWERS(WP_ERROR_CAPTURING, wp_prime(delegate, BYTES, stream));
  cr_expect_eq(rig_last_error(), 0);
  rig_graph_destroy(end_capture(stream));
  cr_expect_eq(stats(0).live_bytes, before.live_bytes);
  cr_expect_eq(stats(0).frees, before.frees);
  give(outside, stream);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  tear_down();
}

/* The last close of a device while one of its streams is being captured. */
BOTH_CONTRACTS(graphs, survive_the_last_close) {
  void *memory;
  set_up_graphs();
  give(take(delegate, BYTES, stream), stream);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  memory = take(delegate, BYTES, stream);
  give(memory, stream);
  wp_status closed = wp_delegate_close(delegate, NULL);
  cr_expect(closed == WP_OK || closed == WP_PENDING); /* DECLARED cannot record the free of before */
  rig_graph *graph = end_capture(stream);
  launch(graph);
  rig_graph_destroy(graph);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  cr_expect_eq(reserved(0), 0);
  cr_expect_eq(driver().graph_reserved, 0);
  tear_down();
}
