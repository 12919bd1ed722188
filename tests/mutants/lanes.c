/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutants of the library's inside, where no driver could be to blame: the linker puts these functions in front of the
 * library's own (--wrap, in tests/CMakeLists.txt), for calls that come from another source file. Each does what the
 * original does unless its mutant was asked for.
 */
#include "lanes.h"
#include "capture.h"
#include "home.h"
#include "mutants.h"
#include "runtime.h"
#include "uses.h"
#include "warm.h"
#include "warmpool/capture.h"

/* Set before the first runtime is made. */
static struct {
  bool steal_unfinished, nothing_gives_way, own_streams_shared, retire_forgets, merge_loses, split_overlaps;
  bool parking_dropped, threshold_set_once, lanes_off;
  bool seal_ignored, outside_freed_at_once, other_stream_forgotten, abort_keeps, launches_forgotten;
  bool note_dropped, event_kept;
} broken;

/* The names are the linker's. */
wp__block *__real_wp__lanes_steal(wp__device *device, wp__stream *thief, size_t bytes);
wp__block *__wrap_wp__lanes_steal(wp__device *device, wp__stream *thief, size_t bytes);
wp__block *__real_wp__lane_take(wp__lane *lane, uint64_t observed, size_t least, uint64_t most);
wp__block *__wrap_wp__lane_take(wp__lane *lane, uint64_t observed, size_t least, uint64_t most);
uint64_t __real_wp__lanes_give_way(wp__device *device, wp__stream *stream, size_t bytes);
uint64_t __wrap_wp__lanes_give_way(wp__device *device, wp__stream *stream, size_t bytes);
wp__thread_token *__real_wp__thread_self(void);
wp__thread_token *__wrap_wp__thread_self(void);
wp_status __real_wp__stream_record(wp__device *device, wp__stream *stream);
wp_status __wrap_wp__stream_record(wp__device *device, wp__stream *stream);
wp__range *__real_wp__heap_merge(wp__heap *heap, wp__range *range, wp__range **spares);
wp__range *__wrap_wp__heap_merge(wp__heap *heap, wp__range *range, wp__range **spares);
wp__range *__real_wp__heap_carve(wp__heap *heap, size_t bytes, wp__range **spare);
wp__range *__wrap_wp__heap_carve(wp__heap *heap, size_t bytes, wp__range **spare);
void __real_wp__home_park(wp__device *device, wp__block *block);
void __wrap_wp__home_park(wp__device *device, wp__block *block);
void __real_wp__device_settle_threshold(wp__device *device);
void __wrap_wp__device_settle_threshold(wp__device *device);
wp_status __real_wp_runtime_create(const wp_runtime_options *options, wp_runtime **out);
wp_status __wrap_wp_runtime_create(const wp_runtime_options *options, wp_runtime **out);
wp_status __real_wp__capture_free(wp__device *device, wp__block *block, wp__stream *captured);
wp_status __wrap_wp__capture_free(wp__device *device, wp__block *block, wp__stream *captured);
wp_status __real_wp__uses_add(wp__device *device, wp__block *block, const wp_stream *streams, size_t count);
wp_status __wrap_wp__uses_add(wp__device *device, wp__block *block, const wp_stream *streams, size_t count);
wp_status __real_wp_capture_abort(wp_capture *capture);
wp_status __wrap_wp_capture_abort(wp_capture *capture);
wp_status __real_wp_note_use(wp_runtime *runtime, void *ptr, wp_stream stream);
wp_status __wrap_wp_note_use(wp_runtime *runtime, void *ptr, wp_stream stream);
void __real_wp__event_put(wp__device *device, wp_event event);
void __wrap_wp__event_put(wp__device *device, wp_event event);

/* -- what is taken from another lane need not have finished, or is a graph's -- */

static _Thread_local wp__device *stealing_on;

static wp__block *take_sealed(wp__device *device, wp__lane *lane, size_t bytes) {
  wp__block *segment = NULL;
  wp__spin_lock(&lane->lock);
  if (lane->seal == WP__LANE_SEALED) {
    wp__lane_merge(lane, &device->runtime->blocks);
    lane->seal = WP__LANE_OPEN;
    segment = __real_wp__lane_take(lane, UINT64_MAX, bytes, UINT64_MAX);
    lane->seal = WP__LANE_SEALED;
  }
  wp__spin_unlock(&lane->lock);
  return segment;
}

static wp__block *steal_sealed(wp__device *device, const wp__stream *thief, size_t bytes) {
  wp__block *segment = NULL;
  wp__stream *stream = NULL;
  while (segment == NULL && (stream = wp__stream_next(device, stream)) != NULL) {
    if (stream != thief) segment = take_sealed(device, &stream->lane, bytes);
  }
  return segment;
}

wp__block *__wrap_wp__lanes_steal(wp__device *device, wp__stream *thief, size_t bytes) {
  wp__block *sealed = broken.seal_ignored ? steal_sealed(device, thief, bytes) : NULL;
  if (sealed != NULL) return sealed;
  stealing_on = device;
  wp__block *segment = __real_wp__lanes_steal(device, thief, bytes);
  stealing_on = NULL;
  return segment;
}

wp__block *__wrap_wp__lane_take(wp__lane *lane, uint64_t observed, size_t least, uint64_t most) {
  if (broken.steal_unfinished && stealing_on != NULL) {
    wp__lane_merge(lane, &stealing_on->runtime->blocks);
    observed = UINT64_MAX;
  }
  return __real_wp__lane_take(lane, observed, least, most);
}

/* -- what is idle elsewhere and too small stays there -- */

