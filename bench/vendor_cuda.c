/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "vendor.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUDA(call) cuda_check((call), #call)

static void cuda_check(cudaError_t error, const char *call) {
  if (error != cudaSuccess) bench_fail(call, cudaGetErrorString(error));
}

/* The driver's release, which only its own file tells; otherwise the highest CUDA it is good for. */
static void describe_driver(char *driver, size_t capacity) {
  char line[256];
  int runtime = 0, highest = 0;
  FILE *file = fopen("/proc/driver/nvidia/version", "r");
  const char *version = NULL;
  if (file != NULL && fgets(line, sizeof line, file) != NULL) {
    for (char *word = strtok(line, " \t\n"); word != NULL; word = strtok(NULL, " \t\n")) {
      if (version == NULL && word[0] >= '0' && word[0] <= '9' && strchr(word, '.') != NULL) version = word;
    }
  }
  if (file != NULL) (void)fclose(file);
  CUDA(cudaRuntimeGetVersion(&runtime));
  CUDA(cudaDriverGetVersion(&highest));
  (void)snprintf(driver, capacity, "%s%sCUDA %d.%d runtime, driver for %d.%d", version != NULL ? version : "",
                 version != NULL ? ", " : "", runtime / 1000, runtime % 1000 / 10, highest / 1000, highest % 1000 / 10);
}

void vendor_describe(int device, char *name, size_t name_capacity, char *driver, size_t driver_capacity) {
  struct cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, device));
  (void)snprintf(name, name_capacity, "%s", properties.name);
  describe_driver(driver, driver_capacity);
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
  CUDA(cudaLaunchHostFunc(stream, sleep_for, (void *)(intptr_t)milliseconds));
}

wp_pool vendor_default_pool(int device) {
  cudaMemPool_t pool = NULL;
  CUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  return pool;
}

/* -- graphs -- */

struct vendor_graph {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
};

bool vendor_has_graphs(void) { return true; }

vendor_graph *vendor_graph_create(size_t bytes) {
  cudaStream_t stream;
  void *memory = NULL;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  vendor_capture_begin(stream);
  CUDA(cudaMallocAsync(&memory, bytes, stream));
  vendor_capture_write(stream, memory, bytes);
  CUDA(cudaFreeAsync(memory, stream));
  vendor_graph *graph = vendor_capture_end(stream);
  CUDA(cudaStreamDestroy(stream));
  return graph;
}

void vendor_graph_launch(vendor_graph *graph, wp_stream stream) { CUDA(cudaGraphLaunch(graph->executable, stream)); }

void vendor_graph_destroy(vendor_graph *graph) {
  CUDA(cudaGraphExecDestroy(graph->executable));
  CUDA(cudaGraphDestroy(graph->graph));
  free(graph);
}

void vendor_capture_begin(wp_stream stream) { CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed)); }

void vendor_capture_write(wp_stream stream, void *memory, size_t bytes) {
  CUDA(cudaMemsetAsync(memory, 1, bytes, stream));
}

vendor_graph *vendor_capture_end(wp_stream stream) {
  vendor_graph made, *graph = malloc(sizeof *graph);
  CUDA(cudaStreamEndCapture(stream, &made.graph));
  CUDA(cudaGraphInstantiateWithFlags(&made.executable, made.graph, 0));
  if (graph != NULL) {
    *graph = made;
  } else {
    bench_fail("malloc", "out of host memory");
  }
  return graph;
}

void vendor_capture_discard(wp_stream stream) {
  cudaGraph_t graph;
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphDestroy(graph));
}
