/* SPDX-License-Identifier: Apache-2.0 */
/* Captures, declared and not, and their graphs. */
#include <string.h>

#include "random.h"

static struct capture *capture_slot(void) {
  for (int i = 0; i < CAPTURES; i++) {
    if (self->captures[i].handle == NULL) return &self->captures[i];
  }
  return NULL;
}

static struct graph *graph_slot(void) {
  for (int i = 0; i < GRAPHS; i++) {
    if (self->graphs[i].memory == NULL) return &self->graphs[i];
  }
  return NULL;
}

/* Captures that are open need a slot each when they end. */
static bool has_room_for_graph(void) {
  unsigned vacant = 0, open = 0;
  for (int i = 0; i < GRAPHS; i++) vacant += self->graphs[i].memory == NULL;
  for (int i = 0; i < CAPTURES; i++) open += self->captures[i].handle != NULL;
  return vacant > open;
}

static bool is_family_used(unsigned family) {
  for (int i = 0; i < CAPTURES; i++) {
    if (self->captures[i].handle != NULL && self->captures[i].family == family) return true;
  }
  for (int i = 0; i < GRAPHS; i++) {
    if (self->graphs[i].memory != NULL && self->graphs[i].family == family) return true;
  }
  return false;
}

static unsigned new_family(void) {
  do {
    self->families = 1 + self->families % (FAMILIES - 1);
  } while (is_family_used(self->families));
  ranges_forget_family(self->families);
  self->family_last[self->families] = NOWHERE;
  (void)memset(self->family_used[self->families], 0, sizeof self->family_used[self->families]);
  return self->families;
}

static struct graph *graph_to_share(const struct delegate *from) {
  struct graph *graph = &self->graphs[pick(3, GRAPHS)];
  bool fits = graph->memory != NULL && graph->runtime == from->runtime && graph->device == from->device;
  return fits && pick(4, 2) == 0 ? graph : NULL;
}

/* Where there are several actors, a capture must not concern the others. What was held when a capture began cannot be
 * waited for, neither there nor on the legacy stream where that is part of it. */
static bool can_capture(struct stream *stream) {
  if (shared.is_exact && (!stream_is_unheld(stream) || !legacy_is_unheld(stream->device))) return false;
  return stream->capture == NULL && stream->kind != LEGACY && (setup.threads == 1 || stream->kind == CREATED);
}

static rig_capture_mode mode_picked(unsigned nth) {
  static const rig_capture_mode modes[] = {RIG_CAPTURE_RELAXED, RIG_CAPTURE_THREAD_LOCAL, RIG_CAPTURE_GLOBAL};
  return modes[pick(nth, setup.threads == 1 ? 3 : 2)];
}

static void take_part(struct capture *capture, int index) {
  capture->begun_at[capture->stream_count] = stream_of(index)->position;
  capture->streams[capture->stream_count++] = index;
  stream_of(index)->capture = capture;
}

void op_begin_capture(void) {
  struct delegate *from = &self->delegates[pick(0, DELEGATES)];
  struct capture *fresh = capture_slot();
  if (from->handle == NULL || fresh == NULL || !has_room_for_graph()) return;
  int index = stream_pick(1, from->device, false);
  if (index == NOWHERE || !can_capture(stream_of(index))) return;
  struct graph *share = graph_to_share(from);
  struct stream *stream = stream_of(index);
  wp_capture *handle = NULL;
  use_device_of(stream);
  call_begin(LISTED_capture_begin, false);
  if (!call_end(wp_capture_begin(from->handle, stream->handle, share == NULL ? NULL : share->memory, &handle), 0)) {
    REQUIRE_THAT(handle == NULL, "wp_capture_begin failed and changed its output");
    return;
  }
  *fresh = (struct capture){.handle = handle, .runtime = from->runtime, .device = from->device, .thread = self->thread};
  fresh->mode = mode_picked(2);
  fresh->family = share != NULL ? share->family : new_family();
  tell("stream %d of kind %d, family %u", index, stream->kind, fresh->family);
  rig_device_set(stream->device);
  rig_capture_begin(stream->handle, fresh->mode);
  take_part(fresh, index);
}

