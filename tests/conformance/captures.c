/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declared captures: a graph's memory comes from the private pool, is nobody else's until its release, and is then
 * everybody's again, whatever the caching. graphs.c has the captures that nobody declares.
 */
#include "captured.h"

SUITE(captures);

/* -- memory of the pool, and none of the driver's -- */

BOTH_CONTRACTS(captures, take_memory_of_the_pool_and_no_graph_memory) {
  void *output;
  wp_graph_memory *memory;
  set_up();
  uint64_t graph_before = driver().graph_reserved;
  rig_graph *graph = capture_output(&output, &memory);
  for (int i = 0; i < 3; i++) {
    launch(graph);
    expect_bytes(stream, output, INSIDE, 2 * MIB);
    check_sums();
  }
  cr_expect_eq(driver().graph_reserved, graph_before);
  cr_expect_gt(stats(0).capture_bytes, 0);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, &stream, 1));
  give(output, stream);
  rig_stream_synchronize(stream);
  OK(wp_tick(runtime));
  cr_expect_eq(stats(0).capture_bytes, 0);
  check_sums();
  cr_expect_eq(driver().graph_reserved, graph_before);
  tear_down();
}

/* A GPU's memory is large enough for one that nobody overlooks. */
BOTH_CONTRACTS(captures, in_sequence_hold_what_one_allocation_needs) {
  wp_graph_memory *memory;
  set_up();
  size_t bytes = driver().device_free >= 64 * 1024 * MIB ? 1024 * MIB : 64 * MIB;
  wp_capture *capture = begin(NULL);
  for (int i = 0; i < 3; i++) {
    void *block = take(delegate, bytes, stream);
    rig_fill(stream, block, INSIDE, MIB);
    give(block, stream);
  }
  cr_expect_eq(stats(0).reserved_bytes, bytes);
  rig_graph *graph = end_capture(capture, &memory);
  launch(graph);
  rig_stream_synchronize(stream);
  cr_expect_eq(stats(0).reserved_bytes, bytes);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, NULL, 0));
  tear_down();
}

BOTH_CONTRACTS(captures, that_come_and_go_hold_no_more_each_time) {
  uint64_t held = 0, mapped = 0;
  set_up();
  for (int i = 0; i < 50; i++) {
    void *output;
    wp_graph_memory *memory;
    rig_graph *graph = capture_output(&output, &memory);
    launch(graph);
    give(output, stream);
    rig_graph_destroy(graph);
    OK(wp_graph_memory_release(memory, &stream, 1));
    rig_stream_synchronize(stream);
    OK(wp_tick(runtime));
    if (i == 2) held = stats(0).reserved_bytes, mapped = driver().pool_reserved + driver().graph_reserved;
    if (i <= 2) continue;
    cr_assert_leq(stats(0).reserved_bytes, held, "round %d", i);
    cr_assert_leq(driver().pool_reserved + driver().graph_reserved, mapped, "round %d", i);
  }
  tear_down();
}

/* -- whose memory it is -- */

/* Everybody else allocates, works and frees; the graph runs in between, and finds what it left. */
BOTH_CONTRACTS(captures, keep_their_memory_while_the_graph_lives) {
  void *output, *blocks[8];
  wp_graph_memory *memory;
  set_up();
  wp_stream other = rig_stream_create(0);
  rig_graph *graph = capture_output(&output, &memory);
  launch(graph);
  rig_stream_synchronize(stream);
  give(output, stream); /* freed, and the graph writes there at each launch all the same */
  rig_stream_synchronize(stream);
  OK(wp_tick(runtime));
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  for (int i = 0; i < 8; i++) {
    wp_stream user = i % 2 == 0 ? stream : other;
    blocks[i] = take(delegate, 2 * MIB, user);
    rig_fill(user, blocks[i], LATER, 2 * MIB);
  }
  launch(graph);
  rig_stream_synchronize(other);
  for (int i = 0; i < 8; i++) {
    wp_stream user = i % 2 == 0 ? stream : other;
    expect_bytes(user, blocks[i], LATER, 2 * MIB);
    give(blocks[i], user);
  }
  rig_stream_synchronize(stream);
  rig_stream_synchronize(other);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, &stream, 1));
  tear_down();
  end_stream(0, other);
}

