/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

#include "delegate.h"
#include "release.h"
#include "runtime.h"
#include "segment.h"

void wp__lanes_sum(wp__device *device, wp__counts *sum, uint64_t *idle) {
  *sum = (wp__counts){0};
  *idle = 0;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    wp__counts counts;
    wp__spin_lock(&stream->lane.lock);
    wp__lane_sum(&stream->lane, &counts);
    if (stream->lane.seal == WP__LANE_OPEN) *idle += wp__lane_idle(&stream->lane, &counts);
    wp__spin_unlock(&stream->lane.lock);
    wp__counts_add(sum, &counts);
  }
}

uint64_t wp__lanes_sealed(wp__device *device) {
  uint64_t bytes = wp__counter_get(&device->kept_bytes);
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    wp__counts counts;
    if (!stream->is_bay) continue;
    wp__spin_lock(&stream->lane.lock);
    wp__lane_sum(&stream->lane, &counts);
    if (stream->lane.seal == WP__LANE_SEALED) bytes += wp__lane_idle(&stream->lane, &counts);
    wp__spin_unlock(&stream->lane.lock);
  }
  return bytes;
}

void wp__lanes_sum_of(const wp_delegate *delegate, wp__counts *sum) {
  wp__device *device = delegate->device;
  *sum = (wp__counts){0};
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    wp__spin_lock(&stream->lane.lock);
    const wp__tally *tally = wp__tally_find(&stream->lane, delegate, delegate->serial);
    if (tally != NULL) wp__counts_add(sum, &tally->counts);
    wp__spin_unlock(&stream->lane.lock);
  }
}

/* -- between lanes -- */

/* Lists hide whole segments: they are merged where the stream is at rest, and where it is not they are left to it. */
static wp__block *take_from(wp__device *device, wp__stream *stream, size_t least, uint64_t most) {
  wp__lane *lane = &stream->lane;
  wp__spin_lock(&lane->lock);
  uint64_t observed = wp__counter_get(&stream->observed);
  if (observed == wp__counter_get(&stream->freed)) wp__lane_merge(lane, &device->runtime->blocks);
  wp__block *segment = wp__lane_take(lane, observed, least, most);
  wp__spin_unlock(&lane->lock);
  return segment;
}

/* Where it has, its next frees are recorded, so that a later look finds what this one may not. */
static bool has_idle(wp__stream *stream, size_t bytes) {
  wp__counts counts;
  wp__spin_lock(&stream->lane.lock);
  bool has = stream->lane.seal == WP__LANE_OPEN && stream->lane.held_bytes >= bytes;
  if (has) {
    wp__lane_sum(&stream->lane, &counts);
    has = wp__lane_idle(&stream->lane, &counts) >= bytes;
  }
  stream->lane.records = stream->lane.records || has;
  wp__spin_unlock(&stream->lane.lock);
  return has;
}

static bool is_outstanding(const wp__stream *stream) {
  return wp__counter_get(&stream->observed) < wp__counter_get(&stream->recorded);
}

/* Records what was put off. A driver takes some microseconds to see that a record on an idle stream is complete; so
 * long it is asked again, for a growth costs more. It is asked once even where others have used up the time. */
static wp_status make_up(wp__device *device, wp__stream *stream, uint64_t *patience_ns) {
  uint64_t waited_ns = 0, start = wp__clock_ns(), passed = 0;
  wp_status status = wp__record_rest(device, stream);
  while (status == WP_OK && is_outstanding(stream)) {
    status = wp__stream_observe(device, stream, WP_NO_WAIT, &waited_ns);
    passed = wp__clock_ns() - start;
    if (passed >= *patience_ns) break;
  }
  *patience_ns -= passed < *patience_ns ? passed : *patience_ns;
  return status;
}

/* Finds out what has finished. Where frees were not recorded, nothing that was is outstanding, and the stream is known
 * to exist, that is made up for; but not on the legacy stream, which would have others wait. */
static void look(wp__device *device, wp__stream *stream, uint64_t *patience_ns) {
  uint64_t waited_ns = 0;
  wp_status status = wp__stream_observe(device, stream, WP_NO_WAIT, &waited_ns);
  bool is_at_rest = wp__counter_get(&stream->observed) == wp__counter_get(&stream->freed);
  if (status == WP_OK && !is_outstanding(stream) && !is_at_rest && stream->handle != WP_STREAM_LEGACY) {
    status = make_up(device, stream, patience_ns);
  }
  if (status != WP_OK) (void)wp__fault_absorb();
}

