/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memory kept warm costs in memory, and whether it comes to serve a program that does the same again and again.
 *   footprint           delegates one after the other, each larger than the one before, on a pool that stays warm: the
 *                       most that was reserved, beside what the largest one used. What is timed is one delegate's life.
 *   footprint-pattern   a fixed sequence of allocations and frees, replayed: what the driver is still asked for. One
 *                       allocation or free is timed.
 *   footprint-NAME      what programs of several kinds reserve in lanes and in the driver's pool (footprint_traces.c).
 */
#include "cases.h"
#include "footprint_traces.h"

static const bench_mode modes[] = {BENCH_DELEGATE, BENCH_LANES, BENCH_LANES_CHECKED};

/* -- footprint -- */

enum { DELEGATES = 25, STEP_MIB = 8, BLOCKS = 4, PARTS = 8, LIVES = 3 };
static const size_t parts[BLOCKS] = {4, 2, 1, 1}; /* eighths of what a delegate takes */

struct growth {
  bench_samples samples;
  uint64_t held, reserved; /* the most, of the library and in the driver's pool */
  wp_stats stats;          /* of the last life of the pool */
};

static size_t bytes_of(unsigned delegate) { return (size_t)(delegate + 1) * STEP_MIB * BENCH_MIB; }

/* The life of one delegate beside another that stays open. */
static double live(const bench_way *way, int device, size_t bytes, wp_stream stream) {
  wp_delegate *delegate;
  void *blocks[BLOCKS];
  uint64_t start = bench_now();
  BENCH(wp_delegate_open(way->runtime, device, NULL, &delegate));
  for (int b = 0; b < BLOCKS; b++) blocks[b] = bench_take_of(way, delegate, bytes / PARTS * parts[b], stream);
  bench_synchronize(stream);
  for (int b = 0; b < BLOCKS; b++) bench_give(way, blocks[b], stream);
  bench_synchronize(stream);
  BENCH(wp_delegate_close(delegate, NULL));
  return (double)(bench_now() - start);
}

static void grow(const bench_run *run, bench_mode mode, wp_stream stream, struct growth *growth) {
  bench_way way;
  (void)bench_open(&way, mode, wp_backend_builtin(), run);
  for (unsigned i = 0; i < DELEGATES; i++) {
    wp_driver_stats driver = WP_DRIVER_STATS_INIT;
    bench_add(&growth->samples, live(&way, run->device, bytes_of(i), stream));
    BENCH(wp_query_driver(way.runtime, run->device, &driver));
    if (driver.pool_reserved > growth->reserved) growth->reserved = driver.pool_reserved;
  }
  growth->stats = (wp_stats)WP_STATS_INIT;
  BENCH(wp_device_stats(way.runtime, run->device, &growth->stats));
  if (growth->stats.reserved_peak > growth->held) growth->held = growth->stats.reserved_peak;
  bench_close(&way, NULL);
}

static void report_growth(const bench_run *run, bench_mode mode, struct growth *growth) {
  uint64_t largest = bytes_of(DELEGATES - 1);
  uint64_t most = growth->held > growth->reserved ? growth->held : growth->reserved;
  bench_result result = {.name = "footprint", .mode = bench_mode_name(mode), .bytes = largest, .sync = true};
  result.threads = 1;
  result.operations = DELEGATES;
  result.driver_allocs = growth->stats.driver_allocs;
  result.driver_frees = growth->stats.driver_frees;
  result.extra[0] = (bench_extra){"largest_bytes", (double)largest};
  result.extra[1] = (bench_extra){"reserved_peak", (double)growth->held};
  result.extra[2] = (bench_extra){"driver_reserved_most", (double)growth->reserved};
  result.extra[3] = (bench_extra){"peak_ratio", (double)most / (double)largest};
  bench_summarize(&result, &growth->samples);
  bench_report(run, &result);
  bench_forget(&growth->samples);
}

static void measure_growth(const bench_run *run, wp_stream stream) {
  struct growth growths[BENCH_COUNT(modes)] = {{.held = 0}};
  for (unsigned i = 0; i < LIVES; i++) {
    for (size_t m = 0; m < BENCH_COUNT(modes); m++) grow(run, modes[m], stream, &growths[m]);
    bench_progress(run, "footprint: life", i + 1, LIVES);
  }
  for (size_t m = 0; m < BENCH_COUNT(modes); m++) report_growth(run, modes[m], &growths[m]);
}

/* -- footprint-pattern -- */

enum { STEPS = 200, MOST_LIVE = 16, DOUBLINGS = 14, WARM_UPS = 2, REPLAYS = 20 };
static const size_t least_bytes = 512; /* of a block; the most are 8 MiB */

struct step {
  size_t bytes; /* 0: the slot's block is freed */
  unsigned slot;
};

struct pattern {
  struct step steps[STEPS];
  size_t most_bytes; /* live at once */
};

