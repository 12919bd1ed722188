/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ci/pace.sh compares two versions of the library by: one program of the public headers alone, compiled against
 * each version. It reads commands from stdin, a line each, and answers with a line:
 *
 *   cases            the names of all cases, those of several threads with "*" behind
 *   size CASE        how large a turn of the case is that takes about TURN_NS, or CROWD_NS
 *   turn CASE SIZE   nanoseconds of one operation, in one turn
 *
 * A turn opens a runtime of its own. How long an operation takes is said by the slowest of the fastest tenth of its
 * batches: what the machine does besides only ever adds.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "warmpool/warmpool.h"

enum {
  TURN_NS = 20000000,
  CROWD_NS = 60000000,
  LEAST_BATCHES = 4,
  MOST_BATCHES = 20000,
  THREADS = 16,
  SMALL = 1024,
  SEGMENT = 2 << 20, /* what a lane gets of the driver at once */
  BLOCKS = 8         /* a driver maps 32 MiB at once: so many segments, and one more, are below that */
};

typedef struct situation {
  const struct pace_case *pace;
  wp_runtime *runtime;
  wp_delegate *delegate;
  wp_stream stream;
  void *held; /* keeps memory of the driver's mapped */
} situation;

typedef struct pace_case {
  const char *name;
  wp_stream stream;                    /* unless it creates one */
  double (*batch)(const situation *s); /* nanoseconds of one operation */
  wp_stream_contract contract;
  bool creates, holds, closes, is_crowd;
} pace_case;

static _Noreturn void fail(const char *what, const char *why) {
  (void)fprintf(stderr, "pace: %s: %s\n", what, why);
  exit(2);
}

static inline void check(wp_status status, const char *what) {
  if (status > WP_PENDING) fail(what, wp_status_message(status));
}
#define CHECK(call) check((call), #call)
#define VENDOR(entry, ...) CHECK(wp_backend_builtin()->entry(wp_backend_builtin()->self, __VA_ARGS__))

static double now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* -- what is timed -- */

static void pairs(const situation *s, wp_stream stream, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    void *memory = NULL;
    CHECK(wp_alloc(s->delegate, SMALL, stream, &memory));
    CHECK(wp_free(s->runtime, memory, stream));
  }
}

static double batch_of_pairs(const situation *s, unsigned count) {
  double start = now();
  pairs(s, s->stream, count);
  return (now() - start) / count;
}

static double batch_declared(const situation *s) { return batch_of_pairs(s, 512); }

/* Every free is recorded: what a stream has to do is done before the next batch. */
static double batch_checked(const situation *s) {
  double time = batch_of_pairs(s, 64);
  VENDOR(stream_synchronize, s->stream);
  return time;
}

/* Blocks of as many sizes, which are others in the next round. What was freed is more than a lane keeps in lists, so
 * the first allocation of a round merges all of it, and each splits what is left: no list serves, and not the driver.
 */
static double batch_heap(const situation *s) {
  enum { ROUNDS = 8 };
  static const size_t step = 24576, other = 8192;
  void *blocks[BLOCKS];
  double start = now();
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < BLOCKS; i++) {
      CHECK(wp_alloc(s->delegate, (i + 3) * step + round % 2 * other, s->stream, &blocks[i]));
    }
    for (size_t i = 0; i < BLOCKS; i++) CHECK(wp_free(s->runtime, blocks[(i * 3) % BLOCKS], s->stream));
  }
  return (now() - start) / (ROUNDS * BLOCKS);
}

/* Allocations alone, each of a segment that the driver is asked for. That it need not map memory for them, which would
 * be nearly all of the time, is for the block that is held. */
static double batch_miss(const situation *s) {
  void *blocks[BLOCKS];
  double start = now();
  for (size_t i = 0; i < BLOCKS; i++) CHECK(wp_alloc(s->delegate, SEGMENT, s->stream, &blocks[i]));
  double time = (now() - start) / BLOCKS;
  for (size_t i = 0; i < BLOCKS; i++) CHECK(wp_free(s->runtime, blocks[i], s->stream));
  VENDOR(stream_synchronize, s->stream);
  CHECK(wp_trim(s->runtime, 0, 0, WP_WAIT, NULL));
  return time;
}

