/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_TESTS_STRESS_H
#define WARMPOOL_TESTS_STRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warmpool/warmpool.h"

enum { THREADS_MAX = 64, STREAMS = 3, BLOCKS = 6 };

/* -- what happened -- */

#define TOTALS(X)                                                                                                      \
  X(epochs) X(opens) X(allocs) X(frees) X(checks) X(notes) X(handovers) X(trims) X(streams) X(graphs) X(refused)
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

/* -- what is needed of a vendor (vendor_host.c, vendor_hip.c), whose failures end the program -- */

int vendor_devices(int most); /* how many there are, `most` at the most; device 0 is current then */
void vendor_device_set(int device);
wp_stream vendor_stream_create(int device);
void vendor_stream_destroy(wp_stream stream); /* with whatever it has still to do */
void vendor_stream_synchronize(wp_stream stream);
void vendor_stream_wait(wp_stream stream, wp_stream other); /* for what was sent to `other` so far */
/* Calls the function in the order of the stream. Device memory is the host's: it can read and write that. */
void vendor_launch(wp_stream stream, void (*function)(void *argument), void *argument);
/* What is sent to the stream in between becomes part of a graph; so does what is sent to one that waits for it, which
 * it waits for in turn before the end. Other threads may do anything meanwhile, and this one may call the library. */
void vendor_capture_begin(wp_stream stream);
void *vendor_capture_end(wp_stream stream); /* the graph, ready to be launched */
void vendor_graph_launch(void *graph, wp_stream stream);
void vendor_graph_destroy(void *graph); /* launches go on */
extern const bool vendor_captures, vendor_forks;
/* Functions of different streams run beside one another, and so may wait for one another. */
extern const bool vendor_runs_apart;
/* Nobody but the library uses memory of the device. */
extern const bool vendor_is_ours;
/* Streams may be destroyed while other threads call the library. */
extern const bool vendor_ends_streams;
/* The driver's caching is tried, too. */
extern const bool vendor_caches;

/* -- blocks and the work on them -- */

struct block {
  uint64_t *words; /* a stamp is in every 1024th, and in the last one */
  size_t count;
  uint64_t stamp;
  int device;
  atomic_bool *filled; /* set by the stream that fills it; or NULL */
};

/* The same for a graph: `block` stays until its last launch has run. */
void capture_fill(wp_stream stream, struct block *block);
void capture_check(wp_stream stream, struct block *block);
void launch_free(wp_stream stream, void *memory); /* of host_memory */

void launch_fill(wp_stream stream, const struct block *block);
void launch_check(wp_stream stream, const struct block *block);
/* Where the fill is on a stream that the caller cannot name: waits for `filled`, and frees it. NULL: it has run. */
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
  wp_graph_memory *shared; /* of a graph that has run and is gone, for the next one; or NULL */
};

uint64_t next_random(struct actor *actor);
bool one_in(struct actor *actor, unsigned n);
/* A new block, to be filled; false where the device or the limit is full. */
bool make_block(struct actor *actor, struct block *block, wp_stream stream);
/* Frees it after what was sent to both. */
void free_block(struct actor *actor, struct block *block, wp_stream stream, wp_stream reader);

/* Captures a graph with blocks of its own, launches it some times, and lets go of it. */
void use_graph(struct actor *actor);
void end_graphs(struct actor *actor);

void *run_actor(void *actor);
void destroy_streams(struct actor *actor); /* what it has left because nobody else may call meanwhile */
/* Frees what actors have left for one another. Device 0 is current. */
void clear_shelves(struct epoch *epoch);

#endif