BOTH_CONTRACTS(captures, keep_blocks_from_outside_that_are_freed_in_them) {
  wp_graph_memory *memory;
  set_up();
  void *outside = take(delegate, 2 * MIB, stream);
  rig_fill(stream, outside, OUTSIDE, 2 * MIB);
  rig_stream_synchronize(stream);
  wp_capture *capture = begin(NULL);
  void *output = take(delegate, 2 * MIB, stream);
  rig_copy(stream, output, outside, 2 * MIB);
  give(outside, stream);
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free(runtime, outside, stream));
  rig_graph *graph = end_capture(capture, &memory);
  void *next = take(delegate, 2 * MIB, stream);
  cr_expect_neq(next, outside, "the graph reads there at each launch");
  rig_fill(stream, next, LATER, 2 * MIB);
  launch(graph);
  expect_bytes(stream, output, OUTSIDE, 2 * MIB);
  give(next, stream);
  give(output, stream);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, &stream, 1));
  tear_down();
}

BOTH_CONTRACTS(captures, keep_outputs_of_earlier_graphs_that_are_freed_in_them) {
  wp_graph_memory *memory;
  set_up();
  void *output = make_output();
  wp_capture *capture = begin(NULL);
  void *copy = take(delegate, 2 * MIB, stream);
  rig_copy(stream, copy, output, 2 * MIB);
  give(output, stream);
  void *next = take(delegate, 2 * MIB, stream);
  rig_fill(stream, next, LATER, 2 * MIB);
  give(next, stream);
  rig_graph *graph = end_capture(capture, &memory);
  for (int i = 0; i < 2; i++) {
    launch(graph);
    expect_bytes(stream, copy, INSIDE, 2 * MIB);
  }
  give(copy, stream);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, &stream, 1));
  tear_down();
}

BOTH_CONTRACTS(captures, give_a_forked_stream_memory_of_its_own) {
  wp_graph_memory *memory;
  set_up();
  wp_stream other = rig_stream_create(0);
  wp_capture *capture = NULL;
  OK(wp_capture_begin(delegate, stream, NULL, &capture));
  OK(wp_capture_join(capture, other));
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  rig_wait(other, stream);
  void *one = take(delegate, 2 * MIB, stream);
  rig_fill(stream, one, INSIDE, 2 * MIB);
  give(one, stream);
  void *two = take(delegate, 2 * MIB, other);
  cr_expect(!overlap(one, two, 2 * MIB), "the two run beside one another");
  rig_fill(other, two, LATER, 2 * MIB);
  rig_wait(stream, other);
  give(two, stream);
  void *three = take(delegate, 2 * MIB, other);
  cr_expect_neq(three, two, "it was freed on another stream");
  give(three, other);
  rig_graph *graph = end_capture(capture, &memory);
  launch(graph);
  rig_stream_synchronize(stream);
  rig_graph_destroy(graph);
  OK(wp_graph_memory_release(memory, &stream, 1));
  tear_down();
  end_stream(0, other);
}

BOTH_CONTRACTS(captures, that_share_hold_one_footprint) {
  wp_graph_memory *first, *second;
  set_up();
  wp_capture *capture = begin(NULL);
  void *block = take(delegate, 16 * MIB, stream);
  rig_fill(stream, block, INSIDE, MIB);
  give(block, stream);
  rig_graph *one = end_capture(capture, &first);
  capture = begin(first);
  block = take(delegate, 16 * MIB, stream);
  rig_fill(stream, block, LATER, MIB);
  give(block, stream);
  rig_graph *two = end_capture(capture, &second);
  cr_expect_eq(stats(0).reserved_bytes, 16 * MIB);
  launch(one);
  launch(two);
  rig_stream_synchronize(stream);
  rig_graph_destroy(one);
  OK(wp_graph_memory_release(first, &stream, 1));
  cr_expect_eq(stats(0).capture_bytes, 16 * MIB);
  rig_graph_destroy(two);
  OK(wp_graph_memory_release(second, &stream, 1));
  tear_down();
}
