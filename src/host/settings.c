/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define DEFAULT_MEMORY ((uint64_t)4 << 30)

/* Digits only: strtoull would take blanks and signs. Leaves *text behind them. */
static bool parse_digits(const char **text, uint64_t *out) {
  uint64_t value = 0;
  const char *at = *text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (at == *text) return false;
  *text = at;
  *out = value;
  return true;
}

static bool parse_devices(const char *text, int *out) {
  uint64_t value;
  if (!parse_digits(&text, &value) || *text != '\0' || value < 1 || value > WP__HOST_MAX_DEVICES) return false;
  *out = (int)value;
  return true;
}

static bool parse_memory(const char *text, uint64_t *out) {
  static const char suffixes[] = "KMGT";
  unsigned shift = 0;
  uint64_t value;
  if (!parse_digits(&text, &value) || value == 0) return false;
  const char *suffix = *text == '\0' ? NULL : strchr(suffixes, *text);
  if (suffix != NULL) {
    shift = 10 * (unsigned)(suffix - suffixes + 1);
    ++text;
  }
  if (*text != '\0' || value > UINT64_MAX >> shift) return false;
  *out = value << shift;
  return true;
}

struct wp__host_settings wp__host_settings_read(void) {
  struct wp__host_settings settings = {1, DEFAULT_MEMORY, NULL};
  const char *devices = getenv("WARMPOOL_HOST_DEVICES");
  const char *memory = getenv("WARMPOOL_HOST_MEMORY");
  if (devices != NULL && !parse_devices(devices, &settings.devices)) {
    settings.complaint = "WARMPOOL_HOST_DEVICES is not a number from 1 to 64";
  } else if (memory != NULL && !parse_memory(memory, &settings.memory)) {
    settings.complaint = "WARMPOOL_HOST_MEMORY is not a number of bytes, or one with K, M, G or T behind it";
  }
  return settings;
}
