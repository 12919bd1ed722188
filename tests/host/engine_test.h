/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the host engine: what must succeed, and how much is reserved. */
#ifndef WARMPOOL_TESTS_HOST_ENGINE_TEST_H
#define WARMPOOL_TESTS_HOST_ENGINE_TEST_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "../../src/host/engine.h"
#include "../rig/rig.h"

#define MIB ((size_t)1 << 20)

#define OK(call) cr_assert_eq((call), WP__HOST_SUCCESS, "%s: %s", #call, wp__host_result_text(wp__host_error_peek()))
#define INVALID(call) cr_expect_eq((call), WP__HOST_INVALID_VALUE)

/* Two devices of 256 MiB. */
static inline void use_small_devices(void) {
  (void)setenv("WARMPOOL_HOST_DEVICES", "2", 1);
  (void)setenv("WARMPOOL_HOST_MEMORY", "256M", 1);
}

static inline void *make_pool(int device) {
  void *pool = NULL;
  OK(wp__host_pool_create(device, &pool));
  OK(wp__host_pool_set_threshold(pool, UINT64_MAX));
  return pool;
}

static inline void *make_stream(int device) {
  void *stream = NULL;
  OK(wp__host_stream_create(device, &stream));
  return stream;
}

static inline void *make_event(int device) {
  void *event = NULL;
  OK(wp__host_event_create(device, &event));
  return event;
}

static inline void *allocate(void *pool, size_t bytes, void *stream) {
  void *memory = NULL;
  OK(wp__host_memory_alloc(pool, bytes, stream, &memory));
  cr_assert_not_null(memory);
  return memory;
}

static inline wp__host_pool_figures measure(void *pool) {
  wp__host_pool_figures figures;
  OK(wp__host_pool_measure(pool, &figures));
  return figures;
}

static inline size_t reserved_after_trim(void *pool) {
  OK(wp__host_pool_trim(pool, 0));
  return (size_t)measure(pool).reserved;
}

static inline uint64_t device_free(int device) {
  uint64_t free_bytes = 0, total_bytes = 0;
  OK(wp__host_device_memory(device, &free_bytes, &total_bytes));
  return free_bytes;
}

#endif
