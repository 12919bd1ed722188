/* SPDX-License-Identifier: Apache-2.0 */
/* What a public call has to have kept, whatever failed below it. */
#ifndef WARMPOOL_TESTS_SWEEP_JUDGE_H
#define WARMPOOL_TESTS_SWEEP_JUDGE_H

#include "sweep.h"

/* What the library held before the call. */
struct before {
  bool has; /* there was a runtime, and it may be asked */
  wp_stats stats;
  uint64_t mapped; /* in lanes, while a delegate is open */
  int mode;        /* the thread's capture mode */
};
void judge_before(const struct scene *scene, struct before *out);

/* The status, and what wp_last_error says of it. `usual`: what the call answers when nothing fails. */
void judge_status(const struct scenario *scenario, wp_status status, const struct baseline *usual);

/* The outputs, and what became of blocks and objects; the model follows. */
void judge_outputs(struct scene *scene, const struct scenario *scenario, wp_status status);

/* The counters against the model, and against what the driver has given. */
void judge_counters(const struct scene *scene);

/* An error has changed nothing. */
void judge_kept(const struct scene *scene, const struct before *before);

/* The thread's current device and capture mode; they are put right for what follows. */
void judge_thread(const struct scene *scene, const struct before *before);

#endif
