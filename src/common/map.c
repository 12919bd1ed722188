/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include "os.h"

#define ROOT_ENTRIES ((size_t)1 << (WP__MAP_ADDRESS_BITS - WP__MAP_ROOT_SHIFT))
#define NODE_ENTRIES ((size_t)1 << WP__MAP_LEVEL_BITS)

bool wp__map_init(wp__map *map) {
  map->root = wp__os_calloc(ROOT_ENTRIES, sizeof *map->root);
  return map->root != NULL;
}

static void destroy_node(wp__map_entry *node) {
  for (size_t i = 0; node != NULL && i < NODE_ENTRIES; i++) {
    wp__os_free(atomic_load_explicit(&node[i], memory_order_relaxed));
  }
  wp__os_free(node);
}

void wp__map_destroy(wp__map *map) {
  for (size_t i = 0; map->root != NULL && i < ROOT_ENTRIES; i++) {
    destroy_node(atomic_load_explicit(&map->root[i], memory_order_relaxed));
  }
  wp__os_free(map->root);
  map->root = NULL;
}

/* The node behind `slot`, made if need be; of two threads that make it one keeps it. */
static wp__map_entry *child_of(wp__map_entry *slot) {
  void *child = atomic_load_explicit(slot, memory_order_acquire);
  if (child != NULL) return child;
  void *made = wp__os_calloc(NODE_ENTRIES, sizeof *slot);
  if (made == NULL || atomic_compare_exchange_strong(slot, &child, made)) return made;
  wp__os_free(made);
  return child;
}

bool wp__map_set(wp__map *map, const void *address, wp__block *block) {
  wp__map_entry *node = child_of(&map->root[wp__map_root_index(address)]);
  wp__map_entry *leaf = node == NULL ? NULL : child_of(&node[wp__map_index(address, WP__MAP_NODE_SHIFT)]);
  if (leaf == NULL) return false;
  atomic_store_explicit(&leaf[wp__map_index(address, WP__MAP_LEAF_SHIFT)], block, memory_order_release);
  return true;
}