/* The close alone, which gives back what is warm. */
static double batch_close(const situation *s) {
  void *blocks[BLOCKS];
  wp_delegate *delegate;
  CHECK(wp_delegate_open(s->runtime, 0, NULL, &delegate));
  for (size_t i = 0; i < BLOCKS; i++) CHECK(wp_alloc(delegate, SEGMENT, s->stream, &blocks[i]));
  for (size_t i = 0; i < BLOCKS; i++) CHECK(wp_free(s->runtime, blocks[i], s->stream));
  VENDOR(stream_synchronize, s->stream);
  double start = now();
  CHECK(wp_delegate_close(delegate, NULL));
  return now() - start;
}

static const pace_case cases[] = {
    {.name = "declared", .contract = WP_STREAMS_DECLARED, .creates = true, .batch = batch_declared},
    {.name = "checked", .contract = WP_STREAMS_CHECKED, .creates = true, .batch = batch_checked},
    {.name = "declared-legacy", .contract = WP_STREAMS_DECLARED, .stream = WP_STREAM_LEGACY, .batch = batch_declared},
    {.name = "checked-legacy", .contract = WP_STREAMS_CHECKED, .stream = WP_STREAM_LEGACY, .batch = batch_checked},
    {.name = "declared-per-thread",
     .contract = WP_STREAMS_DECLARED,
     .stream = WP_STREAM_PER_THREAD,
     .batch = batch_declared},
    {.name = "checked-per-thread",
     .contract = WP_STREAMS_CHECKED,
     .stream = WP_STREAM_PER_THREAD,
     .batch = batch_checked},
    {.name = "declared-16-threads",
     .contract = WP_STREAMS_DECLARED,
     .creates = true,
     .is_crowd = true,
     .batch = batch_declared},
    {.name = "checked-16-threads",
     .contract = WP_STREAMS_CHECKED,
     .creates = true,
     .is_crowd = true,
     .batch = batch_checked},
    {.name = "heap", .contract = WP_STREAMS_DECLARED, .creates = true, .batch = batch_heap},
    {.name = "miss", .contract = WP_STREAMS_DECLARED, .creates = true, .holds = true, .batch = batch_miss},
    {.name = "close", .contract = WP_STREAMS_CHECKED, .creates = true, .closes = true, .batch = batch_close},
    /* Nothing is unmapped: the library's own part of it. */
    {.name = "close-held",
     .contract = WP_STREAMS_CHECKED,
     .creates = true,
     .holds = true,
     .closes = true,
     .batch = batch_close},
};

/* -- a turn; *elapsed: how long it took -- */

static void open_situation(situation *s, const pace_case *pace) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  *s = (situation){.pace = pace, .stream = pace->stream};
  options.stream_contract = pace->contract;
  VENDOR(device_set, 0);
  if (pace->creates) VENDOR(stream_create, &s->stream);
  CHECK(wp_runtime_create(&options, &s->runtime));
  CHECK(wp_delegate_open(s->runtime, 0, NULL, &s->delegate));
  if (pace->holds) CHECK(wp_alloc(s->delegate, SEGMENT, s->stream, &s->held));
  if (!pace->closes) return;
  CHECK(wp_delegate_close(s->delegate, NULL));
  s->delegate = NULL;
}

static void close_situation(const situation *s) {
  CHECK(wp_free(s->runtime, s->held, s->stream));
  CHECK(wp_delegate_close(s->delegate, NULL));
  VENDOR(stream_synchronize, s->stream);
  CHECK(wp_stream_retire(s->runtime, 0, s->stream));
  CHECK(wp_runtime_destroy(s->runtime));
  if (s->pace->creates) VENDOR(stream_destroy, s->stream);
}

