/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs Criterion tests one after another in this process, where Criterion has one for each: on a GPU a context takes a
 * second, and most tests less. Linked with a suite's objects and with Criterion, in front of which it puts its own main
 * and the functions that begin, abort and end a test. ci/gpu.sh runs what does not pass here alone, under Criterion.
 *
 * usage: SUITE_together FILE: the tests that FILE names, "SUITE::TEST" on a line each. For each, on stdout, "begin
 * NAME" and, when it is over, "pass NAME SECONDS" or "skip NAME". The first that fails, crashes or hangs ends the
 * process. Exit status: 0, all have run; 1, one has failed; 2, FILE cannot be read, or names a test that there is not.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern struct criterion_test *const __start_cr_tst[], *const __stop_cr_tst[];
extern struct criterion_suite *const __start_cr_sts[], *const __stop_cr_sts[];

enum { FAILED = 1, UNUSABLE = 2, PATIENCE = 90 };

static struct {
  const struct criterion_test *test;
  const struct criterion_suite *suite; /* NULL: it has no fixtures */
  pthread_t thread;
  jmp_buf end;
  bool has_failed, is_skipped;
} now;

static void print(const char *what) { (void)printf("%s %s::%s", what, now.test->category, now.test->name); }

static _Noreturn void stop(void) {
  print("fail");
  (void)printf("\n");
  (void)fflush(stdout);
  _exit(FAILED);
}

/* -- in front of Criterion's -- */

void criterion_send_assert(struct criterion_assert_stats *stats) {
  if (stats->passed) return;
  now.has_failed = true;
  (void)printf("  %s:%u: %s\n", stats->file, stats->line, stats->message);
}

void criterion_continue_test(void) {}
void cri_asserts_passed_incr(void) {}

/* Other threads cannot leave the test. */
void criterion_abort_test(void) {
  now.has_failed = true;
  if (!pthread_equal(pthread_self(), now.thread)) stop();
  longjmp(now.end, 1);
}

void criterion_skip_test(const char *format, ...) {
  (void)format;
  now.is_skipped = true;
  if (!pthread_equal(pthread_self(), now.thread)) stop();
  longjmp(now.end, 1);
}

static void run(void (*fixture)(void)) {
  if (fixture != NULL) fixture();
}

void criterion_internal_test_setup(void) {
  if (now.suite != NULL) run(now.suite->data->init);
  run(now.test->data->init);
}

void criterion_internal_test_main(void (*function)(void)) { function(); }

void criterion_internal_test_teardown(void) {
  run(now.test->data->fini);
  if (now.suite != NULL) run(now.suite->data->fini);
}

/* -- a list of tests -- */

static const struct criterion_suite *suite_of(const char *name) {
  for (struct criterion_suite *const *at = __start_cr_sts; at != __stop_cr_sts; at++) {
    if (*at != NULL && strcmp((*at)->name, name) == 0) return *at;
  }
  return NULL;
}

static const struct criterion_test *test_of(const char *name) {
  for (struct criterion_test *const *at = __start_cr_tst; at != __stop_cr_tst; at++) {
    const struct criterion_test *test = *at;
    size_t length = test == NULL ? 0 : strlen(test->category);
    if (test == NULL || strncmp(test->category, name, length) != 0 || strncmp(name + length, "::", 2) != 0) continue;
    if (strcmp(name + length + 2, test->name) == 0) return test;
  }
  return NULL;
}

static double seconds(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A test that was left has its fixtures' ends to come. */
static void run_test(const struct criterion_test *test) {
  double begin = seconds();
  now.test = test;
  now.suite = suite_of(test->category);
  now.thread = pthread_self();
  now.has_failed = now.is_skipped = false;
  print("begin");
  (void)printf("\n");
  (void)fflush(stdout);
  (void)alarm(PATIENCE);
  if (setjmp(now.end) == 0) {
    test->test();
  } else if (!now.has_failed) {
    criterion_internal_test_teardown();
  }
  (void)alarm(0);
  if (now.has_failed) stop();
  print(now.is_skipped ? "skip" : "pass");
  (void)printf(" %.2f\n", seconds() - begin);
  (void)fflush(stdout);
}

int main(int count, char **arguments) {
  char line[512];
  FILE *file = count == 2 ? fopen(arguments[1], "r") : NULL;
  if (file == NULL) {
    (void)fprintf(stderr, "usage: %s FILE: one that has the tests' names\n", arguments[0]);
    return UNUSABLE;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    const struct criterion_test *test = test_of(line);
    if (test == NULL) {
      (void)fprintf(stderr, "there is no test %s\n", line);
      return UNUSABLE;
    }
    run_test(test);
  }
  (void)fclose(file);
  return 0;
}
