/* SPDX-License-Identifier: Apache-2.0 */
/* The rig over HIP. AMD's runtime: on a GPU, or on the stand-in of tests/softhsa. CUDA's, on NVIDIA: on a GPU, or on
 * the stand-in of tests/cudart_sim. H9 and the like are the numbers of facts in docs/facts.md. */
#define _POSIX_C_SOURCE 200809L
#include "rig.h"

#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __HIP_PLATFORM_NVIDIA__
#include "hip_nvidia.h"
#define ON_AMD false
#else
#define ON_AMD true
#define HAS_STREAM_DEVICES (HIP_VERSION >= 60000000)
#endif

#define REQUIRE(call) require((call), #call)

static void die(const char *what, const char *why) {
  fprintf(stderr, "rig: %s: %s\n", what, why);
  abort();
}

static void require(hipError_t error, const char *call) {
  if (error != hipSuccess) die(call, hipGetErrorString(error));
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) die("malloc", "out of host memory");
  return memory;
}

/* Streams share a few queues, and one that is stalled holds up all others of its queue. A wait for a word shall be done
 * by the queue, not by a kernel. The runtime reads these at its first call; CUDA's driver the first. */
__attribute__((constructor)) static void set_up_runtime(void) {
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  (void)setenv("GPU_MAX_HW_QUEUES", "32", 0);
  (void)setenv("GPU_STREAMOPS_CP_WAIT", "1", 0);
}

static int runtime_version(void) {
  int version;
  REQUIRE(hipRuntimeGetVersion(&version));
  return version;
}

/* -- devices -- */

int rig_device_count(void) {
  int count;
  REQUIRE(hipGetDeviceCount(&count));
  return count;
}

int rig_device_current(void) {
  int device;
  REQUIRE(hipGetDevice(&device));
  return device;
}

void rig_device_set(int device) { REQUIRE(hipSetDevice(device)); }

/* Makes the stream's device the current one; returns what was. */
static int enter_device_of(hipStream_t stream) {
  int before = rig_device_current();
#if HAS_STREAM_DEVICES
  if ((uintptr_t)stream <= 2) return before; /* it is that of the current device */
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  if (!ON_AMD) (void)hipStreamIsCapturing(stream, &status);
  if (status != hipStreamCaptureStatusNone) return before; /* the question below would break the capture */
  int device;
  REQUIRE(hipStreamGetDevice(stream, &device));
  if (device != before) rig_device_set(device);
#else
  (void)stream; /* of the current device, then */
#endif
  return before;
}

/* -- holds: a queue waits for a word of its device's to reach a value. What another device has is not looked at -- */

#define WORDS 256u
#define DEVICES 8 /* whose words are told apart */

struct rig_hold {
  hipStream_t stream;
  int device;
  unsigned word;
  uint64_t value;
  struct rig_hold *next;
};