uint64_t __wrap_wp__lanes_give_way(wp__device *device, wp__stream *stream, size_t bytes) {
  return broken.nothing_gives_way ? 0 : __real_wp__lanes_give_way(device, stream, bytes);
}

/* -- every thread is the first one that asked -- */

wp__thread_token *__wrap_wp__thread_self(void) {
  static _Atomic(wp__thread_token *) first;
  wp__thread_token *none = NULL, *self = __real_wp__thread_self();
  if (!broken.own_streams_shared || self == NULL) return self;
  if (atomic_compare_exchange_strong(&first, &none, self)) wp__thread_retain(self); /* for ever */
  return atomic_load(&first);
}

/* -- a retire records nothing: only that one calls this from elsewhere -- */

wp_status __wrap_wp__stream_record(wp__device *device, wp__stream *stream) {
  return broken.retire_forgets ? WP_OK : __real_wp__stream_record(device, stream);
}

/* -- where two ranges become one, a unit gets lost -- */

wp__range *__wrap_wp__heap_merge(wp__heap *heap, wp__range *range, wp__range **spares) {
  wp__range *before = *spares, *merged = __real_wp__heap_merge(heap, range, spares);
  if (!broken.merge_loses || *spares == before) return merged;
  wp__range whole = *merged;
  wp__heap_remove(heap, merged);
  wp__heap_add(heap, merged, whole.address, whole.bytes - WP__CLASS_UNIT, whole.position);
  merged->before = whole.before;
  merged->after = whole.after;
  return merged;
}

/* -- what is left begins before the end of what is handed out -- */

wp__range *__wrap_wp__heap_carve(wp__heap *heap, size_t bytes, wp__range **spare) {
  bool can_split = *spare != NULL;
  wp__range *range = __real_wp__heap_carve(heap, bytes, spare);
  bool splits = range != NULL && can_split && *spare == NULL;
  if (broken.split_overlaps && splits && bytes > WP__CLASS_UNIT) range->after->address -= WP__CLASS_UNIT;
  return range;
}

/* -- what is freed on another stream than its own waits for nobody -- */

void __wrap_wp__home_park(wp__device *device, wp__block *block) {
  if (broken.parking_dropped) wp__uses_drop(device, block);
  __real_wp__home_park(device, block);
}

/* -- the driver is told its threshold when a delegate opens, and not again after the first allocation -- */

void __wrap_wp__device_settle_threshold(wp__device *device) {
  if (!broken.threshold_set_once) __real_wp__device_settle_threshold(device);
}

/* -- what is freed in a capture serves its lane at once: what is from outside, or what another stream has freed -- */

wp_status __wrap_wp__capture_free(wp__device *device, wp__block *block, wp__stream *captured) {
  wp__stream *owner = atomic_load(&block->origin);
  if (!wp__block_is_of_lane(block) || !(owner->is_bay ? broken.other_stream_forgotten : broken.outside_freed_at_once)) {
    return __real_wp__capture_free(device, block, captured);
  }
  wp__uses_drop(device, block);
  (void)wp__lane_free(device, owner, block);
  return WP_OK;
}

/* -- a release of a graph's memory does not wait for the last launches -- */

wp_status __wrap_wp__uses_add(wp__device *device, wp__block *block, const wp_stream *streams, size_t count) {
  if (broken.launches_forgotten && block->class == WP__CLASS_OF_GRAPH) return WP_OK;
  return __real_wp__uses_add(device, block, streams, count);
}

/* -- an abort is an end whose memory nobody releases -- */

wp_status __wrap_wp_capture_abort(wp_capture *capture) {
  wp_graph_memory *kept;
  return broken.abort_keeps && capture != NULL ? wp_capture_end(capture, &kept) : __real_wp_capture_abort(capture);
}

/* -- a note of a live block is as good as none -- */

wp_status __wrap_wp_note_use(wp_runtime *runtime, void *ptr, wp_stream stream) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  if (broken.note_dropped && wp_pointer_info(runtime, ptr, &info) == WP_OK && info.base == ptr) return WP_OK;
  return __real_wp_note_use(runtime, ptr, stream);
}

/* -- an event is forgotten now and then, where it should be kept for the next use or destroyed -- */

void __wrap_wp__event_put(wp__device *device, wp_event event) {
  static atomic_uint puts;
  if (broken.event_kept && atomic_fetch_add(&puts, 1) % 32 == 31) return;
  __real_wp__event_put(device, event);
}

/* -- who asks for lanes gets the driver's pool -- */

wp_status __wrap_wp_runtime_create(const wp_runtime_options *options, wp_runtime **out) {
  wp_runtime_options changed = WP_RUNTIME_OPTIONS_INIT;
  if (!broken.lanes_off) return __real_wp_runtime_create(options, out);
  if (options != NULL) changed = *options;
  changed.caching = WP_CACHING_DRIVER;
  return __real_wp_runtime_create(&changed, out);
}

/* -- which is which -- */

#define BREAK(what)                                                                                                    \
  void mutant_##what(wp_backend *backend) {                                                                            \
    (void)backend;                                                                                                     \
    broken.what = true;                                                                                                \
  }
BREAK(steal_unfinished)
BREAK(nothing_gives_way)
BREAK(own_streams_shared)
BREAK(retire_forgets)
BREAK(merge_loses)
BREAK(split_overlaps)
BREAK(parking_dropped)
BREAK(threshold_set_once)
BREAK(lanes_off)
BREAK(seal_ignored)
BREAK(outside_freed_at_once)
BREAK(other_stream_forgotten)
BREAK(abort_keeps)
BREAK(launches_forgotten)
BREAK(note_dropped)
BREAK(event_kept)