/* A walk over the lanes of the streams after one's own, around to that. */
struct walk {
  wp__device *device;
  wp__stream *own, *at;
  int lanes, looks; /* passed by, and looked into */
  uint64_t patience_ns;
};
static const uint64_t patience_ns = 50000;

/* The next one that has `bytes` idle, looked at; NULL: that is enough. */
static wp__stream *walk_on(struct walk *walk, size_t bytes) {
  enum { LANES = 256, LOOKS = 16 };
  while (walk->lanes < LANES && walk->looks < LOOKS) {
    walk->at = wp__stream_next(walk->device, walk->at);
    walk->lanes++;
    if (walk->at == walk->own) return NULL;
    if (walk->at == NULL || !has_idle(walk->at, bytes)) continue;
    walk->looks++;
    look(walk->device, walk->at, &walk->patience_ns);
    return walk->at;
  }
  return NULL;
}

wp__block *wp__lanes_steal(wp__device *device, wp__stream *thief, size_t bytes) {
  struct walk walk = {device, thief, thief, 0, 0, patience_ns};
  wp__block *segment = NULL;
  wp__stream *stream;
  while (segment == NULL && (stream = walk_on(&walk, bytes)) != NULL) {
    segment = take_from(device, stream, bytes, UINT64_MAX);
  }
  return segment;
}

uint64_t wp__lane_give_way(wp__device *device, wp__stream *stream, size_t bytes, uint64_t enough) {
  uint64_t returned = 0;
  wp_status status = WP_OK;
  while (status == WP_OK && returned < enough) {
    wp__block *segment = take_from(device, stream, WP__CLASS_UNIT, bytes - 1);
    if (segment == NULL) return returned;
    uint64_t of_segment = segment->range.bytes;
    status = wp__segment_return(device, stream, segment);
    if (status == WP_OK) returned += of_segment;
  }
  if (status != WP_OK) (void)wp__fault_absorb();
  return returned;
}

uint64_t wp__lanes_give_way(wp__device *device, wp__stream *stream, size_t bytes) {
  struct walk walk = {device, stream, stream, 0, 0, patience_ns};
  uint64_t returned = 0;
  wp__stream *other;
  while (returned < bytes && (other = walk_on(&walk, WP__SEGMENT_STEP)) != NULL) {
    returned += wp__lane_give_way(device, other, bytes, bytes - returned);
  }
  return returned;
}

static wp_status vouch_for(wp_delegate *delegate) {
  wp__device *device = delegate->device;
  wp_status status = WP_OK;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    wp__spin_lock(&stream->lane.lock);
    bool is_used = wp__tally_find(&stream->lane, delegate, delegate->serial) != NULL;
    wp__spin_unlock(&stream->lane.lock);
    if (is_used) status = wp__both(status, wp__record_rest(device, stream));
  }
  return status;
}

wp_status wp__lanes_vouch(wp_delegate *delegate) {
  wp__scope scope;
  wp__device *device = delegate->device;
  if (!device->lanes || device->checked) return WP_OK; /* nothing was put off */
  wp_status status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = vouch_for(delegate);
  wp__scope_leave(&scope);
  return status;
}

/* -- giving back -- */

static wp__block *take_any(wp__device *device, wp__stream *stream, uint64_t most) {
  wp__lane *lane = &stream->lane;
  wp__spin_lock(&lane->lock);
  wp__lane_merge(lane, &device->runtime->blocks);
  wp__block *segment = wp__lane_take(lane, wp__counter_get(&stream->observed), WP__CLASS_UNIT, most);
  wp__spin_unlock(&lane->lock);
  return segment;
}

