/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stress: threads x streams x delegates, and graphs, in both stream contracts, with every byte order checked; on the
 * host backend, and on AMD's runtime where its device is the stand-in of tests/softhsa.
 *
 *   stress [SECONDS] [--seconds N] [--threads N] [--seed N]
 *
 * The time is cut into epochs. Each has a runtime of its own (the contract, the waiting and the limits differ from one
 * to the next) and ends with everything freed and closed; then nothing may be held. Blocks are filled with a stamp on
 * one stream and checked on that, or on another that was ordered behind it, before they are freed: memory that is
 * handed out too early shows as a wrong stamp, and as a race under ThreadSanitizer. One summary line; exit status 1 on
 * any violation; abort() if nothing has moved for a minute.
 */
#define _GNU_SOURCE /* getopt_long */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

enum { DEVICES_MAX = 2, EPOCH_MS = 1500 };

static atomic_bool stopping;
static struct epoch epoch;
static unsigned seed = 1;
static unsigned threads = 8;

/* -- epochs -- */

static void expect_nothing_held(void) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  unsigned long long sum_allocs = 0, sum_frees = 0;
  static unsigned long long allocs_before, frees_before;
  while (atomic_load(&completed) != atomic_load(&submitted)) (void)sched_yield();
  OK(wp_tick(epoch.runtime));
  for (int i = 0; i < epoch.devices; i++) {
    /* All work has finished, and all delegates are closed: a tick or two give back whatever the closes left. */
    wp_driver_stats driver = WP_DRIVER_STATS_INIT;
    wp_stats now = WP_STATS_INIT;
    for (int tries = 0; tries < 5000; tries++) { /* what finishes the work may not be run for a while */
      OK(wp_tick(epoch.runtime));
      OK(wp_query_driver(epoch.runtime, i, &driver));
      if (driver.pool_reserved == 0) break;
      (void)usleep(1000);
    }
    OK(wp_device_stats(epoch.runtime, i, &now));
    if (driver.pool_reserved != 0 || driver.pool_used != 0 || now.live_bytes != 0 || now.parked_bytes != 0 ||
        now.live_blocks != 0 || (vendor_is_ours && driver.device_free != driver.device_total)) {
      violation("device %d in the end: reserved %" PRIu64 ", used %" PRIu64 ", live %" PRIu64 ", parked %" PRIu64
                ", device free %" PRIu64 " of %" PRIu64,
                i, driver.pool_reserved, driver.pool_used, now.live_bytes, now.parked_bytes, driver.device_free,
                driver.device_total);
    }
    sum_allocs += now.allocs;
    sum_frees += now.frees;
  }
  OK(wp_trim(epoch.runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report));
  if (report.reserved_after != 0 || report.pending_bytes != 0 || report.live_bytes != 0) violation("the last trim");
  if (sum_allocs != atomic_load(&totals.allocs) - allocs_before ||
      sum_frees != atomic_load(&totals.frees) - frees_before) {
    violation("counted %llu allocs and %llu frees, made %llu and %llu", sum_allocs, sum_frees,
              atomic_load(&totals.allocs) - allocs_before, atomic_load(&totals.frees) - frees_before);
  }
  allocs_before = atomic_load(&totals.allocs);
  frees_before = atomic_load(&totals.frees);
}

static void log_line(void *user, const char *message) {
  (void)user;
  violation("the library logged: %s", message);
}

static void start_epoch(unsigned number) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.stream_contract = number % 2 == 0 ? WP_STREAMS_CHECKED : WP_STREAMS_DECLARED;
  options.caching = vendor_caches && number / 2 % 2 == 1 ? WP_CACHING_DRIVER : WP_CACHING_LANES;
  options.release_wait = number / 4 % 2 == 0 ? WP_WAIT : WP_NO_WAIT;
  options.oom_policy = (wp_oom_policy)(number % 3);
  options.limit_bytes = number % 5 == 4 ? 2 << 20 : 0;
  options.release_threshold = number % 7 == 6 ? 0 : UINT64_MAX;
  options.log = log_line;
  epoch.contract = options.stream_contract;
  MUST(wp_runtime_create(&options, &epoch.runtime));
  atomic_store(&epoch.is_over, false);
}