static int compare_times(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* The first batches warm up. */
static double turn_of_batches(const situation *s, size_t size, double *elapsed) {
  static double times[MOST_BATCHES];
  double start = now();
  for (size_t i = 0; i < size / 10 + 1; i++) (void)s->pace->batch(s);
  for (size_t i = 0; i < size; i++) times[i] = s->pace->batch(s);
  *elapsed = now() - start;
  qsort(times, size, sizeof *times, compare_times);
  return times[size / 10];
}

struct crowd {
  const situation *situation;
  size_t size;
  pthread_barrier_t start;
};

struct member {
  struct crowd *crowd;
  pthread_t thread;
  double start, end;
  double *times; /* of its batches */
};

static void *run_member(void *argument) {
  struct member *member = argument;
  situation own = *member->crowd->situation;
  VENDOR(device_set, 0);
  VENDOR(stream_create, &own.stream);
  (void)own.pace->batch(&own);
  (void)pthread_barrier_wait(&member->crowd->start);
  member->start = now();
  for (size_t i = 0; i < member->crowd->size; i++) member->times[i] = own.pace->batch(&own);
  member->end = now();
  VENDOR(stream_synchronize, own.stream);
  CHECK(wp_stream_retire(own.runtime, 0, own.stream));
  VENDOR(stream_destroy, own.stream);
  return NULL;
}

/* Of the batches of all threads the median one: the fastest ones met no other thread, which is what the case is about.
 * Where there are fewer processors than threads most batches are interrupted, and there it is the fastest tenth again.
 */
static double turn_of_crowd(const situation *s, size_t size, double *elapsed) {
  static double times[THREADS * MOST_BATCHES];
  struct crowd crowd = {.situation = s, .size = size};
  struct member members[THREADS];
  double start = 0, end = 0;
  (void)pthread_barrier_init(&crowd.start, NULL, THREADS);
  for (size_t i = 0; i < THREADS; i++) {
    members[i] = (struct member){.crowd = &crowd, .times = &times[i * size]};
    if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0) fail("pthread_create", "no thread");
  }
  for (size_t i = 0; i < THREADS; i++) {
    (void)pthread_join(members[i].thread, NULL);
    if (i == 0 || members[i].start < start) start = members[i].start;
    if (i == 0 || members[i].end > end) end = members[i].end;
  }
  (void)pthread_barrier_destroy(&crowd.start);
  *elapsed = end - start;
  qsort(times, THREADS * size, sizeof *times, compare_times);
  return times[THREADS * size / (sysconf(_SC_NPROCESSORS_ONLN) < THREADS ? 10 : 2)];
}

static double turn(const pace_case *pace, size_t size, double *elapsed) {
  situation s;
  open_situation(&s, pace);
  double time = pace->is_crowd ? turn_of_crowd(&s, size, elapsed) : turn_of_batches(&s, size, elapsed);
  close_situation(&s);
  return time;
}

/* Of two turns the faster one: where the machine does something else meanwhile, a turn would become too small. */
static double elapsed_in_turn(const pace_case *pace, size_t size) {
  double first, second;
  (void)turn(pace, size, &first);
  (void)turn(pace, size, &second);
  return first < second ? first : second;
}

static size_t size_of_turn(const pace_case *pace) {
  double wanted = pace->is_crowd ? CROWD_NS : TURN_NS, elapsed;
  size_t size = LEAST_BATCHES;
  do {
    size *= 2;
    elapsed = elapsed_in_turn(pace, size);
  } while (elapsed < wanted / 4 && size < MOST_BATCHES / 8);
  wanted *= (double)size / elapsed;
  return wanted < LEAST_BATCHES ? LEAST_BATCHES : wanted > MOST_BATCHES ? MOST_BATCHES : (size_t)wanted;
}

/* -- commands -- */

static const pace_case *find(const char *name) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (strcmp(cases[i].name, name) == 0) return &cases[i];
  }
  fail(name, "no such case");
}

static void list_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    (void)printf("%s%s ", cases[i].name, cases[i].is_crowd ? "*" : "");
  }
  (void)putchar('\n');
}

static void obey(const char *line) {
  char command[8], name[32], number[8];
  double elapsed;
  int words = sscanf(line, "%7s %31s %7s", command, name, number);
  size_t size = words == 3 ? strtoul(number, NULL, 10) : 0;
  if (words == 1 && strcmp(command, "cases") == 0) {
    list_cases();
  } else if (words == 2 && strcmp(command, "size") == 0) {
    (void)printf("%zu\n", size_of_turn(find(name)));
  } else if (words == 3 && strcmp(command, "turn") == 0 && size > 0 && size <= MOST_BATCHES) {
    (void)printf("%.3f\n", turn(find(name), size, &elapsed));
  } else {
    fail(line, "no command");
  }
  (void)fflush(stdout);
}

int main(void) {
  char line[128];
  while (fgets(line, sizeof line, stdin) != NULL) obey(line);
  return 0;
}