static struct capture *capture_picked(unsigned nth) {
  for (unsigned i = 0; i < CAPTURES; i++) {
    struct capture *found = &self->captures[(pick(nth, CAPTURES) + i) % CAPTURES];
    if (found->handle != NULL && found->thread == self->thread) return found;
  }
  return NULL;
}

void op_join_capture(void) {
  struct capture *joined = capture_picked(0);
  if (joined == NULL || joined->stream_count == CAPTURE_STREAMS) return;
  int index = stream_pick(1, joined->device, false);
  if (index == NOWHERE || !can_capture(stream_of(index))) return;
  struct stream *stream = stream_of(index);
  use_device_of(stream);
  call_begin(LISTED_capture_join, false);
  if (!call_end(wp_capture_join(joined->handle, stream->handle), 0)) return;
  rig_device_set(joined->device);
  rig_wait(stream->handle, stream_of(joined->streams[0])->handle);
  tell("stream %d of kind %d", index, stream->kind);
  take_part(joined, index);
}

/* -- the end of one -- */

static rig_graph *end_for_vendor(const struct capture *capture) {
  const struct stream *first = stream_of(capture->streams[0]);
  rig_device_set(capture->device);
  for (unsigned i = 1; i < capture->stream_count; i++) {
    rig_wait(first->handle, stream_of(capture->streams[i])->handle);
  }
  rig_graph *graph = rig_capture_end(first->handle);
  REQUIRE_THAT(graph != NULL, "a capture was invalidated");
  return graph;
}

/* What it allocated and did not free is ordinary memory for the program. */
static void leave_streams(struct capture *over, struct graph *graph) {
  for (unsigned i = 0; i < over->stream_count; i++) stream_of(over->streams[i])->capture = NULL;
  for (int i = 0; i < BLOCKS; i++) {
    struct block *block = &self->blocks[i];
    if (block->address == NULL || block->capture != over) continue;
    block->capture = NULL;
    block->graph = graph;
    block->stamp = 0; /* only launches write it */
  }
  ranges_of_capture_end(over, graph);
}

static void abort_capture(struct capture *over, rig_graph *captured) {
  call_begin(LISTED_capture_abort, false);
  bool is_over = call_end(wp_capture_abort(over->handle), 0);
  if (!is_over) REQUIRE_THAT(wp_capture_abort(over->handle) == WP_OK, "an abort fails again");
  leave_streams(over, NULL);
  rig_graph_destroy(captured);
  readings_drop(&over->readings, &over->cells);
  over->handle = NULL;
}

static void make_graph(struct capture *over, rig_graph *captured) {
  struct graph *fresh = graph_slot();
  wp_graph_memory *memory = NULL;
  call_begin(LISTED_capture_end, false);
  if (!call_end(wp_capture_end(over->handle, &memory), 0)) {
    REQUIRE_THAT(memory == NULL, "wp_capture_end failed and changed its output");
    REQUIRE_THAT(wp_capture_end(over->handle, &memory) == WP_OK, "the end of a capture fails again");
  }
  *fresh = (struct graph){.memory = memory, .graph = captured, .runtime = over->runtime, .device = over->device};
  fresh->family = over->family;
  fresh->readings = over->readings;
  fresh->cells = over->cells;
  for (unsigned i = 0; i < over->stream_count; i++) fresh->ends[fresh->end_count++] = now_on(over->streams[i]);
  leave_streams(over, fresh);
  over->handle = NULL;
}

static void end_capture(struct capture *over, bool aborts) {
  rig_graph *captured = end_for_vendor(over);
  if (aborts) {
    abort_capture(over, captured);
  } else {
    make_graph(over, captured);
  }
}

