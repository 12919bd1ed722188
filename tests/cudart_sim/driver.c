/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the driver below the runtime. They want a context, which only the runtime gives. */
#include "sim.h"

#include <string.h>

static int answer(wp__host_result result) {
  switch (result) {
  case WP__HOST_SUCCESS: return SIM_DRIVER_SUCCESS;
  case WP__HOST_INVALID_VALUE: return SIM_DRIVER_INVALID_VALUE;
  case WP__HOST_CAPTURE_IMPLICIT: return cudaErrorStreamCaptureImplicit;
  default: return SIM_DRIVER_UNKNOWN;
  }
}

static int ctx_get_device(int *device) {
  if (!sim_has_context()) return SIM_DRIVER_INVALID_CONTEXT;
  return answer(wp__host_device_current(device));
}

static int thread_exchange_stream_capture_mode(enum cudaStreamCaptureMode *mode) {
  if (mode == NULL) return SIM_DRIVER_INVALID_VALUE;
  enum wp__host_capture_mode exchanged = (enum wp__host_capture_mode) * mode;
  wp__host_result result = wp__host_capture_exchange_mode(&exchanged);
  if (result == WP__HOST_SUCCESS) *mode = (enum cudaStreamCaptureMode)exchanged;
  return answer(result);
}

static int stream_is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out) {
  enum wp__host_capture_state state;
  if (!sim_has_context()) return SIM_DRIVER_INVALID_CONTEXT;
  if (out == NULL) return SIM_DRIVER_INVALID_VALUE;
  wp__host_result result = wp__host_capture_status(stream, &state);
  if (result == WP__HOST_SUCCESS) *out = (enum cudaStreamCaptureStatus)state;
  return answer(result);
}

#if CUDART_VERSION >= 12000
static int stream_get_id(cudaStream_t stream, unsigned long long *id) {
  if (!sim_has_context()) return SIM_DRIVER_INVALID_CONTEXT;
  cudaError_t error = cudaStreamGetId(stream, id);
  if (error == cudaSuccess) return SIM_DRIVER_SUCCESS;
  (void)cudaGetLastError();
  return (int)error;
}
#endif

/* X(name, function) */
#if CUDART_VERSION >= 12000
#define WITH_ID(X) X("cuStreamGetId", stream_get_id)
#else
#define WITH_ID(X)
#endif
#define FUNCTIONS(X)                                                                                                   \
  X("cuStreamWaitValue32", sim_stream_wait_value_32)                                                                   \
  X("cuCtxGetDevice", ctx_get_device)                                                                                  \
  X("cuThreadExchangeStreamCaptureMode", thread_exchange_stream_capture_mode)                                          \
  X("cuStreamIsCapturing", stream_is_capturing)                                                                        \
  WITH_ID(X)

void *sim_driver_function(const char *name) {
  void *out = NULL;
  void (*any)(void);
#define COPY(its_name, function)                                                                                       \
  if (strcmp(name, its_name) == 0) {                                                                                   \
    any = (void (*)(void))(function);                                                                                  \
    (void)memcpy(&out, &any, sizeof out);                                                                              \
  }
  FUNCTIONS(COPY)
#undef COPY
  return out;
}
