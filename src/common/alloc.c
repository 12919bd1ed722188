/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc.h"

#include <stdint.h>

#include "delegate.h"
#include "free.h"
#include "home.h"
#include "release.h"
#include "runtime.h"
#include "uses.h"

bool wp__round_up(size_t bytes, size_t *rounded) {
  if (bytes > SIZE_MAX - (WP__GRANULE - 1)) return false;
  *rounded = (bytes + (WP__GRANULE - 1)) & ~(WP__GRANULE - 1);
  return true;
}

/* -- asking the driver -- */

static wp_status ask_driver(wp__device *device, size_t bytes, wp_stream stream, void **out) {
  void *ptr = NULL;
  wp_status status = WP__CALL(device->runtime, device->ordinal, memory_alloc, device->pool, bytes, stream, &ptr);
  if (status != WP_OK) return status;
  if (ptr == NULL) return wp__refuse(WP_ERROR_OUT_OF_MEMORY, device->ordinal, "the driver had no memory");
  *out = ptr;
  return WP_OK;
}

/* Gives back what can go (`wait`: also what has to be waited for) and asks again. */
static wp_status reclaim_and_ask(wp__device *device, size_t bytes, wp_stream stream, wp_wait wait, void **out) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  if (wp__release(device, 0, wait, &report) > WP_PENDING) wp__log_fault(device->runtime, "reclaiming was incomplete");
  (void)wp__counter_add(&device->oom_retries, 1);
  return ask_driver(device, bytes, stream, out);
}

/* `captured`: the stream is being captured, and so nothing is trimmed or waited for. */
static wp_status driver_alloc(wp__device *device, size_t bytes, wp_stream stream, bool captured, void **out) {
  wp_oom_policy policy = captured ? WP_OOM_FAIL : device->runtime->options.oom_policy;
  wp_status status = ask_driver(device, bytes, stream, out);
  if (status == WP_ERROR_OUT_OF_MEMORY && policy != WP_OOM_FAIL) {
    status = reclaim_and_ask(device, bytes, stream, WP_NO_WAIT, out);
  }
  if (status == WP_ERROR_OUT_OF_MEMORY && policy == WP_OOM_RECLAIM_AND_WAIT) {
    status = reclaim_and_ask(device, bytes, stream, WP_WAIT, out);
  }
  if (status == WP_ERROR_OUT_OF_MEMORY && policy != WP_OOM_FAIL) {
    /* What the driver mapped before it found that it would not do; all else went before. */
    (void)WP__VENDOR(device->runtime, pool_trim, device->pool, 0);
  }
  if (status == WP_OK && !captured) (void)wp__counter_add(&device->driver_allocs, 1);
  return status;
}

/* Some drivers drop a threshold that was set before the pool's first allocation (H4). */
static void settle_threshold(wp__device *device) {
  if (atomic_load_explicit(&device->threshold_settled, memory_order_relaxed)) return;
  if (wp__device_reapply_threshold(device) == WP_OK) {
    atomic_store_explicit(&device->threshold_settled, true, memory_order_relaxed);
  } else {
    wp__log_fault(device->runtime, "the release threshold may not hold yet");
  }
}

void wp__give_up(wp__device *device, wp__block *block, wp__stream *stream) {
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
    wp__home_park(device, block);
  }
  if (stream != NULL) wp__release_if_closed(device);
}

/* -- wp_alloc -- */

static void describe(wp__block *block, void *ptr, size_t bytes, wp__device *device, wp_delegate *delegate,
                     wp_stream stream) {
  atomic_store_explicit(&block->bytes, bytes, memory_order_release);
  atomic_store_explicit(&block->device, device, memory_order_release);
  atomic_store_explicit(&block->delegate, delegate, memory_order_release);
  atomic_store_explicit(&block->stream, stream, memory_order_release);
  atomic_store_explicit(&block->ptr, ptr, memory_order_release);
}

