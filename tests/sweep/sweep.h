/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the sweep: scenarios, trials of them, findings, and the table of those that are expected. */
#ifndef WARMPOOL_TESTS_SWEEP_SWEEP_H
#define WARMPOOL_TESTS_SWEEP_SWEEP_H

#include "scene.h"

/* -- scenarios: one public call each -- */

enum {
  SCENARIO_BARE = 1u,       /* no runtime is there */
  SCENARIO_KEEPS = 2u,      /* keep_bytes is set */
  SCENARIO_LANES = 4u,      /* only with WP_CACHING_LANES */
  SCENARIO_DRIVER = 8u,     /* only with WP_CACHING_DRIVER */
  SCENARIO_FULL = 16u,      /* the device is full, or too small: WP_ERROR_OUT_OF_MEMORY is right, too */
  SCENARIO_CAPTURES = 32u,  /* a stream is being captured meanwhile */
  SCENARIO_UNLIMITED = 64u, /* no limit is set in any setting */
  SCENARIO_HERE = 128u,     /* only with its device current */
  SCENARIO_LAST = 256u      /* nothing can be tried in this process after it */
};

struct scenario {
  const char *name;
  listed_call call;
  unsigned flags;
  void (*prepare)(struct scene *scene); /* may be NULL */
  wp_status (*act)(struct scene *scene);
};
extern const struct scenario life_scenarios[], memory_scenarios[], free_scenarios[], release_scenarios[],
    capture_scenarios[]; /* each ends with one without a name */

/* -- cases: a scenario in a setting -- */

struct case_ {
  const struct scenario *scenario;
  const struct setting *setting;
  char name[64]; /* "free/noted:lanes-checked" */
  bool is_left_out;
};
extern struct case_ cases[];
extern unsigned cases_count;
void cases_make(void);

/* -- trials -- */

struct baseline {
  bool is_known;
  wp_status status; /* what the call answers when nothing fails */
  wp_error_info error;
  struct reached reached;
};
/* Runs the case once, with the injection or none (then the baseline is filled). Findings go to found(). True: something
 * failed. */
bool trial_run(const struct case_ *of, const struct injection *injection, struct baseline *baseline);

/* -- findings, in a child -- */

/* Kinds: baseline, status, particulars, output, block, counters, kept, again, after, device, mode, mapped, objects,
 * host-memory; and, told by the parent, crash and hang. */
void found(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, after which nothing can be tried in this process. */
_Noreturn void found_at_last(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern bool process_is_spoilt; /* something is left that a later trial would count */
extern bool process_warms_up;  /* nothing that is found counts */

/* -- the table of what is expected -- */

struct expected {
  bool sometimes; /* it need not come */
  char backend[32], name[192], target[64], mode[16], kind[16], reason[192];
  unsigned matched;
};
extern struct expected *expected_rows;
extern unsigned expected_count;
/* Reads the rows for a backend, also known as `version` ("hip-5.2"). False: it is not a table, which has been told. */
bool expected_read(const char *path, const char *backend, const char *version);
/* The row of a finding, counted; or NULL. */
struct expected *expected_find(const char *name, const struct injection *injection, const char *kind);
bool expected_is_of(const struct expected *row, const char *name);
bool matches(const char *pattern, const char *text);

#endif
