/* SPDX-License-Identifier: Apache-2.0 */
/* Results as a table for people or as JSON for programs: one object, whose "results" are one object a result. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "json.h"
#include "vendor.h"

void bench_tally(bench_result *result, uint64_t operations, const bench_counts *before, const bench_counts *after) {
  result->operations = operations;
  result->driver_allocs = after->allocs - before->allocs;
  result->driver_frees = after->frees - before->frees;
  result->has_device = after->has_device;
  result->device_allocs = after->device_allocs - before->device_allocs;
  result->device_frees = after->device_frees - before->device_frees;
}

void bench_summarize(bench_result *result, bench_samples *samples) {
  result->samples = samples->count;
  result->ns_median = bench_quantile(samples, 0.5);
  result->ns_p99 = bench_quantile(samples, 0.99);
}

/* -- the header: where and how this was measured -- */

static void describe_machine(char *text, size_t capacity) {
  struct utsname system;
  char line[256], model[128] = "processor";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
  }
  if (file != NULL) (void)fclose(file);
  (void)uname(&system);
  (void)snprintf(text, capacity, "%s %s, %ld x %s", system.sysname, system.machine, sysconf(_SC_NPROCESSORS_ONLN),
                 model);
}

void bench_header(const bench_run *run, const char *command) {
  char machine[512], device[128], driver[128], date[32];
  time_t now = time(NULL);
  struct tm utc;
  const wp_backend *backend = wp_backend_builtin();
  describe_machine(machine, sizeof machine);
  vendor_describe(run->device, device, sizeof device, driver, sizeof driver);
  (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  if (!run->json) {
    (void)printf("warmpool %s, %s backend on %s\n%s; %s\n", wp_version(), backend->name, device, driver, machine);
    return;
  }
  json_open(NULL, '{');
  json_string("warmpool", wp_version());
  json_string("machine", machine);
  json_string("gpu", device);
  json_string("driver", driver);
  json_string("backend", backend->name);
  json_string("date", date);
  json_string("command", command);
  json_open("results", '[');
}

void bench_footer(const bench_run *run) {
  if (!run->json) return;
  json_close(']');
  json_close('}');
}

/* -- the table -- */

static const char *bytes_text(uint64_t bytes, char *text, size_t capacity) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && unit < 3; unit++) bytes /= 1024;
  (void)snprintf(text, capacity, "%" PRIu64 " %s", bytes, units[unit]);
  return text;
}

static const char *time_text(double ns, char *text, size_t capacity) {
  if (ns < 1e3) {
    (void)snprintf(text, capacity, "%.1f ns", ns);
  } else if (ns < 1e6) {
    (void)snprintf(text, capacity, "%.2f us", ns / 1e3);
  } else {
    (void)snprintf(text, capacity, "%.2f ms", ns / 1e6);
  }
  return text;
}

void bench_title(const bench_run *run, const bench_case *bench) {
  if (run->json) return;
  (void)printf("\n%s: %s\n", bench->name, bench->summary);
  (void)printf("  %-22s %9s %5s %8s %12s %12s  %s\n", "mode", "bytes", "sync", "threads", "median", "p99",
               "driver allocs + frees each");
}

/* Of what runs on a stand-in, whose times mean nothing, none. */
static const char *time_of(const bench_result *result, double ns, char *text, size_t capacity) {
  return result->has_device ? "-" : time_text(ns, text, capacity);
}

static void put_row(const bench_result *result) {
  char bytes[32], median[32], p99[32], driver[64] = "-";
  double each = result->operations > 0 ? 1 / (double)result->operations : 0;
  if (result->operations > 0) {
    (void)snprintf(driver, sizeof driver, "%.3g + %.3g", (double)result->driver_allocs * each,
                   (double)result->driver_frees * each);
  }
  (void)printf("  %-22s %9s %5s %8u %12s %12s  %s\n", result->mode, bytes_text(result->bytes, bytes, sizeof bytes),
               result->sync ? "yes" : "no", result->threads, time_of(result, result->ns_median, median, sizeof median),
               time_of(result, result->ns_p99, p99, sizeof p99), driver);
  if (result->has_device) {
    (void)printf("  %-22s   device allocs + frees each: %.3g + %.3g\n", "", (double)result->device_allocs * each,
                 (double)result->device_frees * each);
  }
  for (size_t i = 0; i < BENCH_COUNT(result->extra) && result->extra[i].name != NULL; i++) {
    const bench_extra *extra = &result->extra[i];
    bool is_time = strncmp(extra->name, "ns_", 3) == 0 || strcmp(extra->name, "waited_ns") == 0;
    (void)printf("  %-22s   %s: ", "", extra->name);
    if (is_time) {
      (void)printf("%s\n", time_of(result, extra->value, median, sizeof median));
    } else {
      (void)printf("%.*g\n", extra->value < 1e3 ? 3 : 10, extra->value);
    }
  }
}

/* -- JSON -- */

static void put_json(const bench_run *run, const bench_result *result) {
  json_open(NULL, '{');
  json_string("backend", wp_backend_builtin()->name);
  json_integer("device", (uint64_t)run->device);
  json_string("case", result->name);
  json_string("mode", result->mode);
  json_integer("bytes", result->bytes);
  json_boolean("sync", result->sync);
  json_integer("threads", result->threads);
  json_integer("samples", result->samples);
  json_number("ns_median", result->ns_median);
  json_number("ns_p99", result->ns_p99);
  json_integer("operations", result->operations);
  json_integer("driver_allocs", result->driver_allocs);
  json_integer("driver_frees", result->driver_frees);
  if (result->has_device) {
    json_integer("device_allocs", result->device_allocs);
    json_integer("device_frees", result->device_frees);
  }
  for (size_t i = 0; i < BENCH_COUNT(result->extra) && result->extra[i].name != NULL; i++) {
    json_number(result->extra[i].name, result->extra[i].value);
  }
  json_close('}');
}

void bench_report(const bench_run *run, const bench_result *result) {
  bench_progress(run, NULL, 0, 0);
  if (run->json) {
    put_json(run, result);
  } else {
    put_row(result);
  }
  (void)fflush(stdout);
}
