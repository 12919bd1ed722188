/* SPDX-License-Identifier: Apache-2.0 */
#include "watched.h"

#include <stdatomic.h>

static const wp_backend *inner;
static const watched_hooks *hooks;
static wp_backend watched;
static atomic_long streams, events, pools, blocks;
static _Thread_local wp_driver_error refusal; /* a hook's; its code is 0 where the driver failed last, or nothing has */

const char *watched_name(watched_entry entry) {
#define NAME(entry) #entry,
  static const char *const names[] = {WP_BACKEND_LIST(NAME)};
#undef NAME
  return names[entry];
}

watched_objects watched_left(void) {
  return (watched_objects){atomic_load(&streams), atomic_load(&events), atomic_load(&pools), atomic_load(&blocks)};
}

unsigned watched_statuses(watched_entry entry, wp_status out[WATCHED_STATUSES]) {
  unsigned count = 0;
  out[count++] = WP_ERROR_DRIVER;
  out[count++] = WP_ERROR_NO_DEVICE;
  out[count++] = WP_ERROR_OUT_OF_HOST_MEMORY;
  switch (entry) {
  case WATCHED_pool_create: out[count++] = WP_ERROR_NOT_SUPPORTED; /* fall through */
  case WATCHED_stream_create:
  case WATCHED_event_create:
  case WATCHED_memory_alloc: out[count++] = WP_ERROR_OUT_OF_MEMORY; break;
  default: break;
  }
  return count;
}

static wp_status refused(watched_entry entry, wp_status status) {
  refusal = (wp_driver_error){999, watched_name(entry), "refused", "the test lets this call fail"};
  return status;
}

static wp_status answered(wp_status status) {
  if (status != WP_OK) refusal.code = 0;
  return status;
}

