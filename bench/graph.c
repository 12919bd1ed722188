/* SPDX-License-Identifier: Apache-2.0 */
/* A method that runs as a graph, its scratch memory the driver's graph memory or memory of the pool: what a launch
 * takes, what is mapped for it, and what our release does to the next launch of a neighbour's graph, whose memory is
 * the device's. A life of ours at a time, for the driver's graph memory is the whole process's. */
#include "captured.h"
#include "cases.h"

enum { BLOCKS = 8, DROPPED = 3, LAUNCHES_A_ROUND = 20 };
static const size_t block_bytes = 8 * BENCH_MIB, neighbour_bytes = 64 * BENCH_MIB;
static const size_t written_bytes = 4096; /* of each block: it is the launch that is measured */

/* -- a life of ours -- */

static void capture_method(captured_graph *captured, const bench_way *way, wp_stream stream) {
  void *blocks[BLOCKS];
  captured_begin(captured, way, stream);
  for (int i = 0; i < BLOCKS; i++) blocks[i] = bench_take(way, block_bytes, stream);
  for (int i = 0; i < BLOCKS; i++) vendor_capture_write(stream, blocks[i], written_bytes);
  for (int i = 0; i < BLOCKS; i++) bench_give(way, blocks[i], stream);
  captured_end(captured, stream);
}

struct measured {
  bench_samples launched, done; /* until the launch has returned, and until the graph has run */
  wp_driver_stats driver;       /* while the graph is there; beside a neighbour, after our release */
};

/* `measured` may be NULL. */
static void launch(vendor_graph *graph, wp_stream stream, struct measured *measured) {
  uint64_t start = bench_now();
  vendor_graph_launch(graph, stream);
  uint64_t launched = bench_now();
  bench_synchronize(stream);
  uint64_t done = bench_now();
  if (measured == NULL) return;
  bench_add(&measured->launched, (double)(launched - start));
  bench_add(&measured->done, (double)(done - start));
}

/* Another's graph, whose memory is the device's. */
struct neighbour {
  vendor_graph *graph;
  wp_stream stream;
  uint64_t pause_ns; /* from its last launch before our release until that was over */
};

static void warm_up(const struct neighbour *neighbour) {
  for (int i = 0; i < DROPPED; i++) launch(neighbour->graph, neighbour->stream, NULL);
}

/* `measured`: our launches; or `neighbour`, who launches until we release. False: there is no such way here. */
static bool live(bench_run *run, bench_mode mode, wp_stream stream, struct measured *measured,
                 struct neighbour *neighbour) {
  bench_way way;
  captured_graph captured;
  if (!bench_open(&way, mode, wp_backend_builtin(), run)) return false;
  capture_method(&captured, &way, stream);
  for (int i = 0; i < DROPPED; i++) launch(captured.graph, stream, NULL);
  for (int i = 0; i < LAUNCHES_A_ROUND && measured != NULL; i++) launch(captured.graph, stream, measured);
  if (measured != NULL) {
    measured->driver = (wp_driver_stats)WP_DRIVER_STATS_INIT;
    BENCH(wp_query_driver(way.runtime, run->device, &measured->driver));
  }
  if (neighbour != NULL) warm_up(neighbour);
  uint64_t start = bench_now();
  captured_release(&captured);
  bench_close(&way, NULL);
  if (neighbour != NULL) neighbour->pause_ns = bench_now() - start;
  return true;
}

static void report(bench_run *run, bench_result *result, struct measured *measured) {
  bench_summarize(result, &measured->launched);
  result->extra[0] = (bench_extra){"ns_done", bench_quantile(&measured->done, 0.5)};
  if (result->samples > 0) bench_report(run, result);
  bench_forget(&measured->launched);
  bench_forget(&measured->done);
}

