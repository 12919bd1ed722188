/* SPDX-License-Identifier: Apache-2.0 */
/* Many rounds of what AMD's runtimes were reported to hang at, or to lose memory by. */
#include <stdatomic.h>

#include "rounds.h"

ROUNDS_SUITE(many_failures);
ROUNDS_SUITE(many_waits);

/* -- rocm-systems#11642, hip#3223: exhaustion is told, whatever the runtime answers, and costs no memory (H12) -- */

enum { PIECES_MAX = 64 };

struct full {
  wp_delegate *delegate;
  wp_stream stream;
  void *kept;
  uint64_t device, available; /* in use below the runtime, and free by its own account, with what is kept alone */
};

static uint64_t available(void) {
  wp_driver_stats stats = WP_DRIVER_STATS_INIT;
  OK(wp_query_driver(runtime, 0, &stats));
  return stats.device_free;
}

static void settle(wp_stream stream) {
  synchronize(stream);
  OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
}

static void refuse(const struct full *full, size_t bytes) {
  void *none = &none;
  ANSWERS(WP_ERROR_OUT_OF_MEMORY, wp_alloc(full->delegate, bytes, full->stream, &none));
  cr_assert_eq(none, &none, "round %u: something was handed out", this_round());
  cr_assert_eq(rig_last_error(), 0, "round %u: the error is still in the slot", this_round());
}

static void expect_as_before(const struct full *full) {
  settle(full->stream);
  expect_device_bytes(full->device);
  uint64_t now = available();
  cr_assert_geq(now, full->available, "round %u: %llu bytes are free, and were %llu", this_round(),
                (unsigned long long)now, (unsigned long long)full->available);
  expect_bytes(full->stream, full->kept, 0x33, 4096);
}

static void fill_and_free(const struct full *full, size_t piece) {
  void *pieces[PIECES_MAX];
  unsigned count = 0;
  wp_status status;
  while ((status = wp_alloc(full->delegate, piece, full->stream, &pieces[count])) == WP_OK && count < PIECES_MAX - 1)
    count++;
  ANSWERS(WP_ERROR_OUT_OF_MEMORY, status);
  cr_assert_gt(count, 1, "round %u", this_round());
  while (count > 0) give(pieces[--count], full->stream);
}

static struct full start_full(void) {
  wp_runtime_options options = in_lanes_of(WP_WAIT);
  start(&options);
  struct full full = {.delegate = open_on(0), .stream = rig_stream_create(0)};
  full.kept = take(full.delegate, MIB, full.stream);
  rig_fill(full.stream, full.kept, 0x33, 4096);
  refuse(&full, device_total(0)); /* what the runtime makes for itself is there, then */
  settle(full.stream);
  pause_for(100000);
  full.device = device_bytes();
  full.available = available();
  return full;
}

static void end_full(struct full *full) {
  give(full->kept, full->stream);
  cr_assert_eq(last_close(full->delegate, WP_OK).reserved_after, 0);
  end_stream(0, full->stream);
}

BOTH_CONTRACTS(many_failures, to_fill_the_device_leave_its_memory_as_it_was) {
  struct full full = start_full();
  for (begin_rounds(300); next_round();) {
    fill_and_free(&full, 64 * MIB);
    expect_as_before(&full);
  }
  end_full(&full);
}

BOTH_CONTRACTS(many_failures, of_one_large_request_leave_memory_as_it_was) {
  struct full full = start_full();
  uint64_t total = device_total(0);
  for (begin_rounds(1000); next_round();) {
    refuse(&full, total);
    give(take(full.delegate, 64 * MIB, full.stream), full.stream); /* one that fits is served at once */
    expect_as_before(&full);
  }
  end_full(&full);
}

/* -- rocm-systems#10529: one thread allocates while another waits for events -- */

static struct {
  wp_delegate *delegate;
  wp_stream streams[2];
  atomic_bool is_over;
  atomic_uint waits;
} apart;

/* From the driver each time, and back to it. */
static void allocate_anew(void) {
  wp_stream stream = apart.streams[0];
  for (begin_rounds(1000); next_round();) {
    void *memory = take(apart.delegate, MIB, stream);
    rig_fill(stream, memory, 0x22, 4096);
    give(memory, stream);
    OK(wp_trim(runtime, 0, 0, WP_WAIT, NULL));
  }
  atomic_store(&apart.is_over, true);
}

static void wait_for_event(wp_event event, wp_stream stream) {
  OK(driver()->event_record(driver()->self, event, stream));
  OK(driver()->event_synchronize(driver()->self, event));
}

static void wait_for_events(void) {
  wp_stream stream = apart.streams[1];
  wp_event event;
  void *memory = take(apart.delegate, MIB, stream);
  OK(driver()->event_create(driver()->self, &event));
  while (!atomic_load(&apart.is_over)) {
    rig_fill(stream, memory, 0x44, 4096);
    wait_for_event(event, stream);
    wait_for_event(event, apart.streams[0]);
    (void)atomic_fetch_add(&apart.waits, 1);
  }
  OK(driver()->event_destroy(driver()->self, event));
  give(memory, stream);
}

static void do_one_of_two(unsigned index, void *argument) {
  (void)argument;
  index == 0 ? allocate_anew() : wait_for_events();
}

static void allocate_beside_waits(wp_caching caching_here) {
  wp_runtime_options options = in_lanes_of(WP_WAIT);
  options.caching = caching_here;
  start(&options);
  apart.delegate = open_on(0);
  for (unsigned i = 0; i < COUNT_OF(apart.streams); i++) apart.streams[i] = rig_stream_create(0);
  run_threads(2, do_one_of_two, NULL);
  cr_expect_gt(atomic_load(&apart.waits), 0);
  cr_assert_eq(last_close(apart.delegate, WP_OK).pending_bytes, 0);
  for (unsigned i = 0; i < COUNT_OF(apart.streams); i++) end_stream(0, apart.streams[i]);
}

BOTH_CONTRACTS(many_waits, of_another_thread_hang_no_allocation) { allocate_beside_waits(WP_CACHING_LANES); }
BOTH_CONTRACTS(many_waits, of_another_thread_hang_no_allocation_in_the_driver_s_pool) {
  allocate_beside_waits(WP_CACHING_DRIVER);
}
