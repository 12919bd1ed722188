/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* -- failures -- */

_Noreturn void bench_fail(const char *what, const char *why) {
  (void)fflush(stdout);
  (void)fprintf(stderr, "warmpool: %s: %s\n", what, why);
  exit(1);
}

_Noreturn void bench_fail_with(wp_status status, const char *what) {
  char why[512];
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  (void)snprintf(why, sizeof why, "%s%s%s", wp_status_message(status), info.message[0] != '\0' ? ": " : "",
                 info.message);
  bench_fail(what, why);
}

/* -- progress -- */

void bench_progress(const bench_run *run, const char *what, unsigned done, unsigned of) {
  static bool shown;
  if (!run->progress || isatty(STDERR_FILENO) == 0) return;
  if (what != NULL) {
    (void)fprintf(stderr, "\r\033[K%s %u/%u", what, done, of);
    shown = true;
  } else if (shown) {
    (void)fprintf(stderr, "\r\033[K");
    shown = false;
  }
  (void)fflush(stderr);
}

/* -- time -- */

uint64_t bench_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bench_sleep(uint64_t nanoseconds) {
  struct timespec time = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
  (void)nanosleep(&time, NULL);
}

void bench_add(bench_samples *samples, double value) {
  if (samples->count == samples->capacity) {
    size_t capacity = samples->capacity == 0 ? 256 : 2 * samples->capacity;
    double *values = realloc(samples->values, capacity * sizeof *values);
    if (values == NULL) bench_fail("realloc", "out of host memory");
    samples->values = values;
    samples->capacity = capacity;
  }
  samples->values[samples->count++] = value;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_quantile(bench_samples *samples, double quantile) {
  if (samples->count == 0) return 0;
  qsort(samples->values, samples->count, sizeof *samples->values, by_value);
  size_t at = (size_t)(quantile * (double)samples->count);
  return samples->values[at < samples->count ? at : samples->count - 1];
}

void bench_forget(bench_samples *samples) {
  free(samples->values);
  *samples = (bench_samples){NULL, 0, 0};
}
