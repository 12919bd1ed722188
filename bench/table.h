/* SPDX-License-Identifier: Apache-2.0 */
/* A table of records by a pair of numbers. Its memory follows what is in it, not what ever was. */
#ifndef WARMPOOL_BENCH_TABLE_H
#define WARMPOOL_BENCH_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct table_key {
  uint64_t a, b;
} table_key;

typedef struct table_slot {
  table_key key;
  void *record; /* NULL: free */
} table_slot;

struct table {
  table_slot *slots;
  size_t count, capacity; /* a power of two, or 0 */
};

void *table_get(const struct table *table, table_key key);        /* NULL: there is none */
void table_put(struct table *table, table_key key, void *record); /* that is not there yet */
void *table_take(struct table *table, table_key key);             /* NULL likewise; it is not there any more */
void *table_take_any(struct table *table);                        /* NULL: nothing is left */
void *table_record(size_t bytes); /* zeroed; ends the program where there is no memory */
void table_forget(struct table *table);

#endif
