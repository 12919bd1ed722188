/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a trace (docs/traces.md), and says what it took. Failures end the program, as those of bench.h do. */
#ifndef WARMPOOL_BENCH_REPLAY_H
#define WARMPOOL_BENCH_REPLAY_H

#include "bench.h"

typedef struct replay_options {
  const char *path;
  wp_caching caching;
  wp_stream_contract contract;
  int device;    /* that everything runs on; -1: on the one that each line names, or 0 */
  unsigned sync; /* events between synchronisations of all streams; 0: nothing is ever unfinished */
} replay_options;

/* X(name): the counts, which are the same in each replay of a file; sizes are bytes.
 *   events                  lines of the file
 *   allocations, frees      calls that succeeded
 *   refused                 allocations and primes that the device had no memory for
 *   left_live               blocks that the file does not free
 *   live_peak               the most that was allocated at once, as the file asks for it
 *   reserved_peak           the most that was held for that: by the lanes, or in WP_CACHING_DRIVER by the driver's pool
 *   driver_reserved_peak    the most that the driver's pool had mapped, in either
 *   hits to driver_frees    as in wp_stats
 * A peak is the sum of those of all devices. */
#define REPLAY_COUNTS(X)                                                                                               \
  X(events)                                                                                                            \
  X(allocations)                                                                                                       \
  X(frees)                                                                                                             \
  X(refused)                                                                                                           \
  X(left_live)                                                                                                         \
  X(live_peak)                                                                                                         \
  X(reserved_peak)                                                                                                     \
  X(driver_reserved_peak)                                                                                              \
  X(hits)                                                                                                              \
  X(misses)                                                                                                            \
  X(steals)                                                                                                            \
  X(driver_allocs)                                                                                                     \
  X(driver_frees)

#define REPLAY_MEMBER(name) uint64_t name;
typedef struct replay_result {
  REPLAY_COUNTS(REPLAY_MEMBER)
  uint64_t calls; /* of the library */
  uint64_t ns_total, ns_alloc,
      ns_free; /* of all calls, of allocations, of frees; waits that the replay adds excluded */
} replay_result;
#undef REPLAY_MEMBER

void replay_run(const bench_run *run, const replay_options *options, replay_result *result);
void replay_report(const bench_run *run, const replay_options *options, const replay_result *result,
                   const char *command);

#endif