wp_status wp__lanes_give_back(wp__device *device, uint64_t keep_bytes, bool strictly) {
  wp__counts sum;
  uint64_t idle;
  wp_status first = WP_OK;
  wp__lanes_sum(device, &sum, &idle);
  uint64_t excess = idle > keep_bytes ? idle - keep_bytes : 0;
  wp__stream *stream = NULL;
  while (excess > 0 && (stream = wp__stream_next(device, stream)) != NULL) {
    wp__block *segment;
    while (excess > 0 && (segment = take_any(device, stream, strictly ? UINT64_MAX : excess)) != NULL) {
      uint64_t bytes = segment->range.bytes;
      wp_status status = wp__segment_return(device, stream, segment);
      if (status != WP_OK) {
        first = wp__both(first, status);
        break;
      }
      excess -= bytes < excess ? bytes : excess;
    }
  }
  return first > WP_PENDING ? first : WP_OK; /* what is pending wp__lanes_pending counts */
}

uint64_t wp__lanes_pending(wp__device *device, uint64_t keep_bytes) {
  wp__counts sum;
  uint64_t idle, bytes = 0;
  wp__lanes_sum(device, &sum, &idle);
  uint64_t excess = idle > keep_bytes ? idle - keep_bytes : 0;
  wp__stream *stream = NULL;
  while (excess > 0 && (stream = wp__stream_next(device, stream)) != NULL) {
    wp__spin_lock(&stream->lane.lock);
    wp__lane_merge(&stream->lane, &device->runtime->blocks);
    bytes += wp__lane_due(&stream->lane, wp__counter_get(&stream->observed), excess);
    wp__spin_unlock(&stream->lane.lock);
  }
  return bytes < excess ? bytes : excess;
}

void wp__lanes_empty(wp__device *device) {
  if (device->lanes) return;
  atomic_store(&device->excess_due, false);
  if (wp__lanes_give_back(device, 0, false) != WP_OK) wp__log_fault(device->runtime, "graphs' memory is still held");
  if (wp__lanes_pending(device, 0) > 0) atomic_store(&device->excess_due, true);
}

wp_status wp__lanes_bound(wp__device *device) {
  uint64_t waited_ns = 0, idle;
  uint64_t most = device->runtime->options.release_threshold;
  wp_status status = WP_OK;
  wp__counts sum;
  if (!device->lanes && atomic_load_explicit(&device->excess_due, memory_order_relaxed)) wp__lanes_empty(device);
  if (!device->bounded || wp__counter_get(&device->held_bytes) <= most) return WP_OK;
  wp__lanes_sum(device, &sum, &idle);
  if (idle <= most) return WP_OK;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    status = wp__both(status, wp__stream_observe(device, stream, WP_NO_WAIT, &waited_ns));
  }
  status = wp__both(status, wp__lanes_give_back(device, most, true));
  status = wp__both(status, wp__segments_flush(device));
  if (wp__lanes_pending(device, most) > 0) atomic_store(&device->excess_due, true);
  return status;
}

/* -- the end -- */

/* Home comes after what is recorded of the stream, unless a capture has left that; *until: so far. */
static wp_status order_home_after(wp__device *device, wp__stream *stream, uint64_t *until) {
  wp_event event;
  uint64_t recorded;
  *until = wp__counter_get(&stream->observed);
  if (wp__stream_is_captured(stream)) return WP_OK;
  if (!wp__stream_take_event(stream, WP_NO_WAIT, &event, &recorded)) return WP_OK;
  wp_status status = WP__CALL(device->runtime, device->ordinal, event_wait, device->home, event);
  wp__stream_give_event(device, stream, event);
  if (status == WP_OK) *until = recorded;
  return status;
}

wp_status wp__lanes_abandon(wp__device *device) {
  wp_status first = WP_OK;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    uint64_t until;
    if (!device->lanes && !stream->is_bay) continue; /* nothing of a lane's was freed there */
    wp__block *segment;
    first = wp__both(first, order_home_after(device, stream, &until));
    wp__counter_raise(&stream->observed, until); /* for home, it is */
    while ((segment = take_any(device, stream, UINT64_MAX)) != NULL) {
      wp_status status = wp__segment_return(device, stream, segment);
      first = wp__both(first, status);
      if (status != WP_OK) break;
    }
  }
  return first;
}

void wp__lanes_forget(wp__device *device) {
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    wp__spin_lock(&stream->lane.lock);
    wp__counter_sub(&device->held_bytes, stream->lane.held_bytes);
    wp__lane_forget(&stream->lane, &device->runtime->blocks);
    wp__spin_unlock(&stream->lane.lock);
  }
}