static void run_epoch(unsigned number, unsigned milliseconds) {
  static struct actor actors[THREADS_MAX];
  pthread_t running[THREADS_MAX];
  start_epoch(number);
  for (unsigned i = 0; i < threads; i++) {
    actors[i] = (struct actor){.index = i, .epoch = &epoch};
    actors[i].random = (uint64_t)seed * 1000003 + number * 977 + i * 31 + 1;
    if (pthread_create(&running[i], NULL, run_actor, &actors[i]) != 0) abort();
  }
  (void)usleep(milliseconds * 1000);
  atomic_store(&epoch.is_over, true);
  for (unsigned i = 0; i < threads; i++) (void)pthread_join(running[i], NULL);
  clear_shelves(&epoch);
  for (unsigned i = 0; i < threads; i++) destroy_streams(&actors[i]);
  expect_nothing_held();
  OK(wp_runtime_destroy(epoch.runtime));
  count(&totals.epochs);
  count(&progress);
}

/* -- main -- */

static void *watch(void *argument) {
  unsigned long long seen = 0;
  unsigned idle = 0;
  (void)argument;
  while (!atomic_load(&stopping)) {
    unsigned long long now = atomic_load(&progress) + atomic_load(&completed);
    idle = now == seen ? idle + 1 : 0;
    seen = now;
    if (idle >= 600) {
      (void)fprintf(stderr, "stress: no progress for 60 seconds, in epoch %llu\n", atomic_load(&totals.epochs));
      (void)fflush(stderr);
      abort();
    }
    (void)usleep(100 * 1000);
  }
  return NULL;
}

static unsigned long parse(const char *text, unsigned long lowest, unsigned long highest) {
  char *rest = NULL;
  unsigned long value = strtoul(text, &rest, 10);
  if (rest != text && *rest == '\0' && value >= lowest && value <= highest) return value;
  (void)fprintf(stderr, "stress: %s is not a number from %lu to %lu\n", text, lowest, highest);
  exit(2);
}

static unsigned parse_arguments(int argc, char **argv) {
  static const struct option known[] = {{"seconds", required_argument, NULL, 's'},
                                        {"threads", required_argument, NULL, 't'},
                                        {"seed", required_argument, NULL, 'r'},
                                        {NULL, 0, NULL, 0}};
  unsigned long seconds = 10;
  int option;
  while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
    switch (option) {
    case 's': seconds = parse(optarg, 1, 100000); break;
    case 't': threads = (unsigned)parse(optarg, 1, THREADS_MAX); break;
    case 'r': seed = (unsigned)parse(optarg, 0, 1000000); break;
    default: exit(2);
    }
  }
  if (optind < argc) seconds = parse(argv[optind], 1, 100000);
  return (unsigned)seconds;
}

int main(int argc, char **argv) {
  unsigned seconds = parse_arguments(argc, argv);
  pthread_t watcher;
  struct timespec start, now;
  epoch.devices = vendor_devices(DEVICES_MAX);
  if (pthread_create(&watcher, NULL, watch, NULL) != 0) abort();
  (void)clock_gettime(CLOCK_MONOTONIC, &start);
  unsigned number = 0;
  do {
    run_epoch(number++, EPOCH_MS);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((unsigned long)(now.tv_sec - start.tv_sec) < seconds || number < 4);
  atomic_store(&stopping, true);
  (void)pthread_join(watcher, NULL);
  (void)printf("{\"stress\": {\"seconds\": %ld, \"threads\": %u, \"devices\": %d, \"seed\": %u",
               (long)(now.tv_sec - start.tv_sec), threads, epoch.devices, seed);
#define PRINT(name) (void)printf(", \"" #name "\": %llu", atomic_load(&totals.name));
  TOTALS(PRINT)
#undef PRINT
  (void)printf(", \"violations\": %llu}}\n", atomic_load(&violations));
  return atomic_load(&violations) == 0 ? 0 : 1;
}
