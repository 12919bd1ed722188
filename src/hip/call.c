/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

static _Thread_local hipError_t last;
static _Thread_local const char *last_call;

static wp_status status_of(hipError_t error) {
  switch (error) {
  case hipSuccess:
  case hipErrorDeinitialized: return WP_OK; /* the process ends, and its memory goes with it */
  case hipErrorOutOfMemory: return WP_ERROR_OUT_OF_MEMORY;
  case hipErrorNoDevice:
  case hipErrorInvalidDevice:
  case hipErrorInsufficientDriver: return WP_ERROR_NO_DEVICE;
  case hipErrorNotSupported: return WP_ERROR_NOT_SUPPORTED;
  case hipErrorStreamCaptureUnsupported:
  case hipErrorStreamCaptureInvalidated:
  case hipErrorStreamCaptureMerge:
  case hipErrorStreamCaptureUnmatched:
  case hipErrorStreamCaptureUnjoined:
  case hipErrorStreamCaptureIsolation:
  case hipErrorStreamCaptureImplicit:
  case hipErrorStreamCaptureWrongThread:
  case hipErrorCapturedEvent: return WP_ERROR_CAPTURING; /* H18 */
  default: return WP_ERROR_DRIVER;
  }
}

wp_status wp__hip_finish(hipError_t error, const char *call) {
  if (error == hipSuccess) return WP_OK;
  /* The slot holds this error now: whoever looks there next did not cause it. */
  (void)hipGetLastError();
  wp_status status = status_of(error);
  if (status == WP_OK) return WP_OK;
  last = error;
  last_call = call;
  return status;
}

void wp__hip_last_error(void *self, wp_driver_error *out) {
  (void)self;
  *out = (wp_driver_error){0, "", "", ""};
  if (last == hipSuccess) return;
  *out = (wp_driver_error){(int)last, last_call, hipGetErrorName(last), hipGetErrorString(last)};
}
