/* SPDX-License-Identifier: Apache-2.0 */
#include "settled.h"

#include <stdlib.h>

#include "bench.h"

/* One thread uses it, and one runtime. */
static const wp_backend *inner;
static bool waits_for_all;
static uint64_t spent;

uint64_t settled_spent(void) { return spent; }

/* -- streams: handles are FIRST and the multiples of STEP that follow -- */

enum { FIRST = 0x1000, STEP = 16 };
static wp_stream *streams;
static size_t stream_count, stream_capacity;

static wp_stream real(wp_stream stream) {
  uintptr_t handle = (uintptr_t)stream;
  return handle < FIRST ? stream : streams[(handle - FIRST) / STEP]; /* the special ones are below */
}

static void grow(void) {
  size_t capacity = stream_capacity == 0 ? 64 : 2 * stream_capacity;
  wp_stream *more = realloc((void *)streams, capacity * sizeof *streams);
  if (more != NULL) {
    streams = more;
    stream_capacity = capacity;
  } else {
    bench_fail("realloc", "out of host memory");
  }
}

static wp_status stream_create(void *self, wp_stream *out) {
  wp_stream made = NULL;
  wp_status status = inner->stream_create(self, &made);
  if (status != WP_OK) return status;
  if (stream_count == stream_capacity) grow();
  streams[stream_count] = made;
  *out = (wp_stream)(FIRST + STEP * (uintptr_t)stream_count++);
  return WP_OK;
}

static wp_status stream_destroy(void *self, wp_stream stream) { return inner->stream_destroy(self, real(stream)); }
static wp_status stream_synchronize(void *self, wp_stream stream) {
  return inner->stream_synchronize(self, real(stream));
}
static wp_status stream_capturing(void *self, wp_stream stream, wp_capture_state *out) {
  return inner->stream_capturing(self, real(stream), out);
}
static wp_status stream_identity(void *self, wp_stream stream, uint64_t *out) {
  return inner->stream_identity(self, real(stream), out);
}
static wp_status stream_device(void *self, wp_stream stream, int *out) {
  return inner->stream_device(self, real(stream), out);
}
static wp_status event_record(void *self, wp_event event, wp_stream stream) {
  return inner->event_record(self, event, real(stream));
}
static wp_status event_wait(void *self, wp_stream stream, wp_event event) {
  return inner->event_wait(self, real(stream), event);
}

/* -- what waits -- */

static wp_status event_query(void *self, wp_event event, bool *complete) {
  uint64_t start = bench_now();
  wp_status status = waits_for_all ? inner->event_synchronize(self, event) : WP_OK;
  spent += bench_now() - start;
  return status == WP_OK ? inner->event_query(self, event, complete) : status;
}

static wp_status memory_free(void *self, void *ptr, wp_stream stream) {
  wp_status status = inner->memory_free(self, ptr, real(stream));
  uint64_t start = bench_now();
  if (status == WP_OK && waits_for_all) (void)inner->stream_synchronize(self, real(stream));
  spent += bench_now() - start;
  return status;
}

/* -- pools -- */

enum { POOLS = 64 };
static struct pool {
  wp_pool handle;
  int device;
  uint64_t reserved_peak;
} pools[POOLS];
static size_t pool_count;

uint64_t settled_reserved_peak(int device) {
  uint64_t most = 0;
  for (size_t i = 0; i < pool_count; i++) {
    if (pools[i].device == device && pools[i].reserved_peak > most) most = pools[i].reserved_peak;
  }
  return most;
}

static wp_status pool_create(void *self, wp_pool *out) {
  wp_status status = inner->pool_create(self, out);
  int device = 0;
  if (status == WP_OK && pool_count < POOLS && inner->device_current(self, &device) == WP_OK) {
    pools[pool_count++] = (struct pool){*out, device, 0};
  }
  return status;
}

/* Only an allocation makes a pool grow. */
static void watch(void *self, wp_pool handle) {
  wp_pool_usage usage;
  for (size_t i = 0; i < pool_count; i++) {
    if (pools[i].handle != handle || inner->pool_usage(self, handle, &usage) != WP_OK) continue;
    if (usage.reserved > pools[i].reserved_peak) pools[i].reserved_peak = usage.reserved;
  }
}

static wp_status memory_alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = inner->memory_alloc(self, pool, bytes, real(stream), out);
  uint64_t start = bench_now();
  watch(self, pool);
  spent += bench_now() - start;
  return status;
}

const wp_backend *settled_backend(bool waits) {
  static wp_backend settled;
  inner = wp_backend_builtin();
  waits_for_all = waits;
  stream_count = pool_count = 0;
  settled = *inner;
  settled.stream_create = stream_create;
  settled.stream_destroy = stream_destroy;
  settled.stream_synchronize = stream_synchronize;
  settled.stream_capturing = stream_capturing;
  settled.stream_identity = stream_identity;
  settled.stream_device = stream_device;
  settled.event_record = event_record;
  settled.event_wait = event_wait;
  settled.event_query = event_query;
  settled.pool_create = pool_create;
  settled.memory_alloc = memory_alloc;
  settled.memory_free = memory_free;
  return &settled;
}
