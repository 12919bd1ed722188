/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: segments (what is mapped and given back whole) that are carved into blocks. A free block remembers the place
 * in stream order where it was freed, until a synchronisation has observed that.
 */
#ifndef WARMPOOL_HOST_POOL_H
#define WARMPOOL_HOST_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/os.h"
#include "engine.h"
#include "timeline.h"

#define WP__HOST_BINS 64

struct wp__host_block {
  char *address;
  size_t bytes;
  struct wp__host_segment *segment;
  struct wp__host_block *before, *after;  /* in the segment */
  struct wp__host_block *previous, *next; /* in the bin, while free; `next` in the block map, while live */
  bool is_live;
  struct wp__host_timeline *timeline; /* where it was freed, with a reference; NULL: live, or observed */
  uint64_t sequence;
};

struct wp__host_segment {
  struct wp__host_pool *pool;
  struct wp__host_segment *previous, *next;
  char *address;
  size_t bytes;
  size_t live_blocks;
  struct wp__host_block *first;
};

struct wp__host_pool {
  int device;
  /* The engine's lock guards these. One reference is the handle's, one the segments'. */
  unsigned references;
  struct wp__host_pool *previous, *next;
  /* The pool's lock guards the rest; `unobserved` is read anywhere. */
  wp__mutex lock;
  bool is_destroyed;
  bool is_empty_for_good;
  wp__host_pool_figures figures;
  struct wp__host_segment *segments;
  struct wp__host_block *bins[WP__HOST_BINS]; /* free blocks; bin n: from 2^n allocation steps */
  atomic_size_t unobserved;                   /* free blocks with a timeline */
};

/* -- segment.c; segments are mapped and unmapped with no lock held -- */

/* Not in the pool yet. OUT_OF_MEMORY, OUT_OF_HOST_MEMORY. */
wp__host_result wp__host_segment_create(struct wp__host_pool *pool, size_t bytes, struct wp__host_segment **out);
void wp__host_segments_destroy(struct wp__host_segment *list);
/* Under the pool's lock: */
void wp__host_segment_insert(struct wp__host_segment *segment);
/* Take out, for wp__host_segments_destroy, whole free segments while more than `keep` bytes are reserved: those whose
 * frees were observed, or those whose frees have finished. */
struct wp__host_segment *wp__host_segments_take_observed(struct wp__host_pool *pool, uint64_t keep);
struct wp__host_segment *wp__host_segments_take_finished(struct wp__host_pool *pool);

/* -- block.c; under the pool's lock -- */

void wp__host_block_bin(struct wp__host_block *block);
void wp__host_block_unbin(struct wp__host_block *block);
/* Whether work on `timeline` (NULL: any) may have the free block now. */
bool wp__host_block_serves(const struct wp__host_block *block, const struct wp__host_timeline *timeline);
struct wp__host_block *wp__host_block_find(struct wp__host_pool *pool, size_t bytes,
                                           struct wp__host_timeline *timeline);
bool wp__host_block_carve(struct wp__host_block *block, size_t bytes); /* makes it live; false: out of host memory */
void wp__host_block_free(struct wp__host_block *block, struct wp__host_timeline *timeline, uint64_t sequence);
void wp__host_block_settle(struct wp__host_block *block); /* its free was observed */
void wp__host_blocks_merge(struct wp__host_pool *pool);
enum wp__host_settle { WP__HOST_SETTLE_OBSERVED, WP__HOST_SETTLE_ENDED /* on destroyed streams, too */ };
size_t wp__host_blocks_settle(struct wp__host_pool *pool, enum wp__host_settle which); /* how many observed ones */

/* -- block_map.c: live blocks by their address; has a lock of its own -- */

void wp__host_block_map_add(struct wp__host_block *block);
/* Takes the live block at `address` out, if its pool is of `device`; NULL if there is none. One of several callers
 * gets it. */
struct wp__host_block *wp__host_block_map_take(void *address, int device);

/* -- pool.c; no lock is held -- */

wp__host_result wp__host_pool_acquire(void *handle, struct wp__host_pool **out);
void wp__host_pool_retain(struct wp__host_pool *pool);
void wp__host_pool_release(struct wp__host_pool *pool);
void wp__host_pools_observed(void); /* frees were observed: pools above their threshold give memory back */
void wp__host_pools_reap(void);     /* work has finished: destroyed pools give memory back */

#endif
