/* SPDX-License-Identifier: Apache-2.0 */
/* The rig over the CUDA runtime: NVIDIA's own on a GPU, or the stand-in of tests/cudart_sim. */
#define _POSIX_C_SOURCE 200809L
#include "rig.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUIRE(call) require((call), #call)

static void die(const char *what, const char *why) {
  fprintf(stderr, "rig: %s: %s\n", what, why);
  abort();
}

static void require(cudaError_t error, const char *call) {
  if (error != cudaSuccess) die(call, cudaGetErrorString(error));
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) die("malloc", "out of host memory");
  return memory;
}

/* The streams of a GPU share a few queues, and one that is stalled holds up all others of its queue. The driver reads
 * this, the most it has, before main. */
__attribute__((constructor)) static void ask_for_queues(void) { (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

/* -- devices -- */

int rig_device_count(void) {
  int count;
  REQUIRE(cudaGetDeviceCount(&count));
  return count;
}

int rig_device_current(void) {
  int device;
  REQUIRE(cudaGetDevice(&device));
  return device;
}

void rig_device_set(int device) { REQUIRE(cudaSetDevice(device)); }

/* Makes the stream's device the current one; returns what was. */
static int enter_device_of(cudaStream_t stream) {
  int before = rig_device_current();
#if CUDART_VERSION >= 12080
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  (void)cudaStreamIsCapturing(stream, &status);
  if (status != cudaStreamCaptureStatusNone) return before; /* the question below would break the capture */
  int device;
  REQUIRE(cudaStreamGetDevice(stream, &device));
  if (device != before) rig_device_set(device);
#else
  (void)stream; /* of the current device, then */
#endif
  return before;
}

/* Until restore(), the captures of other threads and streams forbid this thread nothing. */
static enum cudaStreamCaptureMode relax(void) {
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
  return mode;
}

static void restore(enum cudaStreamCaptureMode mode) { REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode)); }

/* -- streams -- */

static wp_stream create_stream(int device, unsigned flags) {
  int before = rig_device_current();
  cudaStream_t stream;
  rig_device_set(device);
  REQUIRE(cudaStreamCreateWithFlags(&stream, flags));
  rig_device_set(before);
  return stream;
}

wp_stream rig_stream_create(int device) { return create_stream(device, cudaStreamNonBlocking); }
wp_stream rig_stream_create_blocking(int device) { return create_stream(device, cudaStreamDefault); }
void rig_stream_destroy(wp_stream stream) { REQUIRE(cudaStreamDestroy(stream)); }
void rig_stream_synchronize(wp_stream stream) { REQUIRE(cudaStreamSynchronize(stream)); }

void rig_wait(wp_stream stream, wp_stream other) {
  int before = enter_device_of(other);
  cudaEvent_t event;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  REQUIRE(cudaEventRecord(event, other));
  REQUIRE(cudaStreamWaitEvent(stream, event, 0));
  REQUIRE(cudaEventDestroy(event));
  rig_device_set(before);
}

/* -- holds: a stream waits for a word of host memory to reach a value. Host functions would not do: CUDA runs those of
 * all streams one after another -- */

#define WORDS 4096u
#define WAIT_FOR_AT_LEAST 0u

typedef int wait_function(cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags);

