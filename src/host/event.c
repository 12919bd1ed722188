/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "device.h"
#include "error.h"
#include "slots.h"
#include "stream.h"

struct event {
  int device;
  struct wp__host_point *point; /* what it stands for; NULL: nothing, or a place */
  struct wp__host_place *place; /* where it was recorded in a capture */
};

static struct wp__host_slots events = WP__HOST_SLOTS_EVENTS;

wp__host_result wp__host_event_create(int device, void **out) {
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_device_check(device);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  struct event *event = wp__os_calloc(1, sizeof *event);
  if (event == NULL) return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  event->device = device;
  wp__mutex_lock(&wp__host_lock);
  void *handle = wp__host_slots_put(&events, event);
  wp__mutex_unlock(&wp__host_lock);
  if (handle == NULL) {
    wp__os_free(event);
    return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  }
  *out = handle;
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_event_destroy(void *handle) {
  wp__mutex_lock(&wp__host_lock);
  struct event *event = wp__host_slots_remove(&events, handle);
  if (event != NULL) wp__host_place_release(event->place);
  wp__mutex_unlock(&wp__host_lock);
  if (event == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_point_release(event->point);
  wp__os_free(event);
  return WP__HOST_SUCCESS;
}

/* -- recording -- */

/* In a capture; the lock is held. */
static wp__host_result record_place(struct event *event, struct wp__host_place *place) {
  wp__host_place_retain(place);
  wp__host_place_release(event->place);
  wp__host_point_release(event->point);
  event->place = place;
  event->point = NULL;
  return WP__HOST_SUCCESS;
}

/* The lock is held. */
static wp__host_result record_point(struct event *event, struct wp__host_timeline *timeline) {
  struct wp__host_point *point = wp__host_point_take(timeline);
  if (point == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  wp__host_place_release(event->place);
  wp__host_point_release(event->point);
  event->place = NULL;
  event->point = point;
  return WP__HOST_SUCCESS;
}

static wp__host_result record(void *handle, struct wp__host_timeline *timeline) {
  bool is_captured;
  wp__host_result result = wp__host_capture_enter(timeline, &is_captured);
  if (result != WP__HOST_SUCCESS) return result;
  wp__mutex_lock(&wp__host_lock);
  struct event *event = wp__host_slots_get(&events, handle);
  if (event == NULL || event->device != timeline->device) {
    result = WP__HOST_INVALID_VALUE;
  } else {
    result = timeline->place != NULL ? record_place(event, timeline->place) : record_point(event, timeline);
  }
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

wp__host_result wp__host_event_record(void *event, void *stream) {
  struct wp__host_timeline *timeline;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = record(event, timeline);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

/* -- asking -- */

/* The event's point with a reference for the caller, NULL if it was never recorded. */
static wp__host_result acquire_point(void *handle, struct wp__host_point **out) {
  wp__host_result result = wp__host_capture_guard();
  if (result != WP__HOST_SUCCESS) return result;
  wp__mutex_lock(&wp__host_lock);
  struct event *event = wp__host_slots_get(&events, handle);
  if (event == NULL) {
    result = WP__HOST_INVALID_VALUE;
  } else if (event->place != NULL) {
    result = wp__host_place_ask(event->place);
  } else {
    *out = event->point;
    if (event->point != NULL) wp__host_point_retain(event->point);
  }
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

wp__host_result wp__host_event_query(void *event, bool *complete) {
  struct wp__host_point *point = NULL;
  wp__host_result result = complete == NULL ? WP__HOST_INVALID_VALUE : acquire_point(event, &point);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  *complete = point == NULL || wp__host_timeline_passed(point->timeline, point->sequence);
  wp__host_point_release(point);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_event_synchronize(void *event) {
  struct wp__host_point *point = NULL;
  wp__host_result result = acquire_point(event, &point);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  if (point != NULL) wp__host_point_synchronize(point);
  wp__host_point_release(point);
  return WP__HOST_SUCCESS;
}

/* -- waiting -- */

static wp__host_result wait_for(struct wp__host_timeline *timeline, void *handle) {
  bool is_captured;
  wp__host_result result = wp__host_capture_enter(timeline, &is_captured);
  if (result != WP__HOST_SUCCESS) return result;
  wp__mutex_lock(&wp__host_lock);
  struct event *event = wp__host_slots_get(&events, handle);
  if (event == NULL) {
    result = WP__HOST_INVALID_VALUE;
  } else if (event->place != NULL || (event->point != NULL && timeline->place != NULL)) {
    result = wp__host_capture_wait(timeline, event->place);
  } else if (event->point != NULL) {
    result = wp__host_timeline_wait_locked(timeline, event->point);
  }
  wp__mutex_unlock(&wp__host_lock);
  return result;
}

wp__host_result wp__host_stream_wait(void *stream, void *event) {
  struct wp__host_timeline *timeline;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = wait_for(timeline, event);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}
