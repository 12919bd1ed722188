/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's runtime over tests/softhsa. Lanes alone, for what its pools do to the driver's caching (docs/facts.md) fails no
 * promise here. The device is large, for some versions do not survive that one is full (H12). */
#define _GNU_SOURCE /* RTLD_DEFAULT, setenv */
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "stress.h"

#define HIP(call) check((call), #call)

const bool vendor_runs_apart = false; /* one thread of the runtime's calls one after the other */
const bool vendor_is_ours = false;
const bool vendor_ends_streams = HIP_VERSION >= 50700000; /* H9 */
const bool vendor_caches = false;
const bool vendor_captures = HIP_VERSION >= 50700000; /* before, a call of the host's cannot be part of a graph */
const bool vendor_forks = HIP_VERSION < 70000000;     /* H27 */

static void check(hipError_t error, const char *call) {
  if (error == hipSuccess) return;
  (void)fprintf(stderr, "stress: %s: %s\n", call, hipGetErrorString(error));
  exit(1);
}

int vendor_devices(int most) {
  int count = 0;
  (void)setenv("GPU_MAX_HW_QUEUES", "32", 0); /* a stream that waits shall not hold up others */
  HIP(hipGetDeviceCount(&count));
  if (dlsym(RTLD_DEFAULT, "softhsa_count") == NULL) {
    (void)fprintf(stderr, "stress: skipped: the host cannot read what is on this device\n");
    exit(77);
  }
  vendor_device_set(0);
  return count < most ? count : most;
}

void vendor_device_set(int device) { HIP(hipSetDevice(device)); }

wp_stream vendor_stream_create(int device) {
  hipStream_t stream = NULL;
  int before = 0;
  HIP(hipGetDevice(&before));
  HIP(hipSetDevice(device));
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  HIP(hipSetDevice(before));
  return stream;
}

void vendor_stream_destroy(wp_stream stream) { HIP(hipStreamDestroy(stream)); }
void vendor_stream_synchronize(wp_stream stream) { HIP(hipStreamSynchronize(stream)); }

void vendor_stream_wait(wp_stream stream, wp_stream other) {
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  HIP(hipEventRecord(event, other));
  HIP(hipStreamWaitEvent(stream, event, 0));
  HIP(hipEventDestroy(event));
}

#if HIP_VERSION < 50700000 /* 5.2.3 declares hipLaunchHostFunc and does not have it */
struct call {
  void (*function)(void *);
  void *argument;
};

static void make_call(hipStream_t stream, hipError_t error, void *argument) {
  struct call call = *(struct call *)argument;
  (void)stream, (void)error;
  free(argument);
  call.function(call.argument);
}
#endif

void vendor_launch(wp_stream stream, void (*function)(void *), void *argument) {
#if HIP_VERSION < 50700000
  struct call *call = host_memory(sizeof *call);
  *call = (struct call){function, argument};
  HIP(hipStreamAddCallback(stream, make_call, call, 0));
#else
  HIP(hipLaunchHostFunc(stream, function, argument));
#endif
}

void vendor_capture_begin(wp_stream stream) { HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal)); }

void *vendor_capture_end(wp_stream stream) {
  hipGraph_t graph = NULL;
  hipGraphExec_t executable = NULL;
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
  HIP(hipGraphDestroy(graph));
  return executable;
}

void vendor_graph_launch(void *graph, wp_stream stream) { HIP(hipGraphLaunch(graph, stream)); }
void vendor_graph_destroy(void *graph) { HIP(hipGraphExecDestroy(graph)); }
