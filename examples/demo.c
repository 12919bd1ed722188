/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main job, as tables: what an allocation costs from a pool that keeps nothing ("cold": the driver's default) and
 * from warmpool, the same for 25 delegates, and what is left when they have closed. Exit status 1 if a claim below the
 * tables does not hold, 2 if the demo cannot run here. With --json the figures come as JSON.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "warmpool/warmpool.h"

enum { COLD_ROUNDS = 15, WARM_ROUNDS = 200, DELEGATES = 25, BLOCKS = 4, COLD_PASSES = 3, WARM_PASSES = 50 };
static const size_t block_sizes[BLOCKS] = {(size_t)4 << 10, (size_t)256 << 10, (size_t)1 << 20, (size_t)4 << 20};

/* -- a device, two ways -- */

struct demo {
  const wp_backend *driver;
  wp_runtime *runtime;

  wp_pool pool;
  wp_stream stream;
};

static void stop(const char *what, wp_status status) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  (void)fprintf(stderr, "warmpool_demo: %s: %s%s%s\n", what, wp_status_message(status), info.call != NULL ? ": " : "",
                info.call != NULL ? info.message : "");
  exit(2);
}
#define NEED(call)                                                                                                     \
  do {                                                                                                                 \
    wp_status need_status_ = (call);                                                                                   \
    if (need_status_ > WP_PENDING) stop(#call, need_status_);                                                          \
  } while (0)

static void *take(struct demo *demo, wp_delegate *delegate, size_t bytes) {
  void *ptr = NULL;
  if (delegate != NULL) {
    NEED(wp_alloc(delegate, bytes, demo->stream, &ptr));
  } else {
    NEED(demo->driver->memory_alloc(demo->driver->self, demo->pool, bytes, demo->stream, &ptr));
  }
  return ptr;
}

static void give(struct demo *demo, wp_delegate *delegate, void *ptr) {
  if (delegate != NULL) {
    NEED(wp_free(demo->runtime, ptr, demo->stream));
  } else {
    NEED(demo->driver->memory_free(demo->driver->self, ptr, demo->stream));
  }
}

static void synchronize(struct demo *demo) { NEED(demo->driver->stream_synchronize(demo->driver->self, demo->stream)); }

/* -- measuring -- */

static double now_us(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *samples, int count) {
  qsort(samples, (size_t)count, sizeof *samples, by_value);
  return samples[count / 2];
}

static void progress(const char *what, int done, int of) {
  static bool shown;
  if (isatty(STDERR_FILENO) == 0) return;
  if (what != NULL) {
    (void)fprintf(stderr, "\r\033[K%s %d/%d", what, done, of);
    shown = true;
  } else if (shown) {
    (void)fprintf(stderr, "\r\033[K");
  }
}

/* Microseconds for one allocation, its free and a synchronisation. The first round is not counted. */
static double time_allocation(struct demo *demo, wp_delegate *delegate, size_t bytes) {
  double samples[WARM_ROUNDS];
  int rounds = delegate != NULL ? WARM_ROUNDS : COLD_ROUNDS;
  for (int i = -1; i < rounds; i++) {
    double start = now_us();
    give(demo, delegate, take(demo, delegate, bytes));
    synchronize(demo);
    if (i >= 0) samples[i] = now_us() - start;
    progress("measuring allocations", i + 1, rounds);
  }
  return median(samples, rounds);
}

/* One inference: each delegate in turn takes its blocks, gives them back and waits for its stream. */
static double time_pass(struct demo *demo, wp_delegate *const *delegates) {
  double start = now_us();
  for (int d = 0; d < DELEGATES; d++) {
    void *blocks[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) blocks[b] = take(demo, delegates[d], block_sizes[b]);
    for (int b = 0; b < BLOCKS; b++) give(demo, delegates[d], blocks[b]);
    synchronize(demo);
  }
  return now_us() - start;
}

struct passes {
  double first, later;
};

static struct passes time_passes(struct demo *demo, wp_delegate *const *delegates) {
  double samples[WARM_PASSES];
  int count = delegates[0] != NULL ? WARM_PASSES : COLD_PASSES;
  struct passes result = {time_pass(demo, delegates), 0};
  for (int i = 0; i < count; i++) {
    samples[i] = time_pass(demo, delegates);
    progress("measuring delegates", i + 1, count);
  }
  result.later = median(samples, count);
  return result;
}

/* -- what is shown -- */

#define SIZES 3
struct figures {
  size_t size[SIZES];
  double cold[SIZES], warm[SIZES];
  struct passes cold_passes, warm_passes;
  double open_us, close_us; /* of all delegates together */
  uint64_t reserved_open;   /* before the closes */
  uint64_t reserved_one;    /* with one delegate left */
  wp_release_report report; /* of the last close */
  wp_status closed;
  wp_driver_stats after;
};

static const char *bytes_text(uint64_t bytes) {
  static char texts[8][32];
  static int next;
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  char *text = texts[next++ % 8];
  int unit = 0;
  double value = (double)bytes;
  for (; value >= 1024 && unit < 4; unit++) value /= 1024;
  (void)snprintf(text, sizeof texts[0], value < 10 && unit > 0 && value != (double)(int)value ? "%.1f %s" : "%.0f %s",
                 value, units[unit]);
  return text;
}

static void row(const char *name, double cold, double warm) {
  (void)printf("  %-22s %12.2f us %12.2f us %10.0f x\n", name, cold, warm, cold / warm);
}

static void show_tables(const struct demo *demo, const struct figures *figures) {
  (void)printf("warmpool %s, %s backend, one device of %s\n\n", wp_version(), demo->driver->name,
               bytes_text(figures->after.device_total));
  (void)printf("One allocation: alloc + free + synchronise       (median)\n");
  (void)printf("  %-22s %15s %15s %12s\n", "size", "cold", "warm", "faster");
  for (int i = 0; i < SIZES; i++) row(bytes_text(figures->size[i]), figures->cold[i], figures->warm[i]);
  (void)printf("\n%d delegates, %d blocks each, synchronise after each: one inference\n", DELEGATES, BLOCKS);
  (void)printf("  %-22s %15s %15s %12s\n", "", "cold", "warm", "faster");
  row("first inference", figures->cold_passes.first, figures->warm_passes.first);
  row("every later one", figures->cold_passes.later, figures->warm_passes.later);
  (void)printf("  %-22s %15s %12.2f us\n", "opening all of them", "-", figures->open_us);
  (void)printf("  %-22s %15s %12.2f us\n", "closing all of them", "-", figures->close_us);
  (void)printf("\nMemory given back\n");
  (void)printf("  %-40s %12s reserved\n", "25 delegates open", bytes_text(figures->reserved_open));
  (void)printf("  %-40s %12s reserved\n", "24 closed, the last one still warm", bytes_text(figures->reserved_one));
  (void)printf("  %-40s %12s reserved, %s live, %s pending\n", "all closed", bytes_text(figures->report.reserved_after),
               bytes_text(figures->report.live_bytes), bytes_text(figures->report.pending_bytes));
}

static void show_json(const struct demo *demo, const struct figures *figures) {
  (void)printf("{\"warmpool\":\"%s\",\"backend\":\"%s\",\"allocation\":[", wp_version(), demo->driver->name);
  for (int i = 0; i < SIZES; i++) {
    (void)printf("%s{\"bytes\":%zu,\"cold_us\":%.3f,\"warm_us\":%.3f}", i > 0 ? "," : "", figures->size[i],
                 figures->cold[i], figures->warm[i]);
  }
  (void)printf("],\"delegates\":{\"count\":%d,\"blocks\":%d,\"cold_first_us\":%.1f,\"cold_later_us\":%.1f,"
               "\"warm_first_us\":%.1f,\"warm_later_us\":%.1f,\"open_us\":%.1f,\"close_us\":%.1f},",
               DELEGATES, BLOCKS, figures->cold_passes.first, figures->cold_passes.later, figures->warm_passes.first,
               figures->warm_passes.later, figures->open_us, figures->close_us);
  (void)printf("\"release\":{\"reserved_open\":%" PRIu64 ",\"reserved_after\":%" PRIu64 ",\"live_bytes\":%" PRIu64
               ",\"pending_bytes\":%" PRIu64 "}}\n",
               figures->reserved_open, figures->report.reserved_after, figures->report.live_bytes,
               figures->report.pending_bytes);
}

static bool claim(bool quiet, const char *text, bool holds) {
  if (!quiet || !holds) (void)fprintf(quiet ? stderr : stdout, "  %s  %s\n", holds ? "holds " : "BROKEN", text);
  return holds;
}

static bool check_claims(const struct figures *figures, bool quiet) {
  bool all = true;
  if (!quiet) (void)printf("\nClaims\n");
  all &=
      claim(quiet, "warm is at least 10 times faster than cold for 1 MiB", figures->cold[1] >= 10 * figures->warm[1]);
  all &= claim(quiet, "a later inference of 25 delegates is faster warm than cold",
               figures->cold_passes.later > figures->warm_passes.later);
  all &= claim(quiet, "memory stays warm while one delegate is open", figures->reserved_one > 0);
  all &= claim(quiet, "after the last close nothing is reserved, live or pending",
               figures->closed == WP_OK && figures->report.reserved_after == 0 && figures->report.live_bytes == 0 &&
                   figures->report.pending_bytes == 0 && figures->after.pool_reserved == 0);
  return all;
}

/* -- the run -- */

static void measure(struct demo *demo, struct figures *figures) {
  static const size_t sizes[SIZES] = {(size_t)4 << 10, (size_t)1 << 20, (size_t)64 << 20};
  wp_delegate *warm[DELEGATES], *cold[DELEGATES] = {NULL};
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  NEED(demo->driver->pool_create(demo->driver->self, &demo->pool));
  double start = now_us();
  for (int d = 0; d < DELEGATES; d++) NEED(wp_delegate_open(demo->runtime, WP_DEVICE_CURRENT, NULL, &warm[d]));
  figures->open_us = now_us() - start;

  figures->cold_passes = time_passes(demo, cold);
  figures->warm_passes = time_passes(demo, warm);
  for (int i = 0; i < SIZES; i++) {
    figures->size[i] = sizes[i];
    figures->cold[i] = time_allocation(demo, NULL, sizes[i]);
    figures->warm[i] = time_allocation(demo, warm[0], sizes[i]);
  }
  progress(NULL, 0, 0);

  NEED(wp_query_driver(demo->runtime, WP_DEVICE_CURRENT, &driver));
  figures->reserved_open = driver.pool_reserved;
  figures->report = (wp_release_report)WP_RELEASE_REPORT_INIT;
  start = now_us();
  for (int d = 0; d < DELEGATES; d++) {
    figures->closed = wp_delegate_close(warm[d], &figures->report);
    NEED(figures->closed);
    if (d == DELEGATES - 2) figures->reserved_one = figures->report.reserved_after;
  }
  figures->close_us = now_us() - start;
  figures->after = (wp_driver_stats)WP_DRIVER_STATS_INIT;
  NEED(wp_query_driver(demo->runtime, WP_DEVICE_CURRENT, &figures->after));
  NEED(demo->driver->pool_destroy(demo->driver->self, demo->pool));
}

int main(int argc, char **argv) {
  struct demo demo = {wp_backend_builtin(), NULL, NULL, NULL};
  struct figures figures = {0};
  bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
  int devices = 0;
  if (argc > 1 && !json) {
    (void)fprintf(stderr, "usage: %s [--json]\n", argv[0]);
    return 2;
  }
  wp_status found = demo.driver->device_count(demo.driver->self, &devices);
  if (found != WP_OK) stop("no device to run on", found);
  NEED(wp_runtime_create(NULL, &demo.runtime));
  NEED(demo.driver->stream_create(demo.driver->self, &demo.stream));
  measure(&demo, &figures);
  NEED(demo.driver->stream_destroy(demo.driver->self, demo.stream));
  NEED(wp_runtime_destroy(demo.runtime));
  if (json) {
    show_json(&demo, &figures);
  } else {
    show_tables(&demo, &figures);
  }
  return check_claims(&figures, json) ? 0 : 1;
}
