/* SPDX-License-Identifier: Apache-2.0 */
/* A full device: an ordinary answer, with figures, after which everything goes on. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "conformance.h"

/* Filling a device of the host backend costs real pages: a small one will do. */
static void shrink_device(void) { (void)setenv("WARMPOOL_HOST_MEMORY", "256M", 1); }

TestSuite(exhaustion, .init = shrink_device, .fini = end, .timeout = 60);

enum { PIECES_MAX = 64 };

static void *pieces[PIECES_MAX];
static unsigned count;
static size_t piece; /* bytes */
static atomic_uint logged;

static void count_log(void *user, const char *message) {
  (void)user;
  (void)message;
  (void)atomic_fetch_add(&logged, 1);
}

static wp_delegate *start_with(wp_oom_policy policy) {
  wp_runtime_options options = defaults();
  size_t step = granule();
  options.oom_policy = policy;
  options.log = count_log;
  start(&options);
  piece = device_total(0) / 16;
  piece = (piece + step - 1) / step * step;
  return open_on(0);
}

static void fill_device(wp_delegate *delegate, wp_stream stream) {
  wp_status status = WP_OK;
  for (count = 0; count < PIECES_MAX; count++) {
    void *memory = NULL;
    status = wp_alloc(delegate, piece, stream, &memory);
    if (status != WP_OK) break;
    pieces[count] = memory;
  }
  ANSWERS(WP_ERROR_OUT_OF_MEMORY, status);
  cr_assert_gt(count, 1);
}

static void free_pieces(wp_stream stream) {
  while (count > 0) give(pieces[--count], stream);
}

static void expect_true_exhaustion(wp_delegate *delegate, wp_stream stream) {
  void *none = &none;
  uint64_t total = device_total(0);
  REFUSES(WP_ERROR_OUT_OF_MEMORY, wp_alloc(delegate, piece, stream, &none));
  wp_error_info info = last_error();
  cr_expect_eq(none, &none);
  cr_expect_eq(info.device, 0);
  cr_expect_geq(info.requested_bytes, piece);
  cr_expect_eq(info.live_bytes, stats(0).live_bytes);
  cr_expect_geq(info.reserved_bytes, info.live_bytes);
  cr_expect_geq(info.cached_bytes, 0);
  cr_expect_leq(info.cached_bytes, info.reserved_bytes - info.live_bytes);
  cr_expect_eq(info.device_total, total);
  cr_expect_leq(info.device_free, piece); /* some drivers leave out what they use themselves */
}

BOTH_CONTRACTS(exhaustion, tells_its_figures_and_leaks_nothing) {
  static const wp_oom_policy policies[] = {WP_OOM_RECLAIM_AND_WAIT, WP_OOM_RECLAIM, WP_OOM_FAIL};
  for (size_t i = 0; i < COUNT_OF(policies); i++) {
    wp_delegate *delegate = start_with(policies[i]);
    fill_device(delegate, WP_STREAM_LEGACY);
    uint64_t retries = stats(0).oom_retries;
    expect_true_exhaustion(delegate, WP_STREAM_LEGACY);
    cr_expect_leq(stats(0).oom_retries - retries, policies[i] == WP_OOM_FAIL ? 0 : 2);
    cr_expect_geq(stats(0).oom_retries - retries, policies[i] == WP_OOM_FAIL ? 0 : 1);
    give(pieces[--count], WP_STREAM_LEGACY); /* the next request that fits succeeds */
    pieces[count] = take(delegate, piece, WP_STREAM_LEGACY);
    count++;
    expect_true_exhaustion(delegate, WP_STREAM_LEGACY);
    free_pieces(WP_STREAM_LEGACY);
    cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
    end();
  }
  cr_expect_eq(atomic_load(&logged), 0, "exhaustion was logged");
}

