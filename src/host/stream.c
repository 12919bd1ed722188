/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include "capture.h"
#include "device.h"
#include "error.h"
#include "slots.h"

static struct wp__host_slots streams = WP__HOST_SLOTS_STREAMS;

/* -- a thread's own streams: they end with the thread; used after that, they are new ones -- */

struct own_streams {
  struct wp__host_timeline *of_device[WP__HOST_MAX_DEVICES];
};

static wp__once own_once = WP__ONCE_INIT;
static wp__tls own_tls;
static bool own_tls_works;

static void end_own_streams(void *value) {
  struct own_streams *own = value;
  for (int i = 0; i < WP__HOST_MAX_DEVICES; ++i) {
    if (own->of_device[i] != NULL) wp__host_timeline_close(own->of_device[i]);
  }
  wp__os_free(own);
}

static void create_own_tls(void) { own_tls_works = wp__tls_create(&own_tls, end_own_streams); }

static struct own_streams *own_streams(void) {
  wp__once_run(&own_once, create_own_tls);
  if (!own_tls_works) return NULL;
  struct own_streams *own = wp__tls_get(&own_tls);
  if (own != NULL) return own;
  own = wp__os_calloc(1, sizeof *own);
  if (own == NULL || wp__tls_set(&own_tls, own)) return own;
  wp__os_free(own);
  return NULL;
}

static struct wp__host_timeline *own_stream(int device) {
  struct own_streams *own = own_streams();
  if (own == NULL) return NULL;
  if (own->of_device[device] == NULL) own->of_device[device] = wp__host_timeline_create(device, WP__HOST_BLOCKING);
  return own->of_device[device];
}

/* -- handles -- */

