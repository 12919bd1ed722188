/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"

#include "home.h"
#include "runtime.h"

/* -- from the driver -- */

static wp_status allocate(wp__device *device, size_t bytes, void **out) {
  wp_runtime *runtime = device->runtime;
  void *ptr = NULL;
  wp_status status = WP__CALL(runtime, device->ordinal, memory_alloc, device->pool, bytes, device->home, &ptr);
  if (status != WP_OK) return status;
  if (ptr == NULL) return wp__refuse(WP_ERROR_OUT_OF_MEMORY, device->ordinal, "the driver had no memory");
  (void)wp__counter_add(&device->driver_allocs, 1);
  *out = ptr;
  return WP_OK;
}

void wp__segments_empty_pool(wp__device *device) {
  if ((device->capabilities & WP_CAP_KEEPS_FREED) != 0) return;
  if (wp__segments_flush(device) != WP_OK) wp__log_fault(device->runtime, "freed memory is still in the driver's pool");
}

static wp_status free_on_home(wp__device *device, void *ptr) {
  wp_status status = WP__CALL(device->runtime, device->ordinal, memory_free, ptr, device->home);
  if (status != WP_OK) return status;
  (void)wp__counter_add(&device->driver_frees, 1);
  atomic_store(&device->home_dirty, true);
  wp__segments_empty_pool(device);
  return WP_OK;
}

/* A captured stream must not wait for work outside, so this thread does: home is always idle, or will be at once. */
static wp_status await(wp__device *device, wp_event event) {
  bool complete = false;
  wp_status status = WP_OK;
  while (status == WP_OK && !complete) {
    status = WP__CALL(device->runtime, device->ordinal, event_query, event, &complete);
    if (!complete) wp__yield();
  }
  return status;
}

wp_status wp__segment_order(wp__device *device, const wp__stream *stream) {
  wp_runtime *runtime = device->runtime;
  wp_event event;
  wp_status status = wp__event_get(device, &event);
  if (status != WP_OK) return status;
  status = WP__CALL(runtime, device->ordinal, event_record, event, device->home);
  if (status == WP_OK && stream->is_bay) {
    status = await(device, event);
  } else if (status == WP_OK) {
    status = WP__CALL(runtime, device->ordinal, event_wait, stream->handle, event);
  }
  wp__event_put(device, event);
  return status;
}

/* Until home can free it. */
static void park(wp__device *device, wp__block *segment) {
  segment->class = WP__CLASS_OF_DRIVER;
  atomic_store(&segment->device, device);
  atomic_store(&segment->bytes, segment->range.bytes);
  atomic_store(&segment->ptr, segment->range.address);
  (void)wp__counter_add(&device->parked_bytes, segment->range.bytes);
  wp__home_park(device, segment);
}

/* Rid of memory that no caller will get; where the driver refuses that now, as while a stream captures, it is parked.
 */
static void give_up(wp__device *device, void *ptr, size_t bytes) {
  if (free_on_home(device, ptr) == WP_OK) return;
  (void)wp__fault_absorb();
  wp__block *block = wp__block_take(&device->runtime->blocks);
  if (block == NULL) {
    wp__log(device->runtime, "warmpool: %zu bytes of the driver's are lost: no memory to remember them", bytes);
    return;
  }
  block->range.address = ptr;
  block->range.bytes = bytes;
  wp__device_hold(device, bytes);
  park(device, block);
}

static wp_status allocate_in_order(wp__device *device, const wp__stream *stream, size_t bytes, void **out) {
  void *ptr = NULL;
  wp_status status = allocate(device, bytes, &ptr);
  if (status != WP_OK) return status;
  if (wp__map_holds(ptr)) {
    status = wp__segment_order(device, stream);
  } else {
    status = wp__refuse(WP_ERROR_DRIVER, device->ordinal, "the driver gave an address that is not aligned: %p", ptr);
  }
  if (status == WP_OK) {
    *out = ptr;
    return WP_OK;
  }
  wp__fault_keep();
  give_up(device, ptr, bytes);
  wp__fault_restore();
  return status;
}

wp_status wp__segment_obtain(wp__device *device, const wp__stream *stream, size_t bytes, void **out) {
  wp_status status = allocate_in_order(device, stream, bytes, out);
  if (status != WP_OK) return status;
  wp__device_hold(device, bytes);
  if (!device->lanes) wp__device_settle_threshold(device);
  return WP_OK;
}

