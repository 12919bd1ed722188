/* SPDX-License-Identifier: Apache-2.0 */
#include "warm.h"

#include "alloc.h"
#include "free.h"
#include "refill.h"
#include "release.h"
#include "runtime.h"

/*
 * Why a hit is right: a list holds what was freed on this very stream (or waited for in it), so work that the caller
 * sends there from now on comes after all earlier uses, and no event, wait or driver call is needed. Which stream a
 * handle names is settled before (find). Whether the delegate is open is decided under the lane's lock: a close ends
 * its life before it takes that lock to ask what is live. Who owns the block, its word tells: it is TAKEN while it lies
 * in a list, so that no second free finds it, and gets a new generation when it is handed out.
 */

/* The record of the stream that the handle names; NULL: it is not known, or nothing runs there now. */
static wp__stream *find(wp__device *device, wp_stream handle) {
  uint64_t identity = 0;
  if (handle == (wp_stream)1) handle = WP_STREAM_LEGACY;
  if (device->checked) {
    if (wp__stream_is_special(handle) || !wp__stream_ask(device, handle, &identity)) return NULL;
  } else if (handle == WP_STREAM_PER_THREAD) {
    const wp__thread_token *thread = wp__thread_self();
    if (thread == NULL) return NULL;
    identity = thread->serial;
  }
  return wp__streams_find(&device->streams, handle, identity);
}

/* -- wp_alloc -- */

/* The list is empty: the limits are claimed. */
static bool carve(wp_delegate *delegate, uint64_t life, wp__device *device, wp__stream *stream, unsigned class,
                  void **out) {
  if (wp__lane_serve(delegate, life, stream, class, out)) return true;
  wp__limits_withdraw(delegate, life, device, wp__class_bytes(class));
  return false;
}

/* False: nothing was done, and nothing described; there is another way, or something is wrong with the request, and the
 * long way finds out. */
static bool alloc_warm(wp_delegate *delegate, size_t bytes, wp_stream handle, void **out) {
  if (delegate == NULL || out == NULL || bytes - 1 >= WP__CLASS_LARGEST) return false;
  uint64_t life = atomic_load_explicit(&delegate->life, memory_order_acquire);
  wp__device *device = atomic_load_explicit(&delegate->device, memory_order_relaxed);
  if (life == 0 || !device->warm || !wp__runtime_is_ours(delegate->runtime)) return false;
  wp__stream *stream = find(device, handle);
  unsigned class = wp__class_above(bytes);
  if (stream == NULL || (delegate->limited && !wp__limits_claim(delegate, device, wp__class_bytes(class))))
    return false;

  wp__spin_lock(&stream->lane.lock);
  wp__tally *tally = wp__tally_find(&stream->lane, delegate, life);
  bool serves = tally != NULL && atomic_load_explicit(&delegate->life, memory_order_relaxed) == life;
  wp__block *block = serves ? wp__lane_pop(&stream->lane, class) : NULL;
  if (block != NULL) {
    wp__tally_alloc(tally, block);
    stream->lane.records = false;
  }
  wp__spin_unlock(&stream->lane.lock);

  if (block == NULL) return carve(delegate, life, device, stream, class, out);
  wp__limits_peak(delegate, device);
  atomic_store_explicit(&block->delegate, delegate, memory_order_release);
  wp__block_renew(block);
  *out = block->range.address;
  return true;
}

wp_status wp_alloc(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out) {
  if (alloc_warm(delegate, bytes, stream, out)) return WP_OK;
  return wp__result("wp_alloc", wp__alloc(delegate, bytes, stream, out));
}

/* -- wp_free -- */

/* With the lane's lock, and the block TAKEN: from here on it is the lane's. */
static inline void put(wp__stream *stream, wp__block *block) {
  block->range.position = wp__stream_advance(stream, block->range.bytes);
  wp__tally_free(block->tally, block->range.bytes);
  wp__lane_push(&stream->lane, block);
}

/* After a free. The delegate's record stays as long as a block counts for it; that of a closed one, until it is
 * settled. Was it the last of its device, then the close may have come before the free, and seen nothing of it. */
static void settle(wp__device *device, wp_delegate *delegate, uint64_t life) {
  if (wp__delegate_freed(delegate, life)) wp__release_if_closed(device);
}

/* Whether nothing has to be seen to but the lane, as far as can be told before the block is claimed. */
static bool is_plain(wp__device *device, const wp__stream *stream, wp_stream handle, uint64_t *identity) {
  *identity = 0;
  if (device->bounded || handle == WP_STREAM_PER_THREAD || stream->handle != handle) return false;
  if (atomic_load_explicit(&device->open_delegates, memory_order_relaxed) == 0) return false;
  return !device->checked || (!wp__stream_is_special(handle) && wp__stream_ask(device, handle, identity));
}

/* The lane's lock is the block's guard: under it nobody else can claim the block. */
static bool take_back(wp__device *device, wp__stream *stream, wp__block *block, const void *ptr) {
  wp__lane *lane = &stream->lane;
  wp_delegate *delegate = NULL;
  uint64_t life = 0;
  wp__spin_lock(&lane->lock);
  bool takes = (device->checked || !lane->records) && wp__block_claim_guarded(block, ptr, &lane->lock);
  if (takes && block->uses != NULL) { /* other streams have to be waited for */
    wp__block_publish(block);
    takes = false;
  }
  if (takes) {
    delegate = block->tally->delegate;
    life = block->tally->life;
    wp__limits_unclaim(delegate, device, block->range.bytes);
    put(stream, block);
  }
  wp__spin_unlock(&lane->lock);
  if (takes) settle(device, delegate, life);
  return takes;
}

/* False: nothing was done, likewise. */
static bool free_warm(wp_runtime *runtime, void *ptr, wp_stream handle) {
  uint64_t identity;
  wp_event event = NULL;
  if (runtime == NULL || !runtime->warm || !wp__runtime_is_ours(runtime)) return false;
  wp__block *block = wp__map_get(&runtime->blocks.map, ptr);
  if (block == NULL) return false;
  wp__device *device = atomic_load_explicit(&block->device, memory_order_acquire);
  wp__stream *stream = atomic_load_explicit(&block->origin, memory_order_acquire);
  if (handle == (wp_stream)1) handle = WP_STREAM_LEGACY;
  if (!is_plain(device, stream, handle, &identity) || !wp__stream_is(stream, handle, identity)) return false;
  if (device->checked && (event = wp__stream_spare(stream)) == NULL) return false;
  bool takes = take_back(device, stream, block, ptr);
  if (event != NULL && takes) wp__stream_vouch_by(device, stream, event);
  if (event != NULL && !takes) wp__stream_keep_spare(device, stream, event);
  return takes;
}

wp_status wp_free(wp_runtime *runtime, void *ptr, wp_stream stream) {
  if (free_warm(runtime, ptr, stream)) return WP_OK;
  return wp__result("wp_free", wp__free(runtime, "free", ptr, &stream, 1));
}

/* -- the long way, at its end -- */

bool wp__lane_free(wp__device *device, wp__stream *stream, wp__block *block) {
  wp__lane *lane = &stream->lane;
  wp_delegate *delegate = block->tally->delegate;
  uint64_t life = block->tally->life;
  wp__limits_unclaim(delegate, device, block->range.bytes);
  wp__spin_lock(&lane->lock);
  put(stream, block);
  bool records = lane->records;
  wp__spin_unlock(&lane->lock);
  (void)wp__delegate_freed(delegate, life);
  return records || device->checked;
}