struct board {
  _Atomic uint64_t *words[WORDS];
  uint64_t wanted[WORDS]; /* what each will have to reach, or has reached */
  unsigned vacant[WORDS], vacant_count;
  bool is_set_up;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is below */
static struct board boards[DEVICES];
static rig_hold *holds;

/* Or the process would not end where a test has failed. */
static void release_all(void) {
  (void)pthread_mutex_lock(&lock);
  for (rig_hold *hold = holds; hold != NULL; hold = hold->next)
    atomic_store(boards[hold->device].words[hold->word], hold->value);
  (void)pthread_mutex_unlock(&lock);
}

static void release_all_at_exit(void) { (void)atexit(release_all); }

/* Until restore(), the captures of other threads and streams forbid this thread nothing. */
static hipStreamCaptureMode relax(void) {
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  REQUIRE(hipThreadExchangeStreamCaptureMode(&mode));
  return mode;
}

static void restore(hipStreamCaptureMode mode) { REQUIRE(hipThreadExchangeStreamCaptureMode(&mode)); }

/* Of the current device. With the lock. */
static void set_up_board(struct board *board) {
  hipStreamCaptureMode mode = relax();
  for (unsigned i = 0; i < WORDS; i++) {
    void *memory;
    REQUIRE(hipExtMallocWithFlags(&memory, sizeof *board->words[i], hipMallocSignalMemory));
    board->words[i] = memory;
    atomic_store(board->words[i], 0);
    board->vacant[board->vacant_count++] = i;
  }
  restore(mode);
  board->is_set_up = true;
}

rig_hold *rig_hold_stream(wp_stream stream) {
  rig_hold *hold = allocate(sizeof *hold);
  int before = enter_device_of(stream), device = ON_AMD ? rig_device_current() : 0; /* on NVIDIA words are for all */
  if (device >= DEVICES) die("rig_hold_stream", "too many devices");
  struct board *board = &boards[device];
  (void)pthread_mutex_lock(&lock);
  if (!board->is_set_up) set_up_board(board);
  if (board->vacant_count == 0) die("rig_hold_stream", "too many holds");
  *hold = (rig_hold){.stream = stream, .device = device, .word = board->vacant[--board->vacant_count], .next = holds};
  hold->value = ++board->wanted[hold->word];
  holds = hold;
  (void)pthread_mutex_unlock(&lock);
  (void)pthread_once(&once, release_all_at_exit); /* after the runtime has begun, so as to come before its end */
  REQUIRE(
      hipStreamWaitValue64(stream, (void *)board->words[hold->word], hold->value, hipStreamWaitValueGte, UINT64_MAX));
  rig_device_set(before);
  return hold;
}

void rig_release(rig_hold *hold) {
  struct board *board = &boards[hold->device];
  (void)pthread_mutex_lock(&lock);
  atomic_store(board->words[hold->word], hold->value);
  board->vacant[board->vacant_count++] = hold->word;
  rig_hold **link = &holds;
  while (*link != hold) link = &(*link)->next;
  *link = hold->next;
  (void)pthread_mutex_unlock(&lock);
  free(hold);
}

static bool is_held(hipStream_t stream) {
  (void)pthread_mutex_lock(&lock);
  rig_hold *hold = holds;
  while (hold != NULL && hold->stream != stream) hold = hold->next;
  (void)pthread_mutex_unlock(&lock);
  return hold != NULL;
}

/* -- streams -- */

static wp_stream create_stream(int device, unsigned flags) {
  int before = rig_device_current();
  hipStream_t stream;
  rig_device_set(device);
  REQUIRE(hipStreamCreateWithFlags(&stream, flags));
  rig_device_set(before);
  return stream;
}

wp_stream rig_stream_create(int device) { return create_stream(device, hipStreamNonBlocking); }
wp_stream rig_stream_create_blocking(int device) { return create_stream(device, hipStreamDefault); }
/* A thread of AMD's runtime marks what has finished: an event is seen to be complete a little later (H23). */
void rig_stream_synchronize(wp_stream stream) {
  const struct timespec pause = {0, 3000000};
  REQUIRE(hipStreamSynchronize(stream));
  if (ON_AMD) (void)nanosleep(&pause, NULL);
}

void rig_stream_destroy(wp_stream stream) {
  if (ON_AMD && is_held(stream)) die("hipStreamDestroy", "would wait for ever: the stream is held (H16)");
#ifdef WARMPOOL_RIG_FREED_BLOCKS_STAY
  if (ON_AMD &&
      runtime_version() < 50700000) { /* H9: it would not return where some pool has a freed block. H16: it waits */
    rig_stream_synchronize(stream);
    return;
  }
#endif
  REQUIRE(hipStreamDestroy(stream));
}

void rig_wait(wp_stream stream, wp_stream other) {
  int before = enter_device_of(other);
  hipEvent_t event;
  REQUIRE(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  REQUIRE(hipEventRecord(event, other));
  REQUIRE(hipStreamWaitEvent(stream, event, 0));
  REQUIRE(hipEventDestroy(event));
  rig_device_set(before);
}

/* -- work -- */

static void sleep_for(void *argument) {
  struct timespec time = *(struct timespec *)argument;
  free(argument);
  (void)nanosleep(&time, NULL);
}

#if HIP_VERSION < 50700000 /* 5.2.3 declares hipLaunchHostFunc and does not have it */
static void call_back(hipStream_t stream, hipError_t error, void *argument) {
  (void)stream;
  (void)error;
  sleep_for(argument);
}
#endif

void rig_busy(wp_stream stream, unsigned milliseconds) {
  struct timespec *time = allocate(sizeof *time);
  *time = (struct timespec){milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
#if HIP_VERSION < 50700000
  REQUIRE(hipStreamAddCallback(stream, call_back, time, 0));
#else
  REQUIRE(hipLaunchHostFunc(stream, sleep_for, time));
#endif
}

void rig_fill(wp_stream stream, void *to, int byte, size_t bytes) { REQUIRE(hipMemsetAsync(to, byte, bytes, stream)); }

void rig_copy(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream));
}

void rig_upload(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream));
}

