/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes, delegates, and what is asked of a whole device. */
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* -- runtimes -- */

/* It may read the statistics, and nothing else. */
static void log_line(void *user, const char *message) {
  const wp_runtime *const *runtime = user;
  wp_stats stats = WP_STATS_INIT;
  if (self != NULL) tell("log: %s", message);
  if (*runtime == NULL) return;
  REQUIRE_THAT(wp_device_stats((wp_runtime *)(uintptr_t)*runtime, 0, &stats) == WP_OK, "the log cannot read counters");
}

static void choose(struct runtime *fresh, uint64_t number) {
  wp_runtime_options *options = &fresh->options;
  *options = (wp_runtime_options)WP_RUNTIME_OPTIONS_INIT;
  options->backend = shared.driver;
  options->caching = setup.caching >= 0 ? (wp_caching)setup.caching
                     : number % 3 == 0  ? WP_CACHING_DRIVER
                                        : WP_CACHING_LANES;
  number = mix(number);
  options->stream_contract =
      setup.contract >= 0 ? (wp_stream_contract)setup.contract : (wp_stream_contract)(number & 1);
  options->release_wait = (wp_wait)(number >> 1 & 1);
  options->oom_policy = (wp_oom_policy)((number >> 2) % 3);
  options->graph_trim = (wp_graph_trim)(number >> 4 & 1);
  if ((number >> 5 & 3) == 0) options->release_threshold = (number >> 16) % (24 << 20);
  if ((number >> 7 & 3) == 0) options->keep_bytes = (number >> 24) % (48 << 20);
  if ((number >> 9 & 3) == 0) options->limit_bytes = (8 << 20) + (number >> 32) % (64 << 20);
  options->log = log_line;
  options->user = &fresh->handle;
}

static void create(struct runtime *fresh, uint64_t number) {
  wp_runtime *handle = NULL;
  choose(fresh, number);
  self->call = LISTED_runtime_create;
  self->has_failed = false;
  self->current = rig_device_current();
  REQUIRE_THAT(call_end(wp_runtime_create(&fresh->options, &handle), 0), "a runtime cannot be made");
  fresh->handle = handle;
}

void runtimes_start(void) {
  shared.runtime_count = mix(shared.seed + 7) % 3 == 0 ? 2 : 1;
  for (unsigned i = 0; i < shared.runtime_count; i++) create(&shared.runtimes[i], mix(shared.seed * 8 + i));
}

static unsigned open_delegates(int runtime, int device) {
  unsigned count = 0;
  for (int i = 0; i < DELEGATES; i++) {
    const struct delegate *delegate = &self->delegates[i];
    count += delegate->handle != NULL && delegate->runtime == runtime && (device < 0 || delegate->device == device);
  }
  return count;
}

static bool has_live(int runtime, int device) {
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    if (block->address != NULL && block->runtime == runtime && (device < 0 || block->device == device)) return true;
  }
  return false;
}

static bool has_graphs(int runtime, int device) {
  for (int i = 0; i < GRAPHS; i++) {
    const struct graph *graph = &self->graphs[i];
    if (graph->memory != NULL && graph->runtime == runtime && (device < 0 || graph->device == device)) return true;
  }
  for (int i = 0; i < CAPTURES; i++) {
    const struct capture *capture = &self->captures[i];
    if (capture->handle != NULL && capture->runtime == runtime && (device < 0 || capture->device == device))
      return true;
  }
  return false;
}

bool all_gone(int runtime, int device) {
  return open_delegates(runtime, device) == 0 && !has_live(runtime, device) && !has_graphs(runtime, device);
}

/* A stream that is captured, whoever declared that, cannot be waited for. */
static bool any_captured(void) {
  for (int i = 0; i < STREAMS; i++) {
    if (self->streams[i].capture != NULL) return true;
  }
  return false;
}

