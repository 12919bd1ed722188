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

/* What a launch writes; the graph has it for as long as it is launched. */
struct written {
  void *memory;
  size_t bytes;
  struct written *next;
};

struct vendor_graph {
  struct written *written;
  wp_host_graph graph;
  wp_host_executable executable;
};

static struct written *captured; /* of the capture that goes on */

static void write_memory(void *argument) {
  const struct written *written = argument;
  (void)memset(written->memory, 1, written->bytes);
}

static void *new_record(size_t bytes) {
  void *record = calloc(1, bytes);
  if (record == NULL) bench_fail("calloc", "out of host memory");
  return record;
}

static void forget(struct written *written) {
  while (written != NULL) {
    struct written *next = written->next;
    free(written);
    written = next;
  }
}

bool vendor_has_graphs(void) { return true; }

vendor_graph *vendor_graph_create(size_t bytes) {
  const wp_backend *backend = wp_backend_builtin();
  wp_pool pool = vendor_default_pool(0);
  void *memory = NULL;
  wp_stream stream;
  BENCH(backend->stream_create(backend->self, &stream));
  vendor_capture_begin(stream);
  BENCH(backend->memory_alloc(backend->self, pool, bytes, stream, &memory));
  vendor_capture_write(stream, memory, bytes);
  BENCH(backend->memory_free(backend->self, memory, stream));
  vendor_graph *graph = vendor_capture_end(stream);
  BENCH(backend->stream_destroy(backend->self, stream));
  return graph;
}

void vendor_graph_launch(vendor_graph *graph, wp_stream stream) {
  BENCH(wp_host_graph_launch(graph->executable, stream));
}

void vendor_graph_destroy(vendor_graph *graph) {
  BENCH(wp_host_executable_destroy(graph->executable));
  BENCH(wp_host_graph_destroy(graph->graph));
  forget(graph->written);
  free(graph);
}

void vendor_capture_begin(wp_stream stream) { BENCH(wp_host_capture_begin(stream, WP_HOST_CAPTURE_RELAXED)); }

void vendor_capture_write(wp_stream stream, void *memory, size_t bytes) {
  struct written *written = new_record(sizeof *written);
  *written = (struct written){.memory = memory, .bytes = bytes, .next = captured};
  captured = written;
  BENCH(wp_host_launch(stream, write_memory, written));
}

vendor_graph *vendor_capture_end(wp_stream stream) {
  vendor_graph *graph = new_record(sizeof *graph);
  BENCH(wp_host_capture_end(stream, &graph->graph));
  BENCH(wp_host_graph_instantiate(graph->graph, &graph->executable));
  graph->written = captured;
  captured = NULL;
  return graph;
}

void vendor_capture_discard(wp_stream stream) {
  wp_host_graph graph;
  BENCH(wp_host_capture_end(stream, &graph));
  BENCH(wp_host_graph_destroy(graph));
  forget(captured);
  captured = NULL;
}
