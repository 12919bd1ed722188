/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "hip_facts.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

int hip_generation(void) {
  int version = 0;
  cr_assert_eq(hipRuntimeGetVersion(&version), hipSuccess);
  int major = version / 10000000;
  return major < 5 ? 5 : major > 7 ? 7 : major;
}

uint32_t hip_capabilities(void) {
  uint32_t found = 0;
  cr_assert_eq(driver->device_capabilities(driver->self, 0, &found), WP_OK);
  return found;
}

static pthread_t releaser;
static atomic_bool is_released, is_back;

static void *release_after_a_while(void *hold) {
  const struct timespec a_while = {0, 60 * 1000 * 1000};
  (void)nanosleep(&a_while, NULL);
  atomic_store(&is_released, true);
  rig_release(hold);
  return NULL;
}

static void *release_when_back(void *hold) {
  const struct timespec pause = {0, 1000 * 1000};
  for (int i = 0; i < 5000 && !atomic_load(&is_back); i++) (void)nanosleep(&pause, NULL);
  if (!atomic_load(&is_back)) atomic_store(&is_released, true);
  rig_release(hold);
  return NULL;
}

void hip_release_later(rig_hold *hold, bool waits) {
  atomic_store(&is_released, false);
  atomic_store(&is_back, false);
  cr_assert_eq(pthread_create(&releaser, NULL, waits ? release_after_a_while : release_when_back, hold), 0);
}

bool hip_has_waited(void) {
  bool has = atomic_load(&is_released);
  atomic_store(&is_back, true);
  cr_assert_eq(pthread_join(releaser, NULL), 0);
  return has;
}
