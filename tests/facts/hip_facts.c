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
static atomic_bool is_released;

static void *release_after_a_while(void *hold) {
  struct timespec a_while = {0, 60 * 1000 * 1000};
  (void)nanosleep(&a_while, NULL);
  atomic_store(&is_released, true);
  rig_release(hold);
  return NULL;
}

void hip_release_later(rig_hold *hold) {
  atomic_store(&is_released, false);
  cr_assert_eq(pthread_create(&releaser, NULL, release_after_a_while, hold), 0);
}

bool hip_has_waited(void) {
  bool has = atomic_load(&is_released);
  cr_assert_eq(pthread_join(releaser, NULL), 0);
  return has;
}
