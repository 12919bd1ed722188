/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random programs one after the other, in children that a crash or a hang ends. A program that goes wrong is run
 * alone, and made shorter as long as it still goes wrong; what is left of it is printed.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

settings setup = {.operations = 400, .threads = 1, .caching = -1, .contract = -1};

/* What a child tells its parent. */
static struct news {
  _Atomic uint64_t seed, programs, calls;
  _Atomic(const char *) doing; /* the call or the operation that was begun last, by any thread */
  _Atomic unsigned at;
} * news;

static struct {
  uint64_t first, count; /* seeds; count 0: as many as there is time for */
  double seconds;
  unsigned batch; /* programs of a child */
  bool quiet;
} plan = {.first = 1, .seconds = 10, .batch = 256};

static double now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static _Noreturn void usage(int status) {
  (void)fprintf(status == 0 ? stdout : stderr,
                "usage: random [OPTION...]\n"
                "  --seconds N      how long to run (default: 10)\n"
                "  --seed N         the first seed (default: 1); programs of one seed are the same\n"
                "  --count N        run N seeds, however long that takes\n"
                "  --operations N   of each program (default: 400)\n"
                "  --rate N         one driver call in N fails (default: none)\n"
                "  --threads N      so many at once, 1 to 16 (default: 1; a failure is then not the same each time)\n"
                "  --caching lanes|driver, --streams checked|declared    (default: by the seed)\n"
                "  --lines FILE     write the result of each call there; work ends at known places only\n"
                "  --show           write the result of each call to stdout, as it comes\n"
                "  --patience N     each program must end in N seconds (default: 20)\n"
                "  --quiet          show no progress\n");
  exit(status);
}

/* -- one run in a child -- */

enum { OVER = 3, HUNG = 4 };

void now_doing(const char *what, unsigned at) {
  atomic_store_explicit(&news->doing, what, memory_order_relaxed);
  atomic_store_explicit(&news->at, at, memory_order_relaxed);
}

static void hang(int signal) {
  char text[160];
  (void)signal;
  int length =
      snprintf(text, sizeof text, "random: the program hangs: seed %" PRIu64 ", operation %u, in or after %s\n",
               atomic_load(&news->seed), atomic_load(&news->at), atomic_load(&news->doing));
  _exit(write(STDERR_FILENO, text, (size_t)length) < 0 ? 2 : HUNG);
}

/* Each program must come to its end in so many seconds. */
static unsigned patience = 20;

static _Noreturn void be_child(uint64_t first, uint64_t count, double end, const bool *skipped) {
  (void)signal(SIGALRM, hang);
  for (uint64_t seed = first; seed - first < count; seed++) {
    atomic_store(&news->seed, seed);
    now_doing("the begin", 0);
    (void)alarm(patience);
    run_program(seed, skipped);
    atomic_fetch_add(&news->programs, 1);
    if (end != 0 && now() >= end) break;
  }
  (void)fflush(NULL);
  _exit(0);
}

static int run_child(uint64_t first, uint64_t count, double end, const bool *skipped, bool is_silent) {
  int status = 0;
  (void)fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    perror("random: fork");
    exit(2);
  }
  if (child == 0) {
    if (is_silent && freopen("/dev/null", "w", stderr) == NULL) _exit(2);
    be_child(first, count, end, skipped);
  }
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* -- making a failing program shorter -- */

static bool *skipped;
static unsigned kept_count;

static int run_shorter(uint64_t seed) { return run_child(seed, 1, 0, skipped, true); }

/* Leaves out runs of `length` operations wherever it fails without them, too. */
static bool leave_out(uint64_t seed, unsigned length, double end) {
  bool any = false;
  unsigned at = 0;
  while (at < setup.operations && now() < end) {
    unsigned taken = 0, next = at;
    unsigned *list = calloc(length, sizeof *list);
    if (list == NULL) exit(2);
    for (; next < setup.operations && taken < length; next++) {
      if (!skipped[next]) list[taken++] = next;
    }
    for (unsigned i = 0; i < taken; i++) skipped[list[i]] = true;
    if (taken > 0 && run_shorter(seed) != 0) {
      kept_count -= taken;
      any = true;
    } else {
      for (unsigned i = 0; i < taken; i++) skipped[list[i]] = false;
    }
    free(list);
    at = next;
  }
  return any;
}

static void shrink(uint64_t seed) {
  double end = now() + 60;
  patience = (patience + 3) / 4; /* by default 5: to make a context of a GPU takes a second or two */
  kept_count = setup.operations;
  for (unsigned length = setup.operations / 2; length > 0 && now() < end; length /= 2) {
    while (leave_out(seed, length, end) && length == 1 && now() < end) {
    }
  }
  (void)fprintf(stderr, "random: %u of %u operations are enough:\n", kept_count, setup.operations);
  for (unsigned i = 0; i < setup.operations; i++) {
    op shown;
    if (skipped[i]) continue;
    operation_at(seed, 0, i, &shown);
    (void)fprintf(stderr, "  %u %s %u %u %u %u %u\n", i, operation_name(shown.kind), shown.with[0], shown.with[1],
                  shown.with[2], shown.with[3], shown.with[4]);
  }
  setup.lines = stderr;
  (void)run_child(seed, 1, 0, skipped, false); /* what it does, and what is wrong then */
}

