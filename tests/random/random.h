/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs. A program is a seed: a list of operations, each of which picks what it works on by numbers of its
 * own, from whatever is there when it runs, so that any part of the list is a program too (main.c shrinks a failing one
 * that way). An actor runs a program and knows what must be true:
 *
 *   - a model of streams (streams.c) tells which work cannot have finished, because a hold that is not released yet
 *     comes before it, and what a stream comes after;
 *   - no new block overlaps a live one, memory of a graph that may still run, or memory on which unfinished work is
 *     left that the block's stream does not come after (ranges.c);
 *   - work that is sent writes blocks and reads them back in stream order (work.c);
 *   - each status is one that the headers list, and without a failing driver one that this call can have here
 *     (calls.c);
 *   - counters are what was done, and in the end nothing is left (life.c, run.c).
 */
#ifndef WARMPOOL_TESTS_RANDOM_H
#define WARMPOOL_TESTS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "listed.h"
#include "names.h"
#include "rig.h"
#include "watched.h"

/* -- programs -- */

/* X(operation, how often, of all) */
#define OPERATIONS(X)                                                                                                  \
  X(allocate, 220)                                                                                                     \
  X(use, 90)                                                                                                           \
  X(read_beside, 40)                                                                                                   \
  X(give_back, 190)                                                                                                    \
  X(note, 25)                                                                                                          \
  X(hold, 24)                                                                                                          \
  X(let_go, 34)                                                                                                        \
  X(drain, 16)                                                                                                         \
  X(open, 14)                                                                                                          \
  X(close, 8)                                                                                                          \
  X(trim, 5)                                                                                                           \
  X(tick, 12)                                                                                                          \
  X(prime, 6)                                                                                                          \
  X(look, 14)                                                                                                          \
  X(misuse, 14)                                                                                                        \
  X(make_stream, 8)                                                                                                    \
  X(end_stream, 7)                                                                                                     \
  X(retire, 6)                                                                                                         \
  X(thread, 6)                                                                                                         \
  X(begin_capture, 14)                                                                                                 \
  X(join_capture, 8)                                                                                                   \
  X(end_capture, 14)                                                                                                   \
  X(launch, 22)                                                                                                        \
  X(release_graph, 10)                                                                                                 \
  X(capture_undeclared, 4)                                                                                             \
  X(renew_runtime, 2)

#define OPERATION(name, weight) OP_##name,
typedef enum operation { OPERATIONS(OPERATION) OP_COUNT } operation;
#undef OPERATION

typedef struct op {
  operation kind;
  uint32_t with[5]; /* what it picks by */
} op;

typedef struct settings {
  unsigned operations;   /* of a program */
  unsigned rate;         /* one driver call in so many fails; 0: none */
  unsigned threads;      /* actors at once */
  int caching, contract; /* -1: by the seed */
  bool exact;            /* every program is, see `is_exact` */
  FILE *lines;           /* where each call's result goes; NULL: nowhere */
} settings;
extern settings setup;

const char *operation_name(operation kind);
/* The program of a seed; `skipped` (or NULL) says which operations are left out. Returns in the child that runs it. */
void run_program(uint64_t seed, const bool *skipped);
void operation_at(uint64_t seed, unsigned number, unsigned index, op *out);
uint64_t mix(uint64_t value); /* a number that looks random, of each value another */

/* -- the model -- */

enum {
  STREAMS = 24,
  HOLDS = 3,
  READERS = 4,
  BLOCKS = 40,
  RUNTIMES = 2,
  DELEGATES = 5,
  DEVICES = 2,
  CAPTURES = 2,
  GRAPHS = 4,
  ACTORS = 17, /* the last one is for what none of several threads does */
  RANGES = 512,
  FAMILIES = 64, /* of graphs that share memory */
  CAPTURE_STREAMS = 3,
  NOWHERE = -1
};
#define NEVER UINT32_MAX

/* A place on a stream: what was sent to it up to there. */
typedef struct place {
  int stream;
  uint32_t position;
} place;

typedef enum stream_kind { VACANT, CREATED, BLOCKING, LEGACY, OWN, DEAD } stream_kind;

struct stream {
  stream_kind kind;
  wp_stream handle;
  int device;
  unsigned thread;            /* of OWN: the serial of its thread */
  uint32_t position, sent;    /* sent: where something was really sent last */
  uint32_t after[STREAMS];    /* what it comes after, of each other stream */
  uint32_t held_from[HOLDS];  /* from where on it waits for that hold; NEVER */
  uint32_t maybe_from[HOLDS]; /* the same where a driver may see to it or not, for nothing was sent */
  struct capture *capture;    /* which it takes part in */
  struct reading *readings;   /* that it has still to do */
  struct cell *used;          /* to be free when all of that is done */
};

