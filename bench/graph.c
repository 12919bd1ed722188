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
  wp_driver_stats driver;       /* while the graph is there; beside a neighbour, before its launch */
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

/* Another's graph, whose memory is the device's. */
struct neighbour {
  vendor_graph *graph;
  wp_stream stream;
  struct measured *released; /* its launches between the release of our graph's memory and our last close */
  uint64_t pause_ns;         /* what that close took */
};

static void warm_up(const struct neighbour *neighbour) {
  for (int i = 0; i < DROPPED; i++) launch(neighbour->graph, neighbour->stream, NULL);
}

static void close_beside(const bench_run *run, bench_way *way, captured_graph *captured, struct neighbour *neighbour) {
  warm_up(neighbour);
  captured_release(captured);
  neighbour->released->driver.graph_reserved = mapped_for_graphs(run);
  launch(neighbour->graph, neighbour->stream, neighbour->released);
  warm_up(neighbour);
  uint64_t start = bench_now();
  bench_close(way, NULL);
  neighbour->pause_ns = bench_now() - start;
}

/* `measured`: our launches; or `neighbour`, beside whom we end. False: there is no such way here. */
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
  if (neighbour != NULL) {
    close_beside(run, &way, &captured, neighbour);
  } else {
    captured_release(&captured);
    bench_close(&way, NULL);
  }
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

/* What comes between the neighbour's last launches and the one that is measured: nothing; our last close, in each way;
 * a program without graphs that gives as much memory back; as long a time as our close takes, in which nobody calls. */
enum { UNDISTURBED, AFTER_CLOSE, UNMAPPED = AFTER_CLOSE + CAPTURED_WAYS, PAUSED, SITUATIONS };

static const char *name_of(size_t situation) {
  switch (situation) {
  case UNDISTURBED: return "undisturbed";
  case UNMAPPED: return "unmapped";
  case PAUSED: return "paused";
  default: return captured_names[situation - AFTER_CLOSE];
  }
}

static void pause_for(uint64_t ns) {
  uint64_t start = bench_now();
  while (bench_now() - start < ns) {
  }
}

/* By a pool of the driver's that keeps nothing. */
static bool unmap(bench_run *run, wp_stream ours, const struct neighbour *neighbour) {
  bench_way way;
  if (!bench_open(&way, BENCH_COLD, wp_backend_builtin(), run)) return false;
  void *memory = bench_take(&way, BLOCKS * block_bytes, ours);
  bench_synchronize(ours);
  warm_up(neighbour);
  bench_give(&way, memory, ours);
  bench_synchronize(ours);
  bench_close(&way, NULL);
  return true;
}

static bool bring_about(bench_run *run, size_t situation, wp_stream ours, struct neighbour *neighbour) {
  switch (situation) {
  case UNDISTURBED: warm_up(neighbour); return true;
  case UNMAPPED: return unmap(run, ours, neighbour);
  case PAUSED:
    warm_up(neighbour);
    pause_for(neighbour->pause_ns);
    return true;
  default: return live(run, captured_modes[situation - AFTER_CLOSE], ours, NULL, neighbour);
  }
}

static void report_neighbour(bench_run *run, const char *name, size_t situation, struct measured *measured) {
  bench_result result = {.name = name, .mode = name_of(situation), .bytes = neighbour_bytes, .threads = 1};
  result.extra[1] = (bench_extra){"graph_reserved", (double)measured->driver.graph_reserved};
  report(run, &result, measured);
}

static void measure_neighbour(bench_run *run, wp_stream ours, wp_stream theirs) {
  static const bench_case released = {"graph-released", "the same between the release of our graph and our last close",
                                      NULL};
  struct measured after[SITUATIONS] = {{.launched = {NULL, 0, 0}}}, between[SITUATIONS] = {{.launched = {NULL, 0, 0}}};
  struct neighbour neighbour = {.graph = vendor_graph_create(neighbour_bytes), .stream = theirs};
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < SITUATIONS; i++) {
      neighbour.released = &between[i];
      if (!bring_about(run, i, ours, &neighbour)) continue;
      after[i].driver.graph_reserved = mapped_for_graphs(run);
      launch(neighbour.graph, theirs, &after[i]);
    }
    bench_progress(run, "graph: round beside a neighbour", round + 1, run->rounds);
  }
  vendor_graph_destroy(neighbour.graph);
  for (size_t i = 0; i < SITUATIONS; i++) report_neighbour(run, "graph-neighbour", i, &after[i]);
  bench_title(run, &released);
  for (size_t i = 0; i < SITUATIONS; i++) report_neighbour(run, released.name, i, &between[i]);
}

static void run_graph(bench_run *run) {
  static const bench_case neighbour = {"graph-neighbour", "the next launch of a neighbour's graph after our last close",
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
