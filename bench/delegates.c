/* SPDX-License-Identifier: Apache-2.0 */
/* A model split into 25 delegates on one stream: each in turn takes four blocks, gives them back and waits for its
 * stream. One pass is one inference; the first, which finds nothing warm, stands apart. */
#include "cases.h"

enum { DELEGATES = 25, BLOCKS = 4, PASSES_A_ROUND = 8, COLD_PASSES_A_ROUND = 2 };
static const size_t sizes[BLOCKS] = {4096, BENCH_MIB / 4, BENCH_MIB, 4 * BENCH_MIB};

struct model {
  bench_way way;
  wp_delegate *delegates[DELEGATES]; /* all NULL in the raw modes */
};

static bool open_model(struct model *model, bench_mode mode, const wp_backend *backend, const bench_run *run) {
  *model = (struct model){.delegates = {NULL}};
  if (!bench_open(&model->way, mode, backend, run)) return false;
  for (int i = 0; i < DELEGATES && model->way.runtime != NULL; i++) {
    BENCH(wp_delegate_open(model->way.runtime, run->device, NULL, &model->delegates[i]));
  }
  return true;
}

static void close_model(struct model *model) {
  for (int i = 0; i < DELEGATES && model->delegates[i] != NULL; i++) {
    BENCH(wp_delegate_close(model->delegates[i], NULL));
  }
  bench_close(&model->way, NULL);
}

static double pass(const struct model *model, wp_stream stream) {
  uint64_t start = bench_now();
  for (int i = 0; i < DELEGATES; i++) {
    void *blocks[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) blocks[b] = bench_take_of(&model->way, model->delegates[i], sizes[b], stream);
    for (int b = 0; b < BLOCKS; b++) bench_give(&model->way, blocks[b], stream);
    bench_synchronize(stream);
  }
  return (double)(bench_now() - start);
}

static void count_passes(bench_run *run, bench_mode mode, wp_stream stream, bench_result *result) {
  struct model model;
  if (!open_model(&model, mode, bench_counting(), run)) return;
  (void)pass(&model, stream);
  bench_counts before = bench_counted();
  (void)pass(&model, stream);
  bench_counts after = bench_counted();
  close_model(&model);
  bench_tally(result, 1, &before, &after);
  result->extra[1] = (bench_extra){"vendor_calls", (double)(after.calls - before.calls)};
}

static void run_delegates(bench_run *run) {
  static const bench_mode modes[] = {BENCH_COLD,  BENCH_DRIVER,       BENCH_DELEGATE, BENCH_DELEGATE_CHECKED,
                                     BENCH_LANES, BENCH_LANES_CHECKED};
  struct model models[BENCH_COUNT(modes)];
  bench_samples samples[BENCH_COUNT(modes)] = {{NULL, 0, 0}};
  bool present[BENCH_COUNT(modes)];
  double first[BENCH_COUNT(modes)];
  wp_stream stream = bench_stream_create(run);
  uint64_t bytes = 0;
  for (int b = 0; b < BLOCKS; b++) bytes += sizes[b];
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    present[i] = open_model(&models[i], modes[i], wp_backend_builtin(), run);
  }
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    if (present[i]) first[i] = pass(&models[i], stream);
  }
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
      if (!present[i]) continue;
      unsigned passes = modes[i] == BENCH_COLD ? COLD_PASSES_A_ROUND : PASSES_A_ROUND;
      (void)pass(&models[i], stream); /* pays for the turn before */
      for (unsigned p = 0; p < passes; p++) bench_add(&samples[i], pass(&models[i], stream));
    }
    bench_progress(run, "delegates: round", round + 1, run->rounds);
  }
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    bench_result result = {.name = "delegates", .mode = bench_mode_name(modes[i]), .sync = true, .threads = 1};
    result.bytes = bytes;
    if (!present[i]) continue;
    close_model(&models[i]);
    bench_summarize(&result, &samples[i]);
    count_passes(run, modes[i], stream, &result);
    result.extra[0] = (bench_extra){"ns_first", first[i]};
    bench_report(run, &result);
    bench_forget(&samples[i]);
  }
  bench_stream_destroy(stream);
}

const bench_case bench_delegates = {"delegates", "25 delegates, 4 blocks each, synchronise after each: one inference",
                                    run_delegates};
