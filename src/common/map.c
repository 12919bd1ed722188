/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include "os.h"

#define ROOT_ENTRIES ((size_t)1 << (WP__MAP_ADDRESS_BITS - WP__MAP_ROOT_SHIFT))
#define NODE_ENTRIES ((size_t)1 << WP__MAP_LEVEL_BITS)

/* In a list, so that nobody has to look for them in the end. */
struct wp__map_node {
  wp__map_node *next;
  wp__map_entry entries[NODE_ENTRIES];
};

bool wp__map_init(wp__map *map) {
  atomic_init(&map->nodes, NULL);
  map->root = wp__os_calloc(ROOT_ENTRIES, sizeof *map->root);
  return map->root != NULL;
}

void wp__map_destroy(wp__map *map) {
  wp__map_node *node = atomic_load(&map->nodes);
  while (node != NULL) {
    wp__map_node *next = node->next;
    wp__os_free(node);
    node = next;
  }
  wp__os_free(map->root);
  *map = (wp__map){.root = NULL};
}

/* The node behind `slot`, made if need be; of two threads that make it one keeps it. */
static wp__map_entry *child_of(wp__map *map, wp__map_entry *slot) {
  void *child = atomic_load_explicit(slot, memory_order_acquire);
  if (child != NULL) return child;
  wp__map_node *made = wp__os_calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  if (!atomic_compare_exchange_strong(slot, &child, (void *)made->entries)) {
    wp__os_free(made);
    return child;
  }
  made->next = atomic_load(&map->nodes);
  while (!atomic_compare_exchange_weak(&map->nodes, &made->next, made)) {
  }
  return made->entries;
}

bool wp__map_set(wp__map *map, const void *address, wp__block *block) {
  wp__map_entry *node = child_of(map, &map->root[wp__map_root_index(address)]);
  wp__map_entry *leaf = node == NULL ? NULL : child_of(map, &node[wp__map_index(address, WP__MAP_NODE_SHIFT)]);
  if (leaf == NULL) return false;
  atomic_store_explicit(&leaf[wp__map_index(address, WP__MAP_LEAF_SHIFT)], block, memory_order_release);
  return true;
}
