/* SPDX-License-Identifier: Apache-2.0 */
/* What captures.c and captures_end.c have in common, which share the suite `captures`. */
#ifndef WARMPOOL_TESTS_CAPTURED_H
#define WARMPOOL_TESTS_CAPTURED_H

#include "conformance.h"

enum { OUTSIDE = 0x11, INSIDE = 0x22, LATER = 0x33 };

static wp_delegate *delegate;
static wp_stream stream;

static inline void set_up(void) {
  start(NULL);
  delegate = open_on(0);
  stream = rig_stream_create(0);
}
static inline void tear_down(void) {
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

static inline wp_driver_stats driver(void) {
  wp_driver_stats out = WP_DRIVER_STATS_INIT;
  OK(wp_query_driver(runtime, 0, &out));
  return out;
}

static inline wp_capture *begin(wp_graph_memory *share) {
  wp_capture *capture = NULL;
  OK(wp_capture_begin(delegate, stream, share, &capture));
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  return capture;
}

static inline rig_graph *end_capture(wp_capture *capture, wp_graph_memory **memory) {
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph, "the capture was invalidated");
  OK(wp_capture_end(capture, memory));
  return graph;
}

static inline void launch(rig_graph *graph) { cr_assert(rig_graph_launch(graph, stream)); }

static inline void check_sums(void) {
  wp_stats now = stats(0);
  cr_expect_eq(now.reserved_bytes, now.live_bytes + now.cached_bytes + now.parked_bytes + now.capture_bytes);
}

/* A graph that fills a block of its own, and then an output. */
static inline rig_graph *capture_output(void **output, wp_graph_memory **memory) {
  wp_capture *capture = begin(NULL);
  void *scratch = take(delegate, 4 * MIB, stream);
  rig_fill(stream, scratch, INSIDE, 4 * MIB);
  *output = take(delegate, 2 * MIB, stream);
  rig_copy(stream, *output, scratch, 2 * MIB);
  give(scratch, stream);
  return end_capture(capture, memory);
}

/* The same, which has run, and whose memory is released; the output is live. */
static inline void *make_output(void) {
  void *output;
  wp_graph_memory *memory;
  rig_graph *graph = capture_output(&output, &memory);
  launch(graph);
  rig_stream_synchronize(stream);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, NULL, 0));
  return output;
}

#endif
