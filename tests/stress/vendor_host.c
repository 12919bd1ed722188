/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include <stdlib.h>

#include "stress.h"
#include "warmpool/host.h"

const bool vendor_runs_apart = true;
const bool vendor_is_ours = true;
const bool vendor_ends_streams = true;
const bool vendor_caches = true;

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
