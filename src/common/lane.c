/* SPDX-License-Identifier: Apache-2.0 */
#include "lane.h"

/* -- tallies -- */

void wp__counts_add(wp__counts *sum, const wp__counts *counts) {
  sum->allocs += counts->allocs;
  sum->frees += counts->frees;
  sum->alloc_bytes += counts->alloc_bytes;
  sum->free_bytes += counts->free_bytes;
  sum->misses += counts->misses;
  sum->steals += counts->steals;
}

wp__tally *wp__tally_make(wp__lane *lane, wp_delegate *delegate, uint64_t life, wp__tally **spare) {
  wp__tally **bucket = wp__tally_bucket(lane, delegate);
  wp__tally *tally = *bucket;
  while (tally != NULL && tally->delegate != delegate) tally = tally->next;
  if (tally == NULL) {
    tally = *spare;
    if (tally == NULL) return NULL;
    *spare = NULL;
    *tally = (wp__tally){.next = *bucket, .delegate = delegate, .life = life};
    *bucket = tally;
  } else if (tally->life != life) { /* a delegate that is gone has no live block */
    wp__counts_add(&lane->past, &tally->counts);
    tally->life = life;
    tally->counts = (wp__counts){0};
  }
  return tally;
}

void wp__lane_sum(const wp__lane *lane, wp__counts *sum) {
  *sum = lane->past;
  for (unsigned i = 0; i < WP__TALLY_BUCKETS; i++) {
    for (const wp__tally *tally = lane->tallies[i]; tally != NULL; tally = tally->next)
      wp__counts_add(sum, &tally->counts);
  }
}

void wp__lane_free_tallies(wp__lane *lane) {
  for (unsigned i = 0; i < WP__TALLY_BUCKETS; i++) {
    while (lane->tallies[i] != NULL) {
      wp__tally *tally = lane->tallies[i];
      lane->tallies[i] = tally->next;
      wp__os_free(tally);
    }
  }
}

/* -- records -- */

void wp__lane_keep_record(wp__lane *lane, wp__blocks *blocks, wp__block *record) {
  if (lane->spare_count >= WP__LANE_SPARES) {
    wp__block_drop(blocks, record);
    return;
  }
  record->range.next = lane->spares;
  lane->spares = &record->range;
  lane->spare_count++;
}

static void keep_records(wp__lane *lane, wp__blocks *blocks, wp__range *spares) {
  while (spares != NULL) {
    wp__range *next = spares->next;
    wp__lane_keep_record(lane, blocks, wp__block_of(spares));
    spares = next;
  }
}

/* -- lists and heap -- */

/* The lowest of `set`, which is not 0, taken out of it. */
static unsigned next_bit(uint64_t *set) {
  unsigned bit = (unsigned)__builtin_ctzll(*set);
  *set &= *set - 1;
  return bit;
}

void wp__lane_merge(wp__lane *lane, wp__blocks *blocks) {
  wp__range *spares = NULL;
  for (unsigned word = 0; word < WP__HEAP_WORDS; word++) {
    while (lane->listed[word] != 0) {
      unsigned class = word * 64 + next_bit(&lane->listed[word]);
      wp__block *block;
      while ((block = wp__lane_pop(lane, class)) != NULL) {
        (void)wp__map_set(&blocks->map, block->range.address, NULL);
        (void)wp__heap_merge(&lane->heap, &block->range, &spares);
      }
    }
  }
  keep_records(lane, blocks, spares);
}

wp__block *wp__lane_carve(wp__lane *lane, size_t bytes) {
  wp__range *rest = lane->spares, *after = rest->next;
  wp__range *range = wp__heap_carve(&lane->heap, bytes, &rest);
  if (rest == NULL) { /* in use now */
    lane->spares = after;
    lane->spare_count--;
  }
  if (range == NULL) return NULL;
  wp__block *block = wp__block_of(range);
  block->class = wp__class_below(bytes);
  return block;
}

void wp__lane_uncarve(wp__lane *lane, wp__blocks *blocks, wp__block *block) {
  wp__range *spares = NULL;
  (void)wp__heap_merge(&lane->heap, &block->range, &spares);
  keep_records(lane, blocks, spares);
}

/* -- whole segments -- */

void wp__lane_add(wp__lane *lane, wp__block *record, void *address, size_t bytes, uint64_t position) {
  wp__heap_add(&lane->heap, &record->range, address, bytes, position);
  lane->held_bytes += bytes;
}

wp__block *wp__lane_take(wp__lane *lane, uint64_t observed, size_t least, uint64_t most) {
  wp__range *best = NULL;
  if (lane->seal != WP__LANE_OPEN) return NULL;
  for (wp__range *range = NULL; (range = wp__heap_next(&lane->heap, range, least)) != NULL;) {
    if (!wp__range_is_whole(range) || range->position > observed || range->bytes < least || range->bytes > most)
      continue;
    if (best == NULL || range->bytes < best->bytes) best = range;
  }
  if (best == NULL) return NULL;
  wp__heap_remove(&lane->heap, best);
  lane->held_bytes -= best->bytes;
  return wp__block_of(best);
}

/* A neighbour of the last block of a segment: a free range up to the segment's end, or that end itself. */
static bool is_rest(const wp__range *range, const wp__range *beyond, uint64_t observed) {
  return range == NULL || (range->is_free && beyond == NULL && range->position <= observed);
}

wp__block *wp__lane_take_around(wp__lane *lane, wp__blocks *blocks, wp__block *block, uint64_t observed) {
  wp__range *spares = NULL, *range = &block->range;
  if (lane->seal != WP__LANE_OPEN) return NULL;
  wp__lane_merge(lane, blocks);
  if (range->position > observed || !is_rest(range->before, range->before ? range->before->before : NULL, observed) ||
      !is_rest(range->after, range->after ? range->after->after : NULL, observed)) {
    return NULL;
  }
  (void)wp__map_set(&blocks->map, range->address, NULL);
  range = wp__heap_merge(&lane->heap, range, &spares);
  wp__heap_remove(&lane->heap, range);
  lane->held_bytes -= range->bytes;
  keep_records(lane, blocks, spares);
  return wp__block_of(range);
}

uint64_t wp__lane_due(const wp__lane *lane, uint64_t observed, uint64_t most) {
  uint64_t bytes = 0;
  if (lane->seal != WP__LANE_OPEN) return 0;
  for (wp__range *range = NULL; (range = wp__heap_next(&lane->heap, range, WP__CLASS_UNIT)) != NULL;) {
    bool can_go = wp__range_is_whole(range) && range->bytes <= most;
    if (can_go || range->position > observed) bytes += range->bytes;
  }
  return bytes;
}

void wp__lane_forget(wp__lane *lane, wp__blocks *blocks) {
  wp__range *range;
  wp__lane_merge(lane, blocks);
  while ((range = wp__heap_next(&lane->heap, NULL, WP__CLASS_UNIT)) != NULL) {
    wp__heap_remove(&lane->heap, range);
    wp__block_drop(blocks, wp__block_of(range));
  }
  while ((range = lane->spares) != NULL) {
    lane->spares = range->next;
    wp__block_drop(blocks, wp__block_of(range));
  }
  lane->spare_count = 0;
  lane->seal = WP__LANE_OPEN;
  lane->leaving_bytes = 0;
  lane->held_bytes = 0;
  lane->parked_bytes = 0;
}
