/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault sweep: in each case (a public call, in a setting) each driver call and each host allocation fails in turn,
 * once or from there on, with each status that it may fail with. README.md says how to read and to repeat a finding.
 */
#define _GNU_SOURCE /* getopt_long, MAP_ANONYMOUS */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "os.h"

enum { SHOWN = 60, ROUNDS_OF_NOTHING = 50 };

static struct options {
  unsigned seconds, seed; /* 0 seconds: until all is done */
  bool lists, is_verbose, is_on_terminal;
  const char *only, *table, *version;
} options = {.table = SWEEP_EXPECTED, .version = ""};
static unsigned long findings_expected, findings_unexpected;
static uint64_t started_ns;

/* -- findings -- */

static void show_progress(void) {
  unsigned long done = 0, total = 0;
  if (!options.is_on_terminal) return;
  for (unsigned i = 0; i < cases_count; i++) {
    done += shared->of_case[i].done;
    total += shared->of_case[i].total;
  }
  (void)fprintf(stderr, "\rsweep: %lu of %lu and more, %lu unexpected  %.40s\033[K", done, total, findings_unexpected,
                cases[shared->now_case].name);
}

static void judge_finding(unsigned index, const char *text, const char *kind, const char *what) {
  struct injection injection;
  bool injects = injection_parse(text, &injection);
  const char *told = injects ? kind : "baseline";
  const struct expected *row = expected_find(cases[index].name, injects ? &injection : NULL, told);
  if (row != NULL) {
    findings_expected++;
  } else {
    findings_unexpected++;
  }
  if (row != NULL ? !options.is_verbose : findings_unexpected > SHOWN && !options.is_verbose) return;
  if (options.is_on_terminal) (void)fprintf(stderr, "\r\033[K");
  (void)printf("%s  %s %s: %s: %s%s%s\n", row != NULL ? "expected" : "FOUND", cases[index].name, text, told, what,
               row != NULL ? "  -- " : "", row != NULL ? row->reason : "");
  if (findings_unexpected == SHOWN && row == NULL && !options.is_verbose) {
    (void)printf("...  what else is found is only counted; --verbose shows it\n");
  }
  (void)fflush(stdout);
}

/* A line of a child's. */
static void take_line(char *line) {
  char *rest = NULL;
  const char *index = strtok_r(line, "\t", &rest), *text = strtok_r(NULL, "\t", &rest);
  const char *kind = strtok_r(NULL, "\t", &rest), *what = strtok_r(NULL, "\t", &rest);
  if (what != NULL) judge_finding((unsigned)strtoul(index, NULL, 10), text, kind, what);
}

static void read_lines(int pipe) {
  static char buffer[8192];
  size_t length = 0;
  struct pollfd wait = {.fd = pipe, .events = POLLIN};
  for (;;) {
    if (poll(&wait, 1, 200) == 0) {
      show_progress();
      continue;
    }
    ssize_t got = read(pipe, buffer + length, sizeof buffer - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    length += (size_t)got;
    buffer[length] = '\0';
    char *start = buffer, *end;
    while ((end = strchr(start, '\n')) != NULL) {
      *end = '\0';
      take_line(start);
      start = end + 1;
    }
    length -= (size_t)(start - buffer);
    memmove(buffer, start, length);
  }
}

/* -- children -- */

static void take_end(int status) {
  char text[INJECTION_TEXT] = "none", what[64];
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CHILD_WENT_ON)) return;
  if (shared->now_injects) injection_name(&shared->now, text);
  if (WIFSIGNALED(status)) {
    (void)snprintf(what, sizeof what, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    (void)snprintf(what, sizeof what, "exit status %d", WEXITSTATUS(status));
  }
  judge_finding(shared->now_case, text, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hang" : "crash", what);
}

static void run_child(const struct plan *plan) {
  int ends[2], status = 0;
  if (pipe(ends) != 0) abort();
  (void)fflush(stdout);
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    (void)close(ends[0]);
    child_run(plan, ends[1]);
  }
  (void)close(ends[1]);
  read_lines(ends[0]);
  (void)close(ends[0]);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  take_end(status);
}

/* Children that come to nothing, one after the other, are the end of it. */
static void run_children(const struct plan *plan) {
  unsigned idle = 0;
  while (!shared->is_over && idle < ROUNDS_OF_NOTHING) {
    unsigned long before = shared->injections + shared->unreached + findings_expected + findings_unexpected;
    unsigned slice = shared->slice, at = shared->at;
    run_child(plan);
    bool moved = before != shared->injections + shared->unreached + findings_expected + findings_unexpected ||
                 slice != shared->slice || at != shared->at;
    idle = moved ? 0 : idle + 1;
  }
  if (!shared->is_over) {
    (void)printf("FOUND  children end before they have begun\n");
    findings_unexpected++;
  }
}

/* -- the end -- */

static bool is_complete(unsigned index) {
  const struct progress *progress = &shared->of_case[index];
  return cases[index].is_left_out || (progress->baseline.is_known && progress->done >= progress->total);
}

/* A row that nothing answers to is judged when all its cases have been tried to their end, and not for a part of them.
 */
