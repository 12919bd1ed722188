/* SPDX-License-Identifier: Apache-2.0 */
/* What runs in a child process: trials, one after the other, until the time is over or something is left over. */
#ifndef WARMPOOL_TESTS_SWEEP_CHILD_H
#define WARMPOOL_TESTS_SWEEP_CHILD_H

#include "sweep.h"

enum { CASES_MAX = 1024, SLICES = 64, CHILD_WENT_ON = 3 };

/* Shared with the parent, and with the next child, which goes on where this one stopped. */
struct shared {
  struct progress {
    struct baseline baseline;
    unsigned total, done; /* injections */
  } of_case[CASES_MAX];
  unsigned long injections, unreached;
  unsigned slice, at, next; /* which slice, case, and injection of it comes next */
  bool is_over;             /* all is done, or the time is over */
  /* What is being tried. */
  unsigned now_case;
  bool now_injects;
  struct injection now;
};
extern struct shared *shared;

struct plan {
  uint64_t deadline_ns; /* 0: none */
  unsigned seed;
  const char *only;            /* a pattern of cases; NULL: all */
  const struct injection *one; /* the only injection, or NULL: all */
};

/* Runs trials; what it finds goes to `pipe`, a line each: case, injection (or "none"), kind, text, with tabs between.
 */
_Noreturn void child_run(const struct plan *plan, int pipe);

#endif