/* The driver gives an address anew: a captured block that was there has gone with its graph. */
static void forget_captured(wp__device *device, void *ptr) {
  wp__blocks *blocks = &device->runtime->blocks;
  wp__block *block = wp__block_claim_dormant(blocks, ptr);
  if (block == NULL && (block = wp__block_claim(blocks, ptr)) != NULL) { /* never launched, never freed */
    wp__uses_drop(device, block);
    wp__count_free(device, atomic_load(&block->delegate), atomic_load(&block->bytes), block->captured);
  }
  if (block != NULL) wp__block_drop(blocks, block);
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
  forget_captured(device, ptr);
  if (!wp__map_set(&blocks->map, ptr, block)) {
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory to register a block");
  }
  if (block->captured) (void)wp__counter_add(&device->graph_live, bytes);
  (void)wp__account_alloc(&delegate->account, bytes);
  uint64_t live = wp__account_alloc(&device->account, bytes);
  wp__counter_raise(&device->reserved_peak, live + wp__counter_get(&device->parked_bytes));
  wp__block_publish(block);
  return WP_OK;
}

/* With the limits claimed and the device current. */
static wp_status alloc_claimed(wp_delegate *delegate, size_t bytes, wp_stream handle, void **out) {
  wp__device *device = delegate->device;
  wp_runtime *runtime = device->runtime;
  wp__stream *stream;
  wp_capture_state state;
  void *ptr;
  wp_status status = wp__stream_look(device, handle, true, &stream, &state);
  if (status != WP_OK) return status;
  if (state == WP_CAPTURE_IMPLICIT) return wp__stream_refuse(device, state, "the legacy stream cannot be used");
  if (stream != NULL) handle = stream->handle;
  wp__block *block = wp__block_take(&runtime->blocks);
  if (block == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a block's record");
  block->captured = state == WP_CAPTURE_ACTIVE;
  if (block->captured) atomic_store_explicit(&device->graph_used, true, memory_order_relaxed);
  status = driver_alloc(device, bytes, handle, block->captured, &ptr);
  if (status != WP_OK) {
    wp__block_drop(&runtime->blocks, block);
    return status;
  }
  describe(block, ptr, bytes, device, delegate, handle);
  block->origin = stream;
  block->origin_epoch = stream == NULL ? 0 : wp__counter_get(&stream->epoch);
  status = hand_out(delegate, block);
  if (status != WP_OK) {
    wp__give_up(device, block, stream);
    return status;
  }
  if (!block->captured) settle_threshold(device);
  *out = ptr;
  return WP_OK;
}

static wp_status claim_limits(wp_delegate *delegate, size_t bytes) {
  wp__device *device = delegate->device;
  const char *whose = "delegate's";
  wp__account *account = &delegate->account;
  if (wp__account_claim(&delegate->account, bytes)) {
    if (wp__account_claim(&device->account, bytes)) return WP_OK;
    wp__account_unclaim(&delegate->account, bytes);
    whose = "runtime's";
    account = &device->account;
  }
  return wp__refuse(WP_ERROR_LIMIT, device->ordinal, "%zu bytes more would pass the %s limit of %llu", bytes, whose,
                    (unsigned long long)account->limit);
}

/* What wp_last_error tells about an exhaustion, as far as the driver answers now; a limit needs no driver. */
static void add_figures(wp__device *device, wp_status status, size_t requested) {
  wp_runtime *runtime = device->runtime;
  wp__scope scope;
  wp_pool_usage usage = {0, 0};
  wp__figures figures = {.requested = requested, .live = wp__counter_get(&device->account.live)};
  if (status != WP_ERROR_OUT_OF_MEMORY && status != WP_ERROR_LIMIT) return;
  if (status == WP_ERROR_OUT_OF_MEMORY) {
    wp__fault_keep();
    if (wp__scope_enter(&scope, runtime, device->ordinal) == WP_OK) {
      (void)WP__VENDOR(runtime, pool_usage, device->pool, &usage);
      (void)WP__VENDOR(runtime, device_memory, &figures.device_free, &figures.device_total);
      wp__scope_leave(&scope);
    }
    wp__fault_restore();
  }
  figures.reserved = usage.reserved;
  figures.cached = usage.reserved - usage.used;
  wp__fault_figures(&figures);
}

/* Keeps an open delegate's record for the length of a call that uses it. */
static wp_status hold_open(wp_delegate *delegate) {
  wp_status status = wp__delegate_check(delegate);
  if (status != WP_OK) return status;
  if (!wp__delegate_retain(delegate)) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "the delegate is closed");
  }
  if (!atomic_load_explicit(&delegate->device->lost, memory_order_acquire)) return WP_OK;
  status = wp__refuse(WP_ERROR_NO_DEVICE, delegate->device->ordinal,
                      "the device was lost: close this delegate and open another");
  wp__delegate_release(delegate);
  return status;
}

