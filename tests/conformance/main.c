/* SPDX-License-Identifier: Apache-2.0 */
/* Criterion's main, where a failure of gaps.h is none, and a pass of gaps.h is one. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <stdio.h>
#include <string.h>

#include "gaps.h"
#include "warmpool/warmpool.h"

static unsigned failures, unexpected_passes;

static const struct gap *find_gap(const struct criterion_test *test) {
  const char *backend = wp_backend_builtin()->name;
  char name[256];
  (void)snprintf(name, sizeof name, "%s/%s", test->category, test->name);
  for (const struct gap *gap = gaps; gap->test != NULL; gap++) {
    if (strcmp(gap->backend, backend) == 0 && strcmp(gap->test, name) == 0) return gap;
  }
  return NULL;
}

static void judge(const struct criterion_test_stats *stats, bool failed) {
  const struct gap *gap = find_gap(stats->test);
  if (gap == NULL) {
    failures += failed;
  } else if (failed) {
    (void)fprintf(stderr, "known gap: %s: %s\n", gap->test, gap->reason);
  } else if (stats->test_status != CR_STATUS_SKIPPED) {
    unexpected_passes++;
    (void)fprintf(stderr, "passed, though gaps.h lists it: %s\n", gap->test);
  }
}

ReportHook(POST_TEST)(struct criterion_test_stats *stats) {
  judge(stats, stats->test_status == CR_STATUS_FAILED || stats->crashed || stats->timed_out);
}

ReportHook(TEST_CRASH)(struct criterion_test_stats *stats) { judge(stats, true); }

int main(int argc, char **argv) {
  struct criterion_test_set *tests = criterion_initialize();
  bool passed = true;
  if (criterion_handle_args(argc, argv, true)) passed = criterion_run_all_tests(tests) != 0;
  criterion_finalize(tests);
  bool has_gaps = gaps[0].test != NULL;
  return has_gaps ? failures + unexpected_passes != 0 : !passed;
}
