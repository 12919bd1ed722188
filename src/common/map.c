/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include <stdint.h>

#include "os.h"

#define ROOT_ENTRIES                                                                                                   \
  ((size_t)1 << (WP__MAP_ADDRESS_BITS - WP__MAP_ALIGNMENT_BITS - WP__MAP_LEVEL_BITS * (WP__MAP_LEVELS - 1)))
#define NODE_ENTRIES ((size_t)1 << WP__MAP_LEVEL_BITS)

typedef _Atomic(void *) entry;

bool wp__map_init(wp__map *map) {
  map->root = wp__os_calloc(ROOT_ENTRIES, sizeof(entry));
  return map->root != NULL;
}

static void destroy_node(entry *node, int level) {
  size_t entries = level == 0 ? ROOT_ENTRIES : NODE_ENTRIES;
  for (size_t i = 0; level < WP__MAP_LEVELS - 1 && i < entries; i++) {
    entry *child = atomic_load_explicit(&node[i], memory_order_relaxed);
    if (child != NULL) destroy_node(child, level + 1);
  }
  wp__os_free(node);
}

void wp__map_destroy(wp__map *map) {
  if (map->root != NULL) destroy_node(map->root, 0);
  map->root = NULL;
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
  for (int level = 0; level < WP__MAP_LEVELS - 1; level++) {
    node = child_of(&node[wp__map_index(address, level)]);
    if (node == NULL) return false;
  }
  atomic_store_explicit(&node[wp__map_index(address, WP__MAP_LEVELS - 1)], block, memory_order_release);
  return true;
}
