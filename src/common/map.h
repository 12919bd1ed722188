/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a block's first byte to its record, without a lock: a tree of four levels over the address, whose nodes are made
 * on demand and live until the map is destroyed. Nodes are host memory that is touched only where addresses are used.
 */
#ifndef WARMPOOL_COMMON_MAP_H
#define WARMPOOL_COMMON_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wp__block wp__block;
typedef struct wp__map {
  _Atomic(void *) *root;
} wp__map;

/* 57 bits of address (five-level paging), the lowest 8 of them always 0, are 49 bits: 13 for the root, 12 a level. */
#define WP__MAP_ALIGNMENT_BITS 8
#define WP__MAP_ADDRESS_BITS 57
#define WP__MAP_LEVEL_BITS 12
#define WP__MAP_LEVELS 4

static inline size_t wp__map_index(const void *address, int level) {
  uintptr_t key = (uintptr_t)address >> (WP__MAP_ALIGNMENT_BITS + WP__MAP_LEVEL_BITS * (WP__MAP_LEVELS - 1 - level));
  return level == 0 ? (size_t)key : (size_t)(key & (((size_t)1 << WP__MAP_LEVEL_BITS) - 1));
}

bool wp__map_init(wp__map *map); /* false: out of host memory */
void wp__map_destroy(wp__map *map);

/* Whether the address is one that a map can hold: aligned to 256 bytes, and of at most 57 bits. */
static inline bool wp__map_holds(const void *address) {
  uint64_t value = (uint64_t)(uintptr_t)address;
  return (value & ((UINT64_C(1) << WP__MAP_ALIGNMENT_BITS) - 1)) == 0 && value >> WP__MAP_ADDRESS_BITS == 0;
}

/* NULL where nothing is entered. */
static inline wp__block *wp__map_get(const wp__map *map, const void *address) {
  _Atomic(void *) *node = map->root;
  if (!wp__map_holds(address)) return NULL;
  for (int level = 0; level < WP__MAP_LEVELS - 1; level++) {
    node = atomic_load_explicit(&node[wp__map_index(address, level)], memory_order_acquire);
    if (node == NULL) return NULL;
  }
  return atomic_load_explicit(&node[wp__map_index(address, WP__MAP_LEVELS - 1)], memory_order_acquire);
}

/* Enters the block, or forgets the address when it is NULL. Only an address never entered before needs host memory;
 * false: there was none. */
bool wp__map_set(wp__map *map, const void *address, wp__block *block);

#endif
