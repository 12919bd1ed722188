/* SPDX-License-Identifier: Apache-2.0 */
/* What hip.c needs of HIP besides what its header for NVIDIA has in C: words that a stream can wait for, and a stream's
 * device. */
#ifndef WARMPOOL_TESTS_RIG_HIP_NVIDIA_H
#define WARMPOOL_TESTS_RIG_HIP_NVIDIA_H

#include <hip/hip_runtime_api.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The header's own makes the stream's context the current one, with functions of the driver that nothing here links. */
#define HAS_STREAM_DEVICES (CUDART_VERSION >= 12080)
#define hipStreamGetDevice(stream, device) hipCUDAErrorTohipError(cudaStreamGetDevice(stream, device))

/* Host memory that every device sees at the host's address. To get some may wait for all work of a device. */
#define hipMallocSignalMemory (cudaHostAllocPortable | cudaHostAllocMapped)
static inline hipError_t hipExtMallocWithFlags(void **memory, size_t bytes, unsigned flags) {
  return hipCUDAErrorTohipError(cudaHostAlloc(memory, bytes, flags));
}

typedef int rig_wait_function(hipStream_t stream, unsigned long long address, uint32_t value, unsigned flags);

static inline rig_wait_function *rig_find_wait_function(void) {
  static _Atomic(rig_wait_function *) known; /* of two threads that come at once both find the same */
  rig_wait_function *function = atomic_load(&known);
  if (function != NULL) return function;
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
#if CUDART_VERSION >= 12050
  (void)cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", (void **)&function, 12000, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
  (void)cudaGetDriverEntryPoint("cuStreamWaitValue32", (void **)&function, cudaEnableDefault, &found);
#else
  (void)cudaGetDriverEntryPoint("cuStreamWaitValue32", (void **)&function, cudaEnableDefault);
#endif
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  if (found != cudaDriverEntryPointSuccess) return NULL;
  atomic_store(&known, function);
  return function;
}

/* The lower halves are compared, which is all of what counts up from 1, and what tests/cudart_sim can wait for. */
static inline hipError_t hipStreamWaitValue64(hipStream_t stream, void *word, uint64_t value, unsigned flags,
                                              uint64_t mask) {
  rig_wait_function *wait_for_word = rig_find_wait_function();
  (void)mask; /* all of it */
  if (wait_for_word == NULL) return hipErrorNotSupported;
  int error = wait_for_word(stream, (uintptr_t)word, (uint32_t)value, flags);
  return error == 0 ? hipSuccess : hipErrorUnknown;
}

#endif
