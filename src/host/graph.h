/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: what a capture has collected, in the order of its calls, which is one that honours all dependencies; a launch
 * runs it in that order. Executables and their launches share the graph, which nothing changes once it is captured.
 *
 * Graph memory: the addresses of captured allocations are regions, fixed when captured. A launch maps those that are
 * not mapped, with memory that idle regions of other graphs hold before any new. It stays with the device's graphs,
 * whoever ends, until a trim.
 */
#ifndef WARMPOOL_HOST_GRAPH_H
#define WARMPOOL_HOST_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"
#include "timeline.h"

struct wp__host_region;

enum wp__host_node_kind { WP__HOST_NODE_WORK, WP__HOST_NODE_ALLOC, WP__HOST_NODE_FREE };

struct wp__host_node {
  enum wp__host_node_kind kind;
  void (*function)(void *argument);
  void (*release)(void *argument); /* when the graph is gone; NULL: nothing */
  void *argument;
  struct wp__host_region *region; /* with a reference */
  struct wp__host_place *after;   /* while captured */
  bool is_joined;                 /* while the capture ends */
};

struct wp__host_graph {
  atomic_uint references;
  bool has_executable; /* under the engine's lock */
  size_t count, capacity;
  struct wp__host_node *nodes;
};

/* -- graph.c -- */

struct wp__host_graph *wp__host_graph_create(void);        /* with one reference; NULL when out of host memory */
void wp__host_graph_release(struct wp__host_graph *graph); /* NULL is fine */
/* Under the engine's lock: */
bool wp__host_graph_append(struct wp__host_graph *graph, const struct wp__host_node *node);
bool wp__host_graph_is_joined(struct wp__host_graph *graph, const struct wp__host_place *end); /* all is before it */
void wp__host_graph_forget_order(struct wp__host_graph *graph);
void *wp__host_graph_publish(struct wp__host_graph *graph); /* a handle, which has the reference; NULL as above */

/* -- graph_memory.c; no lock is held, unless it says so -- */

/* What memory_alloc and memory_free are on a capturing stream. */
wp__host_result wp__host_graph_capture_alloc(struct wp__host_timeline *timeline, size_t bytes, void **out);
wp__host_result wp__host_graph_capture_free(struct wp__host_timeline *timeline, void *memory);
/* Frees what a launch has allocated and left. False: the address is none of such. */
bool wp__host_graph_memory_free(struct wp__host_timeline *timeline, void *memory);
/* Before a launch: its regions are mapped and in use. INVALID_VALUE when it would allocate what is live or free what is
 * not; OUT_OF_MEMORY. */
wp__host_result wp__host_graph_memory_launch(struct wp__host_graph *graph);
void wp__host_graph_memory_cancel(struct wp__host_graph *graph); /* it will not run after all */
void wp__host_graph_memory_finish(struct wp__host_graph *graph); /* the launch has run; also under the engine's lock */
void wp__host_region_release(struct wp__host_region *region);    /* NULL is fine */

#endif
