/* SPDX-License-Identifier: Apache-2.0 */
/* What has finished of what was freed on a stream. */
#include "device.h"
#include "runtime.h"

/* With `shows`, a synchronisation lets the driver see what is complete. */
static wp_status ask(wp__device *device, wp__stream *stream, wp_event event, bool shows, bool *complete) {
  wp_status status = WP_OK;
  *complete = false;
  (void)atomic_fetch_add(&stream->recorders, 1); /* a capture begins when they are gone */
  if (!wp__stream_is_captured(stream)) {
    status = WP__CALL(device->runtime, device->ordinal, event_query, event, complete);
    if (status == WP_OK && *complete && shows) {
      status = WP__CALL(device->runtime, device->ordinal, event_synchronize, event);
    }
  } else {
    *complete = atomic_load(&stream->left) == WP__LEFT_FINISHED;
  }
  (void)atomic_fetch_sub(&stream->recorders, 1);
  return status;
}

wp_status wp__stream_ask_event(wp__device *device, wp__stream *stream, wp_event event, bool *complete) {
  return ask(device, stream, event, false, complete);
}

/* A synchronisation that has begun cannot be called off when a capture of the stream begins, which it may break there:
 * such drivers are asked again and again. */
static wp_status wait_for(wp__device *device, wp__stream *stream, wp_event event, bool shows, bool *complete) {
  wp_status status = WP_OK;
  *complete = (device->capabilities & WP_CAP_CAPTURES_END) != 0;
  if (*complete) return WP__CALL(device->runtime, device->ordinal, event_synchronize, event);
  while (status == WP_OK && !*complete && !wp__stream_is_captured(stream)) {
    wp__yield();
    status = ask(device, stream, event, shows, complete);
  }
  return status;
}

wp_status wp__stream_wait_event(wp__device *device, wp__stream *stream, wp_event event, bool *complete) {
  return wait_for(device, stream, event, false, complete);
}

/* With the event taken out. */
static wp_status observe_event(wp__device *device, wp__stream *stream, wp_event event, uint64_t recorded, wp_wait wait,
                               uint64_t *waited_ns) {
  bool complete = false, shows = wp__device_shows_frees(device);
  wp_status status = ask(device, stream, event, shows, &complete);
  if (status == WP_OK && !complete && wait == WP_WAIT && !wp__stream_is_captured(stream)) {
    uint64_t start = wp__clock_ns();
    status = wait_for(device, stream, event, shows, &complete);
    *waited_ns += wp__clock_ns() - start;
  }
  if (status == WP_OK && complete) wp__counter_raise(&stream->observed, recorded);
  return status;
}

wp_status wp__stream_observe(wp__device *device, wp__stream *stream, wp_wait wait, uint64_t *waited_ns) {
  wp_event event;
  uint64_t recorded;
  wp_status status = WP_OK;
  if (!wp__stream_take_event(stream, wait, &event, &recorded)) return WP_OK;
  if (wp__stream_has_drained(device, stream, wp__counter_get(&stream->epoch))) {
    wp__counter_raise(&stream->observed, recorded);
  } else {
    status = observe_event(device, stream, event, recorded, wait, waited_ns);
  }
  wp__stream_give_event(device, stream, event);
  return status;
}

wp_status wp__record_rest(wp__device *device, wp__stream *stream) {
  wp_status status = WP_OK;
  if (device->checked || wp__stream_is_per_thread(stream)) return WP_OK;
  if (wp__counter_get(&stream->freed) == wp__counter_get(&stream->recorded)) return WP_OK;
  (void)atomic_fetch_add(&stream->recorders, 1);
  if (!atomic_load(&stream->retired)) status = wp__stream_record(device, stream, false);
  (void)atomic_fetch_sub(&stream->recorders, 1);
  if (status != WP_ERROR_CAPTURING) return status;
  (void)wp__fault_absorb();
  return WP_OK; /* stays unrecorded, and so pending */
}