static wp__host_result acquire_special(void *stream, struct wp__host_timeline **out) {
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result != WP__HOST_SUCCESS) return result;
  struct wp__host_timeline *timeline =
      stream == WP__HOST_STREAM_PER_THREAD ? own_stream(device) : wp__host_device_legacy(device);
  if (timeline == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  wp__host_timeline_retain(timeline);
  *out = timeline;
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_stream_acquire(void *stream, struct wp__host_timeline **out) {
  if (stream == WP__HOST_STREAM_LEGACY || stream == WP__HOST_STREAM_LEGACY_ALIAS ||
      stream == WP__HOST_STREAM_PER_THREAD) {
    return acquire_special(stream, out);
  }
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_timeline *timeline = wp__host_slots_get(&streams, stream);
  if (timeline != NULL) wp__host_timeline_retain(timeline);
  wp__mutex_unlock(&wp__host_lock);
  if (timeline == NULL) return WP__HOST_INVALID_VALUE;
  *out = timeline;
  return WP__HOST_SUCCESS;
}

static wp__host_result create(int device, enum wp__host_manner manner, void **out) {
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_device_check(device);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  struct wp__host_timeline *timeline = wp__host_timeline_create(device, manner);
  if (timeline == NULL) return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  wp__mutex_lock(&wp__host_lock);
  void *handle = wp__host_slots_put(&streams, timeline);
  wp__mutex_unlock(&wp__host_lock);
  if (handle == NULL) {
    wp__host_timeline_close(timeline);
    return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  }
  *out = handle;
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_stream_create(int device, void **out) { return create(device, WP__HOST_NON_BLOCKING, out); }

wp__host_result wp__host_stream_create_blocking(int device, void **out) {
  return create(device, WP__HOST_BLOCKING, out);
}

wp__host_result wp__host_stream_destroy(void *stream) {
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_timeline *timeline = wp__host_slots_remove(&streams, stream);
  wp__mutex_unlock(&wp__host_lock);
  if (timeline == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_timeline_close(timeline);
  return WP__HOST_SUCCESS;
}

/* -- what is asked of a stream -- */

wp__host_result wp__host_stream_id(void *stream, uint64_t *out) {
  struct wp__host_timeline *timeline;
  wp__host_result result = out == NULL ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  *out = timeline->id;
  wp__host_timeline_release(timeline);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_stream_device(void *stream, int *out) {
  struct wp__host_timeline *timeline;
  wp__host_result result = out == NULL ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  *out = timeline->device;
  wp__host_timeline_release(timeline);
  return WP__HOST_SUCCESS;
}

/* Nobody may ask after the work of a stream that is captured, nor may those whom a capture forbids it. */
static wp__host_result enter_to_ask(struct wp__host_timeline *timeline) {
  bool is_captured;
  wp__host_result result = wp__host_capture_enter_leniently(timeline, &is_captured);
  if (is_captured) return wp__host_capture_refuse(timeline, WP__HOST_CAPTURE_UNSUPPORTED);
  return result == WP__HOST_SUCCESS ? wp__host_capture_guard() : result;
}

wp__host_result wp__host_stream_query(void *stream, bool *complete) {
  struct wp__host_timeline *timeline;
  wp__host_result result = complete == NULL ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = enter_to_ask(timeline);
  if (result == WP__HOST_SUCCESS) {
    wp__mutex_lock(&wp__host_lock);
    *complete = timeline->first == NULL;
    wp__mutex_unlock(&wp__host_lock);
  }
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

wp__host_result wp__host_stream_synchronize(void *stream) {
  struct wp__host_timeline *timeline;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = enter_to_ask(timeline);
  if (result == WP__HOST_SUCCESS) result = wp__host_timeline_synchronize(timeline);
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

static struct wp__host_timeline *acquire_next(int device, uint64_t id) {
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_timeline *timeline = wp__host_order_next(device, id);
  if (timeline != NULL) wp__host_timeline_retain(timeline);
  wp__mutex_unlock(&wp__host_lock);
  return timeline;
}

wp__host_result wp__host_device_synchronize(int device) {
  wp__host_result result = wp__host_device_check(device);
  if (result == WP__HOST_SUCCESS) result = wp__host_capture_guard();
  uint64_t id = 0;
  while (result == WP__HOST_SUCCESS) {
    struct wp__host_timeline *timeline = acquire_next(device, id);
    if (timeline == NULL) break;
    id = timeline->id;
    result = wp__host_timeline_synchronize(timeline);
    wp__host_timeline_release(timeline);
  }
  return wp__host_finish(result);
}

/* -- what is sent to a stream -- */

wp__host_result wp__host_submit(void *stream, void (*function)(void *), void (*release)(void *), void *argument) {
  struct wp__host_timeline *timeline;
  bool is_captured;
  wp__host_result result = function == NULL ? WP__HOST_INVALID_VALUE : wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = wp__host_capture_enter(timeline, &is_captured);
  if (result == WP__HOST_SUCCESS && is_captured) {
    result = wp__host_capture_add(
        timeline, &(struct wp__host_node){.function = function, .release = release, .argument = argument});
  } else if (result == WP__HOST_SUCCESS) {
    result = wp__host_timeline_launch(timeline, function, release, argument);
  }
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

wp__host_result wp__host_launch(void *stream, void (*function)(void *argument), void *argument) {
  return wp__host_submit(stream, function, NULL, argument);
}

/* Both belong into graphs, or neither does. */
static wp__host_result join(struct wp__host_timeline *timeline, struct wp__host_timeline *other) {
  bool is_captured;
  struct wp__host_point *point = NULL;
  wp__host_result result = wp__host_capture_enter(other, &is_captured);
  if (result == WP__HOST_SUCCESS) result = wp__host_capture_enter(timeline, &is_captured);
  if (result != WP__HOST_SUCCESS) return result;
  wp__mutex_lock(&wp__host_lock);
  if (timeline->place != NULL || other->place != NULL) {
    result = wp__host_capture_wait(timeline, other->place);
  } else {
    point = wp__host_point_take(other);
    result = point == NULL ? WP__HOST_OUT_OF_HOST_MEMORY : wp__host_timeline_wait_locked(timeline, point);
  }
  wp__mutex_unlock(&wp__host_lock);
  wp__host_point_release(point);
  return result;
}

wp__host_result wp__host_stream_join(void *stream, void *other) {
  struct wp__host_timeline *timeline, *behind;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = wp__host_stream_acquire(other, &behind);
  if (result == WP__HOST_SUCCESS) {
    result = join(timeline, behind);
    wp__host_timeline_release(behind);
  }
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}