/* 64 bytes that copies of a stream go to or come from. */
struct cell {
  struct cell *next;
  unsigned uses; /* readings and lists that have it */
  unsigned char *bytes;
};

/* What a copy to the host shall have found. */
struct reading {
  struct reading *next;
  struct cell *cell;
  uint64_t stamp;
  size_t bytes;
};

struct block {
  unsigned char *address; /* NULL: none */
  size_t bytes, usable;
  int runtime, device, delegate;
  int origin;     /* the stream that it was allocated on; NOWHERE: gone */
  int last;       /* the stream that comes after all uses but the readers' */
  uint64_t stamp; /* what it holds; 0: nothing yet */
  place readers[READERS];
  bool is_noted[READERS];
  unsigned reader_count;
  bool ever_noted;
  struct capture *capture; /* allocated in it, and it has not ended */
  struct graph *graph;     /* an output of it */
};

/* Memory that is not simply anybody's. */
typedef enum range_kind {
  LEFT,     /* freed; `uses` may not have finished */
  CAPTURED, /* a capture's or graph's: live in it, or kept for it */
  REUSABLE  /* a capture's or graph's, and free for the capture's stream `uses[0].stream`, or who shares the memory */
} range_kind;

struct range {
  uintptr_t from, to;
  int device;
  range_kind kind;
  unsigned family;      /* of graphs that share memory; 0: none */
  bool is_from_outside; /* freed in a capture, and not of it */
  struct capture *capture;
  struct graph *graph;
  place uses[READERS + CAPTURE_STREAMS + 2];
  unsigned use_count;
};

struct capture {
  wp_capture *handle; /* NULL: none */
  int runtime, device, delegate;
  rig_capture_mode mode;
  unsigned thread, family;
  int streams[CAPTURE_STREAMS];
  uint32_t begun_at[CAPTURE_STREAMS];
  unsigned stream_count;
  struct reading *readings;
  struct cell *cells;
};

struct graph {
  wp_graph_memory *memory; /* NULL: none */
  rig_graph *graph;        /* NULL: destroyed */
  int runtime, device;
  unsigned family;
  bool has_launched;
  place ends[CAPTURE_STREAMS]; /* where the capture's streams were at its end */
  unsigned end_count;
  struct reading *readings;
  struct cell *cells;
};

struct delegate {
  wp_delegate *handle; /* NULL: none */
  int runtime, device;
  uint64_t limit, live;
};

/* What all actors share. */
struct runtime {
  wp_runtime *handle;
  wp_runtime_options options;
};

typedef struct world {
  uint64_t seed;
  const wp_backend *driver; /* watched */
  bool is_exact;            /* work ends at known places only, so that a seed is the same run each time */
  int devices;
  uint32_t capabilities; /* of device 0 */
  struct runtime runtimes[RUNTIMES];
  unsigned runtime_count;
  uint64_t memory; /* of a device */
} world;
extern world shared;

struct actor {
  unsigned index;
  unsigned thread, threads; /* the serial of the running one; how many there were */
  struct stream streams[STREAMS];
  rig_hold *holds[HOLDS];
  struct block blocks[BLOCKS];
  struct delegate delegates[DELEGATES];
  struct range ranges[RANGES];
  unsigned range_count;
  struct capture captures[CAPTURES];
  struct graph graphs[GRAPHS];
  unsigned families;
  int family_last[FAMILIES]; /* the stream of a family's last launch; NOWHERE */
  /* Where freed outputs of the family's graphs were used since: the next launch writes them again. */
  bool family_used[FAMILIES][STREAMS];
  uint64_t allocs[RUNTIMES][DEVICES], frees[RUNTIMES][DEVICES];
  uint64_t stamps, random; /* the random one is for faults alone */
  unsigned at;             /* the operation that is running */
  op now;
  unsigned inner; /* operations still to run on the inner thread */
  const bool *skipped;
  void *freed[8]; /* addresses that were given back */
  unsigned freed_count;
  struct cell *vacant;
  struct reading *spare;
  watched_entry asked; /* of the driver last */
  /* -- of the call under way -- */
  listed_call call;
  bool is_calling, may_wait, has_failed; /* has_failed: some driver call was made to */
  uint32_t failed_entries;               /* which it was */
  bool was_injected;                     /* in this program, ever */
  bool record_failed;                    /* so memory may stay pending */
  bool order_lost;                       /* so memory may be handed out too early */
  bool scope_failed;                     /* so objects of the driver's may be lost */
  bool has_no_pools;                     /* the library was told so */
  bool is_ending;                        /* no driver call fails any more */
  int current;                           /* device */
};

extern _Thread_local struct actor *self;

/* Ends the program with status 3: something is wrong. */
_Noreturn void violation(const char *format, ...);
#define REQUIRE_THAT(condition, ...)                                                                                   \
  do {                                                                                                                 \
    if (!(condition)) violation(__VA_ARGS__);                                                                          \
  } while (0)

