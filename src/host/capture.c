/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "error.h"
#include "stream.h"

struct wp__host_capture {
  unsigned references; /* of its places, and one while it goes on */
  enum wp__host_capture_mode mode;
  bool is_invalidated;
  bool is_over;
  struct wp__host_timeline *origin; /* without a reference: its end abandons the capture */
  wp__thread_token *owner;          /* the thread that began it */
  struct wp__host_graph *graph;
  struct wp__host_capture *next; /* of those that go on */
};

static struct wp__host_capture *ongoing; /* under the engine's lock */
static atomic_size_t ongoing_count;
static _Thread_local enum wp__host_capture_mode thread_mode;

/* -- places; the lock is held -- */

static struct wp__host_place *create_place(struct wp__host_capture *capture, size_t count) {
  struct wp__host_place *place = wp__os_calloc(1, sizeof *place + count * sizeof *place->nodes);
  if (place == NULL) return NULL;
  place->references = 1;
  place->capture = capture;
  place->count = count;
  ++capture->references;
  return place;
}

static void release_capture(struct wp__host_capture *capture) {
  if (--capture->references == 0) wp__os_free(capture);
}

void wp__host_place_retain(struct wp__host_place *place) { ++place->references; }

void wp__host_place_release(struct wp__host_place *place) {
  if (place == NULL || --place->references != 0) return;
  release_capture(place->capture);
  wp__os_free(place);
}

static void move_to(struct wp__host_timeline *timeline, struct wp__host_place *place) {
  wp__host_place_release(timeline->place);
  timeline->place = place;
}

static bool add_union(struct wp__host_timeline *timeline, const struct wp__host_place *other) {
  const struct wp__host_place *own = timeline->place;
  struct wp__host_place *both = create_place(own->capture, own->count + other->count);
  size_t count = 0, i = 0, j = 0;
  if (both == NULL) return false;
  while (i < own->count || j < other->count) {
    bool is_own = j == other->count || (i < own->count && own->nodes[i] <= other->nodes[j]);
    size_t node = is_own ? own->nodes[i++] : other->nodes[j++];
    if (count == 0 || both->nodes[count - 1] != node) both->nodes[count++] = node;
  }
  both->count = count;
  move_to(timeline, both);
  return true;
}

/* -- the end of a capture; the lock is held -- */

static void finish(struct wp__host_capture *capture) {
  struct wp__host_capture **link = &ongoing;
  while (*link != capture) link = &(*link)->next;
  *link = capture->next;
  (void)atomic_fetch_sub(&ongoing_count, 1);
  capture->is_over = true;
  wp__thread_release(capture->owner);
  for (int device = 0; device < WP__HOST_MAX_DEVICES; ++device) {
    for (struct wp__host_timeline *each = wp__host_order_first(device); each != NULL; each = each->next) {
      if (each->place != NULL && each->place->capture == capture) move_to(each, NULL);
    }
  }
  release_capture(capture);
}

void wp__host_capture_abandon(struct wp__host_timeline *timeline) {
  if (timeline->place == NULL) return;
  struct wp__host_capture *capture = timeline->place->capture;
  struct wp__host_graph *graph = capture->graph;
  capture->is_invalidated = true;
  if (capture->origin == timeline) {
    wp__host_graph_forget_order(graph);
    finish(capture);
    wp__host_graph_release(graph);
  } else {
    move_to(timeline, NULL);
  }
}

/* -- what a capture forbids -- */

static bool is_forbidding(const struct wp__host_capture *capture) {
  if (capture->owner == wp__thread_self()) return capture->mode != WP__HOST_CAPTURE_RELAXED;
  return capture->mode == WP__HOST_CAPTURE_GLOBAL && thread_mode == WP__HOST_CAPTURE_GLOBAL;
}

