/* SPDX-License-Identifier: Apache-2.0 */
#include "free.h"
#include "capture.h"
#include "delegate.h"
#include "home.h"
#include "lanes.h"
#include "release.h"
#include "runtime.h"
#include "segment.h"
#include "uses.h"
#include "warm.h"

/* -- the two ways back to the driver -- */

/* From here on the caller has no claim to the block, and no address leads to it. */
static void forget(wp__device *device, wp__block *block) {
  (void)wp__map_set(&device->runtime->blocks.map, atomic_load(&block->ptr), NULL);
}

static void remember(wp__device *device, wp__block *block) {
  (void)wp__map_set(&device->runtime->blocks.map, atomic_load(&block->ptr), block);
}

void wp__count_free(wp__device *device, wp_delegate *delegate, uint64_t bytes, bool captured) {
  if (captured) wp__counter_sub(&device->graph_live, bytes);
  wp__account_free(&device->account, bytes);
  wp__account_free(&delegate->account, bytes);
  wp__delegate_release(delegate);
}

void wp__forget_captured(wp__device *device, const void *ptr) {
  wp__blocks *blocks = &device->runtime->blocks;
  wp__block *block = wp__block_claim_dormant(blocks, ptr);
  if (block == NULL && (block = wp__block_claim(blocks, ptr)) != NULL) { /* never launched, never freed */
    wp__trace_gone(device->runtime->trace, block, device->ordinal);
    wp__uses_drop(device, block);
    wp__count_free(device, atomic_load(&block->delegate), atomic_load(&block->bytes), block->captured);
    wp__counter_sub(&device->held_bytes, atomic_load(&block->bytes));
  }
  if (block != NULL) wp__block_drop(blocks, block);
}

wp_status wp__free_in_driver(wp__device *device, wp__block *block, wp_stream handle, bool in_capture) {
  wp_runtime *runtime = device->runtime;
  wp_status status = WP__VENDOR(runtime, memory_free, atomic_load(&block->ptr), handle);
  if (status == WP_OK && !block->captured) (void)wp__counter_add(&device->driver_frees, 1);
  if (status == WP_ERROR_INVALID_POINTER) {
    if (block->captured && !in_capture) return WP_OK; /* no launch has allocated it: there is nothing to free */
    status = WP_ERROR_DRIVER;                         /* to the caller it is a block, and it stays one */
  }
  return wp__described(runtime->backend, device->ordinal, status);
}

/* In the order of the stream. The address is forgotten before the driver can hand it out again; that of a captured
 * block freed outside its graph stays, for a launch may bring it back. */
static wp_status free_to_driver(wp__device *device, wp__block *block, wp_stream handle, bool in_capture) {
  wp_delegate *delegate = atomic_load(&block->delegate);
  uint64_t bytes = atomic_load(&block->bytes);
  bool captured = block->captured, may_return = captured && !in_capture;
  if (!may_return) forget(device, block);
  wp_status status = wp__free_in_driver(device, block, handle, in_capture);
  if (status != WP_OK) {
    if (!may_return) remember(device, block);
    return status;
  }
  wp__uses_drop(device, block);
  if (may_return) {
    wp__block_rest(block);
  } else {
    wp__block_drop(&device->runtime->blocks, block);
  }
  wp__count_free(device, delegate, bytes, captured);
  wp__counter_sub(&device->held_bytes, bytes);
  return WP_OK;
}

/* Of a block of a lane's, which stays in the map. */
static void withdraw_from_lane(wp__device *device, wp__block *block) {
  wp__tally *tally = block->tally;
  wp_delegate *delegate = tally->delegate;
  uint64_t life = tally->life;
  wp__lane *lane = &atomic_load(&block->origin)->lane;
  wp__limits_unclaim(delegate, device, block->range.bytes);
  wp__spin_lock(&lane->lock);
  lane->parked_bytes += block->range.bytes;
  wp__tally_free(tally, block->range.bytes);
  wp__spin_unlock(&lane->lock);
  (void)wp__delegate_freed(delegate, life);
}

void wp__withdraw(wp__device *device, wp__block *block, wp__counter *counter) {
  uint64_t bytes = atomic_load(&block->bytes);
  (void)wp__counter_add(counter, bytes); /* before it is not live any more */
  if (wp__block_is_of_lane(block)) {
    withdraw_from_lane(device, block);
  } else {
    if (!block->captured) forget(device, block);
    wp__count_free(device, atomic_load(&block->delegate), bytes, block->captured);
  }
}

/* Once its uses have finished. */
static void park(wp__device *device, wp__block *block) {
  wp__withdraw(device, block, &device->parked_bytes);
  wp__home_park(device, block);
}

/* -- wp_free -- */

/* Only a block of the capture can be freed in it, and only if no other stream has to be waited for. */
static wp_status free_in_capture(wp__device *device, wp__block *block, wp_stream handle, wp_capture_state state) {
  if (state == WP_CAPTURE_ACTIVE && block->captured && block->uses == NULL) {
    return free_to_driver(device, block, handle, true);
  }
  return wp__stream_refuse(device, state, "a block from outside the capture cannot be freed");
}

