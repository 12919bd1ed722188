/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_RUNTIME_H
#define WARMPOOL_COMMON_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "block.h"
#include "device.h"
#include "fault.h"
#include "os.h"
#include "trace.h"
#include "warmpool/runtime.h"

/* One entry for each device of the machine. */
typedef struct wp__slot {
  _Atomic(wp__device *) device; /* NULL: not in use */
  bool creating;                /* under the runtime's lock */
  bool without_pools;           /* the driver has none there: decided once */
} wp__slot;

typedef struct wp__slots {
  int count;
  wp__slot slots[];
} wp__slots;

struct wp_runtime {
  const wp_backend *backend;
  wp_runtime_options options;
  unsigned fork_generation;
  bool is_default;
  bool lanes;       /* WP_CACHING_LANES */
  bool warm;        /* the same, but false where there is a trace: then every call goes the long way, which writes it */
  wp__trace *trace; /* NULL: none */

  wp__blocks blocks;
  atomic_uint_least64_t delegate_serial; /* the last one given */
  _Atomic(wp__slots *) slots;            /* NULL: the driver was not asked yet */
  atomic_uint graphs;                    /* captures, and graphs' memory that is not released */

  wp__mutex lock; /* what follows, and making devices */
  wp__cond changed;
  wp__device *lost;           /* devices that were reset; their delegates may still be open */
  wp_delegate *delegates;     /* open, or with live blocks */
  wp_delegate *old_delegates; /* to be used again, the one that closed first before the others */
  wp_delegate *last_old_delegate;
  unsigned old_delegate_count;
};

/* What every public function checks first. */
wp_status wp__runtime_check(const wp_runtime *runtime);
static inline bool wp__runtime_is_ours(const wp_runtime *runtime) { /* and not that of the process before a fork */
  return runtime->fork_generation == wp__fork_generation();
}

/* Hands one line to the runtime's log, if it has one. */
void wp__log(const wp_runtime *runtime, const char *format, ...) WP__PRINTF(2, 3);
/* Logs the failure described last, which the caller of the library is not told. */
void wp__log_fault(const wp_runtime *runtime, const char *what);

/* options.c */
wp_status wp__options_check(const wp_runtime_options *options);
wp_status wp__options_from_environment(wp_runtime_options *options);

/* Refuses a struct whose `size` is not the library's. */
wp_status wp__check_size(const char *type, size_t given, size_t expected);

#endif