static void destroy(int index) {
  struct runtime *old = &shared.runtimes[index];
  bool gone = all_gone(index, NOWHERE);
  call_begin(LISTED_runtime_destroy, old->options.release_wait == WP_WAIT);
  wp_status status = wp_runtime_destroy(old->handle);
  if (status == WP_ERROR_BUSY) {
    REQUIRE_THAT(!gone, "wp_runtime_destroy answered WP_ERROR_BUSY with nothing left");
    (void)call_end(status, S(ERROR_BUSY));
    return;
  }
  REQUIRE_THAT(gone, "a runtime was destroyed that is in use: %s", wp_status_name(status));
  (void)call_end(status, 0);
  if (self->has_failed) self->record_failed = true; /* what could not be freed then is the driver's for good */
  old->handle = NULL;
  memset(self->allocs[index], 0, sizeof self->allocs[index]);
  memset(self->frees[index], 0, sizeof self->frees[index]);
}

void op_renew_runtime(void) {
  int index = (int)pick(0, shared.runtime_count);
  if (setup.threads > 1 || any_captured()) return;
  destroy(index);
  if (shared.runtimes[index].handle == NULL) create(&shared.runtimes[index], mix(shared.seed + self->at));
}

/* -- delegates -- */

void op_open(void) {
  struct delegate *fresh = &self->delegates[pick(0, DELEGATES)];
  if (fresh->handle != NULL) return;
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  int runtime = (int)pick(1, shared.runtime_count), device = (int)pick(2, (unsigned)shared.devices);
  wp_delegate *handle = NULL;
  options.name = "random";
  options.limit_bytes = pick(3, 4) == 0 ? (1 << 20) + pick(4, 16 << 20) : 0;
  bool by_current = pick(4, 3) == 0;
  if (by_current) rig_device_set(device);
  call_begin(LISTED_delegate_open, false);
  wp_status status =
      wp_delegate_open(shared.runtimes[runtime].handle, by_current ? WP_DEVICE_CURRENT : device, &options, &handle);
  if (!call_end(status, self->has_no_pools ? S(ERROR_NOT_SUPPORTED) : 0)) {
    REQUIRE_THAT(handle == NULL, "wp_delegate_open failed and changed its output");
    /* A device whose driver once said that it has no pools is believed to have none from then on (issue 3 of 15). */
    self->has_no_pools = self->has_no_pools || status == WP_ERROR_NOT_SUPPORTED;
    return;
  }
  *fresh = (struct delegate){handle, runtime, device, options.limit_bytes, 0};
}

static uint64_t live_bytes(int runtime, int device) {
  uint64_t live = 0;
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    if (block->address != NULL && block->runtime == runtime && block->device == device) live += block->usable;
  }
  return live;
}

/* Of a close that was the last one and has waited. */
static void check_release(int runtime, int device, wp_status status, const wp_release_report *report) {
  if (self->was_injected || setup.threads > 1 || any_captured()) return;
  REQUIRE_THAT(report->pending_bytes == 0 && status == WP_OK, "a close that waited leaves %llu bytes pending",
               (unsigned long long)report->pending_bytes);
  if (!all_gone(runtime, device) || shared.runtimes[runtime].options.keep_bytes != 0) return;
  REQUIRE_THAT(report->reserved_after == 0, "the last close left %llu bytes",
               (unsigned long long)report->reserved_after);
}

static void close_delegate(struct delegate *closed) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  int runtime = closed->runtime, device = closed->device;
  bool waits = shared.runtimes[runtime].options.release_wait == WP_WAIT;
  bool is_last = open_delegates(runtime, device) == 1;
  call_begin(LISTED_delegate_close, waits);
  wp_status status = wp_delegate_close(closed->handle, &report);
  bool is_reported = call_end(status, 0);
  for (int i = 0; i < BLOCKS; i++) {
    if (self->blocks[i].delegate == closed - self->delegates) self->blocks[i].delegate = NOWHERE;
  }
  closed->handle = NULL;
  if (!is_reported) return;
  tell("report %llu %llu %llu %llu", (unsigned long long)report.reserved_before,
       (unsigned long long)report.reserved_after, (unsigned long long)report.live_bytes,
       (unsigned long long)report.pending_bytes);
  if (setup.threads == 1) {
    REQUIRE_THAT(report.live_bytes == live_bytes(runtime, device), "a close reports %llu live bytes of %llu",
                 (unsigned long long)report.live_bytes, (unsigned long long)live_bytes(runtime, device));
  }
  REQUIRE_THAT(is_last || setup.threads > 1 || status == WP_OK, "a close that was not the last one is pending");
  if (is_last && waits) check_release(runtime, device, status, &report);
}

