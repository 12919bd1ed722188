/* SPDX-License-Identifier: Apache-2.0 */
/* WP_CACHING_DRIVER: every allocation and free goes to the driver's pool. */
#include "direct.h"

#include "exhaustion.h"
#include "free.h"
#include "home.h"
#include "release.h"
#include "runtime.h"
#include "uses.h"

/* -- asking the driver -- */

struct request {
  size_t bytes;
  wp_stream handle;
  void *ptr; /* the answer */
};

static wp_status attempt(wp__device *device, void *argument) {
  struct request *request = argument;
  wp_status status = WP__CALL(device->runtime, device->ordinal, memory_alloc, device->pool, request->bytes,
                              request->handle, &request->ptr);
  if (status != WP_OK) return status;
  if (request->ptr == NULL) return wp__refuse(WP_ERROR_OUT_OF_MEMORY, device->ordinal, "the driver had no memory");
  return WP_OK;
}

/* `captured`: the stream is being captured, and so nothing is trimmed or waited for. */
static wp_status driver_alloc(wp__device *device, size_t bytes, wp_stream handle, bool captured, void **out) {
  struct request request = {bytes, handle, NULL};
  wp_oom_policy policy = captured ? WP_OOM_FAIL : device->runtime->options.oom_policy;
  wp_status status = wp__exhaust(device, policy, attempt, &request);
  if (status != WP_OK) return status;
  if (!captured) (void)wp__counter_add(&device->driver_allocs, 1);
  *out = request.ptr;
  return WP_OK;
}

/* Rid of memory of the driver's that no caller will get: freed on the stream it was allocated on, or parked where the
 * driver refuses that. `block` is TAKEN and describes it. `stream` is NULL while it is being captured. */
static void give_up(wp__device *device, wp__block *block, wp__stream *stream) {
  wp_runtime *runtime = device->runtime;
  wp_stream handle = atomic_load(&block->stream);
  uint64_t bytes = atomic_load(&block->bytes);
  wp_status status = stream == NULL ? WP_OK : wp__stream_prepare(device, stream);
  if (status == WP_OK) status = WP__VENDOR(runtime, memory_free, atomic_load(&block->ptr), handle);
  if (status == WP_OK) {
    if (!block->captured) (void)wp__counter_add(&device->driver_frees, 1);
    wp__block_drop(&runtime->blocks, block);
    if (stream != NULL) wp__stream_freed(device, stream, bytes, true);
  } else if (stream == NULL) {
    wp__block_drop(&runtime->blocks, block); /* the graph's own affair: nothing can be recorded in a capture */
  } else {
    /* Nobody has used it: all that has to come before a free on home is the allocation itself. */
    if (wp__use_record(device, handle, stream, &block->own) == WP_OK) block->uses = &block->own;
    wp__device_hold(device, bytes);
    (void)wp__counter_add(&device->parked_bytes, bytes);
    wp__home_park(device, block);
  }
  if (stream != NULL) wp__release_if_closed(device);
}

/* -- handing out -- */

static void describe(wp__block *block, void *ptr, size_t bytes, wp__device *device, wp_delegate *delegate,
                     wp_stream stream) {
  block->class = WP__CLASS_OF_DRIVER;
  atomic_store_explicit(&block->bytes, bytes, memory_order_release);
  atomic_store_explicit(&block->device, device, memory_order_release);
  atomic_store_explicit(&block->delegate, delegate, memory_order_release);
  atomic_store_explicit(&block->stream, stream, memory_order_release);
  atomic_store_explicit(&block->ptr, ptr, memory_order_release);
}

/* Enters a block that the driver has given in the map and the accounts, and makes it live. */
static wp_status hand_out(wp_delegate *delegate, wp__block *block) {
  wp__device *device = delegate->device;
  wp__blocks *blocks = &device->runtime->blocks;
  void *ptr = atomic_load(&block->ptr);
  uint64_t bytes = atomic_load(&block->bytes);
  if (!wp__map_holds(ptr)) {
    return wp__refuse(WP_ERROR_DRIVER, device->ordinal, "the driver gave an address that is not aligned: %p", ptr);
  }
  wp__forget_captured(device, ptr);
  if (!wp__map_set(&blocks->map, ptr, block)) {
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory to register a block");
  }
  if (block->captured) (void)wp__counter_add(&device->graph_live, bytes);
  (void)wp__account_alloc(&delegate->account, bytes);
  (void)wp__account_alloc(&device->account, bytes);
  wp__limits_peak(delegate, device);
  wp__device_hold(device, bytes);
  (void)atomic_fetch_add(&delegate->references, 1); /* the block's */
  wp__block_publish(block);
  return WP_OK;
}

wp_status wp__direct_alloc(wp_delegate *delegate, wp__stream *stream, wp_stream handle, size_t bytes, void **out) {
  wp__device *device = delegate->device;
  wp_runtime *runtime = device->runtime;
  void *ptr;
  wp__block *block = wp__block_take(&runtime->blocks);
  if (block == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a block's record");
  block->captured = stream == NULL;
  if (block->captured) atomic_store_explicit(&device->graph_used, true, memory_order_relaxed);
  wp_status status = driver_alloc(device, bytes, handle, block->captured, &ptr);
  if (status != WP_OK) {
    wp__block_drop(&runtime->blocks, block);
    return status;
  }
  describe(block, ptr, bytes, device, delegate, handle);
  block->origin = stream;
  block->origin_epoch = stream == NULL ? 0 : wp__counter_get(&stream->epoch);
  status = hand_out(delegate, block);
  if (status != WP_OK) {
    give_up(device, block, stream);
    return status;
  }
  if (!block->captured) wp__device_settle_threshold(device);
  *out = ptr;
  return WP_OK;
}

/* -- wp_prime: the driver maps the memory for an allocation and keeps it when that is freed -- */

wp_status wp__direct_prime(wp__device *device, wp__stream *stream, size_t bytes) {
  wp_runtime *runtime = device->runtime;
  void *ptr;
  wp_status status = wp__stream_prepare(device, stream); /* for the free: it could not be ordered otherwise */
  if (status != WP_OK) return status;
  wp__block *block = wp__block_take(&runtime->blocks);
  if (block == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a block's record");
  status = driver_alloc(device, bytes, stream->handle, false, &ptr);
  if (status != WP_OK) {
    wp__block_drop(&runtime->blocks, block);
    return status;
  }
  wp__device_settle_threshold(device); /* before the free, which might otherwise give the memory back */
  describe(block, ptr, bytes, device, NULL, stream->handle);
  give_up(device, block, stream);
  return WP_OK;
}
