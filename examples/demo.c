/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main job, as tables: what an allocation costs from a pool that keeps nothing ("cold": the driver's default) and
 * from warmpool, which keeps memory warm in lanes of its own or, told so, in the driver's pool; the same for 25
 * delegates; and what is left when they have closed. Exit status 1 if a claim below the tables does not hold, 2 if the
 * demo cannot run here. With --json the figures come as JSON.
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

/* -- a device, three ways -- */

enum { COLD, DRIVER, LANES, WAYS };
static const char *const way_names[WAYS] = {"cold", "warm, driver", "warm, lanes"};
static const char *const way_texts[WAYS] = {"the driver's pool as it comes, which keeps nothing",
                                            "warmpool, keeping freed memory in the driver's pool (WP_CACHING_DRIVER)",
                                            "warmpool as it comes, keeping freed memory itself, stream by stream"};

struct way {
  wp_runtime *runtime; /* NULL where it is cold, and so are the delegates */
  wp_delegate *delegates[DELEGATES];
};

struct demo {
  const wp_backend *driver;
  wp_pool pool; /* of the cold way */
  wp_stream stream;
  struct way ways[WAYS];
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

static void *take(const struct demo *demo, const struct way *way, int delegate, size_t bytes) {
  void *ptr = NULL;
  if (way->runtime != NULL) {
    NEED(wp_alloc(way->delegates[delegate], bytes, demo->stream, &ptr));
  } else {
    NEED(demo->driver->memory_alloc(demo->driver->self, demo->pool, bytes, demo->stream, &ptr));
  }
  return ptr;
}

static void give(const struct demo *demo, const struct way *way, void *ptr) {
  if (way->runtime != NULL) {
    NEED(wp_free(way->runtime, ptr, demo->stream));
  } else {
    NEED(demo->driver->memory_free(demo->driver->self, ptr, demo->stream));
  }
}

static void synchronize(const struct demo *demo) {
  NEED(demo->driver->stream_synchronize(demo->driver->self, demo->stream));
}

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
static double time_allocation(const struct demo *demo, const struct way *way, size_t bytes) {
  double samples[WARM_ROUNDS];
  int rounds = way->runtime != NULL ? WARM_ROUNDS : COLD_ROUNDS;
  for (int i = -1; i < rounds; i++) {
    double start = now_us();
    give(demo, way, take(demo, way, 0, bytes));
    synchronize(demo);
    if (i >= 0) samples[i] = now_us() - start;
    progress("measuring allocations", i + 1, rounds);
  }
  return median(samples, rounds);
}

/* One inference: each delegate in turn takes its blocks, gives them back and waits for its stream. */
static double time_pass(const struct demo *demo, const struct way *way) {
  double start = now_us();
  for (int d = 0; d < DELEGATES; d++) {
    void *blocks[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) blocks[b] = take(demo, way, d, block_sizes[b]);
    for (int b = 0; b < BLOCKS; b++) give(demo, way, blocks[b]);
    synchronize(demo);
  }
  return now_us() - start;
}

/* The median of all but the first pass, which *first is of. */
static double time_passes(const struct demo *demo, const struct way *way, double *first) {
  double samples[WARM_PASSES];
  int count = way->runtime != NULL ? WARM_PASSES : COLD_PASSES;
  *first = time_pass(demo, way);
  for (int i = 0; i < count; i++) {
    samples[i] = time_pass(demo, way);
    progress("measuring delegates", i + 1, count);
  }
  return median(samples, count);
}

/* -- what is shown -- */

#define SIZES 3
struct figures { /* microseconds */
  size_t size[SIZES];
  double allocation[SIZES][WAYS];
  double first_pass[WAYS], later_pass[WAYS];
  double open[WAYS], close[WAYS]; /* of all delegates together; nothing where it is cold */
  /* of the library as it comes */
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

static void head(const char *what) {
  (void)printf("  %-19s", what);
  for (int w = 0; w < WAYS; w++) (void)printf(" %15s", way_names[w]);
  (void)printf(" %10s\n", "faster");
}

/* What took no time was not there to do. */
static void row(const char *name, const double *us) {
  (void)printf("  %-19s", name);
  for (int w = 0; w < WAYS; w++) {
    if (us[w] > 0) {
      (void)printf(" %12.2f us", us[w]);
    } else {
      (void)printf(" %15s", "-");
    }
  }
  if (us[COLD] > 0) (void)printf(" %8.0f x", us[COLD] / us[LANES]);
  (void)printf("\n");
}

static void show_tables(const struct demo *demo, const struct figures *figures) {
  (void)printf("warmpool %s, %s backend, one device of %s\n", wp_version(), demo->driver->name,
               bytes_text(figures->after.device_total));
  for (int w = 0; w < WAYS; w++) (void)printf("  %-14s %s\n", way_names[w], way_texts[w]);
  (void)printf("\nOne allocation: alloc + free + synchronise (median)\n");
  head("size");
  for (int i = 0; i < SIZES; i++) row(bytes_text(figures->size[i]), figures->allocation[i]);
  (void)printf("\n%d delegates, %d blocks each, synchronise after each: one inference\n", DELEGATES, BLOCKS);
  head("");
  row("first inference", figures->first_pass);
  row("every later one", figures->later_pass);
  row("opening all of them", figures->open);
  row("closing all of them", figures->close);
  (void)printf("\nMemory given back, warm in lanes\n");
  (void)printf("  %-40s %12s reserved\n", "25 delegates open", bytes_text(figures->reserved_open));
  (void)printf("  %-40s %12s reserved\n", "24 closed, the last one still warm", bytes_text(figures->reserved_one));
  (void)printf("  %-40s %12s reserved, %s live, %s pending\n", "all closed", bytes_text(figures->report.reserved_after),
               bytes_text(figures->report.live_bytes), bytes_text(figures->report.pending_bytes));
}

static void show_json(const struct demo *demo, const struct figures *figures) {
  static const char *const json_names[WAYS] = {"cold", "driver", "warm"};
  (void)printf("{\"warmpool\":\"%s\",\"backend\":\"%s\",\"allocation\":[", wp_version(), demo->driver->name);
  for (int i = 0; i < SIZES; i++) {
    const double *us = figures->allocation[i];
    (void)printf("%s{\"bytes\":%zu,\"cold_us\":%.3f,\"driver_us\":%.3f,\"warm_us\":%.3f}", i > 0 ? "," : "",
                 figures->size[i], us[COLD], us[DRIVER], us[LANES]);
  }
  (void)printf("],\"delegates\":{\"count\":%d,\"blocks\":%d", DELEGATES, BLOCKS);
  for (int w = 0; w < WAYS; w++) {
    (void)printf(",\"%s_first_us\":%.1f,\"%s_later_us\":%.1f", json_names[w], figures->first_pass[w], json_names[w],
                 figures->later_pass[w]);
  }
  (void)printf(",\"open_us\":%.1f,\"close_us\":%.1f},", figures->open[LANES], figures->close[LANES]);
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
  all &= claim(quiet, "warm is at least 10 times faster than cold for 1 MiB",
               figures->allocation[1][COLD] >= 10 * figures->allocation[1][LANES]);
  all &= claim(quiet, "a later inference of 25 delegates is faster warm than cold",
               figures->later_pass[COLD] > figures->later_pass[LANES]);
  all &= claim(quiet, "memory stays warm while one delegate is open", figures->reserved_one > 0);
  all &= claim(quiet, "after the last close nothing is reserved, live or pending",
               figures->closed == WP_OK && figures->report.reserved_after == 0 && figures->report.live_bytes == 0 &&
                   figures->report.pending_bytes == 0 && figures->after.pool_reserved == 0);
  return all;
}

/* -- the run -- */

static double open_way(struct way *way, wp_caching caching) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.caching = caching;
  NEED(wp_runtime_create(&options, &way->runtime));
  double start = now_us();
  for (int d = 0; d < DELEGATES; d++) NEED(wp_delegate_open(way->runtime, WP_DEVICE_CURRENT, NULL, &way->delegates[d]));
  return now_us() - start;
}

static void measure(const struct demo *demo, struct figures *figures) {
  static const size_t sizes[SIZES] = {(size_t)4 << 10, (size_t)1 << 20, (size_t)64 << 20};
  for (int w = 0; w < WAYS; w++) {
    figures->later_pass[w] = time_passes(demo, &demo->ways[w], &figures->first_pass[w]);
  }
  for (int i = 0; i < SIZES; i++) {
    figures->size[i] = sizes[i];
    for (int w = 0; w < WAYS; w++) figures->allocation[i][w] = time_allocation(demo, &demo->ways[w], sizes[i]);
  }
  progress(NULL, 0, 0);
}

/* Leaves in `figures` what the last close found, and what one delegate had kept warm until then. */
static double close_way(struct way *way, struct figures *figures) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  NEED(wp_query_driver(way->runtime, WP_DEVICE_CURRENT, &driver));
  figures->reserved_open = driver.pool_reserved;
  figures->report = (wp_release_report)WP_RELEASE_REPORT_INIT;
  double start = now_us();
  for (int d = 0; d < DELEGATES; d++) {
    figures->closed = wp_delegate_close(way->delegates[d], &figures->report);
    NEED(figures->closed);
    if (d == DELEGATES - 2) figures->reserved_one = figures->report.reserved_after;
  }
  double us = now_us() - start;
  figures->after = (wp_driver_stats)WP_DRIVER_STATS_INIT;
  NEED(wp_query_driver(way->runtime, WP_DEVICE_CURRENT, &figures->after));
  NEED(wp_runtime_destroy(way->runtime));
  return us;
}

static void run(struct demo *demo, struct figures *figures) {
  NEED(demo->driver->stream_create(demo->driver->self, &demo->stream));
  NEED(demo->driver->pool_create(demo->driver->self, &demo->pool));
  figures->open[DRIVER] = open_way(&demo->ways[DRIVER], WP_CACHING_DRIVER);
  figures->open[LANES] = open_way(&demo->ways[LANES], WP_CACHING_LANES);
  measure(demo, figures);
  figures->close[DRIVER] = close_way(&demo->ways[DRIVER], figures);
  figures->close[LANES] = close_way(&demo->ways[LANES], figures); /* the last, for it is shown */
  NEED(demo->driver->pool_destroy(demo->driver->self, demo->pool));
  NEED(demo->driver->stream_destroy(demo->driver->self, demo->stream));
}

int main(int argc, char **argv) {
  struct demo demo = {.driver = wp_backend_builtin()};
  struct figures figures = {0};
  bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
  int devices = 0;
  if (argc > 1 && !json) {
    (void)fprintf(stderr, "usage: %s [--json]\n", argv[0]);
    return 2;
  }
  wp_status found = demo.driver->device_count(demo.driver->self, &devices);
  if (found != WP_OK) stop("no device to run on", found);
  run(&demo, &figures);
  if (json) {
    show_json(&demo, &figures);
  } else {
    show_tables(&demo, &figures);
  }
  return check_claims(&figures, json) ? 0 : 1;
}
