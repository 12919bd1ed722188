/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

wp_status wp__host_status(wp__host_result result) {
  switch (result) {
  case WP__HOST_SUCCESS: return WP_OK;
  case WP__HOST_OUT_OF_MEMORY: return WP_ERROR_OUT_OF_MEMORY;
  case WP__HOST_OUT_OF_HOST_MEMORY: return WP_ERROR_OUT_OF_HOST_MEMORY;
  case WP__HOST_NO_DEVICE:
  case WP__HOST_INVALID_DEVICE: return WP_ERROR_NO_DEVICE;
  case WP__HOST_NOT_SUPPORTED: return WP_ERROR_NOT_SUPPORTED;
  case WP__HOST_CAPTURE_UNSUPPORTED:
  case WP__HOST_CAPTURE_INVALIDATED:
  case WP__HOST_CAPTURE_MERGE:
  case WP__HOST_CAPTURE_UNMATCHED:
  case WP__HOST_CAPTURE_UNJOINED:
  case WP__HOST_CAPTURE_ISOLATION:
  case WP__HOST_CAPTURE_IMPLICIT:
  case WP__HOST_CAPTURE_WRONG_THREAD: return WP_ERROR_CAPTURING;
  default: return WP_ERROR_DRIVER;
  }
}