BOTH_CONTRACTS(exhaustion, of_one_size_is_none_of_a_smaller) {
  void *none = &none;
  wp_delegate *delegate = start_with(WP_OOM_RECLAIM_AND_WAIT);
  void *kept = take(delegate, piece, WP_STREAM_LEGACY);
  rig_fill(WP_STREAM_LEGACY, kept, 0x66, MIB);
  REFUSES(WP_ERROR_OUT_OF_MEMORY, wp_alloc(delegate, device_total(0), WP_STREAM_LEGACY, &none));
  REFUSES(WP_ERROR_OUT_OF_MEMORY, wp_prime(delegate, device_total(0), WP_STREAM_LEGACY));
  give(take(delegate, device_total(0) / 4, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  expect_bytes(WP_STREAM_LEGACY, kept, 0x66, MIB);
  give(kept, WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}

/* pytorch#188110: idle pieces are no reason to refuse a large block. */
BOTH_CONTRACTS(exhaustion, is_not_caused_by_idle_memory) {
  wp_delegate *delegate = start_with(WP_OOM_RECLAIM);
  wp_stream stream = rig_stream_create(0);
  fill_device(delegate, stream);
  unsigned filled = count;
  free_pieces(stream);
  rig_stream_synchronize(stream);
  void *large = take(delegate, piece * filled / 2, WP_STREAM_LEGACY);
  give(large, WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* -- freed memory whose work has not finished -- */

BOTH_CONTRACTS(exhaustion, waits_for_freed_memory) {
  wp_delegate *delegate = start_with(WP_OOM_RECLAIM_AND_WAIT);
  wp_stream stream = rig_stream_create(0), other = rig_stream_create(0);
  fill_device(delegate, stream);
  rig_hold *hold = rig_hold_stream(stream);
  free_pieces(stream);
  release_later(hold);
  void *memory = take(delegate, 2 * piece, other);
  release_is_over();
  cr_expect_geq(stats(0).oom_retries, 1);
  give(memory, other);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
  end_stream(0, other);
}

BOTH_CONTRACTS(exhaustion, waits_for_parked_memory) {
  wp_delegate *delegate = start_with(WP_OOM_RECLAIM_AND_WAIT);
  wp_stream stream = rig_stream_create(0);
  fill_device(delegate, WP_STREAM_LEGACY);
  rig_hold *hold = rig_hold_stream(stream);
  while (count > 0) {
    OK(wp_note_use(runtime, pieces[--count], stream));
    OK(wp_free_after(runtime, pieces[count], NULL, 0));
  }
  release_later(hold);
  void *memory = take(delegate, 2 * piece, WP_STREAM_LEGACY);
  release_is_over();
  give(memory, WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* tensorflow#50699: the hold ends only after the call. */
static void expect_no_wait(wp_oom_policy policy) {
  void *none = &none;
  wp_delegate *delegate = start_with(policy);
  wp_stream stream = rig_stream_create(0), other = rig_stream_create(0);
  fill_device(delegate, stream);
  rig_hold *hold = rig_hold_stream(stream);
  free_pieces(stream);
  ANSWERS(WP_ERROR_OUT_OF_MEMORY, wp_alloc(delegate, 2 * piece, other, &none));
  cr_expect_eq(none, &none);
  cr_expect_eq(stats(0).live_bytes, 0);
  rig_release(hold);
  rig_stream_synchronize(stream);
  if (policy == WP_OOM_RECLAIM) give(take(delegate, 2 * piece, other), other);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
  end_stream(0, other);
}

BOTH_CONTRACTS(exhaustion, never_waits_where_it_only_reclaims) { expect_no_wait(WP_OOM_RECLAIM); }
BOTH_CONTRACTS(exhaustion, never_waits_where_it_fails_at_once) { expect_no_wait(WP_OOM_FAIL); }

/* -- rmm#1245: threads near the device's size -- */

/* Each request fits in the device alone, so each is granted in the end. */
static void allocate_at_random(unsigned index, void *delegate) {
  uint32_t random = index * 2654435761u + 1;
  for (unsigned i = 0; i < 10; i++) {
    void *memory;
    wp_status status;
    random = random * 1664525u + 1013904223u;
    size_t bytes = 1 + (size_t)(random >> 8) % (piece * 4);
    while ((status = wp_alloc(delegate, bytes, WP_STREAM_PER_THREAD, &memory)) == WP_ERROR_OUT_OF_MEMORY) {
      (void)sched_yield();
    }
    cr_assert_eq(status, WP_OK, "%s", wp_status_name(status));
    rig_fill(WP_STREAM_PER_THREAD, memory, (int)index, 4096);
    OK(wp_free(runtime, memory, WP_STREAM_PER_THREAD));
  }
}

BOTH_CONTRACTS(exhaustion, of_threads_together_ends_well) {
  wp_delegate *delegate = start_with(WP_OOM_RECLAIM_AND_WAIT);
  run_threads(8, allocate_at_random, delegate);
  cr_expect_eq(stats(0).frees, 80);
  cr_expect_eq(stats(0).live_bytes, 0);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
}
