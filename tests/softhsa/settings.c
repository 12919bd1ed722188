/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "soft.h"

static struct soft_settings settings = {
    .gpus = 1,
    .vram = (uint64_t)1 << 30,
    .has_vmem = true,
    .isa = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
};

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  if (text == NULL || *text == '\0') return otherwise;
  char *end;
  unsigned long long value = strtoull(text, &end, 0);
  if (*end == '\0') return value;
  (void)fprintf(stderr, "softhsa: %s=%s is not a number\n", name, text);
  return otherwise;
}

static void read_environment(void) {
  uint64_t gpus = number("SOFTHSA_GPUS", 1);
  settings.gpus = gpus < SOFT_MAX_GPUS ? (int)gpus : SOFT_MAX_GPUS;
  settings.vram = number("SOFTHSA_VRAM", settings.vram);
  settings.has_vmem = number("SOFTHSA_VMEM", 1) != 0;
  settings.packet_us = (unsigned)number("SOFTHSA_PACKET_US", 0);
  settings.to_host_us = (unsigned)number("SOFTHSA_TO_HOST_US", 0);
  settings.verbose = (int)number("SOFTHSA_VERBOSE", 0);
  const char *isa = getenv("SOFTHSA_ISA");
  if (isa != NULL && *isa != '\0') settings.isa = isa;
}

const struct soft_settings *soft_settings(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, read_environment);
  return &settings;
}

void soft_say(int level, const char *format, ...) {
  if (soft_settings()->verbose < level) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  (void)fprintf(stderr, "softhsa: %s\n", text); /* one call, so that threads do not cut up each other's lines */
}
