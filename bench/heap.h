/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_BENCH_HEAP_H
#define WARMPOOL_BENCH_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* mimalloc's functions, from the library that the system has. False: it has none. */
bool bench_find_mimalloc(void *(**alloc)(size_t), void (**release)(void *));

#endif
