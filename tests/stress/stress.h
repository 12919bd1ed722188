/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_TESTS_STRESS_H
#define WARMPOOL_TESTS_STRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warmpool/host.h"
#include "warmpool/warmpool.h"

enum { THREADS_MAX = 64, STREAMS = 3, BLOCKS = 6 };

/* -- what happened -- */

#define TOTALS(X) X(epochs) X(opens) X(allocs) X(frees) X(checks) X(notes) X(handovers) X(trims) X(streams) X(refused)
#define TOTAL(name) atomic_ullong name;
extern struct totals { TOTALS(TOTAL) } totals;
#undef TOTAL
extern atomic_ullong violations;
extern atomic_ullong progress;
extern atomic_ullong submitted, completed; /* work for streams */

void count(atomic_ullong *counter);
void violation(const char *format, ...);
bool expect(wp_status got, wp_status expected, const char *call);
#define OK(call) expect((call), WP_OK, #call)
/* Of what the test cannot go on without. */
#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    if (!OK(call)) exit(1);                                                                                            \
  } while (0)

void *host_memory(size_t bytes); /* zeroed */

/* -- blocks and the work on them -- */

struct block {
  uint64_t *words; /* a stamp is in every 1024th, and in the last one */
  size_t count;
  uint64_t stamp;
  int device;
  atomic_bool *filled; /* set by the stream that fills it; or NULL */
};

void launch_fill(wp_stream stream, const struct block *block);
void launch_check(wp_stream stream, const struct block *block);
/* Where the fill is on a stream that the caller cannot name: waits for `filled`, and frees it. */
void launch_check_of_other(wp_stream stream, const struct block *block);
void launch_nap(wp_stream stream, unsigned microseconds);

/* -- actors: threads that do everything at random -- */

struct epoch {
  wp_runtime *runtime;
  wp_stream_contract contract;
  int devices;
  atomic_bool is_over;
};

struct actor {
  unsigned index;
  uint64_t random; /* the seed; not 0 */
  struct epoch *epoch;
  int device;
  wp_delegate *delegate;
  wp_stream streams[STREAMS]; /* the actor's alone, for nothing else may run beside a retire */
  struct block blocks[BLOCKS];
};

void *run_actor(void *actor);
/* Frees what actors have left for one another. Device 0 is current. */
void clear_shelves(struct epoch *epoch);

#endif