void op_end_capture(void) {
  struct capture *over = capture_picked(0);
  if (over == NULL) return;
  if (pick(1, 6) == 0) { /* too early */
    wp_graph_memory *memory = NULL;
    bool can_abort = pick(2, 2) == 0 && (shared.capabilities & WP_CAP_CAPTURES_END) != 0;
    listed_call call = can_abort ? LISTED_capture_abort : LISTED_capture_end;
    call_begin(call, false);
    wp_status status = can_abort ? wp_capture_abort(over->handle) : wp_capture_end(over->handle, &memory);
    REQUIRE_THAT(!call_end(status, S(ERROR_CAPTURING)), "%s succeeded before the vendor's end", listed_name(call));
  }
  end_capture(over, pick(3, 5) == 0);
}

void capture_end_all(bool of_thread_only) {
  for (int i = 0; i < CAPTURES; i++) {
    struct capture *open = &self->captures[i];
    if (open->handle == NULL || (of_thread_only && open->thread != self->thread)) continue;
    end_capture(open, true);
  }
}

/* -- graphs -- */

/* What captures had sent to it before they ended has finished. */
void graphs_forget_stream(int stream) {
  for (int i = 0; i < GRAPHS; i++) {
    struct graph *graph = &self->graphs[i];
    unsigned kept = 0;
    for (unsigned e = 0; e < graph->end_count; e++) {
      if (graph->ends[e].stream != stream) graph->ends[kept++] = graph->ends[e];
    }
    graph->end_count = kept;
  }
}

/* An output of a graph that may lie where another one of its family writes. */
static bool is_of_family(const struct block *block, unsigned family) {
  return block->address != NULL && block->graph != NULL && block->graph->family == family;
}

static bool can_launch(const struct graph *graph, int index) {
  int before = self->family_last[graph->family];
  if (before != NOWHERE && !stream_can_wait(index, before)) return false;
  for (int i = 0; i < STREAMS; i++) {
    if (self->family_used[graph->family][i] && !stream_can_wait(index, i)) return false;
  }
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    if (is_of_family(block, graph->family) && !block_can_follow(block, index)) return false;
  }
  return true;
}

void op_launch(void) {
  struct graph *graph = &self->graphs[pick(0, GRAPHS)];
  if (graph->memory == NULL || graph->graph == NULL) return;
  int index = stream_pick(1, graph->device, false);
  if (index == NOWHERE || !can_launch(graph, index)) return;
  struct stream *stream = stream_of(index);
  /* Graphs that share memory must not run at the same time. */
  if (self->family_last[graph->family] != NOWHERE) stream_wait(index, self->family_last[graph->family]);
  for (int i = 0; i < STREAMS; i++) {
    if (self->family_used[graph->family][i]) stream_wait(index, i);
    self->family_used[graph->family][i] = false;
  }
  for (int i = 0; i < BLOCKS; i++) {
    struct block *block = &self->blocks[i];
    if (!is_of_family(block, graph->family)) continue;
    block_follow(block, index);
    block->stamp = 0;
  }
  stream_submit(index);
  use_device_of(stream);
  REQUIRE_THAT(rig_graph_launch(graph->graph, stream->handle), "a launch was refused");
  tell("graph %d, stream %d of kind %d", (int)(graph - self->graphs), index, stream->kind);
  readings_follow(graph, index);
  self->family_last[graph->family] = index;
  graph->has_launched = true;
}

/* Launches may still run: what they read into is free when the stream is through. */
static void destroy_graph(struct graph *graph, int last) {
  struct stream *stream = last == NOWHERE ? NULL : stream_of(last);
  if (graph->graph == NULL) return;
  rig_graph_destroy(graph->graph);
  graph->graph = NULL;
  if (stream == NULL) {
    readings_drop(&graph->readings, &graph->cells);
    return;
  }
  readings_hand_over(graph, stream);
}

