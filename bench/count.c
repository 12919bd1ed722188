/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in backend with a counter in front of every entry: a wrapped vtable, as any program can make one. */
#include <stdatomic.h>

#include "bench.h"
#include "vendor.h"

static atomic_uint_least64_t allocs, frees, calls;
static const wp_backend *inner;

static void count(atomic_uint_least64_t *counter) {
  (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  if (counter != &calls) (void)atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

#define ENTRY(name, counter, parameters, ...)                                                                          \
  static wp_status name parameters {                                                                                   \
    (void)self;                                                                                                        \
    count(&(counter));                                                                                                 \
    return inner->name(inner->self, __VA_ARGS__);                                                                      \
  }
ENTRY(device_count, calls, (void *self, int *out), out)
ENTRY(device_current, calls, (void *self, int *out), out)
ENTRY(device_set, calls, (void *self, int device), device)
ENTRY(device_capabilities, calls, (void *self, int device, uint32_t *out), device, out)
ENTRY(device_memory, calls, (void *self, uint64_t *available, uint64_t *total), available, total)
ENTRY(stream_create, calls, (void *self, wp_stream *out), out)
ENTRY(stream_destroy, calls, (void *self, wp_stream stream), stream)
ENTRY(stream_synchronize, calls, (void *self, wp_stream stream), stream)
ENTRY(stream_capturing, calls, (void *self, wp_stream stream, wp_capture_state *out), stream, out)
ENTRY(stream_identity, calls, (void *self, wp_stream stream, uint64_t *out), stream, out)
ENTRY(stream_device, calls, (void *self, wp_stream stream, int *out), stream, out)
ENTRY(event_create, calls, (void *self, wp_event *out), out)
ENTRY(event_destroy, calls, (void *self, wp_event event), event)
ENTRY(event_record, calls, (void *self, wp_event event, wp_stream stream), event, stream)
ENTRY(event_wait, calls, (void *self, wp_stream stream, wp_event event), stream, event)
ENTRY(event_query, calls, (void *self, wp_event event, bool *complete), event, complete)
ENTRY(event_synchronize, calls, (void *self, wp_event event), event)
ENTRY(pool_create, calls, (void *self, wp_pool *out), out)
ENTRY(pool_destroy, calls, (void *self, wp_pool pool), pool)
ENTRY(pool_set_threshold, calls, (void *self, wp_pool pool, uint64_t bytes), pool, bytes)
ENTRY(pool_trim, calls, (void *self, wp_pool pool, uint64_t keep_bytes), pool, keep_bytes)
ENTRY(pool_usage, calls, (void *self, wp_pool pool, wp_pool_usage *out), pool, out)
ENTRY(pool_reset_peaks, calls, (void *self, wp_pool pool), pool)
ENTRY(memory_alloc, allocs, (void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out), pool, bytes, stream,
      out)
ENTRY(memory_free, frees, (void *self, void *memory, wp_stream stream), memory, stream)
ENTRY(graph_trim, calls, (void *self, int device), device)
ENTRY(graph_usage, calls, (void *self, int device, wp_graph_usage *out), device, out)
ENTRY(capture_relax, calls, (void *self, int *previous), previous)
ENTRY(capture_restore, calls, (void *self, int previous), previous)

static void last_error(void *self, wp_driver_error *out) {
  (void)self;
  inner->last_error(inner->self, out);
}

const wp_backend *bench_counting(void) {
  static wp_backend counting;
  inner = wp_backend_builtin();
  counting = (wp_backend){.size = sizeof counting, .name = inner->name};
#define USE(entry) counting.entry = entry;
  WP_BACKEND_LIST(USE)
#undef USE
  return &counting;
}

bench_counts bench_counted(void) {
  vendor_counts device = {0, 0};
  bool has_device = vendor_device_counts(&device);
  return (bench_counts){atomic_load(&allocs), atomic_load(&frees), atomic_load(&calls),
                        has_device,           device.allocs,       device.frees};
}
