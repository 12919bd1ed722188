/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "rounds.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* -- rounds -- */

static unsigned wanted, begun;

void begin_rounds(unsigned otherwise) {
  const char *text = getenv("WARMPOOL_TEST_ROUNDS");
  wanted = text == NULL ? otherwise : (unsigned)strtoul(text, NULL, 10);
  begun = 0;
  cr_assert_gt(wanted, 0, "WARMPOOL_TEST_ROUNDS=%s: a number", text);
}

bool next_round(void) {
  if (begun > wanted) return false;
  return begun++ < wanted;
}

unsigned this_round(void) { return begun - 1; }

void end_rounds(void) {
  unsigned done = begun > wanted ? wanted : begun == 0 ? 0 : begun - 1; /* the last one was not left by its end */
  (void)fprintf(stderr, "rounds: %s::%s: %u of %u\n", criterion_current_test->category, criterion_current_test->name,
                done, wanted);
  end();
}

/* -- what the tests share -- */

wp_runtime_options in_lanes_of(wp_wait release_wait) {
  wp_runtime_options options = defaults();
  options.caching = WP_CACHING_LANES;
  options.release_wait = release_wait;
  return options;
}

const wp_backend *driver(void) { return wp_backend_builtin(); }

void synchronize(wp_stream stream) { OK(driver()->stream_synchronize(driver()->self, stream)); }

void pause_for(long microseconds) {
  const struct timespec time = {0, microseconds * 1000};
  (void)nanosleep(&time, NULL);
}

/* -- below the runtime -- */

uint64_t device_count_of(softhsa_counter counter) {
  uint64_t (*count)(softhsa_counter);
  *(void **)&count = dlsym(RTLD_DEFAULT, "softhsa_count");
  return count == NULL ? 0 : count(counter);
}

uint64_t device_bytes(void) {
  uint64_t (*bytes)(int);
  *(void **)&bytes = dlsym(RTLD_DEFAULT, "softhsa_device_bytes");
  return bytes == NULL ? 0 : bytes(0);
}

void expect_device_bytes_at(uint64_t most, const char *file, int line) {
  uint64_t found = device_bytes();
  for (int i = 0; i < 10000 && found > most; i++) {
    pause_for(1000);
    found = device_bytes();
  }
  cr_assert_leq(found, most, "%s:%d: round %u: %llu bytes of the device are in use, not %llu", file, line, this_round(),
                (unsigned long long)found, (unsigned long long)most);
}

static void (*fail_allocation)(uint64_t);

void need_device_refusals(void) {
  *(void **)&fail_allocation = dlsym(RTLD_DEFAULT, "softhsa_fail_allocation");
  if (fail_allocation == NULL) cr_skip_test("nobody makes this device refuse memory");
}

void refuse_next_device_allocation(bool refused) { fail_allocation(refused ? 1 : 0); }
