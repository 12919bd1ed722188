/* SPDX-License-Identifier: Apache-2.0 */
#include "warmpool/stats.h"

#include "lanes.h"
#include "release.h"
#include "runtime.h"
#include "stats.h"

/* What the driver has served, and what lanes have. A read may see more live than any miss has. */
static void fill(wp__account *account, const wp__counts *counts, wp_stats *out) {
  out->frees = wp__counter_get(&account->frees) + counts->frees; /* before allocs */
  out->live_bytes = wp__counter_get(&account->live) + wp__counts_live(counts);
  out->allocs = wp__counter_get(&account->allocs) + counts->allocs;
  out->live_blocks = out->allocs - out->frees;
  out->lane_misses = counts->misses;
  out->lane_hits = counts->allocs - counts->misses;
  out->steals = counts->steals;
  wp__counter_raise(&account->live_peak, out->live_bytes);
  out->live_peak = wp__counter_get(&account->live_peak);
}

void wp__delegate_stats(wp_delegate *delegate, wp_stats *out) {
  wp__counts counts;
  *out = (wp_stats)WP_STATS_INIT;
  wp__lanes_sum_of(delegate, &counts);
  fill(&delegate->account, &counts, out);
}

void wp__device_stats(wp__device *device, wp_stats *out) {
  wp__counts counts;
  *out = (wp_stats)WP_STATS_INIT;
  out->parked_bytes = wp__counter_get(&device->parked_bytes);
  wp__lanes_sum(device, &counts, &out->cached_bytes);
  fill(&device->account, &counts, out);
  out->capture_bytes = wp__lanes_sealed(device);
  out->reserved_bytes = wp__counter_get(&device->held_bytes);
  out->reserved_peak = wp__counter_get(&device->reserved_peak);
  out->driver_frees = wp__counter_get(&device->driver_frees);
  out->driver_allocs = wp__counter_get(&device->driver_allocs);
  out->oom_retries = wp__counter_get(&device->oom_retries);
  out->trims = wp__counter_get(&device->trims);
  out->trimmed_bytes = wp__counter_get(&device->trimmed_bytes);
}

uint64_t wp__device_live(wp__device *device) {
  wp__counts counts;
  uint64_t idle;
  wp__lanes_sum(device, &counts, &idle);
  return wp__counter_get(&device->account.live) + wp__counts_live(&counts);
}

uint64_t wp__delegate_live(const wp_delegate *delegate) {
  wp__counts counts;
  wp__lanes_sum_of(delegate, &counts);
  return wp__counter_get(&delegate->account.live) + wp__counts_live(&counts);
}

static wp_status check_out(const void *out) {
  return out != NULL ? WP_OK : wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "out is NULL");
}

static wp_status device_stats(wp_runtime *runtime, int ordinal, wp_stats *out) {
  wp__device *device = NULL;
  wp_status status = wp__runtime_check(runtime);
  if (status == WP_OK) status = check_out(out);
  if (status == WP_OK) status = wp__check_size("wp_stats", out->size, sizeof *out);
  if (status == WP_OK) status = wp__device_lookup(runtime, ordinal, &device);
  if (status != WP_OK) return status;
  if (device != NULL) {
    wp__device_stats(device, out);
  } else {
    *out = (wp_stats)WP_STATS_INIT;
  }
  return WP_OK;
}

wp_status wp_device_stats(wp_runtime *runtime, int device, wp_stats *out) {
  return wp__result("wp_device_stats", device_stats(runtime, device, out));
}

static wp_status delegate_stats(wp_delegate *delegate, wp_stats *out) {
  wp_status status = wp__delegate_check(delegate);
  if (status == WP_OK) status = check_out(out);
  if (status == WP_OK) status = wp__check_size("wp_stats", out->size, sizeof *out);
  if (status == WP_OK) wp__delegate_stats(delegate, out);
  return status;
}

wp_status wp_delegate_stats(wp_delegate *delegate, wp_stats *out) {
  return wp__result("wp_delegate_stats", delegate_stats(delegate, out));
}