static wp_status round_request(const wp_delegate *delegate, size_t bytes, size_t *rounded) {
  if (wp__round_up(bytes, rounded)) return WP_OK;
  return wp__refuse(WP_ERROR_OUT_OF_MEMORY, delegate->device->ordinal, "no device has %zu bytes", bytes);
}

static wp_status alloc_rounded(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out) {
  wp__scope scope;
  wp__device *device = delegate->device;
  wp_status status = claim_limits(delegate, bytes);
  if (status != WP_OK) return status;
  status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status == WP_OK) {
    wp__home_poll(device);
    status = alloc_claimed(delegate, bytes, stream, out);
    wp__scope_leave(&scope);
  }
  if (status != WP_OK) {
    wp__account_unclaim(&delegate->account, bytes);
    wp__account_unclaim(&device->account, bytes);
  }
  return status;
}

static wp_status alloc_block(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out) {
  size_t rounded = 0;
  wp_status status = hold_open(delegate);
  if (status != WP_OK) return status;
  if (out == NULL) {
    status = wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "out is NULL");
  } else if (bytes == 0) {
    *out = NULL;
  } else {
    status = round_request(delegate, bytes, &rounded);
    if (status == WP_OK) status = alloc_rounded(delegate, rounded, stream, out);
    if (status == WP_OK) return WP_OK; /* the block keeps the reference */
    add_figures(delegate->device, status, bytes);
  }
  wp__delegate_release(delegate);
  return status;
}

wp_status wp_alloc(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out) {
  return wp__result("wp_alloc", alloc_block(delegate, bytes, stream, out));
}

/* -- wp_prime: the driver maps the memory for an allocation and keeps it when that is freed -- */

static wp_status prime_stream(wp__device *device, size_t bytes, wp_stream handle) {
  wp_runtime *runtime = device->runtime;
  wp__stream *stream;
  void *ptr;
  wp_status status = wp__stream_find(device, handle, "memory cannot be primed", &stream);
  if (status != WP_OK) return status;
  wp__block *block = wp__block_take(&runtime->blocks);
  if (block == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a block's record");
  status = driver_alloc(device, bytes, stream->handle, false, &ptr);
  if (status != WP_OK) {
    wp__block_drop(&runtime->blocks, block);
    return status;
  }
  settle_threshold(device); /* before the free, which might otherwise give the memory back */
  describe(block, ptr, bytes, device, NULL, stream->handle);
  wp__give_up(device, block, stream);
  return WP_OK;
}

static wp_status prime_rounded(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  wp__scope scope;
  wp_status status = wp__scope_enter(&scope, delegate->runtime, delegate->device->ordinal);
  if (status != WP_OK) return status;
  status = prime_stream(delegate->device, bytes, stream);
  wp__scope_leave(&scope);
  return status;
}

static wp_status prime(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  size_t rounded = 0;
  wp_status status = hold_open(delegate);
  if (status != WP_OK) return status;
  if (bytes != 0) {
    status = round_request(delegate, bytes, &rounded);
    if (status == WP_OK) status = prime_rounded(delegate, rounded, stream);
    add_figures(delegate->device, status, bytes);
  }
  wp__delegate_release(delegate);
  return status;
}

wp_status wp_prime(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  return wp__result("wp_prime", prime(delegate, bytes, stream));
}
