/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent to a stream. */
#include <string.h>
#include <time.h>

#include "sim.h"

struct work {
  void *to;
  const void *from;
  int byte;
  size_t bytes;
  cudaHostFn_t function;
  void *argument;
  _Atomic uint32_t *word;
  uint32_t value;
  unsigned flags;
};

static wp__host_result submit(cudaStream_t stream, void (*function)(void *), const struct work *work) {
  struct work *copy = wp__os_calloc(1, sizeof *copy);
  if (copy == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  *copy = *work;
  wp__host_result result = wp__host_submit(stream, function, wp__os_free, copy);
  if (result != WP__HOST_SUCCESS) wp__os_free(copy);
  return result;
}

static void fill(void *argument) {
  const struct work *work = argument;
  (void)memset(work->to, work->byte, work->bytes);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  return sim_finish(submit(stream, fill, &(struct work){.to = to, .byte = byte, .bytes = bytes}));
}

static void copy(void *argument) {
  const struct work *work = argument;
  (void)memmove(work->to, work->from, work->bytes);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  if ((unsigned)kind > cudaMemcpyDefault) return sim_fail(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  return sim_finish(submit(stream, copy, &(struct work){.to = to, .from = from, .bytes = bytes}));
}

static void call(void *argument) {
  const struct work *work = argument;
  work->function(work->argument);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
  if (function == NULL) return sim_fail(cudaErrorInvalidValue);
  return sim_finish(submit(stream, call, &(struct work){.function = function, .argument = argument}));
}

/* -- the driver's wait for a word: greater or equal by signed difference, or equal -- */

enum { WAIT_VALUE_GEQ = 0, WAIT_VALUE_EQ = 1 };

static bool has_arrived(const struct work *work) {
  uint32_t found = atomic_load(work->word);
  return work->flags == WAIT_VALUE_EQ ? found == work->value : (int32_t)(found - work->value) >= 0;
}

static void await_word(void *argument) {
  const struct timespec pause = {0, 20000};
  while (!has_arrived(argument)) (void)nanosleep(&pause, NULL);
}

int sim_stream_wait_value_32(cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags) {
  if (address == 0 || address % sizeof value != 0 || flags > WAIT_VALUE_EQ) return SIM_DRIVER_INVALID_VALUE;
  struct work work = {.word = (_Atomic uint32_t *)(uintptr_t)address, .value = value, .flags = flags};
  wp__host_result result = submit(stream, await_word, &work);
  if (result == WP__HOST_SUCCESS) return SIM_DRIVER_SUCCESS;
  return result == WP__HOST_INVALID_VALUE ? SIM_DRIVER_INVALID_VALUE : SIM_DRIVER_UNKNOWN;
}
