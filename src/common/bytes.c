/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <string.h>

bool wp__parse_bytes(const char *text, uint64_t *out) {
  static const char units[] = "KMGT";
  uint64_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (at == text) return false;
  if (*at != '\0') {
    const char *unit = strchr(units, *at++);
    if (unit == NULL || *at != '\0') return false;
    for (const char *step = units; step <= unit; step++) {
      if (value > UINT64_MAX / 1024) return false;
      value *= 1024;
    }
  }
  *out = value;
  return true;
}