static wp_status ask_driver(wp_runtime *runtime, int ordinal, wp_driver_stats *out) {
  wp_driver_stats found = WP_DRIVER_STATS_INIT;
  wp_pool_usage usage = {0, 0};
  wp_graph_usage graph = {0, 0};
  wp__device *device = NULL;
  wp__scope scope;
  wp_status status = wp__device_lookup(runtime, ordinal, &device);
  if (status == WP_OK) status = wp__scope_enter(&scope, runtime, ordinal);
  if (status != WP_OK) return status;
  if (device != NULL) {
    wp__release_if_due(device);
    status = WP__CALL(runtime, ordinal, pool_usage, device->pool, &usage);
    if (status == WP_OK && (device->capabilities & WP_CAP_GRAPH_MEMORY) != 0) {
      status = WP__CALL(runtime, ordinal, graph_usage, ordinal, &graph);
    }
  }
  if (status == WP_OK) {
    status = WP__CALL(runtime, ordinal, device_memory, &found.device_free, &found.device_total);
  }
  wp__scope_leave(&scope);
  if (status != WP_OK) return status;
  found.pool_reserved = usage.reserved;
  found.pool_used = usage.used;
  found.graph_reserved = graph.reserved;
  found.graph_used = graph.used;
  *out = found;
  return WP_OK;
}

static wp_status query_driver(wp_runtime *runtime, int device, wp_driver_stats *out) {
  int ordinal;
  wp_status status = wp__runtime_check(runtime);
  if (status == WP_OK) status = check_out(out);
  if (status == WP_OK) status = wp__check_size("wp_driver_stats", out->size, sizeof *out);
  if (status == WP_OK) status = wp__device_resolve(runtime, device, &ordinal);
  return status == WP_OK ? ask_driver(runtime, ordinal, out) : status;
}

wp_status wp_query_driver(wp_runtime *runtime, int device, wp_driver_stats *out) {
  return wp__result("wp_query_driver", query_driver(runtime, device, out));
}

/* -- peaks -- */

static void lower_device_peaks(wp__device *device) {
  atomic_store(&device->account.live_peak, wp__device_live(device));
  atomic_store(&device->reserved_peak, wp__counter_get(&device->held_bytes));
}

static wp_status reset_device(wp__device *device) {
  wp_runtime *runtime = device->runtime;
  wp__scope scope;
  wp_status status = wp__scope_enter(&scope, runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = WP__CALL(runtime, device->ordinal, pool_reset_peaks, device->pool);
  wp__scope_leave(&scope);
  if (status != WP_OK) return status;
  lower_device_peaks(device);
  wp__mutex_lock(&runtime->lock);
  for (wp_delegate *delegate = runtime->delegates; delegate != NULL; delegate = delegate->next) {
    if (delegate->device == device) atomic_store(&delegate->account.live_peak, wp__delegate_live(delegate));
  }
  wp__mutex_unlock(&runtime->lock);
  return WP_OK;
}

static wp_status reset_peaks(wp_runtime *runtime, int ordinal) {
  wp__device *device = NULL;
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (ordinal != WP_DEVICE_ALL) {
    status = wp__device_lookup(runtime, ordinal, &device);
    return status == WP_OK && device != NULL ? reset_device(device) : status;
  }
  for (int i = 0; i < wp__device_limit(runtime); i++) {
    device = wp__device_at(runtime, i);
    if (device != NULL) status = wp__both(status, reset_device(device));
  }
  return status;
}

wp_status wp_reset_peaks(wp_runtime *runtime, int device) {
  return wp__result("wp_reset_peaks", reset_peaks(runtime, device));
}

/* -- pointers -- */

static wp_status pointer_info(wp_runtime *runtime, const void *ptr, wp_pointer_info_t *out) {
  wp__block_view view;
  wp_status status = wp__runtime_check(runtime);
  if (status == WP_OK) status = check_out(out);
  if (status == WP_OK) status = wp__check_size("wp_pointer_info_t", out->size, sizeof *out);
  if (status != WP_OK) return status;
  if (ptr == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "ptr is NULL");
  if (!wp__block_find_within(&runtime->blocks, ptr, &view)) {
    return wp__refuse(WP_ERROR_INVALID_POINTER, WP__NO_DEVICE, "%p is in no live block of this runtime", ptr);
  }
  out->device = view.device->ordinal;
  out->base = view.ptr;
  out->bytes = view.bytes;
  out->delegate = view.delegate;
  out->stream = view.stream;
  return WP_OK;
}

wp_status wp_pointer_info(wp_runtime *runtime, const void *ptr, wp_pointer_info_t *out) {
  return wp__result("wp_pointer_info", pointer_info(runtime, ptr, out));
}
