/* SPDX-License-Identifier: Apache-2.0 */
#include "uses.h"

#include "runtime.h"

static const char cannot_record[] = "the stream's use of the block cannot be recorded";

wp_status wp__use_record(wp__device *device, wp_stream handle, wp__stream *stream, wp__use *use) {
  *use = (wp__use){.stream = stream, .epoch = stream == NULL ? 0 : wp__counter_get(&stream->epoch)};
  wp_status status = wp__event_get(device, &use->event);
  if (status != WP_OK) return status;
  use->started = wp__counter_add(&device->note_clock, 1);
  status = WP__CALL(device->runtime, device->ordinal, event_record, use->event, handle);
  use->recorded = wp__counter_add(&device->note_clock, 1);
  if (status != WP_OK) wp__event_put(device, use->event);
  return status;
}

/* What a capture that has left the stream made of it, unless the record served an earlier stream then. */
static unsigned left_of(const wp__use *use) {
  if (use->stream == NULL || use->epoch != wp__counter_get(&use->stream->epoch)) return WP__LEFT_NOT;
  return atomic_load(&use->stream->left);
}

bool wp__use_is_left(const wp__use *use) { return left_of(use) == WP__LEFT_UNKNOWN; }

bool wp__use_is_mute(const wp__use *use) {
  return use->stream != NULL && (atomic_load(&use->stream->capture) != NULL || left_of(use) != WP__LEFT_NOT);
}

/* The event is not one of a stream that can be captured any more. */
static bool is_free_to_ask(const wp__use *use) {
  return use->stream == NULL || (atomic_load(&use->stream->left) != WP__LEFT_NOT && left_of(use) == WP__LEFT_NOT);
}

wp_status wp__use_ask(wp__device *device, const wp__use *use, bool *complete) {
  *complete = use->stream != NULL && wp__stream_has_drained(device, use->stream, use->epoch);
  if (*complete) return WP_OK;
  if (!is_free_to_ask(use)) return wp__stream_ask_event(device, use->stream, use->event, complete);
  return WP__CALL(device->runtime, device->ordinal, event_query, use->event, complete);
}

wp_status wp__use_wait(wp__device *device, const wp__use *use, bool *complete) {
  if (!is_free_to_ask(use)) return wp__stream_wait_event(device, use->stream, use->event, complete);
  *complete = true;
  return WP__CALL(device->runtime, device->ordinal, event_synchronize, use->event);
}

wp_status wp__use_add(wp__device *device, wp__block *block, wp__stream *stream) {
  wp__use *use = wp__os_calloc(1, sizeof *use);
  if (use == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a use");
  wp_status status = wp__use_record(device, stream->handle, stream, use);
  if (status != WP_OK) {
    wp__os_free(use);
    return status;
  }
  use->next = block->uses;
  block->uses = use;
  return WP_OK;
}

static wp_status add_use(wp__device *device, wp__block *block, wp_stream handle) {
  wp__stream *stream;
  wp_status status = wp__stream_find(device, handle, cannot_record, &stream);
  return status == WP_OK ? wp__use_add(device, block, stream) : status;
}

wp_status wp__uses_add(wp__device *device, wp__block *block, const wp_stream *streams, size_t count) {
  wp__use *noted = block->uses;
  wp_status status = WP_OK;
  for (size_t i = 0; i < count && status == WP_OK; i++) status = add_use(device, block, streams[i]);
  while (status != WP_OK && block->uses != noted) wp__use_drop(device, block, &block->uses);
  return status;
}

static bool is_use_of(const wp__use *use, wp__stream *stream) {
  return use->stream == stream && use->epoch == wp__counter_get(&stream->epoch);
}

wp_status wp__uses_prune(wp__device *device, wp__block *block, wp__stream *stream, bool *waits) {
  wp__use **link = &block->uses;
  *waits = false;
  while (*link != NULL) {
    wp__use *use = *link;
    bool complete = false;
    if (stream == NULL || !is_use_of(use, stream)) {
      wp_status status = wp__use_ask(device, use, &complete);
      if (status != WP_OK) return status;
      if (!complete) *waits = true;
    }
    if (complete) {
      wp__use_drop(device, block, link);
    } else {
      link = &use->next;
    }
  }
  return WP_OK;
}

void wp__uses_drop(wp__device *device, wp__block *block) {
  while (block->uses != NULL) wp__use_drop(device, block, &block->uses);
}

static void unlink_use(wp__block *block, wp__use **link) {
  wp__use *use = *link;
  *link = use->next;
  if (use != &block->own) wp__os_free(use);
}

void wp__use_drop(wp__device *device, wp__block *block, wp__use **link) {
  wp_event event = (*link)->event;
  unlink_use(block, link);
  wp__event_put(device, event);
}

void wp__uses_forget(wp__block *block) {
  while (block->uses != NULL) unlink_use(block, &block->uses);
}

/* -- wp_note_use -- */

/* A use of the same stream that was recorded before this one: then this one stands for both. Two threads that note the
 * same stream at once do not know whose record came first, and both stay. */
static wp__use *find_earlier(wp__use *list, const wp__use *use) {
  while (list != NULL && !(list->stream == use->stream && list->epoch == use->epoch && list->recorded < use->started)) {
    list = list->next;
  }
  return list;
}

/* Puts `use` in the block's list, or in place of an earlier one, whose event *rest gets then. */
static bool attach_use(const wp__block_view *view, wp__use *use, wp_event *rest) {
  wp__block *block = view->block;
  *rest = NULL;
  if (!wp__block_lock(block, view->word)) return false;
  wp__use *earlier = find_earlier(block->uses, use);
  if (earlier != NULL) {
    *rest = earlier->event;
    earlier->event = use->event;
    earlier->started = use->started;
    earlier->recorded = use->recorded;
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
  wp_event rest;
  wp_status status = wp__stream_find(device, handle, cannot_record, &stream);
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
  if (rest != NULL) {
    wp__event_put(device, rest);
    wp__os_free(use);
  }
  return WP_OK;
}

static wp_status note_use(wp_runtime *runtime, void *ptr, wp_stream stream) {
  wp__scope scope;
  wp__block_view view;
  wp__trace_hold line;
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (ptr == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "ptr is NULL");
  if (!wp__block_find(&runtime->blocks, ptr, &view)) {
    return wp__refuse(WP_ERROR_INVALID_POINTER, WP__NO_DEVICE, "%p is not a live block of this runtime", ptr);
  }
  status = wp__scope_enter(&scope, runtime, view.device->ordinal);
  if (status != WP_OK) return status;
  wp__trace_begin(runtime->trace, "note", view.block, &stream, 1, view.device->ordinal, &line);
  status = note_on_device(&view, stream);
  wp__trace_settle(runtime->trace, &line, status == WP_OK);
  wp__scope_leave(&scope);
  return status;
}

wp_status wp_note_use(wp_runtime *runtime, void *ptr, wp_stream stream) {
  return wp__result("wp_note_use", note_use(runtime, ptr, stream));
}
