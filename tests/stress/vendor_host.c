/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include <stdlib.h>

#include "stress.h"
#include "warmpool/host.h"

const bool vendor_runs_apart = true;
const bool vendor_is_ours = true;
const bool vendor_ends_streams = true;
const bool vendor_caches = true;
const bool vendor_captures = true, vendor_forks = true;

int vendor_devices(int most) {
  int count = 1;
  (void)setenv("WARMPOOL_HOST_MEMORY", "64M", 0); /* small, so that it is full at times */
  while (count < most && wp_host_device_set(count) == WP_OK) count++;
  vendor_device_set(0);
  return count;
}

void vendor_device_set(int device) { MUST(wp_host_device_set(device)); }

wp_stream vendor_stream_create(int device) {
  wp_stream stream = NULL;
  MUST(wp_host_stream_create(device, &stream));
  return stream;
}

void vendor_stream_destroy(wp_stream stream) { MUST(wp_host_stream_destroy(stream)); }
void vendor_stream_synchronize(wp_stream stream) { MUST(wp_host_stream_synchronize(stream)); }
void vendor_stream_wait(wp_stream stream, wp_stream other) { MUST(wp_host_stream_wait(stream, other)); }

void vendor_launch(wp_stream stream, void (*function)(void *), void *argument) {
  MUST(wp_host_launch(stream, function, argument));
}

void vendor_capture_begin(wp_stream stream) { MUST(wp_host_capture_begin(stream, WP_HOST_CAPTURE_THREAD_LOCAL)); }

void *vendor_capture_end(wp_stream stream) {
  wp_host_graph graph = NULL;
  wp_host_executable executable = NULL;
  MUST(wp_host_capture_end(stream, &graph));
  MUST(wp_host_graph_instantiate(graph, &executable));
  MUST(wp_host_graph_destroy(graph));
  return executable;
}

void vendor_graph_launch(void *graph, wp_stream stream) { MUST(wp_host_graph_launch(graph, stream)); }
void vendor_graph_destroy(void *graph) { MUST(wp_host_executable_destroy(graph)); }
