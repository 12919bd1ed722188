/* SPDX-License-Identifier: Apache-2.0 */
#include "warmpool/host.h"

#include "engine.h"
#include "status.h"

/* Here the caller has made the call, and what it has named. */
static wp_status answer(wp__host_result result) {
  return result == WP__HOST_INVALID_VALUE ? WP_ERROR_INVALID_ARGUMENT : wp__host_status(result);
}

wp_status wp_host_stream_create(int device, wp_stream *out) { return answer(wp__host_stream_create(device, out)); }
wp_status wp_host_stream_destroy(wp_stream stream) { return answer(wp__host_stream_destroy(stream)); }
wp_status wp_host_stream_synchronize(wp_stream stream) { return answer(wp__host_stream_synchronize(stream)); }

wp_status wp_host_launch(wp_stream stream, wp_host_function *function, void *argument) {
  return answer(wp__host_launch(stream, function, argument));
}

wp_status wp_host_stream_wait(wp_stream stream, wp_stream other) { return answer(wp__host_stream_join(stream, other)); }
wp_status wp_host_device_set(int device) { return answer(wp__host_device_set(device)); }

/* -- captures and graphs: the modes are the same numbers in both -- */

_Static_assert((int)WP_HOST_CAPTURE_GLOBAL == WP__HOST_CAPTURE_GLOBAL, "the mode is passed on");
_Static_assert((int)WP_HOST_CAPTURE_THREAD_LOCAL == WP__HOST_CAPTURE_THREAD_LOCAL, "the mode is passed on");
_Static_assert((int)WP_HOST_CAPTURE_RELAXED == WP__HOST_CAPTURE_RELAXED, "the mode is passed on");

wp_status wp_host_capture_begin(wp_stream stream, wp_host_capture_mode mode) {
  wp__host_result result = wp__host_capture_begin(stream, (enum wp__host_capture_mode)mode);
  switch (result) {
  case WP__HOST_ILLEGAL_STATE: return WP_ERROR_CAPTURING;
  case WP__HOST_CAPTURE_UNSUPPORTED: return WP_ERROR_NOT_SUPPORTED; /* of the legacy stream */
  default: return answer(result);
  }
}

wp_status wp_host_capture_end(wp_stream stream, wp_host_graph *out) {
  wp__host_result result = wp__host_capture_end(stream, out);
  return result == WP__HOST_ILLEGAL_STATE ? WP_ERROR_INVALID_ARGUMENT : answer(result);
}

wp_status wp_host_graph_instantiate(wp_host_graph graph, wp_host_executable *out) {
  return answer(wp__host_graph_instantiate(graph, out));
}

wp_status wp_host_graph_launch(wp_host_executable executable, wp_stream stream) {
  return answer(wp__host_executable_launch(executable, stream));
}

wp_status wp_host_executable_destroy(wp_host_executable executable) {
  return answer(wp__host_executable_destroy(executable));
}

wp_status wp_host_graph_destroy(wp_host_graph graph) { return answer(wp__host_graph_destroy(graph)); }
