/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine behind the library's vtable: calls and an error map, nothing clever. */
#include "warmpool/backend.h"

#include "engine.h"
#include "status.h"

/* -- errors: the engine's slot is left as if the library's failed call had not been made -- */

static _Thread_local struct {
  wp__host_result result;
  const char *call;
} last;

static wp_status finish(wp__host_result result, const char *call) {
  if (result == WP__HOST_SUCCESS) return WP_OK;
  (void)wp__host_error_take();
  last.result = result;
  last.call = call;
  return wp__host_status(result);
}

static void last_error(void *self, wp_driver_error *out) {
  (void)self;
  if (last.result == WP__HOST_SUCCESS) {
    *out = (wp_driver_error){0, "", "", ""};
  } else {
    *out = (wp_driver_error){(int)last.result, last.call, wp__host_result_name(last.result),
                             wp__host_result_text(last.result)};
  }
}

/* -- devices -- */

static wp_status device_count(void *self, int *out) {
  (void)self;
  return finish(wp__host_device_count(out), "host_device_count");
}

static wp_status device_current(void *self, int *out) {
  (void)self;
  return finish(wp__host_device_current(out), "host_device_current");
}

static wp_status device_set(void *self, int device) {
  (void)self;
  return finish(wp__host_device_set(device), "host_device_set");
}

static wp_status device_capabilities(void *self, int device, uint32_t *out) {
  (void)self;
  uint64_t free_bytes, total_bytes;
  wp__host_result result = wp__host_device_memory(device, &free_bytes, &total_bytes); /* whether it exists */
  if (result == WP__HOST_SUCCESS)
    *out = WP_CAP_POOLS | WP_CAP_STREAM_IDENTITY | WP_CAP_STREAM_DEVICE | WP_CAP_GRAPH_MEMORY | WP_CAP_CHECKED_FREE |
           WP_CAP_KEEPS_FREED | WP_CAP_ORDERED_FREE | WP_CAP_CAPTURES_END;
  return finish(result, "host_device_memory");
}

static wp_status device_memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes) {
  (void)self;
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result != WP__HOST_SUCCESS) return finish(result, "host_device_current");
  return finish(wp__host_device_memory(device, free_bytes, total_bytes), "host_device_memory");
}

/* -- streams -- */

static wp_status stream_create(void *self, wp_stream *out) {
  (void)self;
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result != WP__HOST_SUCCESS) return finish(result, "host_device_current");
  return finish(wp__host_stream_create(device, out), "host_stream_create");
}

static wp_status stream_destroy(void *self, wp_stream stream) {
  (void)self;
  return finish(wp__host_stream_destroy(stream), "host_stream_destroy");
}

static wp_status stream_synchronize(void *self, wp_stream stream) {
  (void)self;
  return finish(wp__host_stream_synchronize(stream), "host_stream_synchronize");
}

static wp_status stream_capturing(void *self, wp_stream stream, wp_capture_state *out) {
  (void)self;
  enum wp__host_capture_state state;
  wp__host_result result = wp__host_capture_status(stream, &state);
  if (result == WP__HOST_CAPTURE_IMPLICIT) {
    (void)wp__host_error_take(); /* an answer, not a failure */
    *out = WP_CAPTURE_IMPLICIT;
    return WP_OK;
  }
  if (result == WP__HOST_SUCCESS) *out = state == WP__HOST_CAPTURE_NONE ? WP_CAPTURE_NONE : WP_CAPTURE_ACTIVE;
  return finish(result, "host_capture_status");
}

static wp_status stream_identity(void *self, wp_stream stream, uint64_t *out) {
  (void)self;
  wp__host_result result = wp__host_capture_refuse_identity(stream);
  if (result == WP__HOST_SUCCESS) result = wp__host_stream_id(stream, out);
  return finish(result, "host_stream_id");
}

static wp_status stream_device(void *self, wp_stream stream, int *out) {
  (void)self;
  wp__host_result result = wp__host_capture_refuse_identity(stream);
  if (result == WP__HOST_SUCCESS) result = wp__host_stream_device(stream, out);
  return finish(result, "host_stream_device");
}

/* -- events -- */

static wp_status event_create(void *self, wp_event *out) {
  (void)self;
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result != WP__HOST_SUCCESS) return finish(result, "host_device_current");
  return finish(wp__host_event_create(device, out), "host_event_create");
}

static wp_status event_destroy(void *self, wp_event event) {
  (void)self;
  return finish(wp__host_event_destroy(event), "host_event_destroy");
}

