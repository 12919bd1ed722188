/* SPDX-License-Identifier: Apache-2.0 */
#include "release.h"

#include "home.h"
#include "lanes.h"
#include "runtime.h"
#include "stats.h"

/* Shows the driver which frees on the stream have finished. */
static wp_status observe(wp__device *device, wp__stream *stream, wp_wait wait, uint64_t *waited_ns) {
  wp_status status = wp__record_rest(device, stream);
  return status == WP_OK ? wp__stream_observe(device, stream, wait, waited_ns) : status;
}

/* Calls observe() for every stream with frees to observe; returns the first failure. */
static wp_status observe_all(wp__device *device, wp_wait wait, uint64_t *waited_ns) {
  wp_status first = WP_OK;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    if (wp__counter_get(&stream->freed) == wp__counter_get(&stream->observed)) continue;
    first = wp__both(first, observe(device, stream, wait, waited_ns));
  }
  return first;
}

static uint64_t unobserved_bytes(wp__device *device) {
  uint64_t bytes = 0;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    if (stream->is_bay) continue;                           /* its graph's launches are waited for as a parked block */
    uint64_t observed = wp__counter_get(&stream->observed); /* first: it never passes `freed` */
    bytes += wp__counter_get(&stream->freed) - observed;
  }
  return bytes;
}

/* The same in lanes. `direct` is what had been freed past them before anything was observed. */
static uint64_t pending_in_lanes(wp__device *device, const wp_pool_usage *usage, uint64_t keep_bytes, uint64_t direct,
                                 uint64_t graph_idle) {
  uint64_t idle = graph_idle + (usage->reserved > usage->used ? usage->reserved - usage->used : 0);
  uint64_t parked = wp__counter_get(&device->parked_bytes);
  uint64_t lanes = wp__lanes_pending(device, keep_bytes);
  if (unobserved_bytes(device) == 0) wp__counter_raise(&device->direct_seen, direct);
  uint64_t seen = wp__counter_get(&device->direct_seen); /* first: it never passes the other */
  direct = wp__counter_get(&device->direct_bytes) - seen;
  return parked + lanes + (direct < idle ? direct : idle);
}

/* What is freed and cannot go back yet. The sums above count a block each time it was freed, so what the pool holds
 * idle beyond what it was asked to keep bounds them. */
static uint64_t pending_bytes(wp__device *device, const wp_pool_usage *usage, uint64_t keep_bytes,
                              uint64_t graph_idle) {
  uint64_t idle = usage->reserved > usage->used ? usage->reserved - usage->used : 0;
  uint64_t excess = graph_idle + (idle > keep_bytes ? idle - keep_bytes : 0);
  uint64_t parked = wp__counter_get(&device->parked_bytes) + wp__lanes_pending(device, 0);
  uint64_t unobserved = unobserved_bytes(device);
  if (atomic_load(&device->home_dirty)) unobserved = excess; /* read last: what leaves the other two makes home dirty */
  return (unobserved < excess ? unobserved : excess) + parked;
}

static wp_status ask_graphs(wp__device *device, wp_graph_usage *usage) {
  *usage = (wp_graph_usage){0, 0};
  if ((device->capabilities & WP_CAP_GRAPH_MEMORY) == 0) return WP_OK;
  return WP__CALL(device->runtime, device->ordinal, graph_usage, device->ordinal, usage);
}

/* Gives graph memory back if some of it is ours and the policy says so. *idle: what that has left. */
static wp_status trim_graphs(wp__device *device, wp_release_report *report, uint64_t *idle) {
  wp_graph_usage usage;
  bool ours = device->runtime->options.graph_trim == WP_GRAPH_TRIM_IF_USED && atomic_load(&device->graph_used);
  wp_status status = ask_graphs(device, &usage);
  report->graph_reserved_before += usage.reserved;
  if (status == WP_OK && ours && usage.reserved > 0) {
    status = WP__CALL(device->runtime, device->ordinal, graph_trim, device->ordinal);
    status = wp__both(status, ask_graphs(device, &usage));
    if (status == WP_OK && usage.reserved > usage.used) *idle = usage.reserved - usage.used;
  }
  report->graph_reserved_after += usage.reserved;
  report->graph_live_bytes += wp__counter_get(&device->graph_live);
  return status;
}

/* The driver counts live blocks as kept, too; the caller means idle bytes. */
static uint64_t with_live(uint64_t keep_bytes, const wp_pool_usage *usage) {
  return keep_bytes > UINT64_MAX - usage->used ? UINT64_MAX : keep_bytes + usage->used;
}

static void count_trim(wp__device *device, const wp_pool_usage *before, const wp_pool_usage *after) {
  (void)wp__counter_add(&device->trims, 1);
  if (before->reserved > after->reserved) {
    (void)wp__counter_add(&device->trimmed_bytes, before->reserved - after->reserved);
  }
}