void op_close(void) {
  struct delegate *closed = &self->delegates[pick(0, DELEGATES)];
  if (closed->handle != NULL) close_delegate(closed);
}

void delegates_end(void) {
  for (int i = 0; i < DELEGATES; i++) {
    if (self->delegates[i].handle != NULL) close_delegate(&self->delegates[i]);
  }
}

/* -- a device -- */

void op_trim(void) {
  static const int devices[] = {WP_DEVICE_ALL, WP_DEVICE_CURRENT, 0, 1};
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  int runtime = (int)pick(0, shared.runtime_count), device = devices[pick(1, shared.devices > 1 ? 4 : 3)];
  wp_wait wait = (wp_wait)pick(2, 2);
  uint64_t keep = pick(3, 3) == 0 ? 0 : pick(3, 3) == 1 ? UINT64_MAX : pick(4, 96 << 20);
  call_begin(LISTED_trim, wait == WP_WAIT);
  wp_status status = wp_trim(shared.runtimes[runtime].handle, device, keep, wait, &report);
  if (!call_end(status, 0)) return;
  tell("report %u %llu %llu %llu", report.devices, (unsigned long long)report.reserved_before,
       (unsigned long long)report.reserved_after, (unsigned long long)report.pending_bytes);
  REQUIRE_THAT((status == WP_PENDING) == (report.pending_bytes != 0), "%s with %llu bytes pending",
               wp_status_name(status), (unsigned long long)report.pending_bytes);
  if (wait != WP_WAIT || self->was_injected || setup.threads > 1 || any_captured()) return;
  REQUIRE_THAT(status == WP_OK, "a trim that waited leaves something pending");
}

void op_tick(void) {
  call_begin(LISTED_tick, false);
  (void)call_end(wp_tick(shared.runtimes[pick(0, shared.runtime_count)].handle), 0);
}

void op_prime(void) {
  const struct delegate *from = &self->delegates[pick(0, DELEGATES)];
  if (from->handle == NULL) return;
  int index = stream_pick(1, from->device, false);
  if (index == NOWHERE) return;
  size_t bytes = pick(2, 6 << 20);
  bool waits = shared.runtimes[from->runtime].options.oom_policy == WP_OOM_RECLAIM_AND_WAIT;
  call_begin(LISTED_prime, waits);
  (void)call_end(wp_prime(from->handle, bytes, stream_of(index)->handle),
                 block_naturals(from, bytes) & S(ERROR_OUT_OF_MEMORY));
}

static void ask_driver(wp_runtime *handle, int runtime, int device) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  wp_stats stats = WP_STATS_INIT;
  call_begin(LISTED_query_driver, false);
  if (!call_end(wp_query_driver(handle, device, &driver), 0)) return;
  tell("driver %llu %llu", (unsigned long long)driver.pool_reserved, (unsigned long long)driver.pool_used);
  if (setup.threads > 1 || caching_of(runtime) != WP_CACHING_LANES) return;
  if (wp_device_stats(handle, device, &stats) != WP_OK) violation("wp_device_stats fails");
  REQUIRE_THAT(driver.pool_used == stats.reserved_bytes, "the driver's pool has %llu bytes in use, the library %llu",
               (unsigned long long)driver.pool_used, (unsigned long long)stats.reserved_bytes);
}