/* Whether the record still stands for the stream that it stood for then. */
static bool is_same_life(wp__stream *stream, uint64_t epoch) {
  return stream != NULL && wp__counter_get(&stream->epoch) == epoch && !atomic_load(&stream->retired);
}

/* wp__stream_look, but no memory for a record (*out = NULL) is no failure: the block's own event does as well. Under
 * WP_STREAMS_DECLARED the driver is asked only where the answer can be expected to matter, or the stream recorded. */
static wp_status look_for_free(wp__device *device, const wp__block *block, wp_stream handle, bool *asks,
                               wp__stream **out, wp_capture_state *state) {
  bool special = wp__stream_is_special(handle);
  *asks = wp__block_is_of_lane(block) || special || block->captured || block->uses != NULL ||
          handle != atomic_load(&block->stream) || !is_same_life(block->origin, block->origin_epoch);
  wp_status status = wp__stream_look(device, handle, *asks, out, state);
  if (status != WP_ERROR_OUT_OF_HOST_MEMORY) return status;
  if (!*asks) status = wp__stream_look(device, handle, true, out, state);
  if (status != WP_ERROR_OUT_OF_HOST_MEMORY || *state == WP__CAPTURE_UNKNOWN) return status;
  (void)wp__fault_absorb();
  return WP_OK;
}

/* Some drivers give a block that is freed on another stream than its own back to its own at once, while the other still
 * works on it (H7). So the driver sees such a free when that work has finished. */
static bool is_of_another_stream(const wp__device *device, const wp__block *block, wp__stream *stream) {
  if (wp__block_is_of_lane(block)) return block->origin != stream;
  if (block->captured) return false; /* the driver's graph memory: its own rules */
  /* With no delegate open nobody may call again to free what was parked: if the driver can, it does. */
  bool is_closed = atomic_load_explicit(&device->open_delegates, memory_order_relaxed) == 0;
  if (is_closed && (device->capabilities & WP_CAP_ORDERED_FREE) != 0) return false;
  return block->origin != stream || block->origin_epoch != wp__counter_get(&stream->epoch);
}

static wp_status free_in_order(wp__device *device, wp__block *block, wp__stream *stream, bool not_capturing) {
  uint64_t bytes = atomic_load(&block->bytes);
  wp_status status = wp__stream_prepare(device, stream);
  if (status == WP_OK) status = free_to_driver(device, block, stream->handle, false);
  if (status == WP_OK) wp__stream_freed(device, stream, bytes, not_capturing);
  return status;
}

/* With no delegate open nobody may come again to give a lane's memory back: if the driver can order that, it does. */
static bool returns_at_once(wp__device *device) {
  return atomic_load(&device->open_delegates) == 0 && (device->capabilities & WP_CAP_ORDERED_FREE) != 0;
}

static void return_in_order(wp__device *device, wp__stream *stream) {
  wp__counts sum;
  uint64_t idle, keep = device->runtime->options.keep_bytes;
  if (!returns_at_once(device)) return;
  wp__lanes_sum(device, &sum, &idle);
  if (idle <= keep) return;
  if (wp__segments_return_in_order(device, stream, idle - keep) != WP_OK) {
    wp__log_fault(device->runtime, "freed memory could not go to the driver yet");
  }
}

/* To the lane that it came from; the stream is not being captured. */
static wp_status free_to_lane(wp__device *device, wp__block *block, wp__stream *stream) {
  wp_status status = wp__stream_prepare(device, stream);
  if (status != WP_OK) return status;
  wp__uses_drop(device, block);
  bool records = wp__lane_free(device, stream, block);
  if (records || device->bounded || wp__stream_is_per_thread(stream)) wp__stream_vouch(device, stream);
  return_in_order(device, stream);
  return WP_OK;
}

/* The last block of a segment, freed on another stream than its lane's. False: it is not the last one, or its lane's
 * stream still has to do with the rest. */
static bool free_past_lane(wp__device *device, wp__block *block, wp__stream *stream) {
  wp__stream *owner = atomic_load(&block->origin);
  wp__tally *tally = block->tally;
  wp_delegate *delegate = tally->delegate;
  uint64_t bytes = block->range.bytes;
  if (!returns_at_once(device) || device->runtime->options.keep_bytes != 0 || block->uses != NULL) return false;
  wp__spin_lock(&owner->lane.lock);
  wp__blocks *blocks = &device->runtime->blocks;
  wp__block *segment = wp__lane_take_around(&owner->lane, blocks, block, wp__counter_get(&owner->observed));
  if (segment != NULL) {
    wp__limits_unclaim(delegate, device, bytes); /* a closed delegate's record may serve another after the last block */
    wp__tally_free(tally, bytes);
  }
  wp__spin_unlock(&owner->lane.lock);
  if (segment == NULL) return false;
  wp__segment_return_with(device, stream, segment);
  wp__delegate_settle(delegate);
  return true;
}

