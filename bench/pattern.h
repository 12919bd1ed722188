/* SPDX-License-Identifier: Apache-2.0 */
/* Writes traces (docs/traces.md) of what programs do with memory, in patterns that have a name each. */
#ifndef WARMPOOL_BENCH_PATTERN_H
#define WARMPOOL_BENCH_PATTERN_H

#include <stdint.h>
#include <stdio.h>

struct pattern_writer;
typedef struct pattern_kind {
  const char *name;
  const char *summary;
  void (*write)(struct pattern_writer *writer);
} pattern_kind;
extern const pattern_kind patterns[]; /* ends with a NULL name */

const pattern_kind *pattern_find(const char *name); /* NULL: there is none */

/* Writes about `events` lines, the same for the same seed. All that is allocated in them is freed, and all that is
 * opened is closed. */
void pattern_write(const pattern_kind *pattern, FILE *file, uint64_t events, uint64_t seed);

#endif