void wp__segment_put(wp__stream *stream, wp__block *segment, uint64_t position) {
  wp__lane *lane = &stream->lane;
  wp__spin_lock(&lane->lock);
  wp__lane_add(lane, segment, segment->range.address, segment->range.bytes, position);
  wp__spin_unlock(&lane->lock);
}

/* -- back to the driver -- */

wp_status wp__segment_return(wp__device *device, wp__stream *stream, wp__block *segment) {
  uint64_t bytes = segment->range.bytes;
  wp_status status = free_on_home(device, segment->range.address);
  if (status != WP_OK) {
    wp__segment_put(stream, segment, segment->range.position);
    if (status != WP_ERROR_CAPTURING) return status;
    (void)wp__fault_absorb(); /* some drivers free nothing while a stream captures; later they do */
    return WP_PENDING;
  }
  wp__counter_sub(&device->held_bytes, bytes);
  wp__block_drop(&device->runtime->blocks, segment);
  return WP_OK;
}

void wp__segment_discard(wp__device *device, wp__block *segment) {
  uint64_t bytes = segment->range.bytes;
  if (free_on_home(device, segment->range.address) != WP_OK) {
    (void)wp__fault_absorb();
    park(device, segment);
    return;
  }
  wp__counter_sub(&device->held_bytes, bytes);
  wp__block_drop(&device->runtime->blocks, segment);
}

wp_status wp__segments_flush(wp__device *device) {
  wp_status status = wp__home_synchronize(device);
  return wp__both(status, WP__CALL(device->runtime, device->ordinal, pool_trim, device->pool, 0));
}

static void count_freed(wp__stream *stream, uint64_t bytes) {
  wp__spin_lock(&stream->lane.lock); /* against those who advance; with WP_CACHING_DRIVER there are others */
  (void)wp__counter_add(&stream->freed, bytes);
  wp__spin_unlock(&stream->lane.lock);
}

/* A segment of `most` bytes at the most of which all is free, finished or not; NULL: there is none. */
static wp__block *take_unfinished(wp__device *device, wp__stream *stream, uint64_t most) {
  wp__lane *lane = &stream->lane;
  wp__spin_lock(&lane->lock);
  wp__lane_merge(lane, &device->runtime->blocks);
  wp__block *segment = wp__lane_take(lane, UINT64_MAX, WP__CLASS_UNIT, most);
  /* Before it is freed and counted: then a release finds the stream unobserved. */
  if (segment != NULL) (void)wp__stream_advance(stream, segment->range.bytes);
  wp__spin_unlock(&lane->lock);
  return segment;
}

/* On a user's stream. */
static wp_status free_in_order(wp__device *device, wp__stream *stream, wp__block *segment) {
  uint64_t bytes = segment->range.bytes;
  wp_status status = WP__CALL(device->runtime, device->ordinal, memory_free, segment->range.address, stream->handle);
  if (status != WP_OK) return status;
  count_freed(stream, 1); /* a record that came in between does not stand for it */
  (void)wp__counter_add(&device->driver_frees, 1);
  (void)wp__counter_add(&device->direct_bytes, bytes);
  wp__counter_sub(&device->held_bytes, bytes);
  wp__block_drop(&device->runtime->blocks, segment);
  return WP_OK;
}

wp_status wp__segments_return_in_order(wp__device *device, wp__stream *stream, uint64_t bytes) {
  wp_status status = WP_OK;
  uint64_t left = bytes;
  bool any = false;
  wp__block *segment;
  while (status == WP_OK && (segment = take_unfinished(device, stream, left)) != NULL) {
    left -= segment->range.bytes;
    any = true;
    status = free_in_order(device, stream, segment);
    if (status != WP_OK) wp__segment_put(stream, segment, segment->range.position);
  }
  if (any) wp__stream_vouch(device, stream); /* so that a release can show the driver that they have finished */
  return status;
}

void wp__segment_return_with(wp__device *device, wp__stream *stream, wp__block *segment) {
  count_freed(stream, segment->range.bytes);
  wp_status status = free_in_order(device, stream, segment);
  if (status != WP_OK) { /* freed in the order of the stream, it may as well be in its lane */
    wp__log_fault(device->runtime, "freed memory could not go to the driver yet");
    wp__segment_put(stream, segment, wp__counter_get(&stream->freed));
  }
  wp__stream_vouch(device, stream);
}
