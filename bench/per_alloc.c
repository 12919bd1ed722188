/* SPDX-License-Identifier: Apache-2.0 */
/* What one allocation and its free cost, with the stream synchronised after each pair and without. */
#include "cases.h"

enum { SYNC_PAIRS = 1, FREE_PAIRS = 64, SAMPLES_A_ROUND = 300, COLD_SAMPLES_A_ROUND = 5, COUNTED = 200 };

struct shape {
  size_t bytes;
  bool sync;
};

static void pairs(const bench_way *way, const struct shape *shape, wp_stream stream, unsigned count) {
  if (!shape->sync) {
    bench_pairs(way, shape->bytes, stream, count);
    return;
  }
  for (unsigned i = 0; i < count; i++) {
    bench_pairs(way, shape->bytes, stream, 1);
    bench_synchronize(stream);
  }
}

/* Where the device is a stand-in, the times are for nobody. */
static unsigned samples_a_round(const bench_way *way) {
  return way->mode == BENCH_COLD || bench_counted().has_device ? COLD_SAMPLES_A_ROUND : SAMPLES_A_ROUND;
}

/* One turn of a way. What comes first is dropped: it warms up, and pays for the turn before. */
static void turn(const bench_way *way, const struct shape *shape, wp_stream stream, bench_samples *samples) {
  unsigned count = shape->sync ? SYNC_PAIRS : FREE_PAIRS;
  unsigned samples_kept = samples_a_round(way), dropped = 1 + samples_kept / 10;
  for (unsigned i = 0; i < dropped + samples_kept; i++) {
    uint64_t start = bench_now();
    pairs(way, shape, stream, count);
    uint64_t end = bench_now();
    if (i >= dropped) bench_add(samples, (double)(end - start) / count);
  }
  bench_synchronize(stream);
}

/* What the driver is asked for in as many pairs, at most COUNTED, after the first. */
static void count_pairs(bench_run *run, bench_mode mode, const struct shape *shape, wp_stream stream,
                        bench_result *result) {
  bench_way way;
  if (!bench_open(&way, mode, bench_counting(), run)) return;
  pairs(&way, shape, stream, 1);
  bench_counts before = bench_counted();
  unsigned count = result->samples < COUNTED && !before.has_device ? (unsigned)result->samples : COUNTED;
  pairs(&way, shape, stream, count);
  bench_counts after = bench_counted();
  bench_synchronize(stream);
  bench_close(&way, NULL);
  bench_tally(result, count, &before, &after);
  result->extra[0] = (bench_extra){"calls_per_pair", (double)(after.calls - before.calls) / (double)result->operations};
}

static void measure(bench_run *run, const struct shape *shape, wp_stream stream) {
  static const bench_mode modes[] = {BENCH_COLD,  BENCH_DRIVER,       BENCH_DELEGATE, BENCH_DELEGATE_CHECKED,
                                     BENCH_LANES, BENCH_LANES_CHECKED};
  bench_way ways[BENCH_COUNT(modes)];
  bench_samples samples[BENCH_COUNT(modes)] = {{NULL, 0, 0}};
  bool present[BENCH_COUNT(modes)];
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    present[i] = bench_open(&ways[i], modes[i], wp_backend_builtin(), run);
  }
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
      if (present[i]) turn(&ways[i], shape, stream, &samples[i]);
    }
    bench_progress(run, "per-alloc: round", round + 1, run->rounds);
  }
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    bench_result result = {.name = "per-alloc", .mode = bench_mode_name(modes[i]), .threads = 1};
    result.bytes = shape->bytes;
    result.sync = shape->sync;
    if (!present[i]) continue;
    bench_close(&ways[i], NULL);
    bench_summarize(&result, &samples[i]);
    count_pairs(run, modes[i], shape, stream, &result);
    bench_report(run, &result);
    bench_forget(&samples[i]);
  }
}

static void run_per_alloc(bench_run *run) {
  static const struct shape shapes[] = {{4096, true},  {BENCH_MIB, true},  {64 * BENCH_MIB, true},
                                        {4096, false}, {BENCH_MIB, false}, {64 * BENCH_MIB, false}};
  wp_stream stream = bench_stream_create(run);
  for (size_t i = 0; i < BENCH_COUNT(shapes); i++) measure(run, &shapes[i], stream);
  bench_stream_destroy(stream);
}

const bench_case bench_per_alloc = {"per-alloc", "one allocation and its free", run_per_alloc};
