/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include "capture.h"
#include "error.h"
#include "slots.h"
#include "stream.h"

#define FIRST_CAPACITY ((size_t)16)

struct executable {
  atomic_uint references; /* one is the handle's, one each launch's that has not finished */
  struct wp__host_graph *graph;
  struct wp__host_point *last; /* the end of the last launch, or NULL; under the engine's lock */
};

static struct wp__host_slots graphs = WP__HOST_SLOTS_GRAPHS; /* under the engine's lock */
static struct wp__host_slots executables = WP__HOST_SLOTS_EXECUTABLES;

/* -- graphs -- */

struct wp__host_graph *wp__host_graph_create(void) {
  struct wp__host_graph *graph = wp__os_calloc(1, sizeof *graph);
  if (graph != NULL) atomic_init(&graph->references, 1);
  return graph;
}

void wp__host_graph_release(struct wp__host_graph *graph) {
  if (graph == NULL || atomic_fetch_sub(&graph->references, 1) != 1) return;
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_node *node = &graph->nodes[i];
    if (node->release != NULL) node->release(node->argument);
    wp__host_region_release(node->region);
  }
  wp__os_free(graph->nodes);
  wp__os_free(graph);
}

bool wp__host_graph_append(struct wp__host_graph *graph, const struct wp__host_node *node) {
  if (graph->count == graph->capacity) {
    size_t capacity = graph->capacity == 0 ? FIRST_CAPACITY : graph->capacity * 2;
    struct wp__host_node *nodes = wp__os_calloc(capacity, sizeof *nodes);
    if (nodes == NULL) return false;
    for (size_t i = 0; i < graph->count; ++i) nodes[i] = graph->nodes[i];
    wp__os_free(graph->nodes);
    graph->nodes = nodes;
    graph->capacity = capacity;
  }
  graph->nodes[graph->count++] = *node;
  return true;
}

static void join(struct wp__host_graph *graph, const struct wp__host_place *place) {
  for (size_t i = 0; i < place->count; ++i) graph->nodes[place->nodes[i]].is_joined = true;
}

bool wp__host_graph_is_joined(struct wp__host_graph *graph, const struct wp__host_place *end) {
  join(graph, end);
  for (size_t i = graph->count; i-- > 0;) { /* a node comes after those that it depends on */
    if (!graph->nodes[i].is_joined) return false;
    join(graph, graph->nodes[i].after);
  }
  return true;
}

void wp__host_graph_forget_order(struct wp__host_graph *graph) {
  for (size_t i = 0; i < graph->count; ++i) {
    wp__host_place_release(graph->nodes[i].after);
    graph->nodes[i].after = NULL;
  }
}

void *wp__host_graph_publish(struct wp__host_graph *graph) { return wp__host_slots_put(&graphs, graph); }

static bool has_memory(const struct wp__host_graph *graph) {
  for (size_t i = 0; i < graph->count; ++i) {
    if (graph->nodes[i].kind != WP__HOST_NODE_WORK) return true;
  }
  return false;
}

