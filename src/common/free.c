/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc.h"
#include "delegate.h"
#include "home.h"
#include "release.h"
#include "runtime.h"

/* -- uses: streams that a block waits for when it is freed -- */

static bool is_use_of(const wp__use *use, wp__stream *stream) {
  return use->stream == stream && use->epoch == wp__counter_get(&stream->epoch);
}

/* Drops noted uses that need no waiting: of the freeing stream itself, and those that have finished. */
static wp_status prune_uses(wp__device *device, wp__block *block, wp__stream *stream) {
  wp__use **link = &block->uses;
  while (*link != NULL) {
    wp__use *use = *link;
    bool complete = stream != NULL && is_use_of(use, stream);
    if (!complete) {
      wp_status status = WP__CALL(device->runtime, device->ordinal, event_query, use->event, &complete);
      if (status != WP_OK) return status;
    }
    if (complete) {
      wp__use_drop(device, block, link);
    } else {
      link = &use->next;
    }
  }
  return WP_OK;
}

/* -- the two ways back to the driver -- */

/* From here on the caller has no claim to the block, and no address leads to it. */
static void forget(wp__device *device, wp__block *block) {
  (void)wp__map_set(&device->runtime->blocks.map, atomic_load(&block->ptr), NULL);
}

static void remember(wp__device *device, wp__block *block) {
  (void)wp__map_set(&device->runtime->blocks.map, atomic_load(&block->ptr), block);
}

static void count_free(wp__device *device, wp_delegate *delegate, uint64_t bytes, bool captured) {
  if (captured) wp__counter_sub(&device->graph_live, bytes);
  wp__account_free(&device->account, bytes);
  wp__account_free(&delegate->account, bytes);
  wp__delegate_release(delegate);
}

/* In the order of the stream. The address is forgotten before the driver can hand it out again; that of a captured
 * block freed outside its graph stays, for a launch may bring it back. */
static wp_status free_to_driver(wp__device *device, wp__block *block, wp__stream *stream, wp_capture_state state) {
  wp_runtime *runtime = device->runtime;
  wp_delegate *delegate = atomic_load(&block->delegate);
  uint64_t bytes = atomic_load(&block->bytes);
  bool captured = block->captured, inside = state == WP_CAPTURE_ACTIVE;
  bool may_return = captured && !inside;
  if (!may_return) forget(device, block);
  wp_status status = WP__CALL(runtime, device->ordinal, memory_free, atomic_load(&block->ptr), stream->handle);
  if (status != WP_OK) {
    if (!may_return) remember(device, block);
    return status;
  }
  (void)wp__counter_add(&device->driver_frees, 1);
  if (may_return) {
    wp__block_rest(block);
  } else {
    wp__block_drop(&runtime->blocks, block);
  }
  count_free(device, delegate, bytes, captured);
  if (!inside) wp__stream_freed(device, stream, bytes, device->checked);
  return WP_OK;
}

/* Once its uses have finished. */
static void park(wp__device *device, wp__block *block) {
  wp_delegate *delegate = atomic_load(&block->delegate);
  uint64_t bytes = atomic_load(&block->bytes);
  bool captured = block->captured;
  if (!captured) forget(device, block);
  wp__home_park(device, block);
  count_free(device, delegate, bytes, captured); /* after the park, so that `reserved` never dips */
}

/* -- wp_free -- */

/* What becomes of a free on the stream. Under WP_STREAMS_DECLARED the driver is asked only where the answer can be
 * expected to matter. */
static wp_status look_for_capture(wp__device *device, const wp__block *block, wp_stream handle,
                                  wp_capture_state *state) {
  *state = WP_CAPTURE_NONE;
  if (!device->checked && !block->captured && handle != WP_STREAM_LEGACY) return WP_OK;
  wp_status status = wp__stream_capturing(device, handle, state);
  if (status != WP_OK || *state == WP_CAPTURE_NONE) return status;
  if (*state == WP_CAPTURE_ACTIVE && block->captured) return WP_OK;
  return wp__stream_check_idle(device, handle, "a block from outside the capture cannot be freed");
}

static wp_status free_on_stream(wp__device *device, wp__block *block, wp_stream handle) {
  wp__stream *stream = NULL;
  wp_capture_state state;
  wp_status status = wp__stream_find(device, handle, &stream);
  if (status == WP_ERROR_OUT_OF_HOST_MEMORY) {
    (void)wp__fault_absorb(); /* the block's own event does as well */
  } else if (status != WP_OK) {
    return status;
  }
  if (block->uses != NULL) {
    status = prune_uses(device, block, stream);
    if (status != WP_OK) return status;
  }
  if (stream != NULL && block->uses == NULL) {
    status = wp__stream_prepare(device, stream);
    if (status == WP_OK) status = look_for_capture(device, block, stream->handle, &state);
    return status == WP_OK ? free_to_driver(device, block, stream, state) : status;
  }
  status = wp__use_record(device, handle, stream, &block->own);
  if (status != WP_OK) return status;
  block->own.next = block->uses;
  block->uses = &block->own;
  park(device, block);
  return WP_OK;
}

/* -- wp_free_after -- */