static void release(struct graph *graph) {
  int last = graph->has_launched ? self->family_last[graph->family] : NOWHERE;
  wp_stream handles[2];
  size_t count = 0;
  if (last != NOWHERE && !stream_is_open(last)) return;
  if (pick(2, 2) == 0) destroy_graph(graph, last);
  if (last != NOWHERE && !(pick(1, 3) == 0 && stream_drain(last))) {
    use_device_of(stream_of(last));
    handles[count++] = stream_of(last)->handle;
    if (pick(3, 4) == 0) handles[count++] = stream_of(last)->handle;
  }
  tell("graph %d, %zu streams, stream %d", (int)(graph - self->graphs), count, last);
  call_begin(LISTED_graph_memory_release, false);
  if (!call_end(wp_graph_memory_release(graph->memory, handles, count), 0)) return;
  destroy_graph(graph, last);
  ranges_of_graph_release(graph, last == NOWHERE ? (place){0, 0} : now_on(last), last != NOWHERE);
  for (int i = 0; i < BLOCKS; i++) {
    if (self->blocks[i].graph == graph) self->blocks[i].graph = NULL;
  }
  graph->memory = NULL;
}

void op_release_graph(void) {
  struct graph *graph = &self->graphs[pick(0, GRAPHS)];
  if (graph->memory != NULL) release(graph);
}

void graphs_end(void) {
  for (int i = 0; i < GRAPHS; i++) {
    struct graph *graph = &self->graphs[i];
    if (graph->memory == NULL) continue;
    release(graph);
    REQUIRE_THAT(graph->memory == NULL, "a graph's memory cannot be released");
  }
}

/* -- captures that are not declared -- */

static void name_it(wp_runtime *runtime, const struct delegate *from, wp_stream handle) {
  void *out = self;
  call_begin(LISTED_alloc, false);
  REQUIRE_THAT(!call_end(wp_alloc(from->handle, 1000, handle, &out), S(ERROR_CAPTURING) | S(ERROR_LIMIT)),
               "an allocation succeeded in a capture that is not declared");
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    if (block->address == NULL || block->device != from->device || block->runtime != from->runtime) continue;
    if (block->capture != NULL) continue;
    call_begin(LISTED_free, false);
    REQUIRE_THAT(!call_end(wp_free(runtime, block->address, handle), S(ERROR_CAPTURING)),
                 "a free succeeded in a capture that is not declared");
    block_check_is_live(block);
    break;
  }
}

/* In the driver's caching the allocation is a node of the graph. */
static void make_nodes(wp_runtime *runtime, const struct delegate *from, wp_stream handle) {
  void *out = self;
  call_begin(LISTED_alloc, false);
  if (!call_end(wp_alloc(from->handle, 5000, handle, &out), S(ERROR_LIMIT) | S(ERROR_OUT_OF_MEMORY))) return;
  self->allocs[from->runtime][from->device]++;
  call_begin(LISTED_free, false);
  if (!call_end(wp_free(runtime, out, handle), 0)) {
    REQUIRE_THAT(wp_free(runtime, out, handle) == WP_OK, "a free fails again");
  }
  self->frees[from->runtime][from->device]++;
}

static struct capture undeclared; /* stands for one of these */

void op_capture_undeclared(void) {
  const struct delegate *from = &self->delegates[pick(0, DELEGATES)];
  if (from->handle == NULL) return;
  int index = stream_pick(1, from->device, false);
  if (index == NOWHERE || !can_capture(stream_of(index)) || stream_of(index)->kind != CREATED) return;
  wp_stream handle = stream_of(index)->handle;
  wp_runtime *runtime = shared.runtimes[from->runtime].handle;
  rig_capture_begin(handle, mode_picked(2));
  stream_of(index)->capture = &undeclared;
  if (caching_of(from->runtime) == WP_CACHING_DRIVER) {
    make_nodes(runtime, from, handle);
  } else if (!is_declared(from->runtime)) {
    name_it(runtime, from, handle);
  }
  call_begin(LISTED_trim, false);
  (void)call_end(wp_trim(runtime, from->device, UINT64_MAX, WP_NO_WAIT, NULL), 0);
  rig_graph *graph = rig_capture_end(handle);
  stream_of(index)->capture = NULL;
  REQUIRE_THAT(graph != NULL, "a capture that is not declared was invalidated");
  rig_graph_destroy(graph);
}
