/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "delegate.h"
#include "free.h"
#include "graph_memory.h"
#include "home.h"
#include "release.h"
#include "runtime.h"
#include "uses.h"
#include "warm.h"

/* A stream of a capture. */
struct member {
  wp__stream *stream, *bay;
  wp_stream handle;
  bool has_finished; /* what was sent to it before the capture; only known without WP_CAP_CAPTURES_END */
  bool is_left;      /* at the end the driver still says that it is captured */
  struct member *next;
};

struct wp_capture {
  wp__device *device;
  wp_graph_memory *memory;
  struct member *members;
};

/* -- streams of a capture -- */

/* Nobody else finds the record any more, and nothing is recorded on it (wp__record_rest). */
static bool attach(wp_capture *capture, const struct member *member) {
  wp__device *device = capture->device;
  wp__stream *stream = member->stream;
  wp__mutex_lock(&device->lock);
  bool attaches = atomic_load(&stream->capture) == NULL && !atomic_load(&stream->retired);
  if (attaches) {
    stream->bay = member->bay;
    atomic_store(&stream->capture, capture);
    atomic_store(&stream->retired, true);
    (void)atomic_fetch_add(&device->captured_streams, 1);
  }
  wp__mutex_unlock(&device->lock);
  while (attaches && atomic_load(&stream->recorders) != 0) wp__yield();
  return attaches;
}

static void detach(wp_capture *capture, const struct member *member) {
  wp__device *device = capture->device;
  wp__stream *stream = member->stream;
  wp__mutex_lock(&device->lock);
  stream->bay = NULL;
  if (member->is_left) atomic_store(&stream->left, member->has_finished ? WP__LEFT_FINISHED : WP__LEFT_UNKNOWN);
  atomic_store(&stream->capture, NULL);
  if (!member->is_left) atomic_store_explicit(&stream->retired, false, memory_order_release);
  (void)atomic_fetch_sub(&device->captured_streams, 1);
  wp__mutex_unlock(&device->lock);
}

/* Frees that are not recorded would stay so until the end. */
static wp_status find_stream(wp__device *device, wp_stream handle, wp__stream **out) {
  wp_status status = wp__stream_find(device, handle, "its allocations cannot be served from here on", out);
  if (status != WP_OK || wp__counter_get(&(*out)->freed) == wp__counter_get(&(*out)->recorded)) return status;
  return wp__stream_record(device, *out, true);
}

static void forget_uses_since(wp_capture *capture, const wp__use *noted) {
  wp__block *record = capture->memory->record;
  while (record->uses != noted) wp__use_drop(capture->device, record, &record->uses);
}

/* A driver takes some microseconds to see that a record on an idle stream is complete, and more on a new one. */
static wp_status ask_patiently(wp__device *device, wp__use *use, bool *complete) {
  const uint64_t patience_ns = 200000;
  uint64_t start = wp__clock_ns();
  wp_status status;
  do {
    status = wp__use_ask(device, use, complete);
  } while (status == WP_OK && !*complete && wp__clock_ns() - start < patience_ns);
  return status;
}

/* Some drivers never let go of a stream whose capture failed; then this is the last that is heard of its work. */
static wp_status note_earlier_work(wp_capture *capture, struct member *member) {
  wp__device *device = capture->device;
  wp__block *record = capture->memory->record;
  uint64_t waited_ns = 0;
  if ((device->capabilities & WP_CAP_CAPTURES_END) != 0) return WP_OK;
  wp_status status = wp__use_add(device, record, member->stream);
  if (status == WP_OK) status = ask_patiently(device, record->uses, &member->has_finished);
  if (status != WP_OK || !member->has_finished) return status;
  wp__use_drop(device, record, &record->uses);
  return wp__stream_observe(device, member->stream, WP_NO_WAIT, &waited_ns); /* and shows it to the driver */
}

static wp_status join_with(wp_capture *capture, wp_stream handle, struct member *member) {
  wp__device *device = capture->device;
  wp__arena *arena = capture->memory->arena;
  wp_status status = find_stream(device, handle, &member->stream);
  if (status != WP_OK) return status;
  wp__home_look(device); /* from here on nothing can be asked of what was freed on the stream before */
  status = note_earlier_work(capture, member);
  if (status != WP_OK) return status;
  member->handle = member->stream->handle;
  member->bay = wp__arena_take_bay(arena, member->handle);
  if (member->bay == NULL) {
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a stream of a capture");
  }
  if (attach(capture, member)) return WP_OK;
  wp__arena_give_bay(arena, member->bay);
  return wp__stream_refuse_declared(device, "another capture cannot take the stream");
}

