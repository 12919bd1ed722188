/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

/* X(name, text) */
#define ERRORS(X)                                                                                                      \
  X(cudaSuccess, "no error")                                                                                           \
  X(cudaErrorInvalidValue, "invalid argument")                                                                         \
  X(cudaErrorMemoryAllocation, "out of memory")                                                                        \
  X(cudaErrorCudartUnloading, "driver shutting down")                                                                  \
  X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                              \
  X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                       \
  X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                                           \
  X(cudaErrorInvalidDevice, "invalid device ordinal")                                                                  \
  X(cudaErrorIllegalState, "the operation cannot be performed in the present state")                                   \
  X(cudaErrorNotReady, "device not ready")                                                                             \
  X(cudaErrorNotSupported, "operation not supported")                                                                  \
  X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")                             \
  X(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")                      \
  X(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences")                    \
  X(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")                           \
  X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                                              \
  X(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream")                        \
  X(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream")    \
  X(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream")                 \
  X(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread")

static _Thread_local cudaError_t slot;

cudaError_t sim_fail(cudaError_t error) {
  if (error != cudaSuccess) slot = error;
  return error;
}

static cudaError_t error_of(wp__host_result result) {
  switch (result) {
  case WP__HOST_SUCCESS: return cudaSuccess;
  case WP__HOST_INVALID_VALUE: return cudaErrorInvalidValue;
  case WP__HOST_OUT_OF_MEMORY:
  case WP__HOST_OUT_OF_HOST_MEMORY: return cudaErrorMemoryAllocation;
  case WP__HOST_NO_DEVICE: return cudaErrorNoDevice;
  case WP__HOST_INVALID_DEVICE: return cudaErrorInvalidDevice;
  case WP__HOST_NOT_SUPPORTED: return cudaErrorNotSupported;
  case WP__HOST_ILLEGAL_STATE: return cudaErrorIllegalState;
  case WP__HOST_CAPTURE_UNSUPPORTED: return cudaErrorStreamCaptureUnsupported;
  case WP__HOST_CAPTURE_INVALIDATED: return cudaErrorStreamCaptureInvalidated;
  case WP__HOST_CAPTURE_MERGE: return cudaErrorStreamCaptureMerge;
  case WP__HOST_CAPTURE_UNMATCHED: return cudaErrorStreamCaptureUnmatched;
  case WP__HOST_CAPTURE_UNJOINED: return cudaErrorStreamCaptureUnjoined;
  case WP__HOST_CAPTURE_ISOLATION: return cudaErrorStreamCaptureIsolation;
  case WP__HOST_CAPTURE_IMPLICIT: return cudaErrorStreamCaptureImplicit;
  case WP__HOST_CAPTURE_WRONG_THREAD: return cudaErrorStreamCaptureWrongThread;
  case WP__HOST_CAPTURED_EVENT: return cudaErrorCapturedEvent;
  }
  return cudaErrorUnknown;
}

static _Thread_local bool has_context;

bool sim_has_context(void) { return has_context; }

cudaError_t sim_finish(wp__host_result result) {
  if (result == WP__HOST_SUCCESS) has_context = true;
  return sim_fail(error_of(result));
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = slot;
  slot = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError(void) { return slot; }

const char *cudaGetErrorName(cudaError_t error) {
#define NAME(name, text)                                                                                               \
  case name: return #name;
  switch ((int)error) { ERRORS(NAME) }
#undef NAME
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
#define TEXT(name, text)                                                                                               \
  case name: return text;
  switch ((int)error) { ERRORS(TEXT) }
#undef TEXT
  return "unrecognized error code";
}