static void add_to_report(wp_release_report *report, wp__device *device, uint64_t before, uint64_t after) {
  report->devices++;
  report->reserved_before += before;
  report->reserved_after += after;
  report->returned_bytes += before > after ? before - after : 0;
  report->live_bytes += wp__device_live(device);
}

wp_status wp__release(wp__device *device, uint64_t keep_bytes, wp_wait wait, wp_release_report *report) {
  wp__scope scope;
  wp_pool_usage before = {0, 0}, after = {0, 0};
  wp_runtime *runtime = device->runtime;
  int ordinal = device->ordinal;
  uint64_t waited_ns = 0, graph_idle = 0, keep_reserved = 0, direct = wp__counter_get(&device->direct_bytes);
  wp_status status = wp__scope_enter(&scope, runtime, ordinal);
  if (status != WP_OK) return status;
  /* First, for a synchronisation may itself let the driver give memory back. */
  status = WP__CALL(runtime, ordinal, pool_usage, device->pool, &before);
  status = wp__both(status, observe_all(device, wait, &waited_ns));
  status = wp__both(status, wp__home_collect(device, wait, &waited_ns));
  status = wp__both(status, wp__lanes_give_back(device, device->lanes ? keep_bytes : 0, false));
  status = wp__both(status, wp__home_synchronize(device));
  if (keep_bytes > 0 && !device->lanes) { /* asked anew: until now parked blocks counted as used */
    status = wp__both(status, WP__CALL(runtime, ordinal, pool_usage, device->pool, &after));
    keep_reserved = with_live(keep_bytes, &after);
  }
  status = wp__both(status, WP__CALL(runtime, ordinal, pool_trim, device->pool, keep_reserved));
  status = wp__both(status, WP__CALL(runtime, ordinal, pool_usage, device->pool, &after));
  status = wp__both(status, trim_graphs(device, report, &graph_idle));
  wp__scope_leave(&scope);

  uint64_t pending = device->lanes ? pending_in_lanes(device, &after, keep_bytes, direct, graph_idle)
                                   : pending_bytes(device, &after, keep_bytes, graph_idle);
  add_to_report(report, device, before.reserved, after.reserved);
  report->pending_bytes += pending;
  report->waited_ns += waited_ns;
  if (status != WP_OK) return status;
  count_trim(device, &before, &after);
  return pending > 0 ? WP_PENDING : WP_OK;
}

wp_status wp__release_nothing(wp__device *device, wp_release_report *report) {
  wp__scope scope;
  wp_pool_usage usage = {0, 0};
  wp_graph_usage graphs = {0, 0};
  wp_status status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = WP__CALL(device->runtime, device->ordinal, pool_usage, device->pool, &usage);
  status = wp__both(status, ask_graphs(device, &graphs));
  wp__scope_leave(&scope);
  add_to_report(report, device, usage.reserved, usage.reserved);
  report->graph_reserved_before += graphs.reserved;
  report->graph_reserved_after += graphs.reserved;
  report->graph_live_bytes += wp__counter_get(&device->graph_live);
  report->pending_bytes += wp__counter_get(&device->parked_bytes);
  return status;
}

/* Cleared before the look, like what follows. */
static wp_status bound_again(wp__device *device) {
  wp__scope scope;
  if (device->lanes) atomic_store(&device->excess_due, false);
  wp_status status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status == WP_OK) {
    status = wp__lanes_bound(device);
    wp__scope_leave(&scope);
  }
  if (status != WP_OK) atomic_store(&device->excess_due, true);
  return status;
}

wp_status wp__release_due(wp__device *device) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  if (atomic_load_explicit(&device->excess_due, memory_order_acquire)) {
    wp_status status = bound_again(device);
    if (status != WP_OK) return status;
  }
  if (!atomic_load_explicit(&device->release_due, memory_order_acquire)) return WP_OK;
  if (atomic_load(&device->open_delegates) != 0 || !atomic_exchange(&device->release_due, false)) return WP_OK;
  /* Cleared before the look: a free that comes meanwhile sets it again. */
  wp_status status = wp__release(device, device->runtime->options.keep_bytes, WP_NO_WAIT, &report);
  if (status != WP_OK) atomic_store(&device->release_due, true);
  return status == WP_PENDING ? WP_OK : status;
}

void wp__release_if_due(wp__device *device) {
  if (wp__release_due(device) != WP_OK) wp__log_fault(device->runtime, "a release is not finished yet");
}

void wp__release_if_closed(wp__device *device) {
  if (atomic_load(&device->open_delegates) != 0) return;
  atomic_store_explicit(&device->release_due, true, memory_order_release);
  wp__release_if_due(device);
}