/* With the device current. */
static wp_status join(wp_capture *capture, wp_stream handle) {
  struct member *member = wp__os_calloc(1, sizeof *member);
  if (member == NULL) {
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, capture->device->ordinal, "no memory for a stream of a capture");
  }
  const wp__use *noted = capture->memory->record->uses;
  wp_status status = join_with(capture, handle, member);
  if (status != WP_OK) {
    forget_uses_since(capture, noted);
    wp__os_free(member);
    return status;
  }
  member->next = capture->members;
  capture->members = member;
  return WP_OK;
}

static wp_status check_stream(const wp__device *device, wp_stream handle) {
  if (handle != WP_STREAM_LEGACY && handle != (wp_stream)1) return WP_OK;
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, device->ordinal, "the legacy stream cannot be captured");
}

/* -- begin and join -- */

/* `memory` is the capture's then. */
static wp_status begin_with(wp_graph_memory *memory, wp_stream handle, wp_capture **out) {
  wp__device *device = memory->device;
  wp_capture *capture = wp__os_calloc(1, sizeof *capture);
  if (capture == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a capture");
  *capture = (wp_capture){.device = device, .memory = memory};
  wp_status status = join(capture, handle);
  if (status == WP_OK) {
    *out = capture;
  } else {
    wp__os_free(capture);
  }
  return status;
}

static wp_status begin_on(wp__device *device, wp_stream handle, const wp_graph_memory *share, wp_capture **out) {
  wp_graph_memory *memory;
  wp_status status = wp__graph_memory_make(device, share, &memory);
  if (status != WP_OK) return status;
  status = begin_with(memory, handle, out);
  if (status == WP_OK) return WP_OK;
  wp__fault_keep();
  wp__graph_memory_drop(memory);
  wp__fault_restore();
  return status;
}

static wp_status begin_held(wp_delegate *delegate, wp_stream handle, const wp_graph_memory *share, wp_capture **out) {
  wp__scope scope;
  wp__device *device = delegate->device;
  if (out == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, device->ordinal, "out is NULL");
  if (share != NULL && share->device != device) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, device->ordinal, "the memory to share is of another device");
  }
  wp_status status = check_stream(device, handle);
  if (status == WP_OK) status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = begin_on(device, handle, share, out);
  wp__scope_leave(&scope);
  return status;
}

static wp_status begin(wp_delegate *delegate, wp_stream handle, const wp_graph_memory *share, wp_capture **out) {
  wp_status status = wp__delegate_hold(delegate);
  if (status != WP_OK) return status;
  status = begin_held(delegate, handle, share, out);
  wp__delegate_release(delegate);
  return status;
}

wp_status wp_capture_begin(wp_delegate *delegate, wp_stream stream, wp_graph_memory *share, wp_capture **out) {
  return wp__result("wp_capture_begin", begin(delegate, stream, share, out));
}

static wp_status check_device(const wp__device *device) {
  wp_status status = wp__runtime_check(device->runtime);
  if (status != WP_OK || !atomic_load(&device->lost)) return status;
  return wp__refuse(WP_ERROR_NO_DEVICE, device->ordinal, "the device was lost: abort the capture");
}

static wp_status join_stream(wp_capture *capture, wp_stream handle) {
  wp__scope scope;
  if (capture == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "capture is NULL");
  wp__device *device = capture->device;
  wp_status status = check_device(device);
  if (status == WP_OK) status = check_stream(device, handle);
  if (status == WP_OK) status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = join(capture, handle);
  wp__scope_leave(&scope);
  return status;
}

wp_status wp_capture_join(wp_capture *capture, wp_stream stream) {
  return wp__result("wp_capture_join", join_stream(capture, stream));
}

/* -- frees in a capture -- */

/* It counts as freed, and its memory as the graph's. */
static void keep(wp__device *device, wp_graph_memory *memory, wp__block *block) {
  uint64_t bytes = atomic_load(&block->bytes);
  wp__withdraw(device, block, &device->kept_bytes);
  wp__mutex_lock(&device->lock);
  block->queue = memory->kept;
  memory->kept = block;
  memory->kept_bytes += bytes;
  wp__mutex_unlock(&device->lock);
}

wp_status wp__capture_free(wp__device *device, wp__block *block, wp__stream *captured) {
  const wp_capture *capture = atomic_load(&captured->capture);
  if (block->captured) {
    return wp__refuse(WP_ERROR_CAPTURING, device->ordinal,
                      "a block of a capture that nobody declared cannot be freed in another one: free it after that");
  }
  bool is_of_stream = block->origin == captured->bay && block->origin_epoch == wp__counter_get(&captured->bay->epoch);
  if (is_of_stream && block->uses == NULL) {
    (void)wp__lane_free(device, captured->bay, block);
  } else {
    keep(device, capture->memory, block);
  }
  return WP_OK;
}

