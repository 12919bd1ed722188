/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

/* -- bins -- */

static unsigned bin_of(size_t bytes) {
  unsigned bin = 0;
  for (size_t steps = bytes / WP__HOST_ALLOCATION_STEP; steps > 1; steps >>= 1) ++bin;
  return bin;
}

void wp__host_block_bin(struct wp__host_block *block) {
  struct wp__host_block **bin = &block->segment->pool->bins[bin_of(block->bytes)];
  block->previous = NULL;
  block->next = *bin;
  if (*bin != NULL) (*bin)->previous = block;
  *bin = block;
}

void wp__host_block_unbin(struct wp__host_block *block) {
  struct wp__host_block **bin = &block->segment->pool->bins[bin_of(block->bytes)];
  if (block->previous == NULL) {
    *bin = block->next;
  } else {
    block->previous->next = block->next;
  }
  if (block->next != NULL) block->next->previous = block->previous;
}

bool wp__host_block_serves(const struct wp__host_block *block, const struct wp__host_timeline *timeline) {
  return block->timeline == NULL || block->timeline == timeline ||
         wp__host_timeline_passed(block->timeline, block->sequence);
}

struct wp__host_block *wp__host_block_find(struct wp__host_pool *pool, size_t bytes,
                                           struct wp__host_timeline *timeline) {
  struct wp__host_block *best = NULL;
  for (unsigned bin = bin_of(bytes); bin < WP__HOST_BINS && best == NULL; ++bin) {
    for (struct wp__host_block *block = pool->bins[bin]; block != NULL; block = block->next) {
      if (block->bytes < bytes || (best != NULL && block->bytes >= best->bytes)) continue;
      if (wp__host_block_serves(block, timeline)) best = block;
    }
  }
  return best;
}

/* -- from free to live and back -- */

void wp__host_block_settle(struct wp__host_block *block) {
  if (block->timeline == NULL) return;
  wp__host_timeline_release(block->timeline);
  block->timeline = NULL;
  (void)atomic_fetch_sub(&block->segment->pool->unobserved, 1);
}

static void set_place(struct wp__host_block *block, struct wp__host_timeline *timeline, uint64_t sequence) {
  if (timeline == NULL) return;
  wp__host_timeline_retain(timeline);
  block->timeline = timeline;
  block->sequence = sequence;
  (void)atomic_fetch_add(&block->segment->pool->unobserved, 1);
}

bool wp__host_block_carve(struct wp__host_block *block, size_t bytes) {
  struct wp__host_block *rest = NULL;
  if (block->bytes > bytes) {
    rest = wp__os_calloc(1, sizeof *rest);
    if (rest == NULL) return false;
  }
  wp__host_block_unbin(block);
  if (rest != NULL) {
    rest->address = block->address + bytes;
    rest->bytes = block->bytes - bytes;
    rest->segment = block->segment;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != NULL) rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    set_place(rest, block->timeline, block->sequence);
    wp__host_block_bin(rest);
  }
  wp__host_block_settle(block);
  block->is_live = true;
  ++block->segment->live_blocks;
  return true;
}

/* Whether one block can stand for both: nothing may become observed thereby, and nothing finished may have to wait for
 * something unfinished. */
static bool can_merge(const struct wp__host_block *one, const struct wp__host_block *other) {
  if (one->is_live || other->is_live) return false;
  if (one->timeline == other->timeline) return true;
  if (one->timeline != NULL && other->timeline != NULL) return false;
  return wp__host_block_serves(one, NULL) && wp__host_block_serves(other, NULL);
}

static void merge_with_after(struct wp__host_block *block) {
  struct wp__host_block *after = block->after;
  wp__host_block_unbin(block);
  wp__host_block_unbin(after);
  if (block->timeline == NULL) {
    set_place(block, after->timeline, after->sequence);
  } else if (after->timeline != NULL && after->sequence > block->sequence) {
    block->sequence = after->sequence;
  }
  wp__host_block_settle(after);
  block->bytes += after->bytes;
  block->after = after->after;
  if (block->after != NULL) block->after->before = block;
  wp__os_free(after);
  wp__host_block_bin(block);
}

void wp__host_block_free(struct wp__host_block *block, struct wp__host_timeline *timeline, uint64_t sequence) {
  block->is_live = false;
  --block->segment->live_blocks;
  set_place(block, timeline, sequence);
  wp__host_block_bin(block);
  if (block->after != NULL && can_merge(block, block->after)) merge_with_after(block);
  if (block->before != NULL && can_merge(block->before, block)) merge_with_after(block->before);
}

/* -- passes over a pool -- */

static void merge_segment(struct wp__host_segment *segment) {
  struct wp__host_block *block = segment->first;
  while (block != NULL) {
    if (block->after != NULL && can_merge(block, block->after)) {
      merge_with_after(block);
    } else {
      block = block->after;
    }
  }
}

void wp__host_blocks_merge(struct wp__host_pool *pool) {
  for (struct wp__host_segment *segment = pool->segments; segment != NULL; segment = segment->next) {
    merge_segment(segment);
  }
}

static bool is_observed(const struct wp__host_block *block) {
  return atomic_load_explicit(&block->timeline->observed, memory_order_acquire) >= block->sequence;
}

static bool has_ended(const struct wp__host_block *block) {
  return atomic_load(&block->timeline->closed) && wp__host_timeline_passed(block->timeline, block->sequence);
}

size_t wp__host_blocks_settle(struct wp__host_pool *pool, enum wp__host_settle which) {
  size_t observed = 0;
  if (atomic_load(&pool->unobserved) == 0) return 0;
  for (struct wp__host_segment *segment = pool->segments; segment != NULL; segment = segment->next) {
    for (struct wp__host_block *block = segment->first; block != NULL; block = block->after) {
      if (block->timeline == NULL) continue;
      if (is_observed(block)) {
        ++observed;
        wp__host_block_settle(block);
      } else if (which == WP__HOST_SETTLE_ENDED && has_ended(block)) {
        wp__host_block_settle(block);
      }
    }
    merge_segment(segment);
  }
  return observed;
}
