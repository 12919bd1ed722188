/* SPDX-License-Identifier: Apache-2.0 */
/* Our allocations in a graph, both ways: with WP_CACHING_DRIVER they are captured, and the graph has the driver's graph
 * memory; with WP_CACHING_LANES the capture is declared, and the graph has memory of the pool. */
#ifndef WARMPOOL_BENCH_CAPTURED_H
#define WARMPOOL_BENCH_CAPTURED_H

#include "bench.h"
#include "vendor.h"

typedef struct captured_graph {
  wp_capture *capture;
  wp_graph_memory *memory; /* NULL: the driver's */
  vendor_graph *graph;
} captured_graph;

/* In between, bench_take and bench_give on the stream. */
void captured_begin(captured_graph *captured, const bench_way *way, wp_stream stream);
void captured_end(captured_graph *captured, wp_stream stream);
/* The last launch was sent to the stream, and has finished. */
void captured_release(captured_graph *captured);

/* The two ways: the library as it comes, and with the driver's pool in its place. */
#define CAPTURED_WAYS 2
extern const bench_mode captured_modes[CAPTURED_WAYS];
extern const char *const captured_names[CAPTURED_WAYS];

#endif
