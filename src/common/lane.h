/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: the memory that one stream has warm. Lists of freed blocks, one for each size class, lie over a heap, which
 * carves blocks out of segments; a segment is one allocation of the driver's. Nothing here makes a driver call, and
 * only making a tally or a record needs host memory.
 *
 * Everything that a lane hands out was freed on its stream, or has been ordered before it: so it may serve an
 * allocation on that stream at once, and nobody else before its position is observed (stream.h).
 *
 * A freed block in a list keeps its record, its address in the map and its state TAKEN: to hand it out again is a pop
 * and a store. A merge takes it out of the map.
 */
#ifndef WARMPOOL_COMMON_LANE_H
#define WARMPOOL_COMMON_LANE_H

#include "block.h"
#include "heap.h"

typedef struct wp__counts {
  uint64_t allocs, frees, alloc_bytes, free_bytes;
  uint64_t misses; /* of the allocations: those for which the list was empty */
  uint64_t steals; /* segments taken from other lanes */
} wp__counts;

/* What one delegate has had of one lane. Its record may serve a later life of the delegate's. */
struct wp__tally {
  wp__tally *next;
  wp_delegate *delegate;
  uint64_t life;
  wp__counts counts;
};

#define WP__TALLY_BUCKETS 16u
#define WP__LANE_SPARES 64u
/* A lane merges its lists before it carves if more than this part of what it holds is listed, or nothing else is large
 * enough: blocks that are merged fit better, listed ones are hits. */
#define WP__LISTED_SHARE 32u
#define WP__SEGMENT_STEP ((size_t)2 << 20)
/* A lane that is large already grows in larger steps: powers of two up to this part of what it holds, and up to so many
 * bytes, which is what a driver's pool maps at once. */
#define WP__SEGMENT_SHARE 8u
#define WP__SEGMENT_LARGE ((uint64_t)32 << 20)

/* Whose a lane's memory is: its stream's, and others' when it has finished; a graph's alone (arena.h); or that, but
 * only until the graph's last launches have finished. */
enum { WP__LANE_OPEN = 0, WP__LANE_SEALED = 1, WP__LANE_LEAVING = 2 };

typedef struct wp__lane {
  wp__spin lock; /* all that follows */
  bool records;  /* the next frees are recorded, also under WP_STREAMS_DECLARED: the lane has grown, or another stream
                    looked for memory here; until something is served from a list */
  wp__tally *tallies[WP__TALLY_BUCKETS];
  uint64_t listed[WP__HEAP_WORDS]; /* lists that have had a block since the last merge */
  uint64_t listed_bytes;           /* in all lists */
  wp__block *lists[WP__CLASSES];
  wp__heap heap;
  wp__range *spares; /* records that merges left over, for the next blocks to be carved */
  unsigned spare_count;
  int seal;
  uint64_t leaving_bytes; /* of WP__LANE_LEAVING: how many of its idle bytes the device counts as parked */
  uint64_t held_bytes;    /* in all segments */
  uint64_t parked_bytes;  /* of them, in freed blocks that wait for other streams */
  wp__counts past;        /* of delegates whose tallies serve others now */
} wp__lane;

static inline wp__block *wp__block_of(wp__range *range) {
  return (wp__block *)(void *)((char *)range - offsetof(wp__block, range));
}

/*
 * With the lane's lock, all of these.
 */

/* -- tallies -- */

static inline wp__tally **wp__tally_bucket(wp__lane *lane, const wp_delegate *delegate) {
  return &lane->tallies[(uintptr_t)delegate / 128 % WP__TALLY_BUCKETS];
}

/* The tally of a delegate in this life of it, or NULL. */
static inline wp__tally *wp__tally_find(wp__lane *lane, const wp_delegate *delegate, uint64_t life) {
  wp__tally *tally = *wp__tally_bucket(lane, delegate);
  while (tally != NULL && tally->delegate != delegate) tally = tally->next;
  return tally != NULL && tally->life == life ? tally : NULL;
}

