/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's settings, from the environment. */
#ifndef WARMPOOL_HOST_SETTINGS_H
#define WARMPOOL_HOST_SETTINGS_H

#include <stdint.h>

struct wp__host_settings {
  int devices;           /* WARMPOOL_HOST_DEVICES */
  uint64_t memory;       /* WARMPOOL_HOST_MEMORY, of each device */
  const char *complaint; /* NULL, or what is wrong with the environment; then there are no devices */
};

/* Reads the environment anew at each call. */
struct wp__host_settings wp__host_settings_read(void);

#endif
