/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, their own default streams, and the legacy stream; wp_stream_retire. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "conformance.h"

SUITE(threads);

/* -- special streams -- */

BOTH_CONTRACTS(threads, share_the_legacy_stream_by_either_handle) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  void *memory = take(delegate, granule(), WP_STREAM_LEGACY);
  rig_hold *hold = rig_hold_stream(WP_STREAM_LEGACY);
  give(memory, (wp_stream)1);
  memory = take(delegate, granule(), WP_STREAM_LEGACY);
  give(memory, WP_STREAM_LEGACY);
  memory = take(delegate, granule(), (wp_stream)1);
  OK(wp_note_use(runtime, memory, (wp_stream)1));
  give(memory, WP_STREAM_LEGACY);
  cr_expect_eq(stats(0).parked_bytes, 0, "the stream was taken for two, and one waits for the other");
  memory = take(delegate, granule(), WP_STREAM_LEGACY);
  expect_reserved(0, 1);
  OK(wp_free_after(runtime, memory, (wp_stream[]){(wp_stream)1, WP_STREAM_LEGACY}, 2));
  release_later(hold);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  release_is_over();
}

struct visit {
  wp_delegate *delegate;
  void *live;
  bool retires;
};

/* Frees behind work on the thread's own stream, and ends. */
static void *visit_own_stream(void *argument) {
  struct visit *visit = argument;
  void *memory = take(visit->delegate, granule(), WP_STREAM_PER_THREAD);
  visit->live = take(visit->delegate, granule(), WP_STREAM_PER_THREAD);
  rig_fill(WP_STREAM_PER_THREAD, visit->live, 0x21, MIB);
  rig_stream_synchronize(WP_STREAM_PER_THREAD); /* another stream reads it */
  rig_busy(WP_STREAM_PER_THREAD, 100);          /* no hold: rig/cuda.c says why */
  give(memory, WP_STREAM_PER_THREAD);
  if (visit->retires) OK(wp_stream_retire(runtime, 0, WP_STREAM_PER_THREAD));
  return NULL;
}

static void visit_and_close(bool retires) {
  struct visit visit = {.retires = retires};
  pthread_t thread;
  (void)granule();
  start(NULL);
  visit.delegate = open_on(0);
  cr_assert_eq(pthread_create(&thread, NULL, visit_own_stream, &visit), 0);
  (void)pthread_join(thread, NULL);
  give(take(visit.delegate, granule(), WP_STREAM_PER_THREAD), WP_STREAM_PER_THREAD); /* this thread's: another stream */
  cr_expect_leq(reserved(0), most_mapped(3)); /* two where the end of a thread waits for its stream's work */
  expect_bytes(WP_STREAM_PER_THREAD, visit.live, 0x21, MIB);
  wp_release_report report = last_close(visit.delegate, WP_OK);
  expect_mapped(report.reserved_after, 1);
  give(visit.live, WP_STREAM_PER_THREAD);
  tick_until_reserved(0, 0);
}

BOTH_CONTRACTS(threads, may_end_with_work_on_their_own_stream) { visit_and_close(false); }
BOTH_CONTRACTS(threads, may_retire_their_own_stream) { visit_and_close(true); }

/* A thousand threads' streams, one after the other, need no memory of their own. */
static void *use_own_stream(void *delegate) {
  for (int i = 0; i < 3; i++) give(take(delegate, granule(), WP_STREAM_PER_THREAD), WP_STREAM_PER_THREAD);
  return NULL;
}

BOTH_CONTRACTS(threads, that_come_and_go_share_the_warm_memory) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, use_own_stream, delegate), 0);
    (void)pthread_join(thread, NULL);
  }
  cr_expect_leq(reserved(0), most_mapped(4));
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
}

/* -- retire -- */

BOTH_CONTRACTS(threads, may_retire_any_stream_at_any_time) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  OK(wp_stream_retire(runtime, 0, stream)); /* never seen */
  OK(wp_stream_retire(runtime, WP_DEVICE_CURRENT, WP_STREAM_LEGACY));
  void *memory = take(delegate, granule(), stream);
  OK(wp_stream_retire(runtime, 0, stream)); /* with a block, which is freed on it later: a new life */
  rig_hold *hold = rig_hold_stream(stream);
  give(memory, stream);
  OK(wp_stream_retire(runtime, 0, stream)); /* with a free that waits for work; does not wait */
  OK(wp_stream_retire(runtime, 0, stream));
  give(take(delegate, granule(), stream), stream);
  OK(wp_stream_retire(runtime, 0, stream));
  rig_stream_destroy(stream);
  release_later(hold);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  release_is_over();
}

BOTH_CONTRACTS(threads, may_make_and_destroy_streams_without_end) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  for (int i = 0; i < 300; i++) {
    wp_stream stream = rig_stream_create(0);
    void *memory = take(delegate, MIB, stream);
    rig_fill(stream, memory, i, 4096);
    give(memory, stream);
    end_stream(0, stream);
  }
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
}

/* -- everything at once -- */

static atomic_bool done;
static atomic_uint finished;

static void check_counters(void) {
  wp_stats now = stats(0);
  cr_assert_leq(now.frees, now.allocs);
  cr_assert_lt(now.live_bytes, (uint64_t)1 << 40);
  cr_assert_lt(now.parked_bytes, (uint64_t)1 << 40);
  cr_assert_lt(now.reserved_bytes, (uint64_t)1 << 40);
  cr_assert_leq(now.live_blocks, now.allocs);
}

/* Thread 0 reads (tensorflow#59176); the others open, use and close. */
static void open_use_and_close(unsigned index, void *argument) {
  unsigned threads = *(unsigned *)argument;
  while (index == 0 && !atomic_load(&done)) {
    check_counters();
    (void)sched_yield();
  }
  if (index == 0) return;
  for (unsigned i = 0; i < 25; i++) {
    wp_delegate *delegate = open_on(0);
    void *blocks[4];
    for (unsigned j = 0; j < 4; j++)
      blocks[j] = take(delegate, 1 + (index * 37 + i * 11 + j) * 997, WP_STREAM_PER_THREAD);
    for (unsigned j = 0; j < 2; j++) give(blocks[j], WP_STREAM_PER_THREAD);
    wp_status closed = wp_delegate_close(delegate, NULL); /* beside frees that are not recorded yet */
    cr_assert(closed == WP_OK || closed == WP_PENDING, "%s", wp_status_name(closed));
    for (unsigned j = 2; j < 4; j++) give(blocks[j], WP_STREAM_PER_THREAD);
  }
  if (atomic_fetch_add(&finished, 1) + 2 == threads) atomic_store(&done, true);
}

BOTH_CONTRACTS(threads, may_open_and_close_at_once_and_all_goes_back) {
  unsigned threads = 6;
  start(NULL);
  run_threads(threads, open_use_and_close, &threads);
  wp_stats now = stats(0);
  cr_expect_eq(now.live_bytes, 0);
  cr_expect_eq(now.allocs, 5 * 25 * 4);
  cr_expect_eq(now.frees, now.allocs);
  tick_until_reserved(0, 0);
}
