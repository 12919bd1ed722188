/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cases share. A case measures ways to get memory side by side, in rounds that take turns, and hands over its
 * results; the harness shows them as a table or as JSON. A failure ends the program with one line and status 1.
 */
#ifndef WARMPOOL_BENCH_H
#define WARMPOOL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "warmpool/warmpool.h"

#define BENCH_COUNT(array) (sizeof(array) / sizeof *(array))
#define BENCH_MIB ((size_t)1 << 20)

/* -- the run -- */

typedef struct bench_run {
  int device;
  unsigned rounds; /* how often each way has its turn */
  bool json;
  bool progress;      /* shown on stderr, if that is a terminal */
  const char *traces; /* a folder of recorded ones, or NULL */
} bench_run;

typedef struct bench_case {
  const char *name;
  const char *summary; /* one line */
  void (*run)(bench_run *run);
} bench_case;
extern const bench_case *const bench_cases[]; /* ends with NULL */

/* Ends the program, saying what failed and why. */
_Noreturn void bench_fail(const char *what, const char *why);
_Noreturn void bench_fail_with(wp_status status, const char *what);
/* Does so if `status` is a failure. In line: it stands around calls that take a few nanoseconds. */
static inline void bench_check(wp_status status, const char *what) {
  if (status > WP_PENDING) bench_fail_with(status, what);
}
#define BENCH(call) bench_check((call), #call)

/* "what, done of all" in one line that the next call replaces; bench_progress(run, NULL, 0, 0) clears it. */
void bench_progress(const bench_run *run, const char *what, unsigned done, unsigned of);

/* -- time: raw samples, sorted -- */

uint64_t bench_now(void); /* nanoseconds */
void bench_sleep(uint64_t nanoseconds);

typedef struct bench_samples {
  double *values;
  size_t count, capacity;
} bench_samples;
void bench_add(bench_samples *samples, double value);
double bench_quantile(bench_samples *samples, double quantile); /* sorts; 0 where there are none */
void bench_forget(bench_samples *samples);

/* -- ways to get memory -- */

typedef enum bench_mode {
  BENCH_COLD,             /* the driver's pool as it comes: threshold 0 */
  BENCH_DRIVER,           /* a driver's pool kept warm, by raw calls of the vtable */
  BENCH_DELEGATE,         /* the public API, WP_CACHING_DRIVER and WP_STREAMS_DECLARED */
  BENCH_DELEGATE_CHECKED, /* the same, WP_STREAMS_CHECKED */
  BENCH_LANES,            /* the public API, WP_CACHING_LANES and WP_STREAMS_DECLARED */
  BENCH_LANES_CHECKED,    /* the public API as it comes: WP_CACHING_LANES and WP_STREAMS_CHECKED */
  BENCH_MALLOC,           /* the C library's heap, for comparison */
  BENCH_MIMALLOC          /* the same, where libmimalloc is installed */
} bench_mode;
const char *bench_mode_name(bench_mode mode);
wp_runtime_options bench_options(bench_mode mode); /* of the modes of the public API, on the built-in backend */

typedef struct bench_way {
  bench_mode mode;
  const wp_backend *backend;
  wp_runtime *runtime;   /* of the public API */
  wp_delegate *delegate; /* its first delegate */
  wp_pool pool;          /* of the raw modes */
  void *(*heap_alloc)(size_t);
  void (*heap_free)(void *);
} bench_way;

/* Opens a way on `backend`. False: it is not to be had here (BENCH_MIMALLOC; a caching that the driver does not
 * support). The device is current after it. */
bool bench_open(bench_way *way, bench_mode mode, const wp_backend *backend, const bench_run *run);
/* Gives everything back; with `report`, what the last close of the public API found. */
void bench_close(bench_way *way, wp_release_report *report);
void *bench_take(const bench_way *way, size_t bytes, wp_stream stream);
void *bench_take_of(const bench_way *way, wp_delegate *delegate, size_t bytes, wp_stream stream);
void bench_give(const bench_way *way, void *memory, wp_stream stream);
/* `count` times an allocation and its free. Which way it is, is found out once; what the loop adds to the calls is
 * a nanosecond or two, and the same in every way. */
void bench_pairs(const bench_way *way, size_t bytes, wp_stream stream, unsigned count);
void bench_synchronize(wp_stream stream);            /* is never counted (below) */
wp_stream bench_stream_create(const bench_run *run); /* of the run's device, which is current after it */
void bench_stream_destroy(wp_stream stream);

/* The built-in backend with counters in front. They cost time: what is counted is not what is timed. */
typedef struct bench_counts {
  uint64_t allocs, frees, calls; /* memory_alloc, memory_free, and all entries */
  bool has_device;               /* somebody counts below the driver, too: a stand-in for the device */
  uint64_t device_allocs, device_frees;
} bench_counts;
const wp_backend *bench_counting(void);
bench_counts bench_counted(void);

/* -- results -- */

typedef struct bench_extra {
  const char *name;
  double value;
} bench_extra;

typedef struct bench_result {
  const char *name; /* of the case */
  const char *mode;
  uint64_t bytes; /* of one block, or of all */
  bool sync;      /* the stream is synchronised within what is timed */
  unsigned threads;
  size_t samples;
  double ns_median, ns_p99;             /* of one operation */
  uint64_t operations;                  /* that the two counts below are of */
  uint64_t driver_allocs, driver_frees; /* counted in a run of its own, or by the library */
  bool has_device;                      /* these are known: what the driver asked of the device meanwhile */
  uint64_t device_allocs, device_frees;
  bench_extra extra[8]; /* what else the case has to say; ends with a NULL name */
} bench_result;

/* Fills in what was counted of `operations`. */
void bench_tally(bench_result *result, uint64_t operations, const bench_counts *before, const bench_counts *after);
/* Fills in samples, median and 99th percentile. */
void bench_summarize(bench_result *result, bench_samples *samples);
void bench_header(const bench_run *run, const char *command);
void bench_title(const bench_run *run, const bench_case *bench);
void bench_report(const bench_run *run, const bench_result *result);
void bench_footer(const bench_run *run);

#endif
