/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size classes: multiples of 512 bytes up to 16 KiB, then sixteen steps to each power of two, so that rounding up to a
 * class adds less than a sixteenth. One index serves whoever keeps things by their size.
 */
#ifndef WARMPOOL_COMMON_CLASSES_H
#define WARMPOOL_COMMON_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#define WP__CLASS_UNIT ((size_t)512)
#define WP__CLASS_STEPS 16u
#define WP__CLASS_FIRST 32u                 /* classes of one unit more each */
#define WP__CLASSES 576u                    /* the last ones hold more than any address space */
#define WP__CLASS_LARGEST ((size_t)1 << 46) /* no larger request is rounded */

static inline unsigned wp__log2(uint64_t value) { return 63u - (unsigned)__builtin_clzll(value); }

/* The class of the largest size that is not above `bytes`, a multiple of WP__CLASS_UNIT that is not 0. */
static inline unsigned wp__class_below(size_t bytes) {
  uint64_t units = bytes / WP__CLASS_UNIT;
  if (units <= WP__CLASS_FIRST) return (unsigned)units - 1;
  unsigned shift = wp__log2(units) - 4;
  return WP__CLASS_STEPS * shift + (unsigned)(units >> shift) - 1;
}

/* The class of the smallest size that is not below `bytes`, from 1 to WP__CLASS_LARGEST. */
static inline unsigned wp__class_above(size_t bytes) {
  uint64_t units = (bytes + WP__CLASS_UNIT - 1) / WP__CLASS_UNIT;
  if (units <= WP__CLASS_FIRST) return (unsigned)units - 1;
  unsigned shift = wp__log2(units - 1) - 4;
  return WP__CLASS_STEPS * shift + (unsigned)((units - 1) >> shift);
}

static inline size_t wp__class_bytes(unsigned class) {
  unsigned shift = class < WP__CLASS_FIRST ? 0 : class / WP__CLASS_STEPS - 1;
  return ((size_t)(class - WP__CLASS_STEPS * shift + 1) << (shift & 63u)) * WP__CLASS_UNIT;
}

#endif
