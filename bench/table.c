/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "bench.h"

static size_t home_of(const struct table *table, table_key key) {
  uint64_t hash = (key.a ^ key.b * UINT64_C(0xC2B2AE3D27D4EB4F)) * UINT64_C(0x9E3779B97F4A7C15);
  return (size_t)(hash ^ hash >> 29) & (table->capacity - 1);
}

static bool is_same(table_key one, table_key other) { return one.a == other.a && one.b == other.b; }

/* Where the key is, or would be put. */
static size_t find(const struct table *table, table_key key) {
  size_t at = home_of(table, key);
  while (table->slots[at].record != NULL && !is_same(table->slots[at].key, key)) at = (at + 1) & (table->capacity - 1);
  return at;
}

void *table_record(size_t bytes) {
  void *record = calloc(1, bytes);
  if (record == NULL) bench_fail("calloc", "out of host memory");
  return record;
}

static void grow(struct table *table) {
  table_slot *old = table->slots;
  size_t capacity = table->capacity;
  table->capacity = capacity == 0 ? 64 : 2 * capacity;
  table->slots = table_record(table->capacity * sizeof *table->slots);
  for (size_t i = 0; i < capacity; i++) {
    if (old[i].record != NULL) table->slots[find(table, old[i].key)] = old[i];
  }
  free(old);
}

void *table_get(const struct table *table, table_key key) {
  return table->capacity == 0 ? NULL : table->slots[find(table, key)].record;
}

void table_put(struct table *table, table_key key, void *record) {
  if (2 * (table->count + 1) > table->capacity) grow(table);
  table->slots[find(table, key)] = (table_slot){key, record};
  table->count++;
}

/* Empties a slot; what lies behind it moves up where it would not be found any more. */
static void *empty(struct table *table, size_t at) {
  void *record = table->slots[at].record;
  size_t mask = table->capacity - 1;
  for (size_t next = (at + 1) & mask; table->slots[next].record != NULL; next = (next + 1) & mask) {
    size_t home = home_of(table, table->slots[next].key);
    if (((next - home) & mask) < ((next - at) & mask)) continue;
    table->slots[at] = table->slots[next];
    at = next;
  }
  table->slots[at].record = NULL;
  table->count--;
  return record;
}

void *table_take(struct table *table, table_key key) {
  if (table->capacity == 0) return NULL;
  size_t at = find(table, key);
  return table->slots[at].record == NULL ? NULL : empty(table, at);
}

void *table_take_any(struct table *table) {
  size_t at = 0;
  if (table->count == 0) return NULL;
  while (table->slots[at].record == NULL) at++;
  return empty(table, at);
}

void table_forget(struct table *table) {
  free(table->slots);
  table->slots = NULL;
  table->count = table->capacity = 0;
}