void op_look(void) {
  int runtime = (int)pick(0, shared.runtime_count), device = (int)pick(1, (unsigned)shared.devices);
  wp_runtime *handle = shared.runtimes[runtime].handle;
  wp_stats stats = WP_STATS_INIT;
  switch (pick(2, 4)) {
  case 0: ask_driver(handle, runtime, device); break;
  case 1:
    call_begin(LISTED_reset_peaks, false);
    (void)call_end(wp_reset_peaks(handle, pick(3, 2) == 0 ? WP_DEVICE_ALL : device), 0);
    break;
  case 2: REQUIRE_THAT(wp_stats_json(handle, NULL, 0) > 2, "there is no JSON"); break;
  default:
    call_begin(LISTED_device_stats, false);
    if (!call_end(wp_device_stats(handle, WP_DEVICE_CURRENT, &stats), 0)) break;
    REQUIRE_THAT(stats.frees <= stats.allocs, "more frees than allocations");
  }
}

/* -- counters -- */

static void tell_counters(const wp_stats *stats) {
#define TELL(name) tell("counter " #name " %llu", (unsigned long long)stats->name);
  if (setup.exact && self->at % 16 == 0) {
    WP_STATS_LIST(TELL)
  }
#undef TELL
}

static void check_device(int runtime, int device) {
  wp_stats stats = WP_STATS_INIT;
  uint64_t live = live_bytes(runtime, device), blocks = 0;
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    blocks += block->address != NULL && block->runtime == runtime && block->device == device;
  }
  if (wp_device_stats(shared.runtimes[runtime].handle, device, &stats) != WP_OK) violation("wp_device_stats fails");
  REQUIRE_THAT(stats.live_bytes == live && stats.live_blocks == blocks,
               "%llu bytes in %llu blocks are live, not %llu in %llu", (unsigned long long)live,
               (unsigned long long)blocks, (unsigned long long)stats.live_bytes, (unsigned long long)stats.live_blocks);
  REQUIRE_THAT(stats.allocs == self->allocs[runtime][device] && stats.frees == self->frees[runtime][device],
               "%llu allocations and %llu frees are counted as %llu and %llu",
               (unsigned long long)self->allocs[runtime][device], (unsigned long long)self->frees[runtime][device],
               (unsigned long long)stats.allocs, (unsigned long long)stats.frees);
  uint64_t sum = stats.live_bytes + stats.cached_bytes + stats.parked_bytes + stats.capture_bytes;
  REQUIRE_THAT(stats.reserved_bytes == sum, "%llu bytes are reserved, and %llu accounted for",
               (unsigned long long)stats.reserved_bytes, (unsigned long long)sum);
  REQUIRE_THAT(stats.live_peak >= live && stats.reserved_peak >= stats.reserved_bytes, "a peak is below what there is");
  if (caching_of(runtime) == WP_CACHING_LANES) {
    REQUIRE_THAT(stats.lane_misses <= stats.allocs && stats.allocs == stats.lane_hits + stats.lane_misses,
                 "hits and misses are not the allocations");
  }
  tell_counters(&stats);
}

void counters_check(void) {
  for (unsigned i = 0; i < shared.runtime_count; i++) {
    for (int device = 0; device < shared.devices && shared.runtimes[i].handle != NULL; device++) {
      check_device((int)i, device);
    }
  }
}

/* -- the end: nothing is held, live, captured or open -- */

/* What the driver's failures have left pending only the runtime's end gives up. */
static void end_runtime(int index) {
  struct runtime *old = &shared.runtimes[index];
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  call_begin(LISTED_trim, true);
  wp_status status = wp_trim(old->handle, WP_DEVICE_ALL, 0, WP_WAIT, &report);
  (void)call_end(status, 0);
  REQUIRE_THAT(self->record_failed ||
                   (report.reserved_after == 0 && report.pending_bytes == 0 && report.live_bytes == 0),
               "in the end %llu bytes are reserved, %llu pending", (unsigned long long)report.reserved_after,
               (unsigned long long)report.pending_bytes);
  call_begin(LISTED_runtime_destroy, true);
  status = wp_runtime_destroy(old->handle);
  old->handle = NULL;
  (void)call_end(status, 0);
  REQUIRE_THAT(status == WP_OK || self->record_failed, "wp_runtime_destroy answered %s in the end",
               wp_status_name(status));
}

void runtimes_end(void) {
  for (unsigned i = 0; i < shared.runtime_count; i++) {
    if (shared.runtimes[i].handle != NULL) end_runtime((int)i);
  }
}
