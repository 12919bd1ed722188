/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

/* -- bins -- */

static void put_in_bin(wp__heap *heap, wp__range *range) {
  unsigned bin = wp__class_below(range->bytes);
  range->is_free = true;
  range->previous = NULL;
  range->next = heap->bins[bin];
  if (range->next != NULL) range->next->previous = range;
  heap->bins[bin] = range;
  heap->has[bin / 64] |= UINT64_C(1) << bin % 64;
  heap->free_bytes += range->bytes;
}

static void take_from_bin(wp__heap *heap, wp__range *range) {
  unsigned bin = wp__class_below(range->bytes);
  if (range->previous != NULL) {
    range->previous->next = range->next;
  } else {
    heap->bins[bin] = range->next;
    if (range->next == NULL) heap->has[bin / 64] &= ~(UINT64_C(1) << bin % 64);
  }
  if (range->next != NULL) range->next->previous = range->previous;
  range->is_free = false;
  range->next = range->previous = NULL;
  heap->free_bytes -= range->bytes;
}

/* The first bin from `bin` on that is not empty, or WP__CLASSES. */
static unsigned next_bin(const wp__heap *heap, unsigned bin) {
  for (unsigned word = bin / 64; word < WP__HEAP_WORDS; word++) {
    uint64_t left = heap->has[word];
    if (word == bin / 64) left &= ~UINT64_C(0) << bin % 64;
    if (left != 0) return word * 64 + (unsigned)__builtin_ctzll(left);
  }
  return WP__CLASSES;
}

/* -- whole segments -- */

void wp__heap_add(wp__heap *heap, wp__range *range, void *address, size_t bytes, uint64_t position) {
  *range = (wp__range){.address = address, .bytes = bytes, .position = position};
  put_in_bin(heap, range);
}

void wp__heap_remove(wp__heap *heap, wp__range *range) { take_from_bin(heap, range); }

/* -- parts of them -- */

/* All ranges of a bin have the bytes of its class, so the best fit is the smallest of the first bin that has any. */
static wp__range *best_fit(const wp__heap *heap, size_t bytes) {
  unsigned bin = next_bin(heap, wp__class_above(bytes));
  if (bin == WP__CLASSES) return NULL;
  wp__range *best = heap->bins[bin];
  for (wp__range *range = best->next; range != NULL && best->bytes != bytes; range = range->next) {
    if (range->bytes < best->bytes) best = range;
  }
  return best;
}

wp__range *wp__heap_carve(wp__heap *heap, size_t bytes, wp__range **spare) {
  wp__range *range = best_fit(heap, bytes);
  if (range == NULL) return NULL;
  take_from_bin(heap, range);
  if (range->bytes == bytes) return range;
  wp__range *rest = *spare;
  *spare = NULL;
  *rest = (wp__range){.before = range,
                      .after = range->after,
                      .address = range->address + bytes,
                      .bytes = range->bytes - bytes,
                      .position = range->position};
  if (rest->after != NULL) rest->after->before = rest;
  range->after = rest;
  range->bytes = bytes;
  put_in_bin(heap, rest);
  return range;
}

/* `after` becomes part of `range`, which lies before it; both are in no bin. */
static void join(wp__range *range, wp__range *after, wp__range **spares) {
  range->bytes += after->bytes;
  range->after = after->after;
  if (range->after != NULL) range->after->before = range;
  if (range->position < after->position) range->position = after->position;
  after->next = *spares;
  *spares = after;
}

wp__range *wp__heap_merge(wp__heap *heap, wp__range *range, wp__range **spares) {
  wp__range *before = range->before, *after = range->after;
  if (after != NULL && after->is_free) {
    take_from_bin(heap, after);
    join(range, after, spares);
  }
  if (before != NULL && before->is_free) {
    take_from_bin(heap, before);
    join(before, range, spares);
    range = before;
  }
  put_in_bin(heap, range);
  return range;
}

wp__range *wp__heap_next(const wp__heap *heap, const wp__range *range, size_t bytes) {
  if (range != NULL && range->next != NULL) return range->next;
  unsigned bin = next_bin(heap, range == NULL ? wp__class_above(bytes) : wp__class_below(range->bytes) + 1);
  return bin < WP__CLASSES ? heap->bins[bin] : NULL;
}
