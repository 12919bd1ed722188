/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warmth in fact: what the runtime asks of the device below it, counted by the stand-in of tests/softhsa, with lanes
 * and with a pool of the runtime's own as the library would make it. Each test says its figures in a line "warmth:
 * ...", which ci/leg-hip.sh prints. On a GPU nobody counts, and these are skipped.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <time.h>

#include "../softhsa/softhsa.h"
#include "rig.h"
#include "warmpool/warmpool.h"

#define MIB ((size_t)1 << 20)
enum { ROUNDS = 20, BLOCKS_MAX = 8 };

TestSuite(device_memory, .timeout = 60);

/* -- what is counted -- */

static uint64_t (*count)(softhsa_counter counter);
static uint64_t (*device_bytes)(int gpu);

static void find_counters(void) {
  *(void **)&count = dlsym(RTLD_DEFAULT, "softhsa_count");
  *(void **)&device_bytes = dlsym(RTLD_DEFAULT, "softhsa_device_bytes");
  if (count == NULL || device_bytes == NULL) cr_skip_test("nobody counts what the runtime asks of this device");
}

struct figures {
  uint64_t allocations, frees; /* of the device's, in the round that had most, the first one left out */
};

static void pause_a_while(void) {
  const struct timespec time = {0, 2000000};
  (void)nanosleep(&time, NULL);
}

/* -- who serves: lanes, or a pool -- */

struct server {
  wp_runtime *runtime; /* NULL: the pool serves */
  wp_delegate *delegate;
  wp_pool pool;
  wp_stream stream;
};

static const wp_backend *driver(void) { return wp_backend_builtin(); }

static void *take(struct server *server, size_t bytes) {
  void *memory = NULL;
  wp_status status;
  if (server->runtime != NULL) {
    status = wp_alloc(server->delegate, bytes, server->stream, &memory);
  } else {
    status = driver()->memory_alloc(driver()->self, server->pool, bytes, server->stream, &memory);
    if (status == WP_OK) status = driver()->pool_set_threshold(driver()->self, server->pool, UINT64_MAX); /* H4 */
  }
  cr_assert_eq(status, WP_OK, "%s", wp_status_name(status));
  return memory;
}

static void give(struct server *server, void *memory) {
  wp_status status = server->runtime != NULL ? wp_free(server->runtime, memory, server->stream)
                                             : driver()->memory_free(driver()->self, memory, server->stream);
  cr_assert_eq(status, WP_OK, "%s", wp_status_name(status));
}

static struct server open_lanes(wp_stream_contract contract) {
  struct server server = {.stream = rig_stream_create(0)};
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.stream_contract = contract;
  cr_assert_eq(wp_runtime_create(&options, &server.runtime), WP_OK);
  cr_assert_eq(wp_delegate_open(server.runtime, 0, NULL, &server.delegate), WP_OK);
  return server;
}

static struct server open_pool(void) {
  struct server server = {.stream = rig_stream_create(0)};
  cr_assert_eq(driver()->pool_create(driver()->self, &server.pool), WP_OK);
  return server;
}

static void close_pool(struct server *server) {
  rig_stream_synchronize(server->stream);
  cr_assert_eq(driver()->pool_trim(driver()->self, server->pool, 0), WP_OK);
  cr_assert_eq(driver()->pool_destroy(driver()->self, server->pool), WP_OK);
  rig_stream_destroy(server->stream);
}

/* The last close gives all back to the device, which had `before` bytes in use; that may take the runtime a moment. */
static void close_lanes(struct server *server, uint64_t before) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  cr_expect_eq(wp_delegate_close(server->delegate, &report), WP_OK);
  cr_expect_eq(report.reserved_after, 0);
  for (int i = 0; i < 5000 && device_bytes(0) > before; i++) pause_a_while();
  cr_expect_leq(device_bytes(0), before, "%llu bytes of the device are in use, and were %llu before",
                (unsigned long long)device_bytes(0), (unsigned long long)before);
  (void)wp_stream_retire(server->runtime, 0, server->stream);
  cr_expect_eq(wp_runtime_destroy(server->runtime), WP_OK);
  rig_stream_destroy(server->stream);
}

/* -- the two patterns -- */

static void loop(struct server *server) {
  void *blocks[BLOCKS_MAX];
  for (unsigned i = 0; i < BLOCKS_MAX; i++) blocks[i] = take(server, MIB);
  for (unsigned i = 0; i < BLOCKS_MAX; i++) give(server, blocks[i]);
  rig_stream_synchronize(server->stream);
}

/* rocm-systems#11690: with two of the three freed and finished, the free of the third leaves more cached than live. */
static void burst(struct server *server) {
  void *blocks[3];
  for (unsigned i = 0; i < 3; i++) blocks[i] = take(server, 64 * MIB);
  give(server, blocks[0]);
  give(server, blocks[1]);
  rig_stream_synchronize(server->stream);
  pause_a_while();
  give(server, blocks[2]);
  rig_stream_synchronize(server->stream);
}

static struct figures run(void (*pattern)(struct server *), struct server *server) {
  struct figures most = {0, 0};
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t allocations = count(SOFTHSA_DEVICE_ALLOCATIONS), frees = count(SOFTHSA_DEVICE_FREES);
    pattern(server);
    allocations = count(SOFTHSA_DEVICE_ALLOCATIONS) - allocations;
    frees = count(SOFTHSA_DEVICE_FREES) - frees;
    if (round > 0 && allocations > most.allocations) most.allocations = allocations;
    if (round > 0 && frees > most.frees) most.frees = frees;
  }
  return most;
}

static struct figures run_lanes(void (*pattern)(struct server *), wp_stream_contract contract, uint64_t before) {
  struct server server = open_lanes(contract);
  struct figures figures = run(pattern, &server);
  close_lanes(&server, before);
  cr_expect_eq(figures.allocations, 0, "%llu device allocations in a round", (unsigned long long)figures.allocations);
  cr_expect_eq(figures.frees, 0, "%llu device frees in a round", (unsigned long long)figures.frees);
  return figures;
}

static void compare(const char *name, void (*pattern)(struct server *)) {
  int version;
  find_counters();
  struct server pool = open_pool(); /* first: what the runtime makes for itself on the device is there, then */
  struct figures bare = run(pattern, &pool);
  close_pool(&pool);
  for (int i = 0; i < 50; i++) pause_a_while();
  uint64_t before = device_bytes(0);
  struct figures checked = run_lanes(pattern, WP_STREAMS_CHECKED, before);
  struct figures declared = run_lanes(pattern, WP_STREAMS_DECLARED, before);
  if (declared.allocations > checked.allocations) checked.allocations = declared.allocations;
  if (declared.frees > checked.frees) checked.frees = declared.frees;
  (void)fprintf(stderr,
                "warmth: %s: lanes %llu device allocations and %llu device frees a round, a bare pool %llu and %llu\n",
                name, (unsigned long long)checked.allocations, (unsigned long long)checked.frees,
                (unsigned long long)bare.allocations, (unsigned long long)bare.frees);
  /* The control, where a pool is known to be cold (H3): somebody does count. */
  cr_assert_eq(hipRuntimeGetVersion(&version), hipSuccess);
  if (version / 10000000 == 6) cr_expect_gt(bare.allocations, 0);
}

Test(device_memory, is_left_alone_by_a_loop_of_eight_blocks) { compare("8 x 1 MiB", loop); }
Test(device_memory, is_left_alone_by_a_burst_of_large_blocks) { compare("3 x 64 MiB", burst); }
