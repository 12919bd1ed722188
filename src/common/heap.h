/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of device memory: ranges carved out of segments by best fit, split, and merged again. All of its bookkeeping
 * is in host memory, in records that its user provides, so nothing here allocates or fails for want of memory. It has
 * no lock and makes no call.
 *
 * Every segment is cut into ranges without a gap. A range is either taken (the user's) or free (in a bin); no two free
 * ranges are neighbours. `position` says up to where in its stream's order a range was last used: a merged range has
 * the later one of its parts, a split leaves it to both.
 */
#ifndef WARMPOOL_COMMON_HEAP_H
#define WARMPOOL_COMMON_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "classes.h"

typedef struct wp__range wp__range;
struct wp__range {
  wp__range *before, *after;  /* its neighbours in the segment, NULL at the ends */
  wp__range *next, *previous; /* in its bin; `next` also in a list of spare records */
  char *address;
  size_t bytes; /* a multiple of WP__CLASS_UNIT */
  uint64_t position;
  bool is_free;
};

#define WP__HEAP_WORDS (WP__CLASSES / 64)
typedef struct wp__heap {
  wp__range *bins[WP__CLASSES]; /* by wp__class_below of the bytes */
  uint64_t has[WP__HEAP_WORDS]; /* which bins are not empty */
  uint64_t free_bytes;
} wp__heap; /* all zeros is an empty one */

/* Puts a new segment into the heap as one free range. */
void wp__heap_add(wp__heap *heap, wp__range *range, void *address, size_t bytes, uint64_t position);

/* Whether the range is a whole segment. */
static inline bool wp__range_is_whole(const wp__range *range) { return range->before == NULL && range->after == NULL; }

/* Takes a free range out of the heap: of a segment that goes elsewhere. */
void wp__heap_remove(wp__heap *heap, wp__range *range);

/* Takes `bytes` (of a class) from the smallest free range that has so many. What is left of that becomes a free range
 * in the record *spare, which is NULL then. Returns NULL where no range has so many. */
wp__range *wp__heap_carve(wp__heap *heap, size_t bytes, wp__range **spare);

/* Gives a taken range back and merges it with free neighbours. Returns the free range; records that are not needed any
 * more are put in front of the list *spares. */
wp__range *wp__heap_merge(wp__heap *heap, wp__range *range, wp__range **spares);

/* Walks the free ranges of at least `bytes`, from small bins to large ones: after NULL comes the first one. */
wp__range *wp__heap_next(const wp__heap *heap, const wp__range *range, size_t bytes);

#endif
