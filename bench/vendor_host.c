/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "vendor.h"

#include <time.h>

#include "warmpool/host.h"

void vendor_describe(int device, char *name, size_t name_capacity, char *driver, size_t driver_capacity) {
  (void)snprintf(name, name_capacity, "host memory, device %d", device);
  (void)snprintf(driver, driver_capacity, "warmpool's host engine %s", wp_version());
}

bool vendor_device_counts(vendor_counts *out) {
  (void)out;
  return false;
}

static void sleep_for(void *argument) {
  long milliseconds = (long)(intptr_t)argument;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  (void)nanosleep(&time, NULL);
}

void vendor_busy(wp_stream stream, unsigned milliseconds) {
  BENCH(wp_host_launch(stream, sleep_for, (void *)(intptr_t)milliseconds));
}

/* The engine has no pool of everybody's; one with the same settings does as well. */
wp_pool vendor_default_pool(int device) {
  static wp_pool pool;
  const wp_backend *backend = wp_backend_builtin();
  (void)device; /* is current, and one only is asked for in a run */
  if (pool == NULL) BENCH(backend->pool_create(backend->self, &pool));
  return pool;
}

/* host.h has no capture yet. */
bool vendor_has_graphs(void) { return false; }
vendor_graph *vendor_graph_create(size_t bytes) {
  (void)bytes;
  return NULL;
}
void vendor_graph_launch(vendor_graph *graph, wp_stream stream) { (void)graph, (void)stream; }
void vendor_graph_destroy(vendor_graph *graph) { (void)graph; }
void vendor_capture_begin(wp_stream stream) { (void)stream; }
void vendor_capture_discard(wp_stream stream) { (void)stream; }
