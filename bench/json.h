/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to stdout, one object or array after the other. Names may be NULL where an array wants none. */
#ifndef WARMPOOL_BENCH_JSON_H
#define WARMPOOL_BENCH_JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_open(const char *name, char bracket); /* '{' or '[' */
void json_close(char bracket);                  /* '}' or ']'; a line ends with the outermost */
void json_string(const char *name, const char *value);
void json_integer(const char *name, uint64_t value);
void json_number(const char *name, double value);
void json_boolean(const char *name, bool value);

#endif
