/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lanes reserve and cost beside the driver's pool for one and the same program: each pattern (pattern.h) and each
 * recorded trace is replayed (replay.h) in both. A sample is a whole replay: the time of all calls by their number.
 */
#define _POSIX_C_SOURCE 200809L
#include "footprint_traces.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pattern.h"
#include "replay.h"

enum { MODES = 4, DRIVER = 0, EVENTS = 20000, MOST_ROUNDS = 3 };
static const bench_mode modes[MODES] = {BENCH_DELEGATE, BENCH_DELEGATE_CHECKED, BENCH_LANES, BENCH_LANES_CHECKED};

struct subject {
  char name[96]; /* of the case */
  const char *path;
};

static replay_options options_of(const bench_run *run, bench_mode mode, const char *path) {
  wp_runtime_options options = bench_options(mode);
  return (replay_options){
      .path = path, .caching = options.caching, .contract = options.stream_contract, .device = run->device};
}

static double each(uint64_t sum, uint64_t count) { return count == 0 ? 0 : (double)sum / (double)count; }

static double ratio(uint64_t bytes, uint64_t of) { return of == 0 ? 1 : (double)bytes / (double)of; }

static void report(const bench_run *run, const struct subject *subject, bench_mode mode, const replay_result *replay,
                   const replay_result *driver, bench_samples *samples) {
  bench_result result = {.name = subject->name, .mode = bench_mode_name(mode), .threads = 1};
  result.bytes = replay->live_peak;
  result.operations = replay->allocations;
  result.driver_allocs = replay->driver_allocs;
  result.driver_frees = replay->driver_frees;
  result.extra[0] = (bench_extra){"reserved_peak", (double)replay->reserved_peak};
  result.extra[1] = (bench_extra){"driver_reserved_peak", (double)replay->driver_reserved_peak};
  result.extra[2] = (bench_extra){"peak_ratio", ratio(replay->reserved_peak, driver->reserved_peak)};
  result.extra[3] = (bench_extra){"driver_peak_ratio", ratio(replay->driver_reserved_peak, driver->reserved_peak)};
  result.extra[4] = (bench_extra){"hits", (double)replay->hits};
  result.extra[5] = (bench_extra){"steals", (double)replay->steals};
  result.extra[6] = (bench_extra){"refused", (double)replay->refused};
  bench_summarize(&result, samples);
  bench_report(run, &result);
}

static void measure(const bench_run *run, const struct subject *subject) {
  bench_run quiet = *run;
  bench_samples samples[MODES] = {{NULL, 0, 0}};
  replay_result results[MODES] = {{.events = 0}};
  unsigned rounds = run->rounds < MOST_ROUNDS ? run->rounds : MOST_ROUNDS;
  quiet.progress = false;
  for (unsigned round = 0; round < rounds; round++) {
    for (int m = 0; m < MODES; m++) {
      replay_options options = options_of(run, modes[m], subject->path);
      bench_progress(run, subject->name, round * MODES + (unsigned)m, rounds * MODES);
      replay_run(&quiet, &options, &results[m]);
      bench_add(&samples[m], each(results[m].ns_total, results[m].calls));
    }
  }
  for (int m = 0; m < MODES; m++) {
    report(run, subject, modes[m], &results[m], &results[DRIVER], &samples[m]);
    bench_forget(&samples[m]);
  }
}

/* -- patterns -- */

static void measure_pattern(const bench_run *run, const pattern_kind *pattern) {
  const char *folder = getenv("TMPDIR");
  char path[4096];
  struct subject subject = {.path = path};
  bench_case titled = {subject.name, pattern->summary, NULL};
  (void)snprintf(path, sizeof path, "%s/warmpool-pattern-XXXXXX", folder != NULL ? folder : "/tmp");
  (void)snprintf(subject.name, sizeof subject.name, "footprint-%s", pattern->name);
  int descriptor = mkstemp(path);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  bool is_written = false;
  if (file != NULL) {
    pattern_write(pattern, file, EVENTS, 1);
    is_written = ferror(file) == 0;
    is_written = fclose(file) == 0 && is_written;
  }
  if (!is_written) bench_fail(path, "cannot be written: TMPDIR says where such files go");
  bench_title(run, &titled);
  measure(run, &subject);
  (void)unlink(path);
}

/* -- recorded traces -- */

static int is_trace(const struct dirent *entry) {
  const char *end = strrchr(entry->d_name, '.');
  return end != NULL && end != entry->d_name && strcmp(end, ".csv") == 0;
}

static void measure_trace(const bench_run *run, const char *folder, const char *file) {
  char path[4096];
  struct subject subject = {.path = path};
  bench_case titled = {subject.name, path, NULL};
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  (void)snprintf(subject.name, sizeof subject.name, "footprint-%.*s", (int)(strlen(file) - strlen(".csv")), file);
  bench_title(run, &titled);
  measure(run, &subject);
}

static void measure_folder(const bench_run *run, const char *folder) {
  struct dirent **entries;
  int count = scandir(folder, &entries, is_trace, alphasort);
  if (count < 0) bench_fail(folder, "cannot be read: --traces wants a folder");
  if (count == 0) bench_fail(folder, "has no .csv: --traces wants a folder of traces");
  for (int i = 0; i < count; i++) {
    measure_trace(run, folder, entries[i]->d_name);
    free(entries[i]);
  }
  free((void *)entries);
}

void footprint_of_traces(const bench_run *run) {
  for (const pattern_kind *pattern = patterns; pattern->name != NULL; pattern++) measure_pattern(run, pattern);
  if (run->traces != NULL) measure_folder(run, run->traces);
}