static unsigned judge_rows(void) {
  unsigned unexpected = 0;
  if (options.only != NULL) return 0;
  for (unsigned i = 0; i < expected_count; i++) {
    const struct expected *row = &expected_rows[i];
    bool has_case = false, is_judged = true, are_left_out = true;
    if (options.is_verbose)
      (void)printf("row  %s %s %s %s: %u times\n", row->name, row->target, row->mode, row->kind, row->matched);
    if (row->matched > 0 || row->sometimes) continue;
    for (unsigned c = 0; c < cases_count; c++) {
      if (!expected_is_of(row, cases[c].name)) continue;
      has_case = true;
      is_judged = is_judged && is_complete(c);
      are_left_out = are_left_out && cases[c].is_left_out;
    }
    if (has_case && (!is_judged || are_left_out)) continue;
    unexpected++;
    (void)printf("PASSED  %s %s %s: %s is expected, and nothing is found%s\n", row->name, row->target, row->mode,
                 row->kind, has_case ? "" : ": there is no such case");
  }
  return unexpected;
}

static int conclude(void) {
  unsigned complete = 0, begun = 0, there = 0, all = 0, passes = judge_rows();
  for (unsigned i = 0; i < cases_count; i++) {
    if (cases[i].is_left_out) continue;
    there++;
    begun += shared->of_case[i].baseline.is_known;
    complete += is_complete(i);
    all += shared->of_case[i].total;
  }
  if (options.is_on_terminal) (void)fprintf(stderr, "\r\033[K");
  (void)printf("sweep: %lu injections (%lu more not reached) of %u, %u of %u cases begun, %u complete; findings: %lu "
               "expected, %lu unexpected; %u unexpected passes; %.1f s\n",
               shared->injections, shared->unreached, all, begun, there, complete, findings_expected,
               findings_unexpected, passes, (double)(wp__clock_ns() - started_ns) / 1e9);
  bool is_good = findings_unexpected == 0 && passes == 0 && shared->injections + shared->unreached > 0;
  return is_good ? 0 : 1;
}

/* -- arguments -- */

static _Noreturn void refuse(const char *why, const char *what) {
  (void)fprintf(stderr,
                "sweep: %s%s\nusage: sweep [--seconds N] [--seed N] [--only 'CASE [TARGET N MODE STATUS]'] [--list] "
                "[--verbose] [--expected FILE] [--version NAME]\n",
                why, what);
  exit(2);
}

static unsigned parse_number(const char *text) {
  char *rest = NULL;
  unsigned long value = strtoul(text, &rest, 10);
  if (rest == text || *rest != '\0' || value > 1000000) refuse("no number: ", text);
  return (unsigned)value;
}

static void parse_arguments(int argc, char **argv) {
  static const struct option known[] = {
      {"seconds", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'r'},
      {"only", required_argument, NULL, 'o'},    {"list", no_argument, NULL, 'l'},
      {"verbose", no_argument, NULL, 'v'},       {"expected", required_argument, NULL, 'e'},
      {"version", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0}};
  int option;
  while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
    switch (option) {
    case 's': options.seconds = parse_number(optarg); break;
    case 'r': options.seed = parse_number(optarg); break;
    case 'o': options.only = optarg; break;
    case 'l': options.lists = true; break;
    case 'v': options.is_verbose = true; break;
    case 'e': options.table = optarg; break;
    case 'b': options.version = optarg; break;
    default: refuse("", "unknown option");
    }
  }
  if (optind < argc) refuse("what is ", argv[optind]);
  options.is_on_terminal = isatty(STDERR_FILENO) != 0;
}

/* "CASE" or "CASE TARGET N MODE STATUS". */
static void parse_only(struct plan *plan, struct injection *one) {
  static char name[128];
  if (options.only == NULL) return;
  (void)snprintf(name, sizeof name, "%s", options.only);
  char *rest = strchr(name, ' ');
  if (rest != NULL) {
    *rest++ = '\0';
    if (!injection_parse(rest, one)) refuse("no injection: ", rest);
    plan->one = one;
  }
  plan->only = name;
}

/* Where a scenario cannot be had, the first such case shows it for all of the row; or none, where that does harm. */
static void leave_out(void) {
  for (unsigned i = 0; i < expected_count && options.only == NULL; i++) {
    bool is_absent = strcmp(expected_rows[i].kind, "absent") == 0, is_first = !is_absent;
    if (!is_absent && strcmp(expected_rows[i].kind, "baseline") != 0) continue;
    for (unsigned c = 0; c < cases_count; c++) {
      if (!expected_is_of(&expected_rows[i], cases[c].name)) continue;
      cases[c].is_left_out = cases[c].is_left_out || !is_first;
      is_first = is_first && cases[c].is_left_out;
    }
  }
}

int main(int argc, char **argv) {
  struct injection one;
  started_ns = wp__clock_ns();
  parse_arguments(argc, argv);
  cases_make();
  if (options.lists) {
    for (unsigned i = 0; i < cases_count; i++) (void)printf("%s\n", cases[i].name);
    return 0;
  }
  if (!expected_read(options.table, wp_backend_builtin()->name, options.version)) return 2;
  leave_out();
  /* Before the first driver call: two devices, small enough to be filled. */
  (void)setenv("WARMPOOL_HOST_DEVICES", "2", 0);
  (void)setenv("WARMPOOL_HOST_MEMORY", "512M", 0);
  (void)setenv("SOFTHSA_GPUS", "2", 0);
  struct plan plan = {.seed = options.seed};
  parse_only(&plan, &one);
  if (options.seconds > 0) plan.deadline_ns = started_ns + options.seconds * UINT64_C(1000000000);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) abort();
  run_children(&plan);
  return conclude();
}