struct rig_hold {
  unsigned word;
  uint32_t value;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is below */
static wait_function *wait_for_word;
static _Atomic uint32_t *words;          /* as the host sees them: what each has reached */
static unsigned long long words_address; /* as the devices do */
static uint32_t wanted[WORDS];           /* what each will have to reach, or has reached */
static unsigned vacant[WORDS], vacant_count;

static void find_driver_function(void **out) {
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  *out = NULL;
#if CUDART_VERSION >= 12050
  REQUIRE(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", out, 12000, cudaEnableDefault, &found));
#elif CUDART_VERSION >= 12000
  REQUIRE(cudaGetDriverEntryPoint("cuStreamWaitValue32", out, cudaEnableDefault, &found));
#else
  REQUIRE(cudaGetDriverEntryPoint("cuStreamWaitValue32", out, cudaEnableDefault));
#endif
  if (*out == NULL || found != cudaDriverEntryPointSuccess) die("cuStreamWaitValue32", "the driver has none");
}

/* Or the process would not end where a test has failed. */
static void release_all(void) {
  (void)pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < WORDS; i++) atomic_store(&words[i], wanted[i]);
  (void)pthread_mutex_unlock(&lock);
}

/* Before the first hold: getting such memory may wait for all work of the device. */
static void set_up_holds(void) {
  enum cudaStreamCaptureMode mode = relax();
  void *memory = NULL, *address = NULL;
  find_driver_function((void **)&wait_for_word);
  REQUIRE(cudaHostAlloc(&memory, WORDS * sizeof *words, cudaHostAllocPortable | cudaHostAllocMapped));
  REQUIRE(cudaHostGetDevicePointer(&address, memory, 0));
  restore(mode);
  words = memory;
  words_address = (uintptr_t)address;
  for (unsigned i = 0; i < WORDS; i++) {
    atomic_store(&words[i], 0);
    vacant[vacant_count++] = i;
  }
  (void)atexit(release_all);
}

rig_hold *rig_hold_stream(wp_stream stream) {
  rig_hold *hold = allocate(sizeof *hold);
  (void)pthread_once(&once, set_up_holds);
  (void)pthread_mutex_lock(&lock);
  if (vacant_count == 0) die("rig_hold_stream", "too many holds");
  hold->word = vacant[--vacant_count];
  hold->value = ++wanted[hold->word];
  (void)pthread_mutex_unlock(&lock);
  int error = wait_for_word(stream, words_address + hold->word * sizeof *words, hold->value, WAIT_FOR_AT_LEAST);
  if (error != 0) die("cuStreamWaitValue32", "failed");
  return hold;
}

void rig_release(rig_hold *hold) {
  (void)pthread_mutex_lock(&lock);
  atomic_store(&words[hold->word], hold->value);
  vacant[vacant_count++] = hold->word;
  (void)pthread_mutex_unlock(&lock);
  free(hold);
}

static void sleep_for(void *argument) {
  struct timespec time = *(struct timespec *)argument;
  free(argument);
  (void)nanosleep(&time, NULL);
}

/* No hold with a timer: a thread that has pool memory on its own stream, and ends while that stands at such a wait,
 * never ends (driver 580.159). Functions on the host run one after the other, which does no harm here, for they end. */
void rig_busy(wp_stream stream, unsigned milliseconds) {
  struct timespec *time = allocate(sizeof *time);
  *time = (struct timespec){milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
  REQUIRE(cudaLaunchHostFunc(stream, sleep_for, time));
}

/* -- work -- */

void rig_fill(wp_stream stream, void *to, int byte, size_t bytes) { REQUIRE(cudaMemsetAsync(to, byte, bytes, stream)); }

void rig_copy(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

void rig_upload(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

void rig_download(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
}

void *rig_host_alloc(size_t bytes) {
  void *memory;
  enum cudaStreamCaptureMode mode = relax();
  REQUIRE(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
  restore(mode);
  return memory;
}

void rig_host_free(void *memory) {
  enum cudaStreamCaptureMode mode = relax();
  REQUIRE(cudaFreeHost(memory));
  restore(mode);
}

void rig_read(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  rig_stream_synchronize(stream);
}

/* -- capture -- */

struct rig_graph {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
};

void rig_capture_begin(wp_stream stream, rig_capture_mode mode) {
  static const enum cudaStreamCaptureMode modes[] = {
      [RIG_CAPTURE_GLOBAL] = cudaStreamCaptureModeGlobal,
      [RIG_CAPTURE_THREAD_LOCAL] = cudaStreamCaptureModeThreadLocal,
      [RIG_CAPTURE_RELAXED] = cudaStreamCaptureModeRelaxed,
  };
  REQUIRE(cudaStreamBeginCapture(stream, modes[mode]));
}

rig_graph *rig_capture_end(wp_stream stream) {
  cudaGraph_t captured = NULL;
  cudaError_t error = cudaStreamEndCapture(stream, &captured);
  if (error == cudaErrorStreamCaptureInvalidated || error == cudaErrorStreamCaptureUnjoined) {
    (void)cudaGetLastError();
    return NULL;
  }
  require(error, "cudaStreamEndCapture");
  rig_graph *graph = allocate(sizeof *graph);
  graph->graph = captured;
  enum cudaStreamCaptureMode mode = relax(); /* or another capture that is open forbids it */
  REQUIRE(cudaGraphInstantiateWithFlags(&graph->executable, captured, 0));
  restore(mode);
  return graph;
}

rig_capture_state rig_capture_status(wp_stream stream) {
  enum cudaStreamCaptureStatus status;
  REQUIRE(cudaStreamIsCapturing(stream, &status));
  switch (status) {
  case cudaStreamCaptureStatusNone: return RIG_CAPTURE_NONE;
  case cudaStreamCaptureStatusActive: return RIG_CAPTURE_ACTIVE;
  default: return RIG_CAPTURE_INVALIDATED;
  }
}

bool rig_graph_launch(rig_graph *graph, wp_stream stream) {
  cudaError_t error = cudaGraphLaunch(graph->executable, stream);
  if (error == cudaErrorInvalidValue) {
    (void)cudaGetLastError();
    return false;
  }
  require(error, "cudaGraphLaunch");
  return true;
}

void rig_graph_destroy(rig_graph *graph) {
  enum cudaStreamCaptureMode mode = relax();
  REQUIRE(cudaGraphExecDestroy(graph->executable));
  REQUIRE(cudaGraphDestroy(graph->graph));
  restore(mode);
  free(graph);
}

/* -- what a pool maps -- */

size_t rig_shared_step(void) { return 0; }

/* -- the vendor's own -- */

int rig_last_error(void) { return (int)cudaGetLastError(); }

bool rig_has_plain_memory(void) { return true; }

void *rig_plain_alloc(size_t bytes) {
  void *memory = NULL;
  cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return NULL;
  }
  require(error, "cudaMalloc");
  return memory;
}

void rig_plain_free(void *memory) { REQUIRE(cudaFree(memory)); }
