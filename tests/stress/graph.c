/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of declared captures, beside all that the other threads do. Their work fills and checks blocks of the capture,
 * once for each launch: memory that is somebody else's too early shows as a wrong stamp. */
#include "stress.h"

/* What the graph's work finds; it stays until the last launch has run. */
struct graph {
  struct block first, second, across, beside, outside, output;
  wp_stream stream, fork; /* `fork` is NULL where there is none */
  wp_capture *capture;
  wp_graph_memory *memory;
  void *graph;
  bool shares; /* its memory, with a graph that must not run at the same time */
};

/* -- in the capture -- */

/* The second one may have the first one's memory. */
static void use_in_sequence(struct actor *actor, struct graph *graph) {
  struct block *blocks[] = {&graph->first, &graph->second};
  for (int i = 0; i < 2; i++) {
    struct block block;
    if (!make_block(actor, &block, graph->stream)) continue;
    *blocks[i] = block;
    capture_fill(graph->stream, blocks[i]);
    capture_check(graph->stream, blocks[i]);
    free_block(actor, &block, graph->stream, graph->stream);
  }
}

/* On the forked stream, where a block of the other one's is freed, too: nobody else may have that in the graph. */
static void use_beside(struct actor *actor, struct graph *graph) {
  struct block block;
  bool has_one = make_block(actor, &block, graph->stream);
  if (has_one) {
    graph->across = block;
    capture_fill(graph->stream, &graph->across);
  }
  vendor_stream_wait(graph->fork, graph->stream);
  if (has_one) {
    capture_check(graph->fork, &graph->across);
    free_block(actor, &block, graph->fork, graph->fork);
  }
  if (!make_block(actor, &block, graph->fork)) return;
  graph->beside = block;
  capture_fill(graph->fork, &graph->beside);
  capture_check(graph->fork, &graph->beside);
  free_block(actor, &block, graph->fork, graph->fork);
}

/* One from before the capture: each launch checks it, until the graph's memory is released. */
static void free_from_outside(struct actor *actor, struct graph *graph) {
  struct block *block = &actor->blocks[next_random(actor) % BLOCKS];
  if (block->words == NULL || block->device != actor->device) return;
  graph->outside = *block;
  capture_check(graph->stream, &graph->outside);
  free_block(actor, block, graph->stream, graph->stream);
}

static void capture(struct actor *actor, struct graph *graph) {
  vendor_capture_begin(graph->stream);
  if (graph->fork != NULL) use_beside(actor, graph);
  use_in_sequence(actor, graph);
  if (one_in(actor, 2)) free_from_outside(actor, graph);
  if (make_block(actor, &graph->output, graph->stream)) {
    capture_fill(graph->stream, &graph->output);
  } else {
    graph->output.words = NULL;
  }
  if (graph->fork != NULL) vendor_stream_wait(graph->stream, graph->fork);
  graph->graph = vendor_capture_end(graph->stream);
}

/* -- after it -- */

static void launch(struct actor *actor, struct graph *graph, wp_stream stream) {
  struct block output = graph->output;
  for (uint64_t launches = 1 + next_random(actor) % 3; launches > 0; launches--) {
    vendor_graph_launch(graph->graph, stream);
    if (output.words == NULL || !one_in(actor, 2)) continue;
    launch_check(stream, &output);
    free_block(actor, &output, stream, stream); /* what later launches write is the graph's */
  }
  if (output.words != NULL) {
    launch_check(stream, &output);
    free_block(actor, &output, stream, stream);
  }
  if (one_in(actor, 2)) launch_nap(stream, (unsigned)(next_random(actor) % 300));
}

/* Its memory goes now, whether the last launch has run or not, or serves the next capture as well. */
static void release(struct actor *actor, struct graph *graph, wp_stream stream) {
  if (graph->shares) vendor_stream_synchronize(stream);
  if (actor->shared == NULL && one_in(actor, 4)) {
    vendor_stream_synchronize(stream);
    actor->shared = graph->memory;
  } else if (one_in(actor, 4)) {
    vendor_stream_synchronize(stream);
    OK(wp_graph_memory_release(graph->memory, NULL, 0));
  } else {
    OK(wp_graph_memory_release(graph->memory, &stream, 1));
  }
}

void end_graphs(struct actor *actor) {
  OK(wp_graph_memory_release(actor->shared, NULL, 0));
  actor->shared = NULL;
}

static bool begin(struct actor *actor, struct graph *graph) {
  unsigned pick = (unsigned)(next_random(actor) % STREAMS);
  graph->stream = actor->streams[pick];
  graph->shares = actor->shared != NULL;
  if (vendor_forks && one_in(actor, 2)) graph->fork = actor->streams[(pick + 1) % STREAMS];
  if (!OK(wp_capture_begin(actor->delegate, graph->stream, actor->shared, &graph->capture))) return false;
  if (graph->fork != NULL && !OK(wp_capture_join(graph->capture, graph->fork))) graph->fork = NULL;
  return true;
}

void use_graph(struct actor *actor) {
  if (!vendor_captures) return;
  struct graph *graph = host_memory(sizeof *graph);
  wp_stream stream = actor->streams[next_random(actor) % STREAMS];
  if (!begin(actor, graph)) {
    launch_free(stream, graph);
    return;
  }
  capture(actor, graph);
  if (one_in(actor, 6)) {
    OK(wp_capture_abort(graph->capture));
    if (graph->output.words != NULL) free_block(actor, &graph->output, graph->stream, graph->stream);
  } else if (OK(wp_capture_end(graph->capture, &graph->memory))) {
    launch(actor, graph, stream);
    release(actor, graph, stream);
    count(&totals.graphs);
  }
  vendor_graph_destroy(graph->graph);
  if (actor->shared != NULL && actor->shared != graph->memory && one_in(actor, 2)) end_graphs(actor);
  launch_free(stream, graph);
}
