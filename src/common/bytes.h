/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of bytes in the environment. */
#ifndef WARMPOOL_COMMON_BYTES_H
#define WARMPOOL_COMMON_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* Digits with an optional K, M, G or T (KiB, MiB, GiB, TiB) behind them, and nothing else. False: it is none, or too
 * large; *out is untouched. */
bool wp__parse_bytes(const char *text, uint64_t *out);

#endif
