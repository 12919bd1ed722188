/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

static unsigned depth;
static bool needs_comma;

static void put_text(const char *text) {
  (void)putchar('"');
  for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
    if (*c == '"' || *c == '\\') {
      (void)printf("\\%c", *c);
    } else if (*c < 0x20) {
      (void)printf("\\u%04x", *c);
    } else {
      (void)putchar(*c);
    }
  }
  (void)putchar('"');
}

static void begin(const char *name) {
  if (needs_comma) (void)putchar(',');
  if (depth == 2) (void)putchar('\n'); /* a result a line */
  needs_comma = true;
  if (name == NULL) return;
  put_text(name);
  (void)putchar(':');
}

void json_open(const char *name, char bracket) {
  begin(name);
  (void)putchar(bracket);
  needs_comma = false;
  depth++;
}

void json_close(char bracket) {
  depth--;
  (void)putchar(bracket);
  needs_comma = true;
  if (depth > 0) return;
  (void)putchar('\n');
  needs_comma = false;
}

void json_string(const char *name, const char *value) {
  begin(name);
  put_text(value);
}

void json_integer(const char *name, uint64_t value) {
  begin(name);
  (void)printf("%" PRIu64, value);
}

void json_number(const char *name, double value) {
  begin(name);
  if (value > -9e15 && value < 9e15 && value == (double)(int64_t)value) {
    (void)printf("%.0f", value);
  } else if (isfinite(value)) {
    (void)printf("%.3f", value);
  } else {
    (void)printf("null");
  }
}

void json_boolean(const char *name, bool value) {
  begin(name);
  (void)printf("%s", value ? "true" : "false");
}