static void report_failure(uint64_t first, uint64_t seed, int status) {
  if (status > 128) (void)fprintf(stderr, "random: seed %" PRIu64 ": signal %d\n", seed, status - 128);
  (void)fprintf(stderr,
                "random: seed %" PRIu64 " goes wrong; run it alone by the same options with --seed %" PRIu64
                " --count 1\n",
                seed, seed);
  if (setup.exact) return;
  bool again = false;
  for (int i = 0; i < 3 && setup.threads == 1 && !again; i++) again = run_child(seed, 1, 0, NULL, true) != 0;
  if (again) {
    shrink(seed);
  } else {
    (void)fprintf(stderr, "random: alone it goes well this time; it was run after the seeds from %" PRIu64 " on\n",
                  first);
  }
}

/* -- all of them -- */

static void show_progress(double begin) {
  if (plan.quiet || isatty(STDERR_FILENO) == 0) return;
  (void)fprintf(stderr, "\r\033[Krandom: %" PRIu64 " programs, %" PRIu64 " calls, %.0f s", atomic_load(&news->programs),
                atomic_load(&news->calls), now() - begin);
}

static int run_all(void) {
  double begin = now(), end = plan.count == 0 ? begin + plan.seconds : 0;
  uint64_t seed = plan.first, last = plan.count == 0 ? UINT64_MAX : plan.first + plan.count;
  int status = 0;
  while (status == 0 && seed < last && (end == 0 || now() < end)) {
    uint64_t count = last - seed < plan.batch ? last - seed : plan.batch;
    status = run_child(seed, count, end, NULL, false);
    show_progress(begin);
    if (status != 0) report_failure(seed, atomic_load(&news->seed), status);
    seed += count;
  }
  if (!plan.quiet && isatty(STDERR_FILENO) != 0) (void)fprintf(stderr, "\r\033[K");
  (void)printf("random: seeds %" PRIu64 " to %" PRIu64 ", %" PRIu64 " programs, %" PRIu64 " calls in %.1f s: %s\n",
               plan.first, atomic_load(&news->seed), atomic_load(&news->programs), atomic_load(&news->calls),
               now() - begin, status == 0 ? "0 wrong" : "1 wrong");
  return status == 0 ? 0 : 1;
}

void count_call(void) { atomic_fetch_add_explicit(&news->calls, 1, memory_order_relaxed); }

/* -- options -- */

static uint64_t number(const char *text, uint64_t least, uint64_t most) {
  char *end;
  uint64_t value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value < least || value > most) usage(2);
  return value;
}

static int one_of(const char *text, const char *first, const char *second) {
  if (strcmp(text, first) == 0) return 0;
  if (strcmp(text, second) == 0) return 1;
  usage(2);
}

static void read_option(int option) {
  switch (option) {
  case 's': plan.seconds = (double)number(optarg, 1, 1000000); break;
  case 'f': plan.first = number(optarg, 0, UINT64_MAX / 2); break;
  case 'c': plan.count = number(optarg, 1, UINT64_MAX / 4); break;
  case 'o': setup.operations = (unsigned)number(optarg, 1, 1000000); break;
  case 'r': setup.rate = (unsigned)number(optarg, 1, 1000000000); break;
  case 't': setup.threads = (unsigned)number(optarg, 1, ACTORS - 1); break;
  case 'a': setup.caching = one_of(optarg, "lanes", "driver"); break;
  case 'd': setup.contract = one_of(optarg, "checked", "declared"); break;
  case 'p': patience = (unsigned)number(optarg, 1, 100000); break;
  case 'q': plan.quiet = true; break;
  case 'w': setup.lines = stdout; break;
  case 'l':
    setup.exact = true;
    setup.lines = fopen(optarg, "w");
    if (setup.lines != NULL) break;
    perror(optarg);
    exit(2);
  case 'h': usage(0);
  default: usage(2);
  }
}

static const struct option options[] = {
    {"seconds", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'f'},
    {"count", required_argument, NULL, 'c'},   {"operations", required_argument, NULL, 'o'},
    {"rate", required_argument, NULL, 'r'},    {"threads", required_argument, NULL, 't'},
    {"caching", required_argument, NULL, 'a'}, {"streams", required_argument, NULL, 'd'},
    {"lines", required_argument, NULL, 'l'},   {"patience", required_argument, NULL, 'p'},
    {"quiet", no_argument, NULL, 'q'},         {"show", no_argument, NULL, 'w'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

int main(int argc, char **argv) {
  int option;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) read_option(option);
  if (optind != argc) usage(2);
  (void)setenv("WARMPOOL_HOST_DEVICES", "2", 0); /* of the host backend, and of the stand-in for CUDA */
  (void)setenv("WARMPOOL_HOST_MEMORY", "256M", 0);
  news = mmap(NULL, sizeof *news, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  skipped = calloc(setup.operations, sizeof *skipped);
  if (news == MAP_FAILED || skipped == NULL) {
    perror("random");
    return 2;
  }
  return run_all();
}