/* -- the end of a capture -- */

/* Asks the driver about each stream. *goes_on: it still says of one that it is being captured. */
static wp_status look_at_members(wp_capture *capture, bool *goes_on) {
  wp__device *device = capture->device;
  *goes_on = false;
  for (struct member *member = capture->members; member != NULL; member = member->next) {
    wp_capture_state state = WP_CAPTURE_NONE;
    wp_status status = WP__CALL(device->runtime, device->ordinal, stream_capturing, member->handle, &state);
    if (status != WP_OK) return status;
    member->is_left = state == WP_CAPTURE_ACTIVE;
    *goes_on = *goes_on || member->is_left;
  }
  return WP_OK;
}

static wp_status refuse_to_end(const wp__device *device, const char *what) {
  return wp__refuse(WP_ERROR_CAPTURING, device->ordinal, "a stream is still being captured: %s", what);
}

/* What was freed in the capture had been used on its streams, and launches may be sent to others: the graph's release
 * waits for what the streams have been sent so far, too. */
static wp_status record_members(wp_capture *capture) {
  wp__device *device = capture->device;
  wp__block *record = capture->memory->record;
  const wp__use *noted = record->uses;
  wp_status status = WP_OK;
  for (const struct member *member = capture->members; status == WP_OK && member != NULL; member = member->next) {
    if (!member->is_left) status = wp__use_add(device, record, member->stream);
  }
  if (status != WP_OK) forget_uses_since(capture, noted);
  return status;
}

/* The streams are ordinary ones again, unless they are left, and the capture is gone; its memory is not. */
static wp_graph_memory *dissolve(wp_capture *capture) {
  wp_graph_memory *memory = capture->memory;
  while (capture->members != NULL) {
    struct member *member = capture->members;
    capture->members = member->next;
    detach(capture, member);
    wp__arena_give_bay(memory->arena, member->bay);
    wp__os_free(member);
  }
  wp__os_free(capture);
  return memory;
}

/* With the device current. On failure the capture goes on. */
static wp_status end_on_device(wp_capture *capture, wp_graph_memory **out) {
  bool goes_on;
  wp_status status = look_at_members(capture, &goes_on);
  if (status == WP_OK && goes_on) status = refuse_to_end(capture->device, "end that first, or abort this");
  if (status == WP_OK) status = record_members(capture);
  if (status == WP_OK) *out = dissolve(capture);
  return status;
}

static wp_status end(wp_capture *capture, wp_graph_memory **out) {
  wp__scope scope;
  if (capture == NULL || out == NULL) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "%s is NULL", capture == NULL ? "capture" : "out");
  }
  wp__device *device = capture->device;
  wp_status status = check_device(device);
  if (status == WP_OK) status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = end_on_device(capture, out);
  wp__scope_leave(&scope);
  return status;
}

wp_status wp_capture_end(wp_capture *capture, wp_graph_memory **out) {
  return wp__result("wp_capture_end", end(capture, out));
}

/* -- abort: an end without launches -- */

/* The driver says that a stream is still being captured, and may never say anything else: then the caller knows. */
static wp_status abort_on_device(wp_capture *capture) {
  wp__device *device = capture->device;
  const wp__block *record = capture->memory->record;
  const wp__use *noted = record->uses;
  bool goes_on;
  wp_status status = look_at_members(capture, &goes_on);
  if (status == WP_OK && goes_on && (device->capabilities & WP_CAP_CAPTURES_END) != 0) {
    status = refuse_to_end(device, "end that first");
  }
  if (status == WP_OK) status = record_members(capture);
  if (status != WP_OK) return status;
  bool is_unused = record->uses == noted; /* none of its streams runs anything */
  wp_graph_memory *memory = dissolve(capture);
  if (is_unused) {
    wp__graph_memory_abandon(memory);
  } else {
    wp__graph_memory_park(memory);
  }
  return WP_OK;
}

static wp_status abort_capture(wp_capture *capture) {
  wp__scope scope;
  if (capture == NULL) return WP_OK;
  wp__device *device = capture->device;
  wp_status status = wp__runtime_check(device->runtime);
  if (status != WP_OK) return status;
  if (atomic_load(&device->lost)) {
    wp__graph_memory_lose(dissolve(capture));
    return WP_OK;
  }
  status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = abort_on_device(capture);
  wp__scope_leave(&scope);
  if (status == WP_OK) wp__release_if_closed(device);
  return status;
}

wp_status wp_capture_abort(wp_capture *capture) { return wp__result("wp_capture_abort", abort_capture(capture)); }
