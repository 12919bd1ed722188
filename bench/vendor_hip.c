/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "vendor.h"

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/softhsa/softhsa.h"

#define HIP(call) hip_check((call), #call)

static void hip_check(hipError_t error, const char *call) {
  if (error != hipSuccess) bench_fail(call, hipGetErrorString(error));
}

/* The stand-in for what is below the runtime, where that is what the program runs on. */
static uint64_t (*find_count(void))(softhsa_counter counter) {
  uint64_t (*count)(softhsa_counter counter);
  *(void **)&count = dlsym(RTLD_DEFAULT, "softhsa_count");
  return count;
}

bool vendor_device_counts(vendor_counts *out) {
  uint64_t (*count)(softhsa_counter counter) = find_count();
  if (count == NULL) return false;
  *out = (vendor_counts){count(SOFTHSA_DEVICE_ALLOCATIONS), count(SOFTHSA_DEVICE_FREES)};
  return true;
}

static void describe_driver(char *driver, size_t capacity) {
  int version = 0;
  HIP(hipRuntimeGetVersion(&version));
#ifdef __HIP_PLATFORM_NVIDIA__
  (void)snprintf(driver, capacity, "HIP %d.%d on CUDA %d.%d", HIP_VERSION_MAJOR, HIP_VERSION_MINOR, version / 1000,
                 version % 1000 / 10);
#else
  (void)snprintf(driver, capacity, "HIP %d.%d.%d%s", version / 10000000, version / 100000 % 100, version % 100000,
                 find_count() == NULL ? "" : " without a GPU: counts are the runtime's own, times mean nothing");
#endif
}

void vendor_describe(int device, char *name, size_t name_capacity, char *driver, size_t driver_capacity) {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, device));
  (void)snprintf(name, name_capacity, "%s", properties.name);
  describe_driver(driver, driver_capacity);
}

static void sleep_for(void *argument) {
  long milliseconds = (long)(intptr_t)argument;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  (void)nanosleep(&time, NULL);
}

#if HIP_VERSION < 50700000 /* 5.2.3 declares hipLaunchHostFunc and does not have it */
static void call_back(hipStream_t stream, hipError_t status, void *argument) {
  (void)stream, (void)status;
  sleep_for(argument);
}
#endif

void vendor_busy(wp_stream stream, unsigned milliseconds) {
#if HIP_VERSION < 50700000
  HIP(hipStreamAddCallback(stream, call_back, (void *)(intptr_t)milliseconds, 0));
#else
  HIP(hipLaunchHostFunc(stream, sleep_for, (void *)(intptr_t)milliseconds));
#endif
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
#ifdef __HIP_PLATFORM_NVIDIA__
  return true;
#else
  int version = 0;
  HIP(hipRuntimeGetVersion(&version));
  return version >= 50700000;
#endif
}

vendor_graph *vendor_graph_create(size_t bytes) {
  hipStream_t stream;
  void *memory = NULL;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  vendor_capture_begin(stream);
  HIP(hipMallocAsync(&memory, bytes, stream));
  vendor_capture_write(stream, memory, bytes);
  HIP(hipFreeAsync(memory, stream));
  vendor_graph *graph = vendor_capture_end(stream);
  HIP(hipStreamDestroy(stream));
  return graph;
}

void vendor_graph_launch(vendor_graph *graph, wp_stream stream) { HIP(hipGraphLaunch(graph->executable, stream)); }

void vendor_graph_destroy(vendor_graph *graph) {
  HIP(hipGraphExecDestroy(graph->executable));
  HIP(hipGraphDestroy(graph->graph));
  free(graph);
}

void vendor_capture_begin(wp_stream stream) { HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed)); }

void vendor_capture_write(wp_stream stream, void *memory, size_t bytes) {
  HIP(hipMemsetAsync(memory, 1, bytes, stream));
}

vendor_graph *vendor_capture_end(wp_stream stream) {
  vendor_graph made, *graph = malloc(sizeof *graph);
  HIP(hipStreamEndCapture(stream, &made.graph));
  HIP(hipGraphInstantiateWithFlags(&made.executable, made.graph, 0));
  if (graph != NULL) {
    *graph = made;
  } else {
    bench_fail("malloc", "out of host memory");
  }
  return graph;
}

void vendor_capture_discard(wp_stream stream) {
  hipGraph_t graph;
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipGraphDestroy(graph));
}