static void measure_launches(bench_run *run, wp_stream stream) {
  struct measured measured[CAPTURED_WAYS] = {{.launched = {NULL, 0, 0}}};
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < CAPTURED_WAYS; i++) (void)live(run, captured_modes[i], stream, &measured[i], NULL);
    bench_progress(run, "graph: round", round + 1, run->rounds);
  }
  for (size_t i = 0; i < CAPTURED_WAYS; i++) {
    bench_result result = {.name = "graph", .mode = captured_names[i], .bytes = BLOCKS * block_bytes, .threads = 1};
    result.extra[1] = (bench_extra){"graph_reserved", (double)measured[i].driver.graph_reserved};
    result.extra[2] = (bench_extra){"pool_reserved", (double)measured[i].driver.pool_reserved};
    report(run, &result, &measured[i]);
  }
}

/* -- a neighbour's launch after our release -- */

/* The driver's memory for the graphs of everybody; 0 where it has none or does not tell. */
static uint64_t mapped_for_graphs(const bench_run *run) {
  const wp_backend *backend = wp_backend_builtin();
  uint32_t capabilities = 0;
  wp_graph_usage usage = {0, 0};
  BENCH(backend->device_capabilities(backend->self, run->device, &capabilities));
  if ((capabilities & WP_CAP_GRAPH_MEMORY) == 0) return 0;
  BENCH(backend->graph_usage(backend->self, run->device, &usage));
  return usage.reserved;
}

/* What comes between the neighbour's last launches and the one that is measured: nothing; as long a time as our release
 * takes, in which nobody calls; our release, in each way. The pause comes last, for then its length is known. */
enum { UNDISTURBED, AFTER_RELEASE, PAUSED = AFTER_RELEASE + CAPTURED_WAYS, SITUATIONS };

static const char *name_of(size_t situation) {
  if (situation == UNDISTURBED) return "undisturbed";
  return situation == PAUSED ? "paused" : captured_names[situation - AFTER_RELEASE];
}

static void pause_for(uint64_t ns) {
  uint64_t start = bench_now();
  while (bench_now() - start < ns) {
  }
}

static bool bring_about(bench_run *run, size_t situation, wp_stream ours, struct neighbour *neighbour) {
  if (situation >= AFTER_RELEASE && situation < PAUSED) {
    return live(run, captured_modes[situation - AFTER_RELEASE], ours, NULL, neighbour);
  }
  warm_up(neighbour);
  if (situation == PAUSED) pause_for(neighbour->pause_ns);
  return true;
}

static void measure_neighbour(bench_run *run, wp_stream ours, wp_stream theirs) {
  struct measured measured[SITUATIONS] = {{.launched = {NULL, 0, 0}}};
  struct neighbour neighbour = {.graph = vendor_graph_create(neighbour_bytes), .stream = theirs};
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < SITUATIONS; i++) {
      if (!bring_about(run, i, ours, &neighbour)) continue;
      measured[i].driver.graph_reserved = mapped_for_graphs(run);
      launch(neighbour.graph, theirs, &measured[i]);
    }
    bench_progress(run, "graph: round beside a neighbour", round + 1, run->rounds);
  }
  vendor_graph_destroy(neighbour.graph);
  for (size_t i = 0; i < SITUATIONS; i++) {
    bench_result result = {.name = "graph-neighbour", .mode = name_of(i), .bytes = neighbour_bytes, .threads = 1};
    result.extra[1] = (bench_extra){"graph_reserved", (double)measured[i].driver.graph_reserved};
    report(run, &result, &measured[i]);
  }
}

static void run_graph(bench_run *run) {
  static const bench_case neighbour = {"graph-neighbour", "the next launch of a neighbour's graph after our release",
                                       NULL};
  if (!vendor_has_graphs()) return;
  wp_stream ours = bench_stream_create(run), theirs = bench_stream_create(run);
  measure_launches(run, ours);
  bench_title(run, &neighbour);
  measure_neighbour(run, ours, theirs);
  bench_stream_destroy(ours);
  bench_stream_destroy(theirs);
}

const bench_case bench_graph = {"graph", "a launch of a method's graph, and what is mapped for it", run_graph};