/* The same numbers everywhere, below `below`. */
static unsigned draw(uint32_t *state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

/* From 512 B on, as many between each power of two and the next. */
static size_t draw_bytes(uint32_t *state) {
  size_t least = least_bytes << draw(state, DOUBLINGS);
  return least + draw(state, (unsigned)least + 1);
}

/* A slot that is taken, or one that is not; there is one. */
static unsigned draw_slot(uint32_t *state, const size_t *held, bool taken) {
  unsigned slot = draw(state, MOST_LIVE);
  while ((held[slot] > 0) != taken) slot = (slot + 1) % MOST_LIVE;
  return slot;
}

/* Allocations and frees in no order, somewhat more of the former until there is no room, and in the end the frees of
 * all that is live. */
static void make_pattern(struct pattern *pattern) {
  size_t held[MOST_LIVE] = {0}, held_bytes = 0;
  unsigned live_blocks = 0;
  uint32_t state = 20261129;
  *pattern = (struct pattern){.most_bytes = 0};
  for (unsigned i = 0; i < STEPS; i++) {
    bool must_free = live_blocks == MOST_LIVE || live_blocks == STEPS - i;
    bool frees = live_blocks > 0 && (must_free || draw(&state, 8) < 3);
    struct step step = {.slot = draw_slot(&state, held, frees)};
    if (!frees) step.bytes = draw_bytes(&state);
    held_bytes = held_bytes - held[step.slot] + step.bytes;
    live_blocks = frees ? live_blocks - 1 : live_blocks + 1;
    held[step.slot] = step.bytes;
    if (held_bytes > pattern->most_bytes) pattern->most_bytes = held_bytes;
    pattern->steps[i] = step;
  }
}

static void replay(const bench_way *way, const struct pattern *pattern, wp_stream stream) {
  void *blocks[MOST_LIVE] = {NULL};
  for (unsigned i = 0; i < STEPS; i++) {
    const struct step *step = &pattern->steps[i];
    if (step->bytes > 0) {
      blocks[step->slot] = bench_take(way, step->bytes, stream);
    } else {
      bench_give(way, blocks[step->slot], stream);
    }
  }
}

/* A turn of replays; those that warm up are not kept, for each turn pays for the one before. */
static void time_replays(const bench_way *way, const struct pattern *pattern, wp_stream stream,
                         bench_samples *samples) {
  for (unsigned i = 0; i < WARM_UPS + REPLAYS; i++) {
    uint64_t start = bench_now();
    replay(way, pattern, stream);
    uint64_t end = bench_now();
    if (i >= WARM_UPS) bench_add(samples, (double)(end - start) / STEPS);
  }
  bench_synchronize(stream);
}

/* What the driver is asked for once it is warm. */
static void count_replays(const bench_run *run, bench_mode mode, const struct pattern *pattern, wp_stream stream,
                          bench_result *result) {
  bench_way way;
  wp_stats stats = WP_STATS_INIT;
  (void)bench_open(&way, mode, bench_counting(), run);
  for (unsigned i = 0; i < WARM_UPS; i++) replay(&way, pattern, stream);
  bench_counts before = bench_counted();
  for (unsigned i = 0; i < REPLAYS; i++) replay(&way, pattern, stream);
  bench_counts after = bench_counted();
  BENCH(wp_device_stats(way.runtime, run->device, &stats));
  bench_synchronize(stream);
  bench_close(&way, NULL);
  result->operations = (uint64_t)REPLAYS * STEPS;
  result->driver_allocs = after.allocs - before.allocs;
  result->driver_frees = after.frees - before.frees;
  result->extra[0] = (bench_extra){"vendor_calls", (double)(after.calls - before.calls)};
  result->extra[1] = (bench_extra){"most_live_bytes", (double)pattern->most_bytes};
  result->extra[2] = (bench_extra){"reserved_peak", (double)stats.reserved_peak};
}

static void measure_pattern(const bench_run *run, wp_stream stream) {
  struct pattern pattern;
  bench_way ways[BENCH_COUNT(modes)];
  bench_samples samples[BENCH_COUNT(modes)] = {{NULL, 0, 0}};
  make_pattern(&pattern);
  for (size_t m = 0; m < BENCH_COUNT(modes); m++) (void)bench_open(&ways[m], modes[m], wp_backend_builtin(), run);
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t m = 0; m < BENCH_COUNT(modes); m++) time_replays(&ways[m], &pattern, stream, &samples[m]);
    bench_progress(run, "footprint-pattern: round", round + 1, run->rounds);
  }
  for (size_t m = 0; m < BENCH_COUNT(modes); m++) {
    bench_result result = {.name = "footprint-pattern", .mode = bench_mode_name(modes[m]), .threads = 1};
    result.bytes = least_bytes << DOUBLINGS;
    bench_close(&ways[m], NULL);
    bench_summarize(&result, &samples[m]);
    count_replays(run, modes[m], &pattern, stream, &result);
    bench_report(run, &result);
    bench_forget(&samples[m]);
  }
}

static void run_footprint(bench_run *run) {
  static const bench_case pattern = {"footprint-pattern", "allocations and frees of 512 B to 8 MiB, replayed", NULL};
  wp_stream stream = bench_stream_create(run);
  measure_growth(run, stream);
  bench_title(run, &pattern);
  measure_pattern(run, stream);
  bench_stream_destroy(stream);
  footprint_of_traces(run);
}

const bench_case bench_footprint = {"footprint", "25 delegates in turn, of 8 to 200 MiB, on a pool that stays warm",
                                    run_footprint};
