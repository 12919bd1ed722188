/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a benchmark needs of a vendor besides the vtable: the names of device and driver, work that takes time, and a
 * neighbour, who uses the same device through the vendor's own functions. One file a vendor; failures end the program.
 */
#ifndef WARMPOOL_BENCH_VENDOR_H
#define WARMPOOL_BENCH_VENDOR_H

#include "bench.h"

void vendor_describe(int device, char *name, size_t name_capacity, char *driver, size_t driver_capacity);

/* Device memory that was allocated and freed below the driver since the process began. False where nobody counts that:
 * a stand-in does, on which times mean nothing, as the name of the driver says. */
typedef struct vendor_counts {
  uint64_t allocs, frees;
} vendor_counts;
bool vendor_device_counts(vendor_counts *out);

/* Keeps the stream busy for about that long. Returns at once. */
void vendor_busy(wp_stream stream, unsigned milliseconds);

/* The pool that everybody uses who names none. */
wp_pool vendor_default_pool(int device);

/* A graph that allocates `bytes`, writes them and frees them, captured from a stream of its own. */
typedef struct vendor_graph vendor_graph;
bool vendor_has_graphs(void);
vendor_graph *vendor_graph_create(size_t bytes);
void vendor_graph_launch(vendor_graph *graph, wp_stream stream);
void vendor_graph_destroy(vendor_graph *graph);

/* A capture, work in it that writes memory at each launch, and its end: a graph ready to be launched, or one that
 * nobody wants. One capture at a time. */
void vendor_capture_begin(wp_stream stream);
void vendor_capture_write(wp_stream stream, void *memory, size_t bytes);
vendor_graph *vendor_capture_end(wp_stream stream);
void vendor_capture_discard(wp_stream stream);

#endif
