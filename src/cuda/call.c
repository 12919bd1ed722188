/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

static _Thread_local cudaError_t last;
static _Thread_local const char *last_call;

static wp_status status_of(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
  case cudaErrorCudartUnloading: return WP_OK; /* the process ends, and its memory goes with it */
  case cudaErrorMemoryAllocation: return WP_ERROR_OUT_OF_MEMORY;
  case cudaErrorNoDevice:
  case cudaErrorInvalidDevice:
  case cudaErrorInsufficientDriver: return WP_ERROR_NO_DEVICE;
  case cudaErrorNotSupported: return WP_ERROR_NOT_SUPPORTED;
  case cudaErrorStreamCaptureUnsupported:
  case cudaErrorStreamCaptureInvalidated:
  case cudaErrorStreamCaptureMerge:
  case cudaErrorStreamCaptureUnmatched:
  case cudaErrorStreamCaptureUnjoined:
  case cudaErrorStreamCaptureIsolation:
  case cudaErrorStreamCaptureImplicit:
  case cudaErrorStreamCaptureWrongThread: return WP_ERROR_CAPTURING;
  default: return WP_ERROR_DRIVER;
  }
}

wp_status wp__cuda_finish(cudaError_t error, const char *call) {
  if (error == cudaSuccess) return WP_OK;
  /* The slot holds this error now: whoever looks there next did not cause it. */
  (void)cudaGetLastError();
  wp_status status = status_of(error);
  if (status == WP_OK) return WP_OK;
  last = error;
  last_call = call;
  return status;
}

void wp__cuda_last_error(void *self, wp_driver_error *out) {
  (void)self;
  *out = (wp_driver_error){0, "", "", ""};
  if (last == cudaSuccess) return;
  *out = (wp_driver_error){(int)last, last_call, cudaGetErrorName(last), cudaGetErrorString(last)};
}
