/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers: what the library tells of them, and which it refuses. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "conformance.h"

SUITE(pointers);

static wp_delegate *delegate;
static wp_stream stream;

static void set_up(void) {
  start(NULL);
  delegate = open_on(0);
  stream = rig_stream_create(0);
}

static void tear_down(void) {
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

static void expect_info(const void *at, void *base, wp_stream of) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  OK(wp_pointer_info(runtime, at, &info));
  cr_expect_eq(info.base, base);
  cr_expect_eq(info.device, 0);
  cr_expect_eq(info.delegate, delegate);
  cr_expect_eq(info.stream, of);
  cr_expect_geq((const unsigned char *)base + info.bytes, (const unsigned char *)at + 1);
}

BOTH_CONTRACTS(pointers, of_live_blocks_are_known_by_any_byte) {
  set_up();
  unsigned char *block = take(delegate, 10000, stream), *legacy = take(delegate, 1, WP_STREAM_LEGACY);
  expect_info(block, block, stream);
  expect_info(block + 1, block, stream);
  expect_info(block + 9999, block, stream);
  expect_info(legacy, legacy, WP_STREAM_LEGACY);
  give(block, stream);
  give(legacy, WP_STREAM_LEGACY);
  tear_down();
}

BOTH_CONTRACTS(pointers, of_others_are_unknown) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  set_up();
  unsigned char *block = take(delegate, 10000, stream);
  OK(wp_pointer_info(runtime, block, &info));
  unsigned char *behind = block + info.bytes, *freed = take(delegate, 512, stream);
  give(freed, stream);
  info.device = 77;
  REFUSES(WP_ERROR_INVALID_POINTER, wp_pointer_info(runtime, block - 1, &info));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_pointer_info(runtime, behind, &info));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_pointer_info(runtime, freed, &info));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_pointer_info(runtime, &info, &info));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_pointer_info(runtime, (void *)UINTPTR_MAX, &info));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_pointer_info(runtime, NULL, &info));
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_pointer_info(runtime, block, NULL));
  cr_expect_eq(info.device, 77);
  give(block, stream);
  tear_down();
}

/* -- what is not a live block cannot be freed, or noted -- */

static void expect_refused_everywhere(void *pointer) {
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free(runtime, pointer, stream));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free_after(runtime, pointer, NULL, 0));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free_after(runtime, pointer, &stream, 1));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free_after(runtime, pointer, (wp_stream[]){stream, WP_STREAM_LEGACY}, 2));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_note_use(runtime, pointer, stream));
}

BOTH_CONTRACTS(pointers, that_are_foreign_are_refused) {
  void *foreign = malloc(100);
  set_up();
  expect_refused_everywhere(foreign); /* before there was any block */
  unsigned char *block = take(delegate, 10000, stream);
  expect_refused_everywhere(foreign);
  expect_refused_everywhere(&foreign);
  expect_refused_everywhere(block + 1);
  expect_refused_everywhere(block + 256);
  expect_refused_everywhere(block + 512);
  expect_refused_everywhere(block - 512);
  expect_refused_everywhere((void *)1);
  expect_refused_everywhere((void *)(uintptr_t)256);
  expect_refused_everywhere((void *)UINTPTR_MAX);
  expect_refused_everywhere((void *)(UINTPTR_MAX - 255));
  expect_refused_everywhere((void *)((uintptr_t)block ^ (uintptr_t)1 << 62));
  give(block, stream);
  free(foreign);
  tear_down();
}

BOTH_CONTRACTS(pointers, that_were_freed_are_refused) {
  set_up();
  void *block = take(delegate, 10000, stream);
  give(block, stream);
  expect_refused_everywhere(block);
  block = take(delegate, 10000, stream);
  OK(wp_free_after(runtime, block, NULL, 0));
  expect_refused_everywhere(block);
  block = take(delegate, 10000, stream);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp_note_use(runtime, block, stream));
  OK(wp_free_after(runtime, block, NULL, 0)); /* parked now */
  expect_refused_everywhere(block);
  rig_release(hold);
  tear_down();
  expect_refused_everywhere(block);
}