/* The number that the running operation picks by: its nth, up to `below`. */
unsigned pick(unsigned nth, unsigned below);

/* -- streams.c and stream_life.c -- */

/* CUDA's driver may not let a thread end whose own default stream is held (C19 is of the kind). */
#ifdef WARMPOOL_SIMULATED
#define MAY_END_HELD true
#else
#define MAY_END_HELD false
#endif

void streams_start(void);
struct stream *stream_of(int index);
int stream_slot(void);                                          /* a vacant one, or NOWHERE */
int stream_add(stream_kind kind, int device, wp_stream handle); /* NOWHERE: there is no room */
int stream_pick(unsigned nth, int device, bool captured_too);   /* one that this thread may name; never NOWHERE */
void use_device_of(const struct stream *stream);
void stream_catch_up(int index); /* legacy and blocking streams come after one another when something is sent */
void stream_submit(int index);
void stream_wait(int index, int other);
bool is_after(int index, place use);
bool is_held(place use); /* it cannot have finished */
place now_on(int index);
bool stream_drain(int index);   /* false: it may be held, and was not waited for */
bool stream_is_mine(int index); /* this thread may name it */
bool stream_is_open(int index); /* and work can be sent to it now */
bool stream_can_wait(int index, int for_other);
bool stream_may_be_held(const struct stream *stream);
bool stream_is_unheld(const struct stream *stream);
bool legacy_is_unheld(int device);
void streams_forget_dead(void);
void streams_settle(void); /* all that can finish has finished */
void holds_open(void);
bool legacy_is_implicit(int device); /* a blocking stream of the device is captured */
int stream_successor(int device, int except);
void stream_close(int index, int successor); /* all that is left to do there, `successor` comes after */
void own_streams_end(void);                  /* of the running thread */

/* -- inner_streams.c -- */

void inner_streams_start(void);
void inner_streams_note(watched_entry entry, wp_stream stream, wp_event event);
void inner_streams_hold_opened(int hold);
void inner_streams_settle(void);         /* what can finish of the library's own streams has */
void inner_event_settle(wp_event event); /* it is complete, if it waits for no hold */

/* -- work.c -- */

void work_start(void);
bool work_is_sent(unsigned nth);
void block_write(struct block *block, int stream);
void block_read(struct block *block, int stream);
void work_end(void);                                   /* nothing is under way */
void readings_check(struct stream *stream);            /* all have been done */
void readings_follow(struct graph *graph, int stream); /* a launch's */
void readings_drop(struct reading **readings, struct cell **cells);
void readings_hand_over(struct graph *graph, struct stream *stream); /* it is gone, its launches may go on */

/* -- ranges.c -- */

void range_check(const struct block *fresh, int stream, const struct capture *capture, unsigned family);
struct range *range_add(const struct block *block, range_kind kind);
void range_of_use(struct range *range, place use);
void range_of_freed_output(const struct block *block);
void ranges_forget_family(unsigned family);
void ranges_forget_stream(int stream);
void ranges_of_capture_end(const struct capture *capture, struct graph *graph); /* `graph` NULL: aborted */
void ranges_of_graph_release(struct graph *graph, place last, bool has_last);

/* -- calls.c -- */

extern const watched_hooks hooks;
void call_begin(listed_call call, bool may_wait);
/* The status is as the header says; `natural` are the bits of what it can be here without a failing driver, besides
 * success. True: it is a success. */
bool call_end(wp_status status, unsigned natural);
#define S(name) (1u << WP_##name)
void count_call(void);
void now_doing(const char *what, unsigned at); /* for a program that hangs */
void tell(const char *format, ...);            /* a line of the call's result */
void given_start(void);                        /* numbers begin again */
const char *place_of(const void *address, char text[64]);

/* -- the operations, by file -- */

#define OPERATION_FUNCTION(name, weight) void op_##name(void);
OPERATIONS(OPERATION_FUNCTION)
#undef OPERATION_FUNCTION

struct block *block_pick(unsigned nth, bool in_use);
bool block_free_now(struct block *block); /* on its last stream, in the end */
void block_forget(struct block *block);
void block_check_is_live(const struct block *block);
void block_follow(struct block *block, int stream); /* it comes after all uses now */
bool block_can_follow(const struct block *block, int stream);
unsigned block_naturals(const struct delegate *delegate, size_t bytes);
wp_caching caching_of(int runtime);
bool is_declared(int runtime);
bool all_gone(int runtime, int device); /* nothing of it is live, captured or a graph's, and no delegate is open */
void capture_end_all(bool of_thread_only);
void graphs_end(void);
void graphs_forget_stream(int stream); /* it was destroyed, and nothing holds it up any more */
void delegates_end(void);
void counters_check(void);
void runtimes_start(void);
void runtimes_end(void);

#endif