void rig_download(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream));
}

void *rig_host_alloc(size_t bytes) {
  void *memory;
  hipStreamCaptureMode mode = relax();
  REQUIRE(hipHostMalloc(&memory, bytes, hipHostMallocPortable));
  restore(mode);
  return memory;
}

void rig_host_free(void *memory) {
  hipStreamCaptureMode mode = relax();
  REQUIRE(hipHostFree(memory));
  restore(mode);
}

void rig_read(wp_stream stream, void *to, const void *from, size_t bytes) {
  REQUIRE(hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream));
  rig_stream_synchronize(stream);
}

/* -- capture -- */

struct rig_graph {
  hipGraph_t graph;
  hipGraphExec_t executable;
};

void rig_capture_begin(wp_stream stream, rig_capture_mode mode) {
  static const hipStreamCaptureMode modes[] = {
      [RIG_CAPTURE_GLOBAL] = hipStreamCaptureModeGlobal,
      [RIG_CAPTURE_THREAD_LOCAL] = hipStreamCaptureModeThreadLocal,
      [RIG_CAPTURE_RELAXED] = hipStreamCaptureModeRelaxed,
  };
  REQUIRE(hipStreamBeginCapture(stream, modes[mode]));
}

rig_graph *rig_capture_end(wp_stream stream) {
  hipGraph_t captured = NULL;
  hipError_t error = hipStreamEndCapture(stream, &captured);
  if (error == hipErrorStreamCaptureInvalidated || error == hipErrorStreamCaptureUnjoined) {
    (void)hipGetLastError();
    return NULL;
  }
  require(error, "hipStreamEndCapture");
  rig_graph *graph = allocate(sizeof *graph);
  graph->graph = captured;
  hipStreamCaptureMode mode = relax(); /* or another capture that is open forbids it */
  REQUIRE(hipGraphInstantiate(&graph->executable, captured, NULL, NULL, 0));
  restore(mode);
  return graph;
}

rig_capture_state rig_capture_status(wp_stream stream) {
  hipStreamCaptureStatus status;
  REQUIRE(hipStreamIsCapturing(stream, &status));
  switch (status) {
  case hipStreamCaptureStatusNone: return RIG_CAPTURE_NONE;
  case hipStreamCaptureStatusActive: return RIG_CAPTURE_ACTIVE;
  default: return RIG_CAPTURE_INVALIDATED;
  }
}

bool rig_graph_launch(rig_graph *graph, wp_stream stream) {
  hipError_t error = hipGraphLaunch(graph->executable, stream);
  if (error == hipErrorInvalidValue) {
    (void)hipGetLastError();
    return false;
  }
  require(error, "hipGraphLaunch");
  return true;
}

void rig_graph_destroy(rig_graph *graph) {
  hipStreamCaptureMode mode = relax();
  REQUIRE(hipGraphExecDestroy(graph->executable));
  REQUIRE(hipGraphDestroy(graph->graph));
  restore(mode);
  free(graph);
}

/* -- what a pool maps -- */

size_t rig_shared_step(void) { return runtime_version() >= 70000000 ? (size_t)32 << 20 : 0; /* H4 */ }

/* -- the vendor's own -- */

int rig_last_error(void) { return (int)hipGetLastError(); }

bool rig_has_plain_memory(void) { return true; }

void *rig_plain_alloc(size_t bytes) {
  void *memory = NULL;
  hipError_t error = hipMalloc(&memory, bytes);
  if (error == hipErrorOutOfMemory) {
    (void)hipGetLastError();
    return NULL;
  }
  require(error, "hipMalloc");
  return memory;
}

void rig_plain_free(void *memory) { REQUIRE(hipFree(memory)); }
