/* SPDX-License-Identifier: Apache-2.0 */
#include "warmpool/host.h"

#include "engine.h"

static wp_status status_of(wp__host_result result) {
  switch (result) {
  case WP__HOST_SUCCESS: return WP_OK;
  case WP__HOST_INVALID_VALUE: return WP_ERROR_INVALID_ARGUMENT;
  case WP__HOST_OUT_OF_MEMORY: return WP_ERROR_OUT_OF_MEMORY;
  case WP__HOST_OUT_OF_HOST_MEMORY: return WP_ERROR_OUT_OF_HOST_MEMORY;
  case WP__HOST_NO_DEVICE:
  case WP__HOST_INVALID_DEVICE: return WP_ERROR_NO_DEVICE;
  case WP__HOST_NOT_SUPPORTED: return WP_ERROR_NOT_SUPPORTED;
  default: return WP_ERROR_DRIVER;
  }
}

wp_status wp_host_stream_create(int device, wp_stream *out) { return status_of(wp__host_stream_create(device, out)); }
wp_status wp_host_stream_destroy(wp_stream stream) { return status_of(wp__host_stream_destroy(stream)); }
wp_status wp_host_stream_synchronize(wp_stream stream) { return status_of(wp__host_stream_synchronize(stream)); }

wp_status wp_host_launch(wp_stream stream, wp_host_function *function, void *argument) {
  return status_of(wp__host_launch(stream, function, argument));
}

wp_status wp_host_stream_wait(wp_stream stream, wp_stream other) {
  return status_of(wp__host_stream_join(stream, other));
}

wp_status wp_host_device_set(int device) { return status_of(wp__host_device_set(device)); }
