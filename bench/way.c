/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bench.h"
#include "heap.h"

const char *bench_mode_name(bench_mode mode) {
  switch (mode) {
  case BENCH_COLD: return "cold";
  case BENCH_DRIVER: return "driver";
  case BENCH_DELEGATE: return "delegate";
  case BENCH_DELEGATE_CHECKED: return "delegate-checked";
  case BENCH_LANES: return "lanes";
  case BENCH_LANES_CHECKED: return "lanes-checked";
  case BENCH_MALLOC: return "malloc";
  case BENCH_MIMALLOC: return "mimalloc";
  }
  return "";
}

static void open_pool(bench_way *way) {
  const wp_backend *backend = way->backend;
  BENCH(backend->pool_create(backend->self, &way->pool));
  if (way->mode == BENCH_COLD) return; /* its threshold is 0 */
  BENCH(backend->pool_set_threshold(backend->self, way->pool, UINT64_MAX));
}

wp_runtime_options bench_options(bench_mode mode) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  bool lanes = mode == BENCH_LANES || mode == BENCH_LANES_CHECKED;
  bool declared = mode == BENCH_LANES || mode == BENCH_DELEGATE;
  options.caching = lanes ? WP_CACHING_LANES : WP_CACHING_DRIVER;
  options.stream_contract = declared ? WP_STREAMS_DECLARED : WP_STREAMS_CHECKED;
  return options;
}

static bool open_runtime(bench_way *way, int device) {
  wp_runtime_options options = bench_options(way->mode);
  options.backend = way->backend;
  BENCH(wp_runtime_create(&options, &way->runtime));
  wp_status status = wp_delegate_open(way->runtime, device, NULL, &way->delegate);
  if (status != WP_ERROR_NOT_SUPPORTED) {
    bench_check(status, "wp_delegate_open");
    return true;
  }
  BENCH(wp_runtime_destroy(way->runtime));
  way->runtime = NULL;
  return false;
}

bool bench_open(bench_way *way, bench_mode mode, const wp_backend *backend, const bench_run *run) {
  *way = (bench_way){.mode = mode, .backend = backend};
  BENCH(backend->device_set(backend->self, run->device));
  switch (mode) {
  case BENCH_COLD:
  case BENCH_DRIVER: open_pool(way); return true;
  case BENCH_DELEGATE:
  case BENCH_DELEGATE_CHECKED:
  case BENCH_LANES:
  case BENCH_LANES_CHECKED: return open_runtime(way, run->device);
  case BENCH_MALLOC: way->heap_alloc = malloc, way->heap_free = free; return true;
  case BENCH_MIMALLOC: return bench_find_mimalloc(&way->heap_alloc, &way->heap_free);
  }
  return false;
}

void bench_close(bench_way *way, wp_release_report *report) {
  if (way->runtime != NULL) {
    BENCH(wp_delegate_close(way->delegate, report));
    BENCH(wp_runtime_destroy(way->runtime));
  } else if (way->pool != NULL) {
    BENCH(way->backend->pool_destroy(way->backend->self, way->pool));
  }
  *way = (bench_way){.mode = way->mode};
}

void *bench_take_of(const bench_way *way, wp_delegate *delegate, size_t bytes, wp_stream stream) {
  void *memory = NULL;
  if (delegate != NULL) {
    BENCH(wp_alloc(delegate, bytes, stream, &memory));
  } else if (way->pool != NULL) {
    BENCH(way->backend->memory_alloc(way->backend->self, way->pool, bytes, stream, &memory));
  } else if ((memory = way->heap_alloc(bytes)) == NULL) {
    bench_fail("malloc", "out of host memory");
  }
  return memory;
}

void *bench_take(const bench_way *way, size_t bytes, wp_stream stream) {
  return bench_take_of(way, way->delegate, bytes, stream);
}

void bench_give(const bench_way *way, void *memory, wp_stream stream) {
  if (way->runtime != NULL) {
    BENCH(wp_free(way->runtime, memory, stream));
  } else if (way->pool != NULL) {
    BENCH(way->backend->memory_free(way->backend->self, memory, stream));
  } else {
    way->heap_free(memory);
  }
}

/* -- pairs: three loops alike but for the calls -- */

static void api_pairs(const bench_way *way, size_t bytes, wp_stream stream, unsigned count) {
  wp_runtime *runtime = way->runtime;
  wp_delegate *delegate = way->delegate;
  for (unsigned i = 0; i < count; i++) {
    void *memory = NULL;
    BENCH(wp_alloc(delegate, bytes, stream, &memory));
    BENCH(wp_free(runtime, memory, stream));
  }
}

static void pool_pairs(const bench_way *way, size_t bytes, wp_stream stream, unsigned count) {
  const wp_backend *backend = way->backend;
  wp_pool pool = way->pool;
  for (unsigned i = 0; i < count; i++) {
    void *memory = NULL;
    BENCH(backend->memory_alloc(backend->self, pool, bytes, stream, &memory));
    BENCH(backend->memory_free(backend->self, memory, stream));
  }
}

/* By pointers, as calls of a shared library are; so the compiler cannot leave a pair out, either. */
static void heap_pairs(const bench_way *way, size_t bytes, unsigned count) {
  void *(*alloc)(size_t) = way->heap_alloc;
  void (*release)(void *) = way->heap_free;
  for (unsigned i = 0; i < count; i++) {
    void *memory = alloc(bytes);
    if (memory == NULL) bench_fail("malloc", "out of host memory");
    release(memory);
  }
}

void bench_pairs(const bench_way *way, size_t bytes, wp_stream stream, unsigned count) {
  if (way->runtime != NULL) {
    api_pairs(way, bytes, stream, count);
  } else if (way->pool != NULL) {
    pool_pairs(way, bytes, stream, count);
  } else {
    heap_pairs(way, bytes, count);
  }
}

/* -- streams: through the built-in backend, for what the harness asks for is not counted -- */

void bench_synchronize(wp_stream stream) {
  const wp_backend *backend = wp_backend_builtin();
  BENCH(backend->stream_synchronize(backend->self, stream));
}

wp_stream bench_stream_create(const bench_run *run) {
  const wp_backend *backend = wp_backend_builtin();
  wp_stream stream = NULL;
  BENCH(backend->device_set(backend->self, run->device));
  BENCH(backend->stream_create(backend->self, &stream));
  return stream;
}

void bench_stream_destroy(wp_stream stream) {
  const wp_backend *backend = wp_backend_builtin();
  BENCH(backend->stream_destroy(backend->self, stream));
}
