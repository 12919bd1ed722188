/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations on capturing streams: the driver's graph memory, what the registry knows of it, and how it goes back. */
#include <string.h>

#include "block.h"
#include "runtime.h"
#include "world.h"

static struct world world;
static void start(void) { world_start(&world); }
static void start_declared(void) {
  world_options.stream_contract = WP_STREAMS_DECLARED;
  world_start(&world);
}
static void start_never(void) {
  world_options.graph_trim = WP_GRAPH_TRIM_NEVER;
  world_start(&world);
}
static void nothing_yet(void) {} /* the test starts the world itself, with other capabilities */
static void reopen(void) { expect(WP_OK, wp_delegate_open(world.runtime, 0, NULL, &world.delegate)); }

/* One block, captured on world.s, and freed inside or not. */
static void *capture(size_t bytes, bool frees) {
  fake_stream_capture(world.s, true);
  void *ptr = world_alloc(&world, bytes, world.s);
  if (frees) expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_stream_capture(world.s, false);
  return ptr;
}

static void balance_driver(void) { /* world_end compares frees with allocations; launches allocate, too */
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.live_bytes, 0);
}

WORLD_TEST(graphs, a_block_freed_inside_is_gone_for_the_registry, start) {
  void *ptr = capture(MIB, true);
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  fake_graph_launch(0);
  fake_graph_destroy(0);
}

/* warp#1429 */
WORLD_TEST(graphs, a_block_nobody_frees_is_live_again_after_each_launch, start) {
  void *ptr = capture(MIB, false);
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  fake_graph_launch(0);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert_eq(report.graph_live_bytes, MIB);
  cr_assert_eq(report.live_bytes, MIB);
  cr_assert_eq(report.graph_reserved_after, MIB);
  expect(WP_OK, wp_free(world.runtime, ptr, world.t));
  balance_driver();
  for (int i = 0; i < 2; i++) {
    expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.t)); /* not launched since */
    cr_assert_not(world_is_live(&world, ptr));
    fake_graph_launch(0);
    expect(WP_OK, wp_free(world.runtime, ptr, world.t));
  }
  cr_assert_eq(world_stats(&world).frees, 1);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, &report));
  cr_assert_eq(report.graph_reserved_before, MIB);
  cr_assert_eq(report.graph_reserved_after, 0);
  cr_assert_eq(report.graph_live_bytes, 0);
}

WORLD_TEST(graphs, a_driver_that_does_not_check_frees_is_not_asked, nothing_yet) {
  fake.capabilities &= ~WP_CAP_CHECKED_FREE;
  start();
  void *ptr = capture(MIB, false);
  fake_graph_launch(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_forget();
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(fake_count("memory_free"), 0);
}

WORLD_TEST(graphs, a_block_freed_after_other_streams_may_come_back_too, start) {
  void *ptr = capture(MIB, false);
  wp_stream both[] = {world.s, world.t};
  fake_graph_launch(0);
  fake_stream_busy(world.t);
  expect(WP_OK, wp_free_after(world.runtime, ptr, both, 2));
  cr_assert_eq(world_stats(&world).parked_bytes, MIB);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  fake_stream_idle(world.t);
  expect(WP_OK, wp_tick(world.runtime));
  fake_graph_launch(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(graphs, a_block_from_outside_stays_live_when_freed_inside, start) {
  void *ptr = world_alloc(&world, MIB, world.s);
  fake_stream_capture(world.s, true);
  fake_forget();
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, world.s));
  cr_assert_not_null(strstr(world_error().message, "call after the capture"));
  cr_assert_eq(fake_count("memory_free"), 0);
  cr_assert(world_is_live(&world, ptr));
  fake_stream_capture(world.s, false);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(graphs, declared_streams_free_captured_blocks_inside_too, start_declared) {
  void *ptr = capture(MIB, true);
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
}

/* Fact C17 */
WORLD_TEST(graphs, the_legacy_stream_is_left_alone_while_a_blocking_stream_captures, start) {
  void *ptr = world_alloc(&world, MIB, WP_STREAM_LEGACY), *out = NULL;
  fake_legacy_implicit(0, true); /* the fake driver aborts where the capture would break */
  expect(WP_ERROR_CAPTURING, wp_alloc(world.delegate, MIB, WP_STREAM_LEGACY, &out));
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, WP_STREAM_LEGACY));
  expect(WP_ERROR_CAPTURING, wp_note_use(world.runtime, ptr, WP_STREAM_LEGACY));
  expect(WP_ERROR_CAPTURING, wp_prime(world.delegate, MIB, (wp_stream)1));
  cr_assert(world_is_live(&world, ptr));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_legacy_implicit(0, false);
}

WORLD_TEST(graphs, declared_streams_leave_the_legacy_stream_alone_too, start_declared) {
  void *ptr = world_alloc(&world, MIB, WP_STREAM_LEGACY);
  fake_legacy_implicit(0, true);
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, WP_STREAM_LEGACY));
  fake_legacy_implicit(0, false);
  expect(WP_OK, wp_free(world.runtime, ptr, WP_STREAM_LEGACY));
}

/* -- captured, and never launched -- */

