/* SPDX-License-Identifier: Apache-2.0 */
/* What our release does to a neighbour on the device: to 256 MiB that it keeps in the driver's default pool, and to the
 * next launch of its graph, whose memory is the device's. The times of the first are those of our whole life beside it,
 * the others those of the neighbour's launches. */
#include "cases.h"
#include "vendor.h"

enum { ROUNDS = 10, LAUNCHES = 5 };
static const size_t cache_bytes = 256 * BENCH_MIB;

/* Allocates and frees on the neighbour's stream, and asks until the work is done; it never synchronises, which would
 * let the driver give its memory back. */
static void fill_cache(const wp_backend *backend, wp_pool pool, wp_stream stream) {
  void *memory = NULL;
  wp_event event;
  bool complete = false;
  BENCH(backend->memory_alloc(backend->self, pool, cache_bytes, stream, &memory));
  BENCH(backend->memory_free(backend->self, memory, stream));
  BENCH(backend->event_create(backend->self, &event));
  BENCH(backend->event_record(backend->self, event, stream));
  while (!complete) BENCH(backend->event_query(backend->self, event, &complete));
  BENCH(backend->event_destroy(backend->self, event));
}

static uint64_t reserved_in(const wp_backend *backend, wp_pool pool) {
  wp_pool_usage usage;
  BENCH(backend->pool_usage(backend->self, pool, &usage));
  return usage.reserved;
}

/* A whole life of ours, of the library as it comes, beside the neighbour; with `captures`, some of our memory was
 * allocated in a capture, which only WP_CACHING_DRIVER can do. */
static void live_and_release(bench_run *run, wp_graph_trim trim, bool captures, wp_stream stream) {
  bench_mode mode = captures ? BENCH_DELEGATE_CHECKED : BENCH_LANES_CHECKED;
  wp_runtime_options options = bench_options(mode);
  bench_way way = {.mode = mode, .backend = wp_backend_builtin()};
  options.graph_trim = trim;
  BENCH(wp_runtime_create(&options, &way.runtime));
  BENCH(wp_delegate_open(way.runtime, run->device, NULL, &way.delegate));
  bench_give(&way, bench_take(&way, cache_bytes, stream), stream);
  bench_synchronize(stream);
  if (captures) {
    vendor_capture_begin(stream);
    bench_give(&way, bench_take(&way, BENCH_MIB, stream), stream);
    vendor_capture_discard(stream);
  }
  BENCH(wp_delegate_close(way.delegate, NULL));
  BENCH(wp_runtime_destroy(way.runtime));
}

static void measure_cache(bench_run *run, wp_stream ours, wp_stream theirs) {
  const wp_backend *backend = wp_backend_builtin();
  bench_result result = {.name = "cotenant", .mode = "cache", .bytes = cache_bytes, .threads = 1};
  bench_samples samples = {NULL, 0, 0};
  wp_pool pool = vendor_default_pool(run->device);
  fill_cache(backend, pool, theirs);
  double before = (double)reserved_in(backend, pool);
  for (unsigned i = 0; i < ROUNDS; i++) {
    uint64_t start = bench_now();
    live_and_release(run, WP_GRAPH_TRIM_IF_USED, false, ours);
    bench_add(&samples, (double)(bench_now() - start));
  }
  bench_summarize(&result, &samples);
  result.extra[0] = (bench_extra){"cache_before", before};
  result.extra[1] = (bench_extra){"cache_after", (double)reserved_in(backend, pool)};
  bench_report(run, &result);
  bench_forget(&samples);
  BENCH(backend->pool_trim(backend->self, pool, 0));
}

static double launch(vendor_graph *graph, wp_stream stream) {
  const wp_backend *backend = wp_backend_builtin();
  uint64_t start = bench_now();
  vendor_graph_launch(graph, stream);
  double time = (double)(bench_now() - start);
  BENCH(backend->stream_synchronize(backend->self, stream));
  return time;
}

struct scene {
  const char *mode;
  bool releases, captures;
  wp_graph_trim trim;
};

static void measure_graph(bench_run *run, const struct scene *scene, wp_stream ours, wp_stream theirs) {
  bench_result result = {.name = "cotenant", .mode = scene->mode, .bytes = cache_bytes, .threads = 1};
  bench_samples samples = {NULL, 0, 0};
  vendor_graph *graph = vendor_graph_create(cache_bytes);
  for (unsigned i = 0; i < ROUNDS; i++) {
    for (unsigned l = 0; l < LAUNCHES; l++) (void)launch(graph, theirs);
    if (scene->releases) live_and_release(run, scene->trim, scene->captures, ours);
    bench_add(&samples, launch(graph, theirs));
    bench_progress(run, "cotenant: round", i + 1, ROUNDS);
  }
  vendor_graph_destroy(graph);
  bench_summarize(&result, &samples);
  bench_report(run, &result);
  bench_forget(&samples);
}

static void run_cotenant(bench_run *run) {
  static const struct scene scenes[] = {
      {"graph-undisturbed", false, false, WP_GRAPH_TRIM_IF_USED},
      {"graph-after-release", true, false, WP_GRAPH_TRIM_IF_USED},
      {"graph-after-our-capture", true, true, WP_GRAPH_TRIM_IF_USED},
      {"graph-trim-never", true, true, WP_GRAPH_TRIM_NEVER},
  };
  wp_stream ours = bench_stream_create(run), theirs = bench_stream_create(run);
  measure_cache(run, ours, theirs);
  for (size_t i = 0; i < BENCH_COUNT(scenes) && vendor_has_graphs(); i++) measure_graph(run, &scenes[i], ours, theirs);
  bench_stream_destroy(ours);
  bench_stream_destroy(theirs);
}

const bench_case bench_cotenant = {"cotenant", "our release beside a neighbour's 256 MiB, cached or in a graph",
                                   run_cotenant};
