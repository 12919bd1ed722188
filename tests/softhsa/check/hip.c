/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's HIP runtime on the stand-in: what a test of the library above it needs. A plain program, because the newer
 * runtimes bring a C library of their own along, with which Criterion does not run.
 */
#include <hip/hip_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softhsa.h"

#define BYTES ((size_t)1 << 20)

static int failures;

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      ++failures;                                                                                                      \
      (void)printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
    }                                                                                                                  \
  } while (0)
#define RUN(call) CHECK((call) == hipSuccess)

static hipStream_t stream_create(void) {
  hipStream_t stream = NULL;
  RUN(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

static hipMemPool_t pool_create(void) {
  hipMemPoolProps properties;
  memset(&properties, 0, sizeof properties);
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  hipMemPool_t pool = NULL;
  RUN(hipMemPoolCreate(&pool, &properties));
  uint64_t keep = UINT64_MAX;
  RUN(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep));
  return pool;
}

static void *allocate(hipMemPool_t pool, size_t bytes, hipStream_t stream) {
  void *memory = NULL;
  RUN(hipMallocFromPoolAsync(&memory, bytes, pool, stream));
  return memory;
}

static bool is_filled(const unsigned char *bytes, size_t count, unsigned char value) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

static bool holds(const void *memory, size_t bytes, unsigned char value, hipStream_t stream) {
  unsigned char *copy = malloc(bytes);
  memset(copy, value + 1, bytes);
  RUN(hipMemcpyAsync(copy, memory, bytes, hipMemcpyDeviceToHost, stream));
  RUN(hipStreamSynchronize(stream));
  bool is_equal = is_filled(copy, bytes, value);
  free(copy);
  return is_equal;
}

/* -- checks -- */

static void bytes_go_where_they_should(void) {
  static const size_t sizes[] = {1, 3, 100, 4099, 20000, BYTES, BYTES + 7};
  hipStream_t stream = stream_create();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    size_t bytes = sizes[i];
    char *first = NULL, *second = NULL;
    RUN(hipMalloc((void **)&first, bytes + 64));
    RUN(hipMalloc((void **)&second, bytes + 64));
    RUN(hipMemsetAsync(first, 7, bytes + 64, stream));
    RUN(hipMemsetAsync(first, 9, bytes, stream));
    RUN(hipMemsetAsync(second, 1, bytes + 64, stream));
    RUN(hipMemcpyAsync(second, first, bytes, hipMemcpyDeviceToDevice, stream));
    CHECK(holds(first, bytes, 9, stream) && holds(first + bytes, 64, 7, stream));
    CHECK(holds(second, bytes, 9, stream) && holds(second + bytes, 64, 1, stream));
    RUN(hipFree(first));
    RUN(hipFree(second));
  }
  CHECK(softhsa_count(SOFTHSA_KERNELS) != 0 && softhsa_count(SOFTHSA_COPIES) != 0);
  CHECK(softhsa_count(SOFTHSA_IGNORED_KERNELS) == 0);
  RUN(hipStreamDestroy(stream));
}

static void rows_go_where_they_should(void) {
  hipStream_t stream = stream_create();
  unsigned char *first = NULL, *second = NULL, host[64 * 8];
  RUN(hipMalloc((void **)&first, sizeof host));
  RUN(hipMalloc((void **)&second, sizeof host));
  RUN(hipMemsetAsync(first, 1, sizeof host, stream));
  RUN(hipMemset2DAsync(first, 64, 2, 33, 7, stream));
  RUN(hipMemcpy2DAsync(second, 64, first, 64, 33, 7, hipMemcpyDeviceToDevice, stream));
  RUN(hipMemcpy2DAsync(host, 40, second, 64, 33, 7, hipMemcpyDeviceToHost, stream));
  RUN(hipStreamSynchronize(stream));
  for (size_t row = 0; row < 7; ++row) CHECK(is_filled(host + row * 40, 33, 2));
  CHECK(holds(first + 33, 64 - 33, 1, stream));
  RUN(hipFree(first));
  RUN(hipFree(second));
  RUN(hipStreamDestroy(stream));
}

/* 6.4.3 keeps a block for a moment longer than the pool's own figures say, now and then: until the thread that is told
 * of finished commands has let go of the last one that used it. */
static bool device_bytes_come_to(uint64_t bytes) {
  for (int i = 0; i < 10000 && softhsa_device_bytes(0) != bytes; ++i) (void)usleep(1000);
  return softhsa_device_bytes(0) == bytes;
}

static void a_pool_allocates_and_gives_back(void) {
  hipStream_t stream = stream_create();
  hipMemPool_t pool = pool_create();
  uint64_t before = softhsa_device_bytes(0), allocations = softhsa_count(SOFTHSA_DEVICE_ALLOCATIONS);
  void *memory = allocate(pool, BYTES, stream);
  RUN(hipMemsetAsync(memory, 5, BYTES, stream));
  CHECK(holds(memory, BYTES, 5, stream));
  CHECK(softhsa_device_bytes(0) >= before + BYTES);
  CHECK(softhsa_count(SOFTHSA_DEVICE_ALLOCATIONS) > allocations);
  RUN(hipFreeAsync(memory, stream));
  RUN(hipStreamSynchronize(stream));
  RUN(hipMemPoolTrimTo(pool, 0));
  CHECK(device_bytes_come_to(before));
  RUN(hipMemPoolDestroy(pool));
  RUN(hipStreamDestroy(stream));
}