WORLD_TEST(graphs, a_block_that_was_never_launched_can_be_freed, start) {
  void *ptr = capture(MIB, false);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(world_stats(&world).live_bytes, 0);
  fake_graph_launch(0); /* and launched after all */
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

WORLD_TEST(graphs, a_block_that_was_never_launched_does_not_stay_parked, start) {
  void *ptr = capture(MIB, false);
  wp_stream both[] = {world.s, world.t};
  expect(WP_OK, wp_free_after(world.runtime, ptr, both, 2));
  expect(WP_OK, wp_tick(world.runtime));
  cr_assert_eq(world_stats(&world).parked_bytes, 0);
  cr_assert_eq(world.log_lines, 0);
}

WORLD_TEST(graphs, an_address_of_a_discarded_graph_can_be_handed_out_anew, start) {
  void *ptr = capture(MIB, false);
  fake_graph_destroy(0);
  fake_next_address(ptr);
  void *again = world_alloc(&world, MIB, world.s);
  cr_assert_eq(again, ptr);
  expect(WP_OK, wp_free(world.runtime, again, world.s));
  cr_assert_eq(world_stats(&world).live_bytes, 0);
}

WORLD_TEST(graphs, a_launched_block_freed_after_the_last_close_goes_back, start) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  void *ptr = capture(MIB, false);
  fake_graph_launch(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_graph_launch(0);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_query_driver(world.runtime, 0, &driver));
  cr_assert_eq(driver.graph_reserved, 0);
  reopen();
}

WORLD_TEST(graphs, a_launched_block_is_not_lost_where_the_driver_frees_nothing, start) {
  void *ptr = capture(MIB, false);
  fake_graph_launch(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_graph_launch(0);
  fake.captures_forbid = true;
  expect(WP_ERROR_CAPTURING, wp_free(world.runtime, ptr, world.s));
  fake.captures_forbid = false;
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

/* -- giving graph memory back -- */

WORLD_TEST(graphs, the_last_close_trims_graph_memory_of_its_own, start) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  (void)capture(MIB, true);
  fake_graph_launch(0);
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(report.graph_reserved_before, MIB);
  cr_assert_eq(report.graph_reserved_after, 0);
  reopen();
}

WORLD_TEST(graphs, graph_memory_of_others_is_left_to_them, start) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_pool pool; /* a neighbour's graph */
  void *ptr;
  int mode;
  expect(WP_OK, fake_backend.capture_relax(NULL, &mode));
  expect(WP_OK, fake_backend.pool_create(NULL, &pool));
  fake_stream_capture(world.t, true);
  expect(WP_OK, fake_backend.memory_alloc(NULL, pool, MIB, world.t, &ptr));
  expect(WP_OK, fake_backend.memory_free(NULL, ptr, world.t));
  fake_stream_capture(world.t, false);
  fake_graph_launch(0);
  expect(WP_OK, fake_backend.pool_destroy(NULL, pool));
  expect(WP_OK, fake_backend.capture_restore(NULL, mode));
  fake_forget();
  expect(WP_OK, wp_delegate_close(world.delegate, &report));
  cr_assert_eq(fake_count("graph_trim"), 0);
  cr_assert_eq(report.graph_reserved_after, MIB);
  reopen();
}

WORLD_TEST(graphs, the_policy_never_trims_no_graph_memory, start_never) {
  (void)capture(MIB, true);
  fake_graph_launch(0);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_count("graph_trim"), 0);
  reopen();
}

WORLD_TEST(graphs, nothing_is_trimmed_where_graphs_hold_nothing, start) {
  (void)capture(MIB, true); /* never launched */
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  cr_assert_eq(fake_count("graph_trim"), 0);
  reopen();
}

WORLD_TEST(graphs, drivers_without_graph_memory_are_not_asked, nothing_yet) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  fake.capabilities &= ~WP_CAP_GRAPH_MEMORY;
  start();
  (void)capture(MIB, true);
  expect(WP_OK, wp_trim(world.runtime, 0, 0, WP_WAIT, NULL));
  expect(WP_OK, wp_query_driver(world.runtime, 0, &driver));
  cr_assert_eq(fake_count("graph_trim") + fake_count("graph_usage"), 0);
}

WORLD_TEST(graphs, the_driver_s_figures_are_told, start) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  void *ptr = capture(MIB, false);
  fake_graph_launch(0);
  expect(WP_OK, wp_query_driver(world.runtime, 0, &driver));
  cr_assert_eq(driver.graph_reserved, MIB);
  cr_assert_eq(driver.graph_used, MIB);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
}

/* -- the registry and dormant blocks -- */

WORLD_TEST(graphs, a_lost_device_forgets_its_dormant_blocks, start) {
  void *ptr = capture(MIB, false);
  fake_graph_launch(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  expect(WP_OK, wp_device_lost(world.runtime, 0));
  fake_forget();
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  cr_assert_eq(fake_count(NULL), 0);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  fake_reset();
  world.s = fake_stream(0);
  reopen();
}

WORLD_TEST(graphs, an_address_handed_out_anew_forgets_the_dormant_block, start) {
  void *ptr = capture(MIB, false);
  fake_graph_launch(0);
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  fake_graph_destroy(0);
  fake_next_address(ptr);
  void *again = world_alloc(&world, MIB, world.s);
  cr_assert_eq(again, ptr);
  uint32_t records = atomic_load(&world.runtime->blocks.made);
  expect(WP_OK, wp_free(world.runtime, again, world.s));
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, again, world.s));
  void *one = world_alloc(&world, MIB, world.s), *two = world_alloc(&world, MIB, world.s);
  cr_assert_eq(atomic_load(&world.runtime->blocks.made), records); /* the old one's record is used again */
  expect(WP_OK, wp_free(world.runtime, one, world.s));
  expect(WP_OK, wp_free(world.runtime, two, world.s));
}
