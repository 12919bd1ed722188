/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { TRIAL_SECONDS = 20 };

struct shared *shared;
bool process_is_spoilt;
static int out;
bool process_warms_up;

/* -- the end of a child -- */

/* Without the handlers of exit(): what a failure has left is not looked for there. */
static _Noreturn void leave(int code) {
#ifdef SWEEP_IS_COVERED
  exit(code);
#else
  _exit(code);
#endif
}

/* -- findings -- */

static void tell(const char *kind, const char *format, va_list arguments) {
  char line[1024], injection[INJECTION_TEXT] = "none", text[512];
  if (process_warms_up) return;
  if (shared->now_injects) injection_name(&shared->now, injection);
  (void)vsnprintf(text, sizeof text, format, arguments);
  for (char *at = text; *at != '\0'; at++) {
    if (*at == '\t' || *at == '\n') *at = ' ';
  }
  int length = snprintf(line, sizeof line, "%u\t%s\t%s\t%s\n", shared->now_case, injection, kind, text);
  if (length > 0 && write(out, line, (size_t)length) != length) leave(2);
  if (strcmp(kind, "mapped") == 0 || strcmp(kind, "objects") == 0 || strcmp(kind, "host-memory") == 0 ||
      strcmp(kind, "after") == 0) {
    process_is_spoilt = true;
  }
}

void found(const char *kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(kind, format, arguments);
  va_end(arguments);
}

void found_at_last(const char *kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(kind, format, arguments);
  va_end(arguments);
  leave(CHILD_WENT_ON);
}

/* -- trials -- */

static void go_on(void) {
  if (process_is_spoilt) leave(CHILD_WENT_ON);
}

static unsigned count_injections(const struct reached *reached) {
  struct injection injection;
  unsigned count = 0;
  while (injection_at(reached, count, &injection)) count++;
  return count;
}

/* The first trial of a case is without an injection. A case in which that is not clean has no others. */
static void learn(const struct plan *plan, unsigned index) {
  struct progress *progress = &shared->of_case[index];
  if (progress->baseline.is_known) return;
  progress->baseline.is_known = true;
  shared->now_injects = false;
  (void)alarm(TRIAL_SECONDS);
  struct baseline baseline;
  (void)trial_run(&cases[index], NULL, &baseline);
  if (!process_is_spoilt || (cases[index].scenario->flags & SCENARIO_LAST) != 0) {
    progress->baseline = baseline;
    progress->total = plan->one != NULL ? 1 : count_injections(&baseline.reached);
  }
  go_on();
}

static void try_one(unsigned index, const struct injection *injection) {
  struct progress *progress = &shared->of_case[index];
  shared->now = *injection;
  shared->now_injects = true;
  progress->done++;
  (void)alarm(TRIAL_SECONDS);
  if (trial_run(&cases[index], injection, &progress->baseline)) {
    shared->injections++;
  } else {
    shared->unreached++;
  }
}

static bool is_time_over(const struct plan *plan) {
  return plan->deadline_ns != 0 && wp__clock_ns() >= plan->deadline_ns;
}

static void try_slice(const struct plan *plan, unsigned index) {
  struct progress *progress = &shared->of_case[index];
  struct injection injection;
  unsigned first = (shared->slice + plan->seed) % SLICES;
  shared->now_case = index;
  learn(plan, index);
  if (plan->one != NULL) {
    if (progress->done < progress->total) try_one(index, plan->one);
    go_on();
    return;
  }
  if (shared->next == 0) shared->next = first + 1; /* 0: the case has just begun */
  while (shared->next - 1 < progress->total &&
         injection_at(&progress->baseline.reached, shared->next - 1, &injection)) {
    shared->next += SLICES;
    try_one(index, &injection);
    go_on();
    if (is_time_over(plan)) return;
  }
}

/* The host backend's tables grow at their first use, and are counted with the library's memory. */
static void warm_up(void) {
  static const char *const warming[] = {"free/noted_on_many:lanes-*", "free/legacy:lanes-*",
                                        "free/per_thread:lanes-*",    "capture_begin/per_thread:lanes-*",
                                        "capture_end/two:lanes-*",    "delegate_open/elsewhere:driver-*",
                                        "free/in_graph:driver-*"};
  struct baseline baseline;
  if (!scene_driver_is_counted()) return;
  process_warms_up = true;
  for (unsigned i = 0; i < sizeof warming / sizeof *warming; i++) {
    for (unsigned c = 0; c < cases_count; c++) {
      bool is_plain = matches("*-checked", cases[c].setting->name) || cases[c].setting->is_away;
      if (is_plain && matches(warming[i], cases[c].name)) (void)trial_run(&cases[c], NULL, &baseline);
    }
  }
  process_warms_up = process_is_spoilt = false;
}

/* Neighbours are alike: a short run meets scenarios and settings of all kinds. */
static unsigned case_at(const struct plan *plan, unsigned at) {
  enum { STRIDE = 9973 }; /* a prime: all come */
  return (unsigned)(((uint64_t)at + plan->seed * 97u) * STRIDE % cases_count);
}

void child_run(const struct plan *plan, int pipe) {
  out = pipe;
#ifdef __GLIBC__ /* memory of a runtime's is not the system's again between two trials */
  (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
  (void)mallopt(M_MMAP_THRESHOLD, 256 << 20);
  (void)mallopt(M_TOP_PAD, 8 << 20);
#endif
  scene_prepare_process();
  warm_up();
  for (; shared->slice < SLICES; shared->slice++, shared->at = 0) {
    for (; shared->at < cases_count; shared->at++, shared->next = 0) {
      unsigned index = case_at(plan, shared->at);
      if (cases[index].is_left_out || (plan->only != NULL && !matches(plan->only, cases[index].name))) continue;
      try_slice(plan, index);
      if (!is_time_over(plan)) continue;
      shared->is_over = true;
      leave(0);
    }
  }
  shared->is_over = true;
  leave(0);
}
