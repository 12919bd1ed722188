/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block registry. A record is type-stable: once made it stays a record until the runtime is destroyed, so a thread
 * that found one may always look at it; whether it still is what it was, its `word` tells.
 */
#ifndef WARMPOOL_COMMON_BLOCK_H
#define WARMPOOL_COMMON_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap.h"
#include "map.h"
#include "os.h"
#include "warmpool/delegate.h"

typedef struct wp__device wp__device;
typedef struct wp__stream wp__stream;
typedef struct wp__tally wp__tally;

/* A stream that may use a block, at the point where its event was recorded. */
typedef struct wp__use {
  wp__stream *stream; /* for comparison, with its epoch; NULL: unknown */
  uint64_t epoch;
  wp_event event;
  uint64_t started, recorded; /* by the device's note clock: before and after the event was recorded */
  struct wp__use *next;
} wp__use;

/*
 * word = generation << 3 | state. The generation grows each time the record is put to use again.
 *   IDLE     in the registry's free list
 *   LIVE     handed out
 *   LOCKED   handed out, and a thread is changing `uses`: a few instructions, no driver call
 *   TAKEN    one thread's alone, on its way out to the caller or back; or a lane's, and changed under its lock
 *   DORMANT  a captured allocation that was freed outside its graph: each launch of the graph allocates it anew, which
 *            only the driver knows; in the map, not counted
 */
#define WP__BLOCK_STATE_BITS 3
#define WP__BLOCK_STATE_MASK ((uint64_t)7)
enum { WP__BLOCK_IDLE = 0, WP__BLOCK_LIVE = 1, WP__BLOCK_LOCKED = 2, WP__BLOCK_TAKEN = 3, WP__BLOCK_DORMANT = 4 };

struct wp__block {
  _Alignas(WP__CACHE_LINE) atomic_uint_least64_t word;
  /* The lock under which the word of a lane's block leaves LIVE; NULL, for the driver's: by compare-and-swap. */
  _Atomic(wp__spin *) guard;
  /* Written while TAKEN, with release; read by anyone, with acquire, and then `word` again. */
  _Atomic(void *) ptr;
  _Atomic(size_t) bytes;
  _Atomic(wp__device *) device;
  _Atomic(wp_delegate *) delegate;
  _Atomic(wp_stream) stream;
  /* The owner's: who holds LOCKED or TAKEN. */
  _Atomic(wp__stream *) origin; /* allocated on this stream, with its epoch; NULL: on one that was being captured. What
                         is in a lane, or came out of it, belongs to this one's */
  uint64_t origin_epoch;
  wp__use *uses;             /* streams noted by wp_note_use, or that a freed block waits for */
  wp__use own;               /* so that a free needs no host memory */
  bool captured;             /* allocated on a capturing stream: the memory is the graph's */
  wp__range range;           /* the memory, where it comes from a lane, as the lane's heap sees it */
  unsigned class;            /* of range.bytes, or one of those below */
  wp__tally *tally;          /* on which the live block counts, of the lane */
  wp__block *queue;          /* next in the device's queue of parked blocks, or in a list of a lane */
  uint32_t index;            /* of the record */
  atomic_uint next;          /* in the free list: index + 1 */
  _Atomic(size_t) requested; /* while the runtime has a trace: what the caller asked for */
};

/* The `class` of a record that is no block out of a lane. */
#define WP__CLASS_OF_GRAPH WP__CLASSES /* no memory: what a graph's memory waits for */
#define WP__CLASS_OF_DRIVER                                                                                            \
  (WP__CLASSES + 1) /* an allocation of the driver's, as it is: handed out, or a segment that                          \
                       no lane can have, on its way back */

/* Whether the memory comes from a lane; the caller has the block TAKEN. */
static inline bool wp__block_is_of_lane(const wp__block *block) { return block->class < WP__CLASSES; }

#define WP__BLOCKS_PER_SLAB 1024u
#define WP__SLABS_MAX 16384u

typedef struct wp__blocks {
  wp__map map;
  wp__mutex lock;              /* making slabs */
  _Atomic(wp__block *) *slabs; /* WP__SLABS_MAX of them; records lie apart, for different threads write them */
  atomic_uint made;            /* records in use or in the free list */
  atomic_uint_least64_t idle;  /* free list: tag << 32 | index + 1; the tag grows with each change */
} wp__blocks;

bool wp__blocks_init(wp__blocks *blocks); /* false: out of host memory */
void wp__blocks_destroy(wp__blocks *blocks);

/* A record in state TAKEN, or NULL: out of host memory. */
wp__block *wp__block_take(wp__blocks *blocks);
/* Back to the registry; the caller has it TAKEN. */
void wp__block_drop(wp__blocks *blocks, wp__block *block);

/* TAKEN (or LOCKED) to LIVE, or to DORMANT. */
void wp__block_publish(wp__block *block);
void wp__block_rest(wp__block *block);
/* TAKEN to LIVE in a new generation: what a lane hands out anew. */
static inline void wp__block_renew(wp__block *block) {
  uint64_t word = atomic_load_explicit(&block->word, memory_order_relaxed);
  uint64_t generation = (word >> WP__BLOCK_STATE_BITS) + 1;
  atomic_store_explicit(&block->word, generation << WP__BLOCK_STATE_BITS | WP__BLOCK_LIVE, memory_order_release);
}

/* Makes the live block at `ptr` the caller's own (TAKEN). NULL: there is none, or another thread was faster. */
wp__block *wp__block_claim(wp__blocks *blocks, const void *ptr);
/* The same for a dormant one. */
wp__block *wp__block_claim_dormant(wp__blocks *blocks, const void *ptr);
/* The same for a given record, live or dormant, if it is on `device`; *was_live tells which. */
bool wp__block_claim_on(wp__block *block, const wp__device *device, bool *was_live);

/* With the block's guard: LIVE to TAKEN, if it is the live block at `ptr` that this guard is for, and not LOCKED. */
static inline bool wp__block_claim_guarded(wp__block *block, const void *ptr, const wp__spin *guard) {
  uint64_t word = atomic_load_explicit(&block->word, memory_order_acquire);
  if ((word & WP__BLOCK_STATE_MASK) != WP__BLOCK_LIVE) return false;
  if (atomic_load_explicit(&block->ptr, memory_order_relaxed) != ptr) return false;
  if (atomic_load_explicit(&block->guard, memory_order_relaxed) != guard) return false;
  atomic_store_explicit(&block->word, word - WP__BLOCK_LIVE + WP__BLOCK_TAKEN, memory_order_relaxed);
  return true;
}

/* LIVE to LOCKED if the block is still that of `word`, for a change of `uses`; and back. */
bool wp__block_lock(wp__block *block, uint64_t word);
void wp__block_unlock(wp__block *block);

/* What is known of a live block, read without changing it. */
typedef struct wp__block_view {
  wp__block *block;
  uint64_t word; /* LIVE, whether or not it is LOCKED just now */
  void *ptr;
  size_t bytes;
  wp__device *device;
  wp_delegate *delegate;
  wp_stream stream;
} wp__block_view;
bool wp__block_look(wp__block *block, wp__block_view *view);                           /* false: not live */
bool wp__block_find(wp__blocks *blocks, const void *ptr, wp__block_view *view);        /* by its first byte */
bool wp__block_find_within(wp__blocks *blocks, const void *ptr, wp__block_view *view); /* by any byte */

/* Walks all records: `index` from 0 while the result is not NULL. */
wp__block *wp__block_at(const wp__blocks *blocks, uint32_t index);

#endif