BOTH_CONTRACTS(pointers, of_another_runtime_are_refused_and_stay_live_there) {
  set_up();
  wp_runtime *other = NULL;
  OK(wp_runtime_create(NULL, &other));
  void *block = take(delegate, 10000, stream);
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  REFUSES(WP_ERROR_INVALID_POINTER, wp_free(other, block, stream));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_note_use(other, block, stream));
  REFUSES(WP_ERROR_INVALID_POINTER, wp_pointer_info(other, block, &info));
  OK(wp_runtime_destroy(other));
  give(block, stream);
  tear_down();
}

BOTH_CONTRACTS(pointers, that_are_null_are_nothing) {
  void *none = &none;
  set_up();
  wp_stats before = stats(0);
  OK(wp_free(runtime, NULL, stream));
  OK(wp_free_after(runtime, NULL, NULL, 0));
  OK(wp_alloc(delegate, 0, stream, &none));
  cr_expect_null(none);
  cr_expect_eq(stats(0).allocs, before.allocs);
  cr_expect_eq(stats(0).frees, before.frees);
  cr_expect_eq(stats(0).driver_allocs, before.driver_allocs);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_note_use(runtime, NULL, stream));
  void *block = take(delegate, 1, stream);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_free_after(runtime, block, NULL, 1));
  give(block, stream);
  tear_down();
}

/* -- racing frees: of each block exactly one succeeds -- */

enum { RACERS = 8, RACES = 1000 };

static void *raced[RACES];
static atomic_uint won[RACES];
static pthread_barrier_t lap;

static void race(unsigned index, void *argument) {
  (void)argument;
  for (unsigned i = 0; i < RACES; i++) {
    if (i % 50 == 0) (void)pthread_barrier_wait(&lap);
    wp_status status =
        index % 2 == 0 ? wp_free(runtime, raced[i], WP_STREAM_LEGACY) : wp_free_after(runtime, raced[i], NULL, 0);
    cr_assert(status == WP_OK || status == WP_ERROR_INVALID_POINTER, "%s", wp_status_name(status));
    if (status == WP_OK) (void)atomic_fetch_add(&won[i], 1);
  }
}

BOTH_CONTRACTS(pointers, that_threads_race_to_free_are_freed_once) {
  set_up();
  cr_assert_eq(pthread_barrier_init(&lap, NULL, RACERS), 0);
  for (unsigned i = 0; i < RACES; i++) raced[i] = take(delegate, 512, stream);
  rig_stream_synchronize(stream);
  run_threads(RACERS, race, NULL);
  for (unsigned i = 0; i < RACES; i++) cr_assert_eq(atomic_load(&won[i]), 1, "block %u", i);
  cr_expect_eq(stats(0).frees, RACES);
  cr_expect_eq(stats(0).live_bytes, 0);
  tear_down();
}

static void note_or_free(unsigned index, void *argument) {
  (void)argument;
  for (unsigned i = 0; i < RACES; i++) {
    if (i % 50 == 0) (void)pthread_barrier_wait(&lap);
    wp_status status = index == 0 ? wp_free(runtime, raced[i], WP_STREAM_LEGACY)
                                  : wp_note_use(runtime, raced[i], index % 2 == 0 ? stream : WP_STREAM_LEGACY);
    cr_assert(status == WP_OK || (index != 0 && status == WP_ERROR_INVALID_POINTER), "%s", wp_status_name(status));
  }
}

BOTH_CONTRACTS(pointers, that_threads_note_and_free_are_freed_once) {
  set_up();
  cr_assert_eq(pthread_barrier_init(&lap, NULL, 4), 0);
  for (unsigned i = 0; i < RACES; i++) raced[i] = take(delegate, 512, stream);
  run_threads(4, note_or_free, NULL);
  cr_expect_eq(stats(0).frees, RACES);
  cr_expect_eq(stats(0).live_bytes, 0);
  tear_down();
}