static wp_status free_on_stream(wp__device *device, wp__block *block, wp_stream handle, wp_capture_state *state) {
  wp__stream *stream = wp__stream_captured(device, handle);
  bool asks, waits = false;
  if (stream != NULL) {
    *state = WP_CAPTURE_ACTIVE;
    return wp__capture_free(device, block, stream);
  }
  wp_status status = look_for_free(device, block, handle, &asks, &stream, state);
  if (status == WP_OK && *state != WP_CAPTURE_NONE) return free_in_capture(device, block, handle, *state);
  if (status == WP_OK && block->uses != NULL) status = wp__uses_prune(device, block, stream, &waits);
  if (status != WP_OK) return status;

  if (stream != NULL && !waits && !is_of_another_stream(device, block, stream)) {
    if (wp__block_is_of_lane(block)) return free_to_lane(device, block, stream);
    return free_in_order(device, block, stream, device->checked || asks);
  }
  if (wp__block_is_of_lane(block) && stream != NULL && free_past_lane(device, block, stream)) return WP_OK;
  status = wp__use_record(device, handle, stream, &block->own);
  if (status != WP_OK) return status;
  block->own.next = block->uses;
  block->uses = &block->own;
  park(device, block);
  return WP_OK;
}

/* -- wp_free_after -- */

static wp_status free_after_streams(wp__device *device, wp__block *block, const wp_stream *streams, size_t count,
                                    wp_capture_state *state) {
  *state = WP_CAPTURE_NONE;
  if (count == 1) return free_on_stream(device, block, streams[0], state);
  wp_status status = wp__uses_add(device, block, streams, count);
  if (status == WP_OK) park(device, block);
  return status;
}

/* -- both -- */

/* The block is the caller's own (TAKEN), and the device is current. */
static wp_status free_claimed(wp__device *device, wp__block *block, const wp_stream *streams, size_t count) {
  wp_capture_state state;
  wp_status status = free_after_streams(device, block, streams, count, &state);
  if (status != WP_OK) {
    wp__block_publish(block);
    return status;
  }
  if (state != WP_CAPTURE_NONE) return WP_OK; /* nothing else is done during a capture */
  wp__home_poll(device);
  if (wp__lanes_bound(device) != WP_OK) wp__log_fault(device->runtime, "idle memory could not go back yet");
  wp__release_if_closed(device);
  return WP_OK;
}

/* A captured block that was freed outside its graph and may have been allocated by a launch since: the driver knows. */
static wp_status free_dormant(wp__device *device, wp__block *block, wp_stream handle) {
  wp_runtime *runtime = device->runtime;
  void *ptr = atomic_load(&block->ptr);
  wp__stream *stream;
  wp_status status = wp__stream_find(device, handle, "a launched graph's block cannot be freed", &stream);
  if (status == WP_OK) status = wp__stream_prepare(device, stream);
  if (status != WP_OK) return status;
  status = WP__CALL(runtime, device->ordinal, memory_free, ptr, stream->handle);
  if (status == WP_ERROR_INVALID_POINTER) {
    return wp__refuse(WP_ERROR_INVALID_POINTER, device->ordinal, "%p was freed and has not been launched since", ptr);
  }
  if (status != WP_OK) return status;
  wp__stream_freed(device, stream, atomic_load(&block->bytes), true);
  wp__release_if_closed(device);
  return WP_OK;
}

/* No live block is at `ptr`. */
static wp_status free_other(wp_runtime *runtime, void *ptr, const wp_stream *streams, size_t count) {
  wp__scope scope;
  wp__block *block = wp__block_claim_dormant(&runtime->blocks, ptr);
  wp__device *device = block == NULL ? NULL : atomic_load(&block->device);
  wp_status status = WP_ERROR_INVALID_POINTER;
  if (device == NULL || count != 1 || (device->capabilities & WP_CAP_CHECKED_FREE) == 0) {
    wp__describe(status, WP__NO_DEVICE, "%p is not a live block of this runtime", ptr);
  } else {
    status = wp__scope_enter(&scope, runtime, device->ordinal);
    if (status == WP_OK) {
      status = free_dormant(device, block, streams[0]);
      wp__scope_leave(&scope);
    }
  }
  if (block != NULL) wp__block_rest(block);
  return status;
}

wp_status wp__free(wp_runtime *runtime, const char *action, void *ptr, const wp_stream *streams, size_t count) {
  wp__scope scope;
  wp__trace_hold line;
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (count > 0 && streams == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "streams is NULL");
  if (ptr == NULL) return WP_OK;
  wp__block *block = wp__block_claim(&runtime->blocks, ptr);
  if (block == NULL) return free_other(runtime, ptr, streams, count);
  wp__device *device = atomic_load(&block->device);
  status = wp__scope_enter(&scope, runtime, device->ordinal);
  if (status != WP_OK) {
    wp__block_publish(block);
    return status;
  }
  wp__trace_begin(runtime->trace, action, block, streams, count, device->ordinal, &line);
  status = free_claimed(device, block, streams, count);
  wp__trace_settle(runtime->trace, &line, status == WP_OK);
  wp__scope_leave(&scope);
  return status;
}

wp_status wp_free_after(wp_runtime *runtime, void *ptr, const wp_stream *streams, size_t count) {
  return wp__result("wp_free_after", wp__free(runtime, "free after", ptr, streams, count));
}
