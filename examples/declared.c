/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server: worker threads with a stream each. Such a program knows when its streams end, and says so
 * (WP_STREAMS_DECLARED, wp_stream_retire). In return nothing is asked of the driver: from the second request on every
 * allocation is a hit in the stream's own lane, and neither it nor its free makes a driver call.
 *
 * It runs on every backend: streams are those of the driver that the library was built for. On a GPU a program makes
 * them with the vendor's own calls.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "warmpool/warmpool.h"

enum { WORKERS = 4, REQUESTS = 1000, BLOCKS = 3 };
static const size_t block_sizes[BLOCKS] = {(size_t)64 << 10, (size_t)3 << 20, (size_t)500};

/* Ends the program with the reason where a call failed. */
static void check(wp_status status, const char *what) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  if (status == WP_OK) return;
  wp_last_error(&info);
  (void)fprintf(stderr, "%s: %s (%s)\n", what, wp_status_message(status), info.message);
  exit(1);
}

/* -- a worker -- */

struct worker {
  wp_runtime *runtime;
  wp_stream stream;
  pthread_t thread;
  wp_stats first, all; /* after the first request, and after all */
};

/* A request's scratch memory, allocated and freed in stream order. Its kernels would go in between. */
static void serve(const struct worker *worker, wp_delegate *delegate) {
  void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) check(wp_alloc(delegate, block_sizes[i], worker->stream, &blocks[i]), "alloc");
  for (int i = 0; i < BLOCKS; i++) check(wp_free(worker->runtime, blocks[i], worker->stream), "free");
}

static void *work(void *argument) {
  struct worker *worker = argument;
  const wp_backend *driver = wp_backend_builtin();
  wp_delegate *delegate;
  check(wp_delegate_open(worker->runtime, 0, NULL, &delegate), "open");
  check(wp_prime(delegate, (size_t)4 << 20, worker->stream), "prime"); /* maps memory before the first request comes */
  worker->first = worker->all = (wp_stats)WP_STATS_INIT;
  serve(worker, delegate);
  check(wp_delegate_stats(delegate, &worker->first), "stats");
  for (int i = 1; i < REQUESTS; i++) serve(worker, delegate);
  check(wp_delegate_stats(delegate, &worker->all), "stats");

  /* The promise of WP_STREAMS_DECLARED: the library is told before the stream is destroyed. */
  check(wp_stream_retire(worker->runtime, 0, worker->stream), "retire");
  check(driver->stream_destroy(driver->self, worker->stream), "destroy");
  check(wp_delegate_close(delegate, NULL), "close");
  return NULL;
}

/* -- the server -- */

static void run_workers(wp_runtime *runtime, struct worker *workers) {
  const wp_backend *driver = wp_backend_builtin();
  for (int i = 0; i < WORKERS; i++) {
    workers[i].runtime = runtime;
    check(driver->stream_create(driver->self, &workers[i].stream), "stream");
  }
  for (int i = 0; i < WORKERS; i++) {
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) exit(1);
  }
  for (int i = 0; i < WORKERS; i++) (void)pthread_join(workers[i].thread, NULL);
}

int main(void) {
  wp_runtime *runtime;
  wp_delegate *server; /* open as long as the server runs, so that workers come and go in warm memory */
  struct worker workers[WORKERS];
  wp_stats stats = WP_STATS_INIT;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.stream_contract = WP_STREAMS_DECLARED;
  check(wp_runtime_create(&options, &runtime), "create");
  check(wp_delegate_open(runtime, 0, NULL, &server), "open");
  run_workers(runtime, workers);

  uint64_t allocs = 0, hits = 0;
  for (int i = 0; i < WORKERS; i++) {
    allocs += workers[i].all.allocs - workers[i].first.allocs;
    hits += workers[i].all.lane_hits - workers[i].first.lane_hits;
  }
  check(wp_device_stats(runtime, 0, &stats), "stats");
  check(wp_delegate_close(server, &report), "close");
  check(wp_runtime_destroy(runtime), "destroy");

  (void)printf("%d workers, %d requests each\n", WORKERS, REQUESTS);
  (void)printf("after the first request: %llu allocations, %llu of them hits\n", (unsigned long long)allocs,
               (unsigned long long)hits);
  (void)printf("the driver was asked for memory %llu times, and given some back %llu times\n",
               (unsigned long long)stats.driver_allocs, (unsigned long long)stats.driver_frees);
  (void)printf("closed: %llu bytes are left\n", (unsigned long long)report.reserved_after);
  bool all_hit = allocs == (uint64_t)WORKERS * (REQUESTS - 1) * BLOCKS && hits == allocs;
  return all_hit && stats.driver_allocs == WORKERS && stats.driver_frees == 0 && report.reserved_after == 0 ? 0 : 1;
}
