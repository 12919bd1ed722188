/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles: numbers that name an object through a table, so that one which is stale or was never given out is told apart
 * without touching the memory of what it may once have named. A slot given back is the next one taken. The engine's
 * lock guards the tables.
 */
#ifndef WARMPOOL_HOST_SLOTS_H
#define WARMPOOL_HOST_SLOTS_H

#include <stdint.h>

struct wp__host_slot {
  void *object;  /* NULL: vacant */
  uint32_t next; /* of the vacant ones: index + 1 of the one given back before, or 0 */
};

struct wp__host_slots {
  uintptr_t kind; /* the low byte of the table's handles, so that an event is no stream */
  struct wp__host_slot *slots;
  uint32_t capacity;
  uint32_t used;   /* slots from here on were never taken */
  uint32_t vacant; /* index + 1 of the slot given back last, or 0 */
};

#define WP__HOST_SLOTS_STREAMS                                                                                         \
  { 0x10, 0, 0, 0, 0 }
#define WP__HOST_SLOTS_EVENTS                                                                                          \
  { 0x20, 0, 0, 0, 0 }
#define WP__HOST_SLOTS_POOLS                                                                                           \
  { 0x30, 0, 0, 0, 0 }

#define WP__HOST_SLOTS_GRAPHS                                                                                          \
  { 0x40, 0, 0, 0, 0 }
#define WP__HOST_SLOTS_EXECUTABLES                                                                                     \
  { 0x50, 0, 0, 0, 0 }

void *wp__host_slots_put(struct wp__host_slots *table, void *object); /* its handle; NULL when out of host memory */
void *wp__host_slots_get(const struct wp__host_slots *table, void *handle); /* the object; NULL for no handle of it */
void *wp__host_slots_remove(struct wp__host_slots *table, void *handle);    /* the same, and vacates the slot */

#endif
