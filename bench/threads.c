/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of allocation and free of 1 KiB from several threads at once, each on a stream of its own. */
#include "cases.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BYTES = 1024, MOST_THREADS = 16, MILLISECONDS = 100, COUNTED_MILLISECONDS = 5, PAIRS_A_LOOK = 32 };

struct crowd {
  const bench_run *run;
  bench_way way;
  pthread_barrier_t start;
  atomic_bool stop;
};

struct member {
  struct crowd *crowd;
  wp_stream stream; /* NULL for a heap */
  pthread_t thread;
  uint64_t pairs, nanoseconds; /* what it has done in its time; the time is its own, for it may begin late */
};

static void *run_member(void *argument) {
  struct member *member = argument;
  struct crowd *crowd = member->crowd;
  const bench_way *way = &crowd->way;
  wp_stream stream = member->stream;
  uint64_t pairs = 0; /* not in the member, which shares a cache line with another thread's */
  BENCH(way->backend->device_set(way->backend->self, crowd->run->device));
  bench_pairs(way, BYTES, stream, PAIRS_A_LOOK);
  (void)pthread_barrier_wait(&crowd->start);
  uint64_t start = bench_now();
  do {
    bench_pairs(way, BYTES, stream, PAIRS_A_LOOK);
    pairs += PAIRS_A_LOOK;
  } while (!atomic_load_explicit(&crowd->stop, memory_order_relaxed));
  member->nanoseconds = bench_now() - start;
  member->pairs = pairs;
  return NULL;
}

static void wait_milliseconds(unsigned milliseconds) {
  uint64_t end = bench_now() + (uint64_t)milliseconds * 1000000;
  for (uint64_t now = bench_now(); now < end; now = bench_now()) bench_sleep(end - now);
}

/* A turn of all threads together. Nanoseconds that one pair takes one thread; *pairs: how many there were. */
static double turn(struct crowd *crowd, const wp_stream *streams, unsigned threads, unsigned milliseconds,
                   uint64_t *pairs) {
  struct member members[MOST_THREADS];
  uint64_t nanoseconds = 0;
  *pairs = 0;
  atomic_store(&crowd->stop, false);
  (void)pthread_barrier_init(&crowd->start, NULL, threads + 1);
  for (unsigned i = 0; i < threads; i++) {
    members[i] = (struct member){.crowd = crowd, .stream = crowd->way.heap_alloc != NULL ? NULL : streams[i]};
    if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0) bench_fail("pthread_create", "failed");
  }
  (void)pthread_barrier_wait(&crowd->start);
  wait_milliseconds(milliseconds);
  atomic_store(&crowd->stop, true);
  for (unsigned i = 0; i < threads; i++) {
    (void)pthread_join(members[i].thread, NULL);
    nanoseconds += members[i].nanoseconds;
    *pairs += members[i].pairs;
  }
  (void)pthread_barrier_destroy(&crowd->start);
  return (double)nanoseconds / (double)*pairs;
}

/* What the driver is asked for in a short turn. */
static void count_turn(const bench_run *run, bench_mode mode, const wp_stream *streams, bench_result *result) {
  static struct crowd crowd;
  crowd.run = run;
  if (!bench_open(&crowd.way, mode, bench_counting(), run)) return;
  bench_counts before = bench_counted();
  uint64_t pairs;
  (void)turn(&crowd, streams, result->threads, COUNTED_MILLISECONDS, &pairs);
  bench_counts after = bench_counted();
  result->operations = pairs + (uint64_t)result->threads * PAIRS_A_LOOK; /* with those that warm up */
  result->driver_allocs = after.allocs - before.allocs;
  result->driver_frees = after.frees - before.frees;
  bench_close(&crowd.way, NULL);
}

static void report(const bench_run *run, bench_mode mode, const wp_stream *streams, unsigned threads,
                   bench_samples *samples) {
  bench_result result = {.name = "threads", .mode = bench_mode_name(mode), .bytes = BYTES, .threads = threads};
  bench_summarize(&result, samples);
  count_turn(run, mode, streams, &result);
  result.extra[0] = (bench_extra){"pairs_per_second", 1e9 * threads / result.ns_median};
  bench_report(run, &result);
  bench_forget(samples);
}

static void measure(bench_run *run, const wp_stream *streams, unsigned threads) {
  static const bench_mode modes[] = {BENCH_DRIVER,        BENCH_DELEGATE, BENCH_DELEGATE_CHECKED, BENCH_LANES,
                                     BENCH_LANES_CHECKED, BENCH_MALLOC,   BENCH_MIMALLOC};
  static struct crowd crowds[BENCH_COUNT(modes)];
  bench_samples samples[BENCH_COUNT(modes)] = {{NULL, 0, 0}};
  bool present[BENCH_COUNT(modes)];
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    crowds[i].run = run;
    present[i] = bench_open(&crowds[i].way, modes[i], wp_backend_builtin(), run);
  }
  for (unsigned round = 0; round < run->rounds; round++) {
    for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
      uint64_t pairs;
      if (present[i]) bench_add(&samples[i], turn(&crowds[i], streams, threads, MILLISECONDS, &pairs));
    }
    bench_progress(run, "threads: round", round + 1, run->rounds);
  }
  for (size_t i = 0; i < BENCH_COUNT(modes); i++) {
    if (!present[i]) continue;
    bench_close(&crowds[i].way, NULL);
    report(run, modes[i], streams, threads, &samples[i]);
  }
}

static void run_threads(bench_run *run) {
  wp_stream streams[MOST_THREADS];
  for (unsigned i = 0; i < MOST_THREADS; i++) streams[i] = bench_stream_create(run);
  for (unsigned threads = 1; threads <= MOST_THREADS; threads *= 2) measure(run, streams, threads);
  for (unsigned i = 0; i < MOST_THREADS; i++) bench_stream_destroy(streams[i]);
}

const bench_case bench_threads = {"threads", "pairs of 1 KiB, a stream each thread", run_threads};
