/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include <stdint.h>

#include "os.h"

/* 57 bits of address (five-level paging), the lowest 8 of them always 0, are 49 bits: 13 for the root, 12 a level. */
#define ALIGNMENT_BITS 8
#define ADDRESS_BITS 57
#define LEVEL_BITS 12
#define LEVELS 4
#define ROOT_ENTRIES ((size_t)1 << (ADDRESS_BITS - ALIGNMENT_BITS - LEVEL_BITS * (LEVELS - 1)))
#define NODE_ENTRIES ((size_t)1 << LEVEL_BITS)

typedef _Atomic(void *) entry;

static size_t index_at(const void *address, int level) {
  uintptr_t key = (uintptr_t)address >> (ALIGNMENT_BITS + LEVEL_BITS * (LEVELS - 1 - level));
  return level == 0 ? (size_t)key : (size_t)(key & (NODE_ENTRIES - 1));
}

bool wp__map_init(wp__map *map) {
  map->root = wp__os_calloc(ROOT_ENTRIES, sizeof(entry));
  return map->root != NULL;
}

static void destroy_node(entry *node, int level) {
  size_t entries = level == 0 ? ROOT_ENTRIES : NODE_ENTRIES;
  for (size_t i = 0; level < LEVELS - 1 && i < entries; i++) {
    entry *child = atomic_load_explicit(&node[i], memory_order_relaxed);
    if (child != NULL) destroy_node(child, level + 1);
  }
  wp__os_free(node);
}

void wp__map_destroy(wp__map *map) {
  if (map->root != NULL) destroy_node(map->root, 0);
  map->root = NULL;
}

bool wp__map_holds(const void *address) {
  uintptr_t value = (uintptr_t)address;
  return (value & (((uintptr_t)1 << ALIGNMENT_BITS) - 1)) == 0 && ((uint64_t)value >> ADDRESS_BITS) == 0;
}

wp__block *wp__map_get(const wp__map *map, const void *address) {
  entry *node = map->root;
  if (!wp__map_holds(address)) return NULL;
  for (int level = 0; level < LEVELS - 1; level++) {
    node = atomic_load_explicit(&node[index_at(address, level)], memory_order_acquire);
    if (node == NULL) return NULL;
  }
  return atomic_load_explicit(&node[index_at(address, LEVELS - 1)], memory_order_acquire);
}

/* The node behind `slot`, made if need be; of two threads that make it one keeps it. */
static entry *child_of(entry *slot) {
  void *child = atomic_load_explicit(slot, memory_order_acquire);
  if (child != NULL) return child;
  void *made = wp__os_calloc(NODE_ENTRIES, sizeof(entry));
  if (made == NULL || atomic_compare_exchange_strong(slot, &child, made)) return made;
  wp__os_free(made);
  return child;
}

bool wp__map_set(wp__map *map, const void *address, wp__block *block) {
  entry *node = map->root;
  for (int level = 0; level < LEVELS - 1; level++) {
    node = child_of(&node[index_at(address, level)]);
    if (node == NULL) return false;
  }
  atomic_store_explicit(&node[index_at(address, LEVELS - 1)], block, memory_order_release);
  return true;
}