static void streams_wait_for_events(void) {
  hipStream_t first = stream_create(), second = stream_create();
  hipEvent_t event = NULL;
  uint32_t *gate = NULL;
  void *memory = NULL;
  RUN(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  RUN(hipHostMalloc((void **)&gate, 64, 0));
  RUN(hipMalloc(&memory, BYTES));
  gate[0] = gate[1] = 0;
  RUN(hipStreamWaitValue32(first, gate, 1, hipStreamWaitValueEq, UINT32_MAX));
  RUN(hipMemsetAsync(memory, 1, BYTES, first));
  RUN(hipEventRecord(event, first));
  RUN(hipStreamWriteValue32(first, gate + 1, 5, 0));
  RUN(hipStreamWaitEvent(second, event, 0));
  RUN(hipMemsetAsync(memory, 2, BYTES, second));
  CHECK(hipStreamQuery(first) == hipErrorNotReady);
  CHECK(hipStreamQuery(second) == hipErrorNotReady);
  CHECK(hipEventQuery(event) == hipErrorNotReady);
  CHECK(__atomic_load_n(&gate[1], __ATOMIC_SEQ_CST) == 0);
  __atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
  RUN(hipEventSynchronize(event));
  CHECK(holds(memory, BYTES, 2, second));
  RUN(hipStreamSynchronize(first));
  CHECK(gate[1] == 5);
  RUN(hipFree(memory));
  RUN(hipHostFree(gate));
  RUN(hipEventDestroy(event));
  RUN(hipStreamDestroy(first));
  RUN(hipStreamDestroy(second));
}

static void add_one(hipStream_t stream, hipError_t error, void *number) {
  (void)stream;
  (void)error;
  (void)__atomic_add_fetch((int *)number, 1, __ATOMIC_SEQ_CST);
}

static void held_work_stays_pending(void) {
  hipStream_t first = stream_create(), second = stream_create();
  void *of_first = NULL, *of_second = NULL;
  int calls = 0;
  RUN(hipMalloc(&of_first, BYTES));
  RUN(hipMalloc(&of_second, BYTES));
  RUN(hipMemsetAsync(of_first, 1, BYTES, first));
  uint64_t queue = softhsa_queue_rung();
  RUN(hipMemsetAsync(of_second, 1, BYTES, second));
  CHECK(softhsa_queue_rung() != queue);
  RUN(hipDeviceSynchronize());
  CHECK(softhsa_hold_queue(queue, true));
  RUN(hipMemsetAsync(of_first, 2, BYTES, first));
  RUN(hipStreamAddCallback(first, add_one, &calls, 0));
  RUN(hipMemsetAsync(of_second, 2, BYTES, second));
  CHECK(holds(of_second, BYTES, 2, second));
  CHECK(hipStreamQuery(first) == hipErrorNotReady);
  CHECK(is_filled(of_first, BYTES, 1)); /* device memory is the host's here */
  CHECK(softhsa_pending() != 0 && __atomic_load_n(&calls, __ATOMIC_SEQ_CST) == 0);
  CHECK(softhsa_hold_queue(queue, false));
  CHECK(holds(of_first, BYTES, 2, first));
  CHECK(calls == 1);
  softhsa_hold(true);
  RUN(hipMemsetAsync(of_second, 3, BYTES, second));
  CHECK(hipStreamQuery(second) == hipErrorNotReady);
  softhsa_hold(false);
  CHECK(holds(of_second, BYTES, 3, second));
  RUN(hipFree(of_first));
  RUN(hipFree(of_second));
  RUN(hipStreamDestroy(first));
  RUN(hipStreamDestroy(second));
}

static void memory_can_run_out(void) {
  void *memory = NULL;
  softhsa_fail_allocation(1);
  CHECK(hipMalloc(&memory, 4 * BYTES) == hipErrorOutOfMemory);
  RUN(hipMalloc(&memory, 4 * BYTES));
  RUN(hipFree(memory));
  (void)hipGetLastError();
}

static int without_a_gpu(void) {
  int devices = 0;
  hipStream_t stream;
  void *memory;
  CHECK(hipGetDeviceCount(&devices) == hipErrorNoDevice);
  CHECK(hipStreamCreate(&stream) != hipSuccess);
  CHECK(hipMalloc(&memory, 1) != hipSuccess);
  return failures == 0 ? 0 : 1;
}

int main(void) {
  const char *gpus = getenv("SOFTHSA_GPUS");
  if (gpus != NULL && strcmp(gpus, "0") == 0) return without_a_gpu();
  bytes_go_where_they_should();
  rows_go_where_they_should();
  a_pool_allocates_and_gives_back();
  streams_wait_for_events();
  held_work_stays_pending();
  memory_can_run_out();
  return failures == 0 ? 0 : 1;
}
