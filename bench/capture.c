/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to capture a hundred allocations and their frees, each pair; and as ns_graph the end of such a capture,
 * until its graph can be launched. */
#include "captured.h"
#include "cases.h"

enum { PAIRS = 100, CAPTURES_A_ROUND = 5 };
static const size_t bytes = BENCH_MIB;

struct measured {
  bench_samples pairs, graphs;
};

static void capture_once(const bench_way *way, wp_stream stream, struct measured *measured) {
  captured_graph captured;
  captured_begin(&captured, way, stream);
  uint64_t start = bench_now();
  bench_pairs(way, bytes, stream, PAIRS);
  uint64_t end = bench_now();
  void *last = bench_take(way, BENCH_MIB, stream);
  vendor_capture_write(stream, last, BENCH_MIB); /* a graph has work */
  bench_give(way, last, stream);
  uint64_t end_start = bench_now();
  captured_end(&captured, stream);
  uint64_t ready = bench_now();
  captured_release(&captured);
  if (measured == NULL) return;
  bench_add(&measured->pairs, (double)(end - start) / PAIRS);
  bench_add(&measured->graphs, (double)(ready - end_start));
}

static void report(bench_run *run, const char *name, struct measured *measured) {
  bench_result result = {.name = "capture", .mode = name, .bytes = bytes, .threads = 1};
  bench_summarize(&result, &measured->pairs);
  result.extra[0] = (bench_extra){"ns_graph", bench_quantile(&measured->graphs, 0.5)};
  bench_report(run, &result);
  bench_forget(&measured->pairs);
  bench_forget(&measured->graphs);
}

static void run_capture(bench_run *run) {
  bench_way ways[CAPTURED_WAYS];
  bool present[CAPTURED_WAYS] = {false};
  struct measured measured[CAPTURED_WAYS] = {{.pairs = {NULL, 0, 0}}};
  wp_stream stream = bench_stream_create(run);
  for (size_t i = 0; i < CAPTURED_WAYS && vendor_has_graphs(); i++) {
    present[i] = bench_open(&ways[i], captured_modes[i], wp_backend_builtin(), run);
  }
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < CAPTURED_WAYS; i++) {
      if (!present[i]) continue;
      capture_once(&ways[i], stream, NULL); /* pays for the turn before, and the first time for the memory */
      for (unsigned c = 0; c < CAPTURES_A_ROUND; c++) capture_once(&ways[i], stream, &measured[i]);
    }
    bench_progress(run, "capture: round", round + 1, run->rounds);
  }
  for (size_t i = 0; i < CAPTURED_WAYS; i++) {
    if (!present[i]) continue;
    bench_close(&ways[i], NULL);
    report(run, captured_names[i], &measured[i]);
  }
  bench_stream_destroy(stream);
}

const bench_case bench_capture = {"capture", "capturing an allocation and its free", run_capture};