static wp_status event_record(void *self, wp_event event, wp_stream stream) {
  (void)self;
  return finish(wp__host_event_record(event, stream), "host_event_record");
}

static wp_status event_wait(void *self, wp_stream stream, wp_event event) {
  (void)self;
  return finish(wp__host_stream_wait(stream, event), "host_stream_wait");
}

static wp_status event_query(void *self, wp_event event, bool *complete) {
  (void)self;
  return finish(wp__host_event_query(event, complete), "host_event_query");
}

static wp_status event_synchronize(void *self, wp_event event) {
  (void)self;
  return finish(wp__host_event_synchronize(event), "host_event_synchronize");
}

/* -- pools -- */

static wp_status pool_create(void *self, wp_pool *out) {
  (void)self;
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result != WP__HOST_SUCCESS) return finish(result, "host_device_current");
  return finish(wp__host_pool_create(device, out), "host_pool_create");
}

static wp_status pool_destroy(void *self, wp_pool pool) {
  (void)self;
  return finish(wp__host_pool_destroy(pool), "host_pool_destroy");
}

static wp_status pool_set_threshold(void *self, wp_pool pool, uint64_t bytes) {
  (void)self;
  return finish(wp__host_pool_set_threshold(pool, bytes), "host_pool_set_threshold");
}

static wp_status pool_trim(void *self, wp_pool pool, uint64_t keep_bytes) {
  (void)self;
  return finish(wp__host_pool_trim(pool, keep_bytes), "host_pool_trim");
}

static wp_status pool_usage(void *self, wp_pool pool, wp_pool_usage *out) {
  (void)self;
  wp__host_pool_figures figures;
  wp__host_result result = wp__host_pool_measure(pool, &figures);
  if (result == WP__HOST_SUCCESS) *out = (wp_pool_usage){figures.reserved, figures.used};
  return finish(result, "host_pool_measure");
}

static wp_status pool_reset_peaks(void *self, wp_pool pool) {
  (void)self;
  return finish(wp__host_pool_reset_peaks(pool, true, true), "host_pool_reset_peaks");
}

/* -- memory -- */

static wp_status memory_alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  (void)self;
  return finish(wp__host_memory_alloc(pool, bytes, stream, out), "host_memory_alloc");
}

static wp_status memory_free(void *self, void *ptr, wp_stream stream) {
  (void)self;
  wp__host_result result = wp__host_memory_free(ptr, stream);
  wp_status status = finish(result, "host_memory_free");
  return result == WP__HOST_INVALID_VALUE ? WP_ERROR_INVALID_POINTER : status;
}

/* -- graph memory -- */

static wp_status graph_trim(void *self, int device) {
  (void)self;
  return finish(wp__host_graph_memory_trim(device), "host_graph_memory_trim");
}

static wp_status graph_usage(void *self, int device, wp_graph_usage *out) {
  (void)self;
  wp__host_graph_figures figures;
  wp__host_result result = wp__host_graph_memory_measure(device, &figures);
  if (result == WP__HOST_SUCCESS) *out = (wp_graph_usage){figures.reserved, figures.used};
  return finish(result, "host_graph_memory_measure");
}

/* -- capture mode -- */

static wp_status exchange_mode(enum wp__host_capture_mode mode, int *previous) {
  wp_status status = finish(wp__host_capture_exchange_mode(&mode), "host_capture_exchange_mode");
  if (status == WP_OK) *previous = (int)mode;
  return status;
}

static wp_status capture_relax(void *self, int *previous) {
  (void)self;
  return exchange_mode(WP__HOST_CAPTURE_RELAXED, previous);
}

static wp_status capture_restore(void *self, int previous) {
  (void)self;
  int relaxed;
  return exchange_mode((enum wp__host_capture_mode)previous, &relaxed);
}

static const wp_backend host_backend = {
    .size = sizeof(wp_backend),
    .name = "host",
    .self = NULL,
    .device_count = device_count,
    .device_current = device_current,
    .device_set = device_set,
    .device_capabilities = device_capabilities,
    .device_memory = device_memory,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_capturing = stream_capturing,
    .stream_identity = stream_identity,
    .stream_device = stream_device,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .pool_create = pool_create,
    .pool_destroy = pool_destroy,
    .pool_set_threshold = pool_set_threshold,
    .pool_trim = pool_trim,
    .pool_usage = pool_usage,
    .pool_reset_peaks = pool_reset_peaks,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .graph_trim = graph_trim,
    .graph_usage = graph_usage,
    .capture_relax = capture_relax,
    .capture_restore = capture_restore,
    .last_error = last_error,
};

const wp_backend *wp_backend_builtin(void) { return &host_backend; }
