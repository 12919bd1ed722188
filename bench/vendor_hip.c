/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "vendor.h"

#include <hip/hip_runtime_api.h>
#include <stdlib.h>
#include <time.h>

#define HIP(call) hip_check((call), #call)

static void hip_check(hipError_t error, const char *call) {
  if (error != hipSuccess) bench_fail(call, hipGetErrorString(error));
}

static void describe_driver(char *driver, size_t capacity) {
  int version = 0;
  HIP(hipRuntimeGetVersion(&version));
  (void)snprintf(driver, capacity, "HIP %d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
}

void vendor_describe(int device, char *name, size_t name_capacity, char *driver, size_t driver_capacity) {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, device));
  (void)snprintf(name, name_capacity, "%s", properties.name);
  describe_driver(driver, driver_capacity);
}

/* hipLaunchHostFunc is not in every runtime. */
static void sleep_for(hipStream_t stream, hipError_t status, void *argument) {
  (void)stream, (void)status;
  long milliseconds = (long)(intptr_t)argument;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  (void)nanosleep(&time, NULL);
}

void vendor_busy(wp_stream stream, unsigned milliseconds) {
  HIP(hipStreamAddCallback(stream, sleep_for, (void *)(intptr_t)milliseconds, 0));
}

wp_pool vendor_default_pool(int device) {
  hipMemPool_t pool = NULL;
  HIP(hipDeviceGetDefaultMemPool(&pool, device));
  return pool;
}

/* -- graphs -- */

struct vendor_graph {
  hipGraph_t graph;
  hipGraphExec_t executable;
};

/* 5.2 captures no allocations. */
bool vendor_has_graphs(void) {
  int version = 0;
  HIP(hipRuntimeGetVersion(&version));
  return version >= 50700000;
}

vendor_graph *vendor_graph_create(size_t bytes) {
  hipStream_t stream;
  void *memory = NULL;
  vendor_graph made, *graph;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  HIP(hipMallocAsync(&memory, bytes, stream));
  HIP(hipMemsetAsync(memory, 1, bytes, stream));
  HIP(hipFreeAsync(memory, stream));
  HIP(hipStreamEndCapture(stream, &made.graph));
  HIP(hipGraphInstantiateWithFlags(&made.executable, made.graph, 0));
  HIP(hipStreamDestroy(stream));
  graph = malloc(sizeof *graph);
  if (graph != NULL) {
    *graph = made;
  } else {
    bench_fail("malloc", "out of host memory");
  }
  return graph;
}

void vendor_graph_launch(vendor_graph *graph, wp_stream stream) { HIP(hipGraphLaunch(graph->executable, stream)); }

void vendor_graph_destroy(vendor_graph *graph) {
  HIP(hipGraphExecDestroy(graph->executable));
  HIP(hipGraphDestroy(graph->graph));
  free(graph);
}

void vendor_capture_begin(wp_stream stream) { HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed)); }

void vendor_capture_discard(wp_stream stream) {
  hipGraph_t graph;
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipGraphDestroy(graph));
}
