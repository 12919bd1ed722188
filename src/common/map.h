/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a block's first byte to its record, without a lock: a tree of three levels over the address, whose nodes are
 * made on demand and live until the map is destroyed. Nodes are host memory that is touched only where addresses are
 * used.
 */
#ifndef WARMPOOL_COMMON_MAP_H
#define WARMPOOL_COMMON_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wp__block wp__block;

/* 57 bits of address (five-level paging), the lowest 8 of them always 0, are 49 bits: 17 for the root, 16 a level. A
 * node's pages are the system's until they are touched. */
#define WP__MAP_ALIGNMENT_BITS 8
#define WP__MAP_ADDRESS_BITS 57
#define WP__MAP_LEVEL_BITS 16
#define WP__MAP_LEAF_SHIFT WP__MAP_ALIGNMENT_BITS
#define WP__MAP_NODE_SHIFT (WP__MAP_LEAF_SHIFT + WP__MAP_LEVEL_BITS)
#define WP__MAP_ROOT_SHIFT (WP__MAP_NODE_SHIFT + WP__MAP_LEVEL_BITS)

typedef _Atomic(void *) wp__map_entry;
typedef struct wp__map_node wp__map_node;
typedef struct wp__map {
  wp__map_entry *root;
  _Atomic(wp__map_node *) nodes; /* all of them */
} wp__map;

bool wp__map_init(wp__map *map); /* false: out of host memory */
void wp__map_destroy(wp__map *map);

/* Whether the address is one that a map can hold: aligned to 256 bytes, and of at most 57 bits. */
static inline bool wp__map_holds(const void *address) {
  uint64_t value = (uint64_t)(uintptr_t)address;
  return (value & ((UINT64_C(1) << WP__MAP_ALIGNMENT_BITS) - 1)) == 0 && value >> WP__MAP_ADDRESS_BITS == 0;
}

/* The entry of an address in the root, and in nodes of the second and the last level. */
static inline size_t wp__map_root_index(const void *address) { return (uintptr_t)address >> WP__MAP_ROOT_SHIFT; }
static inline size_t wp__map_index(const void *address, int shift) {
  return (uintptr_t)address >> shift & (((size_t)1 << WP__MAP_LEVEL_BITS) - 1);
}

/* NULL where nothing is entered. */
static inline wp__block *wp__map_get(const wp__map *map, const void *address) {
  if (!wp__map_holds(address)) return NULL;
  wp__map_entry *node = atomic_load_explicit(&map->root[wp__map_root_index(address)], memory_order_acquire);
  if (node == NULL) return NULL;
  wp__map_entry *leaf = atomic_load_explicit(&node[wp__map_index(address, WP__MAP_NODE_SHIFT)], memory_order_acquire);
  if (leaf == NULL) return NULL;
  return atomic_load_explicit(&leaf[wp__map_index(address, WP__MAP_LEAF_SHIFT)], memory_order_acquire);
}

/* Enters the block, or forgets the address when it is NULL. Only an address never entered before needs host memory;
 * false: there was none. */
bool wp__map_set(wp__map *map, const void *address, wp__block *block);

#endif
