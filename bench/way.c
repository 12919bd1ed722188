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

static void open_runtime(bench_way *way, int device) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.backend = way->backend;
  options.stream_contract = way->mode == BENCH_DELEGATE ? WP_STREAMS_DECLARED : WP_STREAMS_CHECKED;
  BENCH(wp_runtime_create(&options, &way->runtime));
  BENCH(wp_delegate_open(way->runtime, device, NULL, &way->delegate));
}

bool bench_open(bench_way *way, bench_mode mode, const wp_backend *backend, const bench_run *run) {
  *way = (bench_way){.mode = mode, .backend = backend};
  BENCH(backend->device_set(backend->self, run->device));
  switch (mode) {
  case BENCH_COLD:
  case BENCH_DRIVER: open_pool(way); return true;
  case BENCH_DELEGATE:
  case BENCH_DELEGATE_CHECKED: open_runtime(way, run->device); return true;
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

void bench_synchronize(const bench_way *way, wp_stream stream) {
  BENCH(way->backend->stream_synchronize(way->backend->self, stream));
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