static wp_status add_use(wp__device *device, wp__block *block, wp_stream handle) {
  wp__stream *stream;
  wp__use *use = wp__os_calloc(1, sizeof *use);
  if (use == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a use");
  wp_status status = wp__stream_find(device, handle, &stream);
  if (status == WP_OK) status = wp__use_record(device, stream->handle, stream, use);
  if (status != WP_OK) {
    wp__os_free(use);
    return status;
  }
  use->next = block->uses;
  block->uses = use;
  return WP_OK;
}

/* On failure the uses added so far are dropped again. */
static wp_status add_uses(wp__device *device, wp__block *block, const wp_stream *streams, size_t count) {
  wp__use *noted = block->uses;
  wp_status status = WP_OK;
  for (size_t i = 0; i < count && status == WP_OK; i++) status = add_use(device, block, streams[i]);
  while (status != WP_OK && block->uses != noted) wp__use_drop(device, block, &block->uses);
  return status;
}

static wp_status free_after_streams(wp__device *device, wp__block *block, const wp_stream *streams, size_t count) {
  if (count == 1) return free_on_stream(device, block, streams[0]);
  wp_status status = add_uses(device, block, streams, count);
  if (status == WP_OK) park(device, block);
  return status;
}

/* -- both -- */

/* The block is the caller's own (TAKEN), and the device is current. */
static wp_status free_claimed(wp__device *device, wp__block *block, const wp_stream *streams, size_t count) {
  wp_status status = free_after_streams(device, block, streams, count);
  if (status != WP_OK) {
    wp__block_publish(block);
    return status;
  }
  wp__home_poll(device);
  if (atomic_load(&device->open_delegates) == 0) wp__release_soon(device);
  return WP_OK;
}

/* A captured block that was freed outside its graph and may have been allocated by a launch since: the driver knows. */
static wp_status free_dormant(wp__device *device, wp__block *block, wp_stream handle) {
  wp_runtime *runtime = device->runtime;
  void *ptr = atomic_load(&block->ptr);
  wp__stream *stream;
  wp_status status = wp__stream_find(device, handle, &stream);
  if (status == WP_OK)
    status = wp__stream_check_idle(device, stream->handle, "a launched graph's block cannot be freed");
  if (status == WP_OK) status = wp__stream_prepare(device, stream);
  if (status != WP_OK) return status;
  if (WP__VENDOR(runtime, memory_free, ptr, stream->handle) != WP_OK) {
    return wp__refuse(WP_ERROR_INVALID_POINTER, device->ordinal, "%p was freed and has not been launched since", ptr);
  }
  wp__stream_freed(device, stream, atomic_load(&block->bytes), true);
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

static wp_status free_block(wp_runtime *runtime, void *ptr, const wp_stream *streams, size_t count) {
  wp__scope scope;
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
  status = free_claimed(device, block, streams, count);
  wp__scope_leave(&scope);
  return status;
}

wp_status wp_free(wp_runtime *runtime, void *ptr, wp_stream stream) {
  return wp__result("wp_free", free_block(runtime, ptr, &stream, 1));
}

wp_status wp_free_after(wp_runtime *runtime, void *ptr, const wp_stream *streams, size_t count) {
  return wp__result("wp_free_after", free_block(runtime, ptr, streams, count));
}

/* -- wp_note_use -- */

/* Puts `use` in the block's list, in place of an earlier one of the same stream. What is left over is in *rest. */
static bool attach_use(const wp__block_view *view, wp__use *use, wp__use *rest) {
  wp__block *block = view->block;
  if (!wp__block_lock(block, view->word)) return false;
  wp__use *same = block->uses;
  while (same != NULL && !(same->stream == use->stream && same->epoch == use->epoch)) same = same->next;
  if (same != NULL) {
    rest->event = same->event;
    same->event = use->event;
  } else {
    use->next = block->uses;
    block->uses = use;
  }
  wp__block_unlock(block);
  return true;
}

static wp_status note_on_device(const wp__block_view *view, wp_stream handle) {
  wp__device *device = view->device;
  wp__stream *stream;
  wp__use rest = {NULL, 0, NULL, NULL};
  wp_status status = wp__stream_find(device, handle, &stream);
  if (status != WP_OK) return status;
  wp__use *use = wp__os_calloc(1, sizeof *use);
  if (use == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a use");
  status = wp__use_record(device, stream->handle, stream, use);
  if (status != WP_OK) {
    wp__os_free(use);
    return status;
  }
  if (!attach_use(view, use, &rest)) { /* freed meanwhile */
    wp__event_put(device, use->event);
    wp__os_free(use);
    return wp__refuse(WP_ERROR_INVALID_POINTER, device->ordinal, "%p was freed meanwhile", view->ptr);
  }
  if (rest.event != NULL) { /* the list had a use of this stream, which has the new event now */
    wp__event_put(device, rest.event);
    wp__os_free(use);
  }
  return WP_OK;
}

static wp_status note_use(wp_runtime *runtime, void *ptr, wp_stream stream) {
  wp__scope scope;
  wp__block_view view;
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (ptr == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "ptr is NULL");
  if (!wp__block_find(&runtime->blocks, ptr, &view)) {
    return wp__refuse(WP_ERROR_INVALID_POINTER, WP__NO_DEVICE, "%p is not a live block of this runtime", ptr);
  }
  status = wp__scope_enter(&scope, runtime, view.device->ordinal);
  if (status != WP_OK) return status;
  status = note_on_device(&view, stream);
  wp__scope_leave(&scope);
  return status;
}

wp_status wp_note_use(wp_runtime *runtime, void *ptr, wp_stream stream) {
  return wp__result("wp_note_use", note_use(runtime, ptr, stream));
}
