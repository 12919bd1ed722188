/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end, and what the runtime asks of the system as a whole. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "soft.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; /* under the lock */

hsa_status_t hsa_init(void) {
  /* What AMD's library answers on a machine without the kernel's driver. */
  if (soft_settings()->gpus == 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t status = HSA_STATUS_SUCCESS;
  (void)pthread_mutex_lock(&lock);
  if (users == 0 && !soft_handlers_start()) status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (status == HSA_STATUS_SUCCESS) ++users;
  (void)pthread_mutex_unlock(&lock);
  return status;
}

hsa_status_t hsa_shut_down(void) {
  hsa_status_t status = HSA_STATUS_SUCCESS;
  (void)pthread_mutex_lock(&lock);
  if (users == 0) {
    status = HSA_STATUS_ERROR_NOT_INITIALIZED;
  } else if (--users == 0) {
    soft_engines_stop();
    soft_handlers_stop();
  }
  (void)pthread_mutex_unlock(&lock);
  return status;
}

hsa_status_t hsa_status_string(hsa_status_t status, const char **out) {
  static _Thread_local char text[32];
  (void)snprintf(text, sizeof text, "HSA status %#x", (unsigned)status);
  *out = text;
  return HSA_STATUS_SUCCESS;
}

/* -- extensions: none -- */

hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major, uint16_t minor, bool *out) {
  (void)extension;
  (void)major;
  (void)minor;
  *out = false;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major, uint16_t minor,
                                           bool *out) {
  (void)agent;
  return hsa_system_extension_supported(extension, major, minor, out);
}

hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t major, size_t size, void *table) {
  (void)extension;
  (void)major;
  memset(table, 0, size); /* the runtime asks for the loader's and does without */
  return HSA_STATUS_SUCCESS;
}

/* -- what can be set, and changes nothing here -- */

hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback, void *data) {
  (void)callback;
  (void)data;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold) {
  (void)agent;
  (void)threshold;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_enable_logging(uint8_t *flags, void *file) {
  (void)flags;
  (void)file;
  return HSA_STATUS_SUCCESS;
}

/* -- what is not there (missing.c) -- */

int soft_missing(const char *name);

int soft_missing(const char *name) {
  soft_say(SOFT_UNSUPPORTED, "%s is not there", name);
  return HSA_STATUS_ERROR;
}