/* The same, made out of an older life's or of *spare, which is NULL then. NULL: there is no spare. */
wp__tally *wp__tally_make(wp__lane *lane, wp_delegate *delegate, uint64_t life, wp__tally **spare);

static inline void wp__tally_alloc(wp__tally *tally, wp__block *block) {
  tally->counts.allocs++;
  tally->counts.alloc_bytes += block->range.bytes;
  block->tally = tally;
}

static inline void wp__tally_free(wp__tally *tally, uint64_t bytes) {
  tally->counts.frees++;
  tally->counts.free_bytes += bytes;
}

void wp__counts_add(wp__counts *sum, const wp__counts *counts);
/* Adds up all that the lane has counted. */
void wp__lane_sum(const wp__lane *lane, wp__counts *sum);
static inline uint64_t wp__counts_live(const wp__counts *counts) { return counts->alloc_bytes - counts->free_bytes; }

/* -- lists -- */

static inline wp__block *wp__lane_pop(wp__lane *lane, unsigned class) {
  wp__block *block = lane->lists[class];
  if (block == NULL) return NULL;
  lane->lists[class] = block->queue;
  lane->listed_bytes -= block->range.bytes;
  return block;
}

static inline void wp__lane_push(wp__lane *lane, wp__block *block) {
  block->queue = lane->lists[block->class];
  if (block->queue == NULL) lane->listed[block->class / 64] |= UINT64_C(1) << block->class % 64;
  lane->lists[block->class] = block;
  lane->listed_bytes += block->range.bytes;
}

/* -- the heap -- */

/* Puts all listed blocks back into the heap. */
void wp__lane_merge(wp__lane *lane, wp__blocks *blocks);

/* Whether a carve would need a record that the lane has not got. */
static inline bool wp__lane_needs_record(const wp__lane *lane) { return lane->spares == NULL; }
/* Takes over a record that is TAKEN, or hands it back to the registry where it has enough. */
void wp__lane_keep_record(wp__lane *lane, wp__blocks *blocks, wp__block *record);

/* A block of `bytes` (of a class) out of the heap, best fit; it is in no list and in no map. NULL: nothing is so large.
 * The lane needs no record. */
wp__block *wp__lane_carve(wp__lane *lane, size_t bytes);
/* Gives a block back that came from a carve and has never been in the map. */
void wp__lane_uncarve(wp__lane *lane, wp__blocks *blocks, wp__block *block);

/* -- whole segments -- */

/* Puts a segment into the heap, in `record`, which is TAKEN. */
void wp__lane_add(wp__lane *lane, wp__block *record, void *address, size_t bytes, uint64_t position);

/* Takes the smallest free segment of `least` to `most` bytes out of the heap of which everything lies at or before the
 * position `observed`. NULL: there is none, or the lane is not open. Listed blocks are not looked at. */
wp__block *wp__lane_take(wp__lane *lane, uint64_t observed, size_t least, uint64_t most);

/* Takes the whole segment that a block is part of, if all else of it is free and lies at or before `observed`. The
 * block is TAKEN, and in no list. NULL: that is not so, and nothing has changed but that the lists are merged. */
wp__block *wp__lane_take_around(wp__lane *lane, wp__blocks *blocks, wp__block *block, uint64_t observed);

/* Free bytes, listed or in the heap, given what the lane has counted. */
static inline uint64_t wp__lane_idle(const wp__lane *lane, const wp__counts *sum) {
  return lane->held_bytes - wp__counts_live(sum) - lane->parked_bytes;
}
/* Free bytes in the heap that lie behind `observed`, or are whole segments of `most` bytes at the most. */
uint64_t wp__lane_due(const wp__lane *lane, uint64_t observed, uint64_t most);

/* -- at the end: drops the records of all that is free, and forgets the rest; no lock needed -- */
void wp__lane_forget(wp__lane *lane, wp__blocks *blocks);
void wp__lane_free_tallies(wp__lane *lane);

#endif
