/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../common/os.h"

#define FIRST_CAPACITY 64u
#define KIND_BITS 8

static void *handle_of(const struct wp__host_slots *table, uint32_t index) {
  return (void *)((((uintptr_t)index + 1) << KIND_BITS) | table->kind);
}

static struct wp__host_slot *find(const struct wp__host_slots *table, void *handle) {
  uintptr_t number = (uintptr_t)handle;
  uintptr_t index = (number >> KIND_BITS) - 1; /* wraps to out of range for the special handles */
  if ((number & (((uintptr_t)1 << KIND_BITS) - 1)) != table->kind || index >= table->used) return NULL;
  return table->slots[index].object == NULL ? NULL : &table->slots[index];
}

static bool grow(struct wp__host_slots *table) {
  uint32_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity * 2;
  if (capacity < table->capacity) return false;
  struct wp__host_slot *slots = wp__os_calloc(capacity, sizeof *slots);
  if (slots == NULL) return false;
  if (table->used != 0) memcpy(slots, table->slots, table->used * sizeof *slots);
  wp__os_free(table->slots);
  table->slots = slots;
  table->capacity = capacity;
  return true;
}

void *wp__host_slots_put(struct wp__host_slots *table, void *object) {
  uint32_t index;
  if (table->vacant != 0) {
    index = table->vacant - 1;
    table->vacant = table->slots[index].next;
  } else {
    if (table->used == table->capacity && !grow(table)) return NULL;
    index = table->used++;
  }
  table->slots[index] = (struct wp__host_slot){object, 0};
  return handle_of(table, index);
}

void *wp__host_slots_get(const struct wp__host_slots *table, void *handle) {
  struct wp__host_slot *slot = find(table, handle);
  return slot == NULL ? NULL : slot->object;
}

void *wp__host_slots_remove(struct wp__host_slots *table, void *handle) {
  struct wp__host_slot *slot = find(table, handle);
  if (slot == NULL) return NULL;
  void *object = slot->object;
  *slot = (struct wp__host_slot){NULL, table->vacant};
  table->vacant = (uint32_t)(slot - table->slots) + 1;
  return object;
}