wp__host_result wp__host_capture_guard(void) {
  wp__host_result result = WP__HOST_SUCCESS;
  if (atomic_load(&ongoing_count) == 0 || thread_mode == WP__HOST_CAPTURE_RELAXED) return WP__HOST_SUCCESS;
  wp__mutex_lock(&wp__host_lock);
  for (struct wp__host_capture *capture = ongoing; capture != NULL; capture = capture->next) {
    if (!is_forbidding(capture)) continue;
    capture->is_invalidated = true;
    result = WP__HOST_CAPTURE_UNSUPPORTED;
  }
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

/* Whether blocking streams of the device are being captured; they may be invalidated. The lock is held. */
static bool blocking_captures(int device, bool invalidate) {
  bool found = false;
  for (struct wp__host_timeline *each = wp__host_order_first(device); each != NULL; each = each->next) {
    if (each->manner != WP__HOST_BLOCKING || each->place == NULL) continue;
    found = true;
    if (invalidate) each->place->capture->is_invalidated = true;
  }
  return found;
}

static wp__host_result enter_locked(struct wp__host_timeline *timeline, bool is_lenient, bool *is_captured) {
  *is_captured = timeline->place != NULL;
  if (timeline->place != NULL) {
    return timeline->place->capture->is_invalidated ? WP__HOST_CAPTURE_INVALIDATED : WP__HOST_SUCCESS;
  }
  if (timeline->manner == WP__HOST_LEGACY && blocking_captures(timeline->device, true)) {
    return WP__HOST_CAPTURE_IMPLICIT;
  }
  return wp__host_order_join(timeline, is_lenient);
}

static wp__host_result enter(struct wp__host_timeline *timeline, bool is_lenient, bool *is_captured) {
  *is_captured = false;
  if (timeline->manner == WP__HOST_NON_BLOCKING && atomic_load(&ongoing_count) == 0) return WP__HOST_SUCCESS;
  wp__mutex_lock(&wp__host_lock);
  wp__host_result result = enter_locked(timeline, is_lenient, is_captured);
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

wp__host_result wp__host_capture_enter(struct wp__host_timeline *timeline, bool *is_captured) {
  return enter(timeline, false, is_captured);
}

wp__host_result wp__host_capture_enter_leniently(struct wp__host_timeline *timeline, bool *is_captured) {
  return enter(timeline, true, is_captured);
}

static wp__host_result refuse(struct wp__host_timeline *timeline, wp__host_result result) {
  if (timeline->place != NULL) timeline->place->capture->is_invalidated = true;
  return result;
}

wp__host_result wp__host_capture_refuse(struct wp__host_timeline *timeline, wp__host_result result) {
  wp__mutex_lock(&wp__host_lock);
  result = refuse(timeline, result);
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

wp__host_result wp__host_place_ask(const struct wp__host_place *place) {
  place->capture->is_invalidated = true;
  return WP__HOST_CAPTURED_EVENT;
}

/* -- what becomes part of a capture -- */

struct wp__host_graph *wp__host_capture_graph(const struct wp__host_place *place) {
  return place->capture->graph;
}

static wp__host_result add(struct wp__host_timeline *timeline, struct wp__host_node node) {
  struct wp__host_place *before = timeline->place;
  if (before == NULL) return WP__HOST_INVALID_VALUE; /* it has ended meanwhile */
  if (before->capture->is_invalidated) return WP__HOST_CAPTURE_INVALIDATED;
  struct wp__host_place *after = create_place(before->capture, 1);
  if (after == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  after->nodes[0] = before->capture->graph->count;
  node.after = before;
  if (!wp__host_graph_append(before->capture->graph, &node)) {
    wp__host_place_release(after);
    return WP__HOST_OUT_OF_HOST_MEMORY;
  }
  timeline->place = after; /* the node has the reference to the old one */
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_capture_add(struct wp__host_timeline *timeline, const struct wp__host_node *node) {
  wp__mutex_lock(&wp__host_lock);
  wp__host_result result = add(timeline, *node);
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

wp__host_result wp__host_capture_wait(struct wp__host_timeline *timeline, struct wp__host_place *place) {
  if (place == NULL) return timeline->place == NULL ? WP__HOST_SUCCESS : refuse(timeline, WP__HOST_CAPTURE_ISOLATION);
  if (place->capture->is_over) return refuse(timeline, WP__HOST_CAPTURED_EVENT);
  if (place->capture->is_invalidated) return refuse(timeline, WP__HOST_CAPTURE_INVALIDATED);
  if (timeline->manner == WP__HOST_LEGACY) {
    place->capture->is_invalidated = true;
    return WP__HOST_CAPTURE_UNSUPPORTED;
  }
  if (timeline->place == NULL) {
    wp__host_place_retain(place);
    timeline->place = place;
    return WP__HOST_SUCCESS;
  }
  if (timeline->place->capture != place->capture) {
    place->capture->is_invalidated = true;
    return refuse(timeline, WP__HOST_CAPTURE_MERGE);
  }
  return add_union(timeline, place) ? WP__HOST_SUCCESS : WP__HOST_OUT_OF_HOST_MEMORY;
}

/* -- engine.h -- */

static wp__host_result begin(struct wp__host_timeline *timeline, enum wp__host_capture_mode mode) {
  wp__thread_token *owner = wp__thread_self();
  struct wp__host_capture *capture = wp__os_calloc(1, sizeof *capture);
  struct wp__host_graph *graph = wp__host_graph_create();
  struct wp__host_place *place = capture == NULL ? NULL : create_place(capture, 0);
  if (owner == NULL || graph == NULL || place == NULL) {
    wp__os_free(place);
    wp__host_graph_release(graph);
    wp__os_free(capture);
    return WP__HOST_OUT_OF_HOST_MEMORY;
  }
  wp__thread_retain(owner);
  ++capture->references;
  capture->mode = mode;
  capture->origin = timeline;
  capture->owner = owner;
  capture->graph = graph;
  capture->next = ongoing;
  ongoing = capture;
  (void)atomic_fetch_add(&ongoing_count, 1);
  timeline->place = place;
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_capture_begin(void *stream, enum wp__host_capture_mode mode) {
  struct wp__host_timeline *timeline;
  wp__host_result result =
      (unsigned)mode > WP__HOST_CAPTURE_RELAXED ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&wp__host_lock);
  if (timeline->manner == WP__HOST_LEGACY) {
    result = WP__HOST_CAPTURE_UNSUPPORTED;
  } else if (timeline->place != NULL) {
    result = WP__HOST_ILLEGAL_STATE;
  } else {
    result = begin(timeline, mode);
  }
  wp__mutex_unlock(&wp__host_lock);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

static wp__host_result check_end(struct wp__host_timeline *timeline) {
  if (timeline->place == NULL) return WP__HOST_ILLEGAL_STATE;
  const struct wp__host_capture *capture = timeline->place->capture;
  if (capture->origin != timeline) return refuse(timeline, WP__HOST_CAPTURE_UNMATCHED);
  if (capture->mode != WP__HOST_CAPTURE_RELAXED && capture->owner != wp__thread_self()) {
    return WP__HOST_CAPTURE_WRONG_THREAD;
  }
  return WP__HOST_SUCCESS;
}

/* Ends the capture in any case. */
static wp__host_result end(struct wp__host_timeline *timeline, void **out) {
  struct wp__host_capture *capture = timeline->place->capture;
  struct wp__host_graph *graph = capture->graph;
  wp__host_result result = WP__HOST_SUCCESS;
  if (capture->is_invalidated) {
    result = WP__HOST_CAPTURE_INVALIDATED;
  } else if (!wp__host_graph_is_joined(graph, timeline->place)) {
    result = WP__HOST_CAPTURE_UNJOINED;
  } else {
    void *handle = wp__host_graph_publish(graph);
    if (handle != NULL) {
      *out = handle;
    } else {
      result = WP__HOST_OUT_OF_HOST_MEMORY;
    }
  }
  wp__host_graph_forget_order(graph);
  finish(capture);
  if (result != WP__HOST_SUCCESS) wp__host_graph_release(graph);
  return result;
}

wp__host_result wp__host_capture_end(void *stream, void **out) {
  struct wp__host_timeline *timeline;
  wp__host_result result = out == NULL ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&wp__host_lock);
  result = check_end(timeline);
  if (result == WP__HOST_SUCCESS) result = end(timeline, out);
  wp__mutex_unlock(&wp__host_lock);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

wp__host_result wp__host_capture_status(void *stream, enum wp__host_capture_state *out) {
  struct wp__host_timeline *timeline;
  wp__host_result result = out == NULL ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  if (atomic_load(&ongoing_count) == 0) {
    wp__host_timeline_release(timeline);
    *out = WP__HOST_CAPTURE_NONE;
    return WP__HOST_SUCCESS;
  }
  wp__mutex_lock(&wp__host_lock);
  if (timeline->manner == WP__HOST_LEGACY && blocking_captures(timeline->device, false)) {
    result = WP__HOST_CAPTURE_IMPLICIT;
  } else if (timeline->place == NULL) {
    *out = WP__HOST_CAPTURE_NONE;
  } else {
    *out = timeline->place->capture->is_invalidated ? WP__HOST_CAPTURE_BROKEN : WP__HOST_CAPTURE_ACTIVE;
  }
  wp__mutex_unlock(&wp__host_lock);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

wp__host_result wp__host_capture_refuse_identity(void *stream) {
  struct wp__host_timeline *timeline;
  if (atomic_load(&ongoing_count) == 0) return WP__HOST_SUCCESS;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&wp__host_lock);
  if (timeline->place != NULL) result = refuse(timeline, WP__HOST_CAPTURE_UNSUPPORTED);
  wp__mutex_unlock(&wp__host_lock);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

wp__host_result wp__host_capture_exchange_mode(enum wp__host_capture_mode *mode) {
  if (mode == NULL || (unsigned)*mode > WP__HOST_CAPTURE_RELAXED) return wp__host_finish(WP__HOST_INVALID_VALUE);
  enum wp__host_capture_mode previous = thread_mode;
  thread_mode = *mode;
  *mode = previous;
  return WP__HOST_SUCCESS;
}
