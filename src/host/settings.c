/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <stddef.h>
#include <stdlib.h>

#include "../common/bytes.h"
#include "engine.h"

#define DEFAULT_MEMORY ((uint64_t)4 << 30)

/* The variable's number; `otherwise` where it is unset or empty, and 0 where it has no meaning. */
static uint64_t read_number(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  uint64_t value;
  if (text == NULL || *text == '\0') return otherwise;
  return wp__parse_bytes(text, &value) ? value : 0;
}

struct wp__host_settings wp__host_settings_read(void) {
  uint64_t devices = read_number("WARMPOOL_HOST_DEVICES", 1);
  uint64_t memory = read_number("WARMPOOL_HOST_MEMORY", DEFAULT_MEMORY);
  if (devices < 1 || devices > WP__HOST_MAX_DEVICES) {
    return (struct wp__host_settings){0, 0, "WARMPOOL_HOST_DEVICES is not a number from 1 to 64"};
  }
  if (memory < 1) {
    return (struct wp__host_settings){
        0, 0, "WARMPOOL_HOST_MEMORY is not a number of bytes, or one with K, M, G or T behind it"};
  }
  return (struct wp__host_settings){(int)devices, memory, NULL};
}
