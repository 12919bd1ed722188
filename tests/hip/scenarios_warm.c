/* SPDX-License-Identifier: Apache-2.0 */
/* Many rounds beside an open delegate: what never reaches the driver. */
#include "bench.h"
#include "rounds.h"
#include "vendor.h"

ROUNDS_SUITE(many_rounds);

/* For bench/count.c, which counts the calls of the vtable, too. */
bool vendor_device_counts(vendor_counts *out) {
  *out = (vendor_counts){device_count_of(SOFTHSA_DEVICE_ALLOCATIONS), device_count_of(SOFTHSA_DEVICE_FREES)};
  return true;
}

static void start_counted(void) {
  wp_runtime_options options = in_lanes_of(WP_WAIT);
  options.backend = bench_counting();
  start(&options);
}

static bool is_same_device_use(const bench_counts *one, const bench_counts *other) {
  return one->device_allocs == other->device_allocs && one->device_frees == other->device_frees;
}

/* -- rocm-systems#11690 -- */

/* With two of the three freed and finished, the free of the third leaves more cached than live (H3). */
static void burst(wp_delegate *delegate, wp_stream stream) {
  void *blocks[3];
  for (unsigned i = 0; i < COUNT_OF(blocks); i++) blocks[i] = take(delegate, 64 * MIB, stream);
  give(blocks[0], stream);
  give(blocks[1], stream);
  synchronize(stream);
  pause_for(1000);
  give(blocks[2], stream);
  synchronize(stream);
}

BOTH_CONTRACTS(many_rounds, of_a_burst_return_nothing_and_ask_for_nothing) {
  start_counted();
  wp_stream stream = rig_stream_create(0);
  wp_delegate *delegate = open_on(0);
  burst(delegate, stream);
  bench_counts first = bench_counted();
  uint64_t held = reserved(0);
  for (begin_rounds(1000); next_round();) {
    burst(delegate, stream);
    bench_counts now = bench_counted();
    cr_assert_eq(now.allocs, first.allocs, "round %u: an allocation of the driver's", this_round());
    cr_assert_eq(now.frees, first.frees, "round %u: a free of the driver's", this_round());
    cr_assert(is_same_device_use(&now, &first), "round %u: the device was asked", this_round());
    cr_assert_eq(reserved(0), held, "round %u: %llu bytes are reserved, and were %llu", this_round(),
                 (unsigned long long)reserved(0), (unsigned long long)held);
  }
  cr_assert_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

/* -- cuda-python#771 -- */

/* What one allocation, its free and a synchronisation ask of the driver, and of the device. */
static bench_counts pair(wp_delegate *delegate, wp_stream stream) {
  bench_counts before = bench_counted();
  give(take(delegate, MIB, stream), stream);
  synchronize(stream);
  bench_counts after = bench_counted();
  after.calls -= before.calls;
  after.allocs -= before.allocs;
  after.frees -= before.frees;
  after.device_allocs -= before.device_allocs;
  after.device_frees -= before.device_frees;
  return after;
}

static void expect_cost(const bench_counts *cost, const bench_counts *usual, const char *when) {
  cr_assert_eq(cost->calls, usual->calls, "round %u, %s: %llu calls, not %llu", this_round(), when,
               (unsigned long long)cost->calls, (unsigned long long)usual->calls);
  cr_assert_eq(cost->allocs + cost->frees, 0, "round %u, %s: the driver's memory", this_round(), when);
  cr_assert_eq(cost->device_allocs + cost->device_frees, 0, "round %u, %s: the device's memory", this_round(), when);
}

BOTH_CONTRACTS(many_rounds, cost_the_same_with_and_without_a_live_byte) {
  start_counted();
  wp_stream stream = rig_stream_create(0);
  wp_delegate *delegate = open_on(0);
  for (unsigned i = 0; i < 20; i++) (void)pair(delegate, stream);
  bench_counts usual = pair(delegate, stream);
  for (begin_rounds(1000); next_round();) {
    bench_counts cost = pair(delegate, stream);
    expect_cost(&cost, &usual, "nothing live");
  }
  void *live = take(delegate, 1, stream);
  for (begin_rounds(1000); next_round();) {
    bench_counts cost = pair(delegate, stream);
    expect_cost(&cost, &usual, "one live byte");
  }
  give(live, stream);
  cr_assert_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

/* -- alpaka#2197: no bytes, and NULL, are what they are on CUDA (H8) -- */

BOTH_CONTRACTS(many_rounds, of_no_bytes_and_null_succeed_and_reach_no_driver) {
  start_counted();
  wp_stream streams[] = {rig_stream_create(0), WP_STREAM_LEGACY, WP_STREAM_PER_THREAD};
  wp_delegate *delegate = open_on(0);
  for (size_t i = 0; i < COUNT_OF(streams); i++) give(take(delegate, MIB, streams[i]), streams[i]);
  for (begin_rounds(1000); next_round();) {
    wp_stream stream = streams[this_round() % COUNT_OF(streams)];
    void *memory = &memory;
    bench_counts before = bench_counted();
    OK(wp_alloc(delegate, 0, stream, &memory));
    cr_assert_null(memory, "round %u", this_round());
    OK(wp_free(runtime, memory, stream));
    OK(wp_free_after(runtime, NULL, streams, COUNT_OF(streams)));
    OK(wp_prime(delegate, 0, stream));
    bench_counts after = bench_counted();
    cr_assert_eq(after.allocs + after.frees, before.allocs + before.frees, "round %u", this_round());
    cr_assert_eq(rig_last_error(), 0, "round %u", this_round());
    cr_assert_eq(stats(0).live_blocks, 0);
  }
  cr_assert_eq(last_close(delegate, WP_OK).reserved_after, 0);
  for (size_t i = 0; i < COUNT_OF(streams); i++) OK(wp_stream_retire(runtime, 0, streams[i]));
  rig_stream_destroy(streams[0]);
}
