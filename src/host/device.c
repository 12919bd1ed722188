/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include "../common/os.h"
#include "error.h"
#include "settings.h"

/* Address space kept of segments that were given back, for the next ones of the same size. */
#define RANGES_KEPT 16
/* Lets the system back a segment with large pages. */
#define RANGE_ALIGNMENT ((size_t)2 << 20)

struct range {
  char *address; /* NULL: vacant */
  size_t bytes;
};

struct device {
  uint64_t total;
  atomic_uint_least64_t mapped;
  struct wp__host_timeline legacy;
  wp__mutex lock; /* of the ranges */
  struct range ranges[RANGES_KEPT];
};

static wp__once once = WP__ONCE_INIT;
static const char *complaint;
static int count;
static struct device devices[WP__HOST_MAX_DEVICES];
static _Thread_local int current;

static void set_up(void) {
  struct wp__host_settings settings = wp__host_settings_read();
  complaint = settings.complaint;
  if (complaint != NULL) return;
  count = settings.devices;
  for (int i = 0; i < count; ++i) {
    devices[i].total = settings.memory;
    wp__host_timeline_init(&devices[i].legacy, i, WP__HOST_LEGACY, (uint64_t)i + 1);
    wp__mutex_init(&devices[i].lock);
  }
}

wp__host_result wp__host_device_check(int device) {
  wp__once_run(&once, set_up);
  if (complaint != NULL) return WP__HOST_NO_DEVICE;
  return device < 0 || device >= count ? WP__HOST_INVALID_DEVICE : WP__HOST_SUCCESS;
}

const char *wp__host_devices_complaint(void) {
  wp__once_run(&once, set_up);
  return complaint;
}

struct wp__host_timeline *wp__host_device_legacy(int device) {
  return &devices[device].legacy;
}

/* -- memory -- */

bool wp__host_device_charge(int device, uint64_t bytes) {
  struct device *of = &devices[device];
  uint64_t mapped = atomic_load(&of->mapped);
  do {
    if (bytes > of->total - mapped) return false;
  } while (!atomic_compare_exchange_weak(&of->mapped, &mapped, mapped + bytes));
  return true;
}

void wp__host_device_discharge(int device, uint64_t bytes) { (void)atomic_fetch_sub(&devices[device].mapped, bytes); }

static char *take_range(struct device *device, size_t bytes) {
  char *address = NULL;
  wp__mutex_lock(&device->lock);
  for (size_t i = 0; i < RANGES_KEPT && address == NULL; ++i) {
    if (device->ranges[i].bytes != bytes) continue;
    address = device->ranges[i].address;
    device->ranges[i] = (struct range){NULL, 0};
  }
  wp__mutex_unlock(&device->lock);
  return address != NULL ? address : wp__pages_reserve(bytes, RANGE_ALIGNMENT);
}

static void keep_range(struct device *device, char *address, size_t bytes) {
  bool is_kept = false;
  wp__mutex_lock(&device->lock);
  for (size_t i = 0; i < RANGES_KEPT && !is_kept; ++i) {
    if (device->ranges[i].address != NULL) continue;
    device->ranges[i] = (struct range){address, bytes};
    is_kept = true;
  }
  wp__mutex_unlock(&device->lock);
  if (!is_kept) wp__pages_release(address, bytes);
}

char *wp__host_device_map(int device, size_t bytes) {
  struct device *of = &devices[device];
  if (!wp__host_device_charge(device, bytes)) return NULL;
  char *address = take_range(of, bytes);
  if (address != NULL && wp__pages_commit(address, bytes)) return address;
  if (address != NULL) keep_range(of, address, bytes);
  wp__host_device_discharge(device, bytes);
  return NULL;
}

void wp__host_device_unmap(int device, char *address, size_t bytes) {
  struct device *of = &devices[device];
  wp__pages_decommit(address, bytes);
  keep_range(of, address, bytes);
  wp__host_device_discharge(device, bytes);
}

/* -- engine.h -- */

wp__host_result wp__host_device_count(int *out) {
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_device_check(0);
  if (result == WP__HOST_SUCCESS) *out = count;
  return wp__host_finish(result);
}

wp__host_result wp__host_device_current(int *out) {
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_device_check(current);
  if (result == WP__HOST_SUCCESS) *out = current;
  return wp__host_finish(result);
}

wp__host_result wp__host_device_set(int device) {
  wp__host_result result = wp__host_device_check(device);
  if (result == WP__HOST_SUCCESS) current = device;
  return wp__host_finish(result);
}

wp__host_result wp__host_device_memory(int device, uint64_t *free_bytes, uint64_t *total_bytes) {
  if (free_bytes == NULL || total_bytes == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_device_check(device);
  if (result == WP__HOST_SUCCESS) {
    *free_bytes = devices[device].total - atomic_load(&devices[device].mapped);
    *total_bytes = devices[device].total;
  }
  return wp__host_finish(result);
}
