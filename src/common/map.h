/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a block's first byte to its record, without a lock: a tree of four levels over the address, whose nodes are made
 * on demand and live until the map is destroyed. Nodes are host memory that is touched only where addresses are used.
 */
#ifndef WARMPOOL_COMMON_MAP_H
#define WARMPOOL_COMMON_MAP_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct wp__block wp__block;
typedef struct wp__map {
  _Atomic(void *) *root;
} wp__map;

bool wp__map_init(wp__map *map); /* false: out of host memory */
void wp__map_destroy(wp__map *map);

/* Whether the address is one that a map can hold: aligned to 256 bytes, and of at most 57 bits. */
bool wp__map_holds(const void *address);

/* NULL where nothing is entered. */
wp__block *wp__map_get(const wp__map *map, const void *address);

/* Enters the block, or forgets the address when it is NULL. Only an address never entered before needs host memory;
 * false: there was none. */
bool wp__map_set(wp__map *map, const void *address, wp__block *block);

#endif
