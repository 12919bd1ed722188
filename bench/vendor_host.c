/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "vendor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "warmpool/host.h"

void vendor_describe(int device, char *name, size_t name_capacity, char *driver, size_t driver_capacity) {
  (void)snprintf(name, name_capacity, "host memory, device %d", device);
  (void)snprintf(driver, driver_capacity, "warmpool's host engine %s", wp_version());
}

bool vendor_device_counts(vendor_counts *out) {
  (void)out;
  return false;
}

static void sleep_for(void *argument) {
  long milliseconds = (long)(intptr_t)argument;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  (void)nanosleep(&time, NULL);
}

void vendor_busy(wp_stream stream, unsigned milliseconds) {
  BENCH(wp_host_launch(stream, sleep_for, (void *)(intptr_t)milliseconds));
}

/* The engine has no pool of everybody's; one with the same settings does as well. */
wp_pool vendor_default_pool(int device) {
  static wp_pool pool;
  const wp_backend *backend = wp_backend_builtin();
  (void)device; /* is current, and one only is asked for in a run */
  if (pool == NULL) BENCH(backend->pool_create(backend->self, &pool));
  return pool;
}

/* -- graphs -- */

struct vendor_graph {
  void *memory;
  size_t bytes;
  wp_host_graph graph;
  wp_host_executable executable;
};

static void write_memory(void *argument) {
  const vendor_graph *graph = argument;
  (void)memset(graph->memory, 1, graph->bytes);
}

static vendor_graph *new_graph(size_t bytes) {
  vendor_graph *graph = calloc(1, sizeof *graph);
  if (graph != NULL) {
    graph->bytes = bytes;
  } else {
    bench_fail("calloc", "out of host memory");
  }
  return graph;
}

bool vendor_has_graphs(void) { return true; }

vendor_graph *vendor_graph_create(size_t bytes) {
  const wp_backend *backend = wp_backend_builtin();
  vendor_graph *graph = new_graph(bytes);
  wp_pool pool = vendor_default_pool(0);
  wp_stream stream;
  BENCH(backend->stream_create(backend->self, &stream));
  BENCH(wp_host_capture_begin(stream, WP_HOST_CAPTURE_RELAXED));
  BENCH(backend->memory_alloc(backend->self, pool, bytes, stream, &graph->memory));
  BENCH(wp_host_launch(stream, write_memory, graph));
  BENCH(backend->memory_free(backend->self, graph->memory, stream));
  BENCH(wp_host_capture_end(stream, &graph->graph));
  BENCH(wp_host_graph_instantiate(graph->graph, &graph->executable));
  BENCH(backend->stream_destroy(backend->self, stream));
  return graph;
}

void vendor_graph_launch(vendor_graph *graph, wp_stream stream) {
  BENCH(wp_host_graph_launch(graph->executable, stream));
}

void vendor_graph_destroy(vendor_graph *graph) {
  BENCH(wp_host_executable_destroy(graph->executable));
  BENCH(wp_host_graph_destroy(graph->graph));
  free(graph);
}

void vendor_capture_begin(wp_stream stream) { BENCH(wp_host_capture_begin(stream, WP_HOST_CAPTURE_RELAXED)); }

void vendor_capture_discard(wp_stream stream) {
  wp_host_graph graph;
  BENCH(wp_host_capture_end(stream, &graph));
  BENCH(wp_host_graph_destroy(graph));
}