wp__host_result wp__host_graph_destroy(void *handle) {
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_graph *graph = wp__host_slots_remove(&graphs, handle);
  wp__mutex_unlock(&wp__host_lock);
  if (graph == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_graph_release(graph);
  return WP__HOST_SUCCESS;
}

/* -- executables -- */

static void release_executable(void *argument) {
  struct executable *executable = argument;
  if (atomic_fetch_sub(&executable->references, 1) != 1) return;
  wp__host_point_release(executable->last);
  wp__host_graph_release(executable->graph);
  wp__os_free(executable);
}

/* The lock is held. */
static wp__host_result instantiate(void *handle, struct executable *executable, void **out) {
  struct wp__host_graph *graph = wp__host_slots_get(&graphs, handle);
  if (graph == NULL) return WP__HOST_INVALID_VALUE;
  if (graph->has_executable && has_memory(graph)) return WP__HOST_NOT_SUPPORTED; /* both would have its addresses */
  void *made = wp__host_slots_put(&executables, executable);
  if (made == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  (void)atomic_fetch_add(&graph->references, 1);
  graph->has_executable = true;
  executable->graph = graph;
  *out = made;
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_graph_instantiate(void *graph, void **out) {
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  struct executable *executable = wp__os_calloc(1, sizeof *executable);
  if (executable == NULL) return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  atomic_init(&executable->references, 1);
  wp__mutex_lock(&wp__host_lock);
  wp__host_result result = instantiate(graph, executable, out);
  wp__mutex_unlock(&wp__host_lock);
  if (result != WP__HOST_SUCCESS) wp__os_free(executable);
  return wp__host_finish(result);
}

wp__host_result wp__host_executable_destroy(void *handle) {
  wp__mutex_lock(&wp__host_lock);
  struct executable *executable = wp__host_slots_remove(&executables, handle);
  if (executable != NULL) executable->graph->has_executable = false;
  wp__mutex_unlock(&wp__host_lock);
  if (executable == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  release_executable(executable);
  return WP__HOST_SUCCESS;
}

/* -- launches -- */

static void run(void *argument) {
  struct wp__host_graph *graph = ((struct executable *)argument)->graph;
  for (size_t i = 0; i < graph->count; ++i) {
    if (graph->nodes[i].kind == WP__HOST_NODE_WORK) graph->nodes[i].function(graph->nodes[i].argument);
  }
  wp__host_graph_memory_finish(graph);
}

/* Behind the launch before it, wherever that was. */
static wp__host_result submit(struct executable *executable, struct wp__host_timeline *timeline) {
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_point *point = wp__host_point_take(timeline); /* while that can still fail */
  wp__host_result result = point == NULL ? WP__HOST_OUT_OF_HOST_MEMORY : WP__HOST_SUCCESS;
  if (result == WP__HOST_SUCCESS && executable->last != NULL) {
    result = wp__host_timeline_wait_locked(timeline, executable->last);
  }
  wp__mutex_unlock(&wp__host_lock);
  if (result == WP__HOST_SUCCESS) {
    (void)atomic_fetch_add(&executable->references, 1);
    result = wp__host_timeline_launch(timeline, run, release_executable, executable);
    if (result != WP__HOST_SUCCESS) release_executable(executable);
  }
  if (result == WP__HOST_SUCCESS) {
    struct wp__host_point *before;
    wp__mutex_lock(&wp__host_lock);
    point->sequence = timeline->submitted; /* nobody else has it yet */
    before = executable->last;
    executable->last = point;
    wp__mutex_unlock(&wp__host_lock);
    point = before;
  }
  wp__host_point_release(point);
  return result;
}

static wp__host_result launch(struct executable *executable, struct wp__host_timeline *timeline) {
  bool is_captured;
  wp__host_result result = wp__host_capture_enter(timeline, &is_captured);
  if (result != WP__HOST_SUCCESS) return result;
  if (is_captured) return wp__host_capture_refuse(timeline, WP__HOST_CAPTURE_UNSUPPORTED); /* no graphs in graphs */
  result = wp__host_graph_memory_launch(executable->graph);
  if (result != WP__HOST_SUCCESS) return result;
  result = submit(executable, timeline);
  if (result != WP__HOST_SUCCESS) wp__host_graph_memory_cancel(executable->graph);
  return result;
}

wp__host_result wp__host_executable_launch(void *handle, void *stream) {
  struct wp__host_timeline *timeline;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&wp__host_lock);
  struct executable *executable = wp__host_slots_get(&executables, handle);
  if (executable != NULL) (void)atomic_fetch_add(&executable->references, 1);
  wp__mutex_unlock(&wp__host_lock);
  if (executable == NULL) {
    result = WP__HOST_INVALID_VALUE;
  } else {
    result = launch(executable, timeline);
    release_executable(executable);
  }
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}