/* PASSED(entry, its parameters, their names): the hook's answer, or the driver's. */
#define PASSED(entry, parameters, ...)                                                                                 \
  static wp_status watched_##entry parameters {                                                                        \
    wp_status status = hooks->before(WATCHED_##entry);                                                                 \
    return status != WP_OK ? refused(WATCHED_##entry, status) : answered(inner->entry(__VA_ARGS__));                   \
  }
PASSED(device_count, (void *self, int *out), self, out)
PASSED(device_current, (void *self, int *out), self, out)
PASSED(device_set, (void *self, int device), self, device)
PASSED(device_capabilities, (void *self, int device, uint32_t *out), self, device, out)
PASSED(device_memory, (void *self, uint64_t *free_bytes, uint64_t *total_bytes), self, free_bytes, total_bytes)
PASSED(stream_synchronize, (void *self, wp_stream stream), self, stream)
PASSED(stream_capturing, (void *self, wp_stream stream, wp_capture_state *out), self, stream, out)
PASSED(stream_identity, (void *self, wp_stream stream, uint64_t *out), self, stream, out)
PASSED(stream_device, (void *self, wp_stream stream, int *out), self, stream, out)
PASSED(pool_set_threshold, (void *self, wp_pool pool, uint64_t bytes), self, pool, bytes)
PASSED(pool_trim, (void *self, wp_pool pool, uint64_t keep_bytes), self, pool, keep_bytes)
PASSED(pool_usage, (void *self, wp_pool pool, wp_pool_usage *out), self, pool, out)
PASSED(pool_reset_peaks, (void *self, wp_pool pool), self, pool)
PASSED(graph_trim, (void *self, int device), self, device)
PASSED(graph_usage, (void *self, int device, wp_graph_usage *out), self, device, out)
PASSED(capture_relax, (void *self, int *previous), self, previous)
PASSED(capture_restore, (void *self, int previous), self, previous)

static wp_status ordered(watched_entry entry, wp_stream stream, wp_event event, wp_status status) {
  if (status == WP_OK && hooks->order != NULL) hooks->order(entry, stream, event);
  return answered(status);
}

static wp_status watched_event_record(void *self, wp_event event, wp_stream stream) {
  wp_status status = hooks->before(WATCHED_event_record);
  if (status != WP_OK) return refused(WATCHED_event_record, status);
  return ordered(WATCHED_event_record, stream, event, inner->event_record(self, event, stream));
}

static wp_status watched_event_wait(void *self, wp_stream stream, wp_event event) {
  wp_status status = hooks->before(WATCHED_event_wait);
  if (status != WP_OK) return refused(WATCHED_event_wait, status);
  return ordered(WATCHED_event_wait, stream, event, inner->event_wait(self, stream, event));
}

static _Thread_local wp_event asked;
wp_event watched_event(void) { return asked; }

static wp_status watched_event_query(void *self, wp_event event, bool *complete) {
  asked = event;
  wp_status status = hooks->before(WATCHED_event_query);
  return status != WP_OK ? refused(WATCHED_event_query, status) : answered(inner->event_query(self, event, complete));
}

static wp_status watched_event_synchronize(void *self, wp_event event) {
  asked = event;
  wp_status status = hooks->before(WATCHED_event_synchronize);
  return status != WP_OK ? refused(WATCHED_event_synchronize, status) : answered(inner->event_synchronize(self, event));
}

/* MADE(function, entry, its output's type, what counts it) */
#define MADE(function, entry, type, counter)                                                                           \
  static wp_status function(void *self, type *out) {                                                                   \
    wp_status status = hooks->before(WATCHED_##entry);                                                                 \
    if (status != WP_OK) return refused(WATCHED_##entry, status);                                                      \
    status = answered(inner->entry(self, out));                                                                        \
    if (status == WP_OK) (void)atomic_fetch_add(&counter, 1);                                                          \
    return status;                                                                                                     \
  }
MADE(made_stream, stream_create, wp_stream, streams)
MADE(watched_event_create, event_create, wp_event, events)
MADE(watched_pool_create, pool_create, wp_pool, pools)

#define ENDED(function, entry, type, counter)                                                                          \
  static wp_status function(void *self, type object) {                                                                 \
    wp_status status = hooks->before(WATCHED_##entry), given_back = answered(inner->entry(self, object));              \
    if (given_back == WP_OK) (void)atomic_fetch_sub(&counter, 1);                                                      \
    return status != WP_OK ? refused(WATCHED_##entry, status) : given_back;                                            \
  }
ENDED(ended_stream, stream_destroy, wp_stream, streams)
ENDED(watched_event_destroy, event_destroy, wp_event, events)
ENDED(watched_pool_destroy, pool_destroy, wp_pool, pools)

static wp_status watched_stream_create(void *self, wp_stream *out) {
  wp_status status = made_stream(self, out);
  return status == WP_OK ? ordered(WATCHED_stream_create, *out, NULL, status) : status;
}

static wp_status watched_stream_destroy(void *self, wp_stream stream) {
  (void)ordered(WATCHED_stream_destroy, stream, NULL, WP_OK);
  return ended_stream(self, stream);
}

static wp_status watched_memory_alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = hooks->before(WATCHED_memory_alloc);
  if (status != WP_OK) return refused(WATCHED_memory_alloc, status);
  status = answered(inner->memory_alloc(self, pool, bytes, stream, out));
  if (status != WP_OK || *out == NULL) return status;
  (void)atomic_fetch_add(&blocks, 1);
  if (hooks->memory != NULL) hooks->memory(*out, bytes);
  return WP_OK;
}

static wp_status watched_memory_free(void *self, void *address, wp_stream stream) {
  wp_status status = hooks->before(WATCHED_memory_free);
  if (status != WP_OK) return refused(WATCHED_memory_free, status);
  if (hooks->memory != NULL) hooks->memory(address, 0);
  status = answered(inner->memory_free(self, address, stream));
  if (status == WP_OK) (void)atomic_fetch_sub(&blocks, 1);
  return status;
}

static void watched_last_error(void *self, wp_driver_error *out) {
  inner->last_error(self, out);
  if (refusal.code != 0) *out = refusal;
}

const wp_backend *watched_backend(const wp_backend *backend, const watched_hooks *with) {
  inner = backend;
  hooks = with;
  watched = *backend;
#define SET(entry) watched.entry = watched_##entry;
  WP_BACKEND_LIST(SET)
#undef SET
  return &watched;
}
