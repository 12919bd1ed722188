/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failures.c for WP_CACHING_LANES: every driver call and every host allocation on every path into and out of the lanes
 * is made to fail in turn. An error has changed nothing, a success stands, the sums agree, and afterwards everything
 * can be given back.
 */
#include "lanes_world.h"

TestSuite(lanes_failures, .timeout = 60);

static void *block, *out;        /* live before the step; allocated by it */
static wp_delegate *opened;      /* by the step, or before it */
static bool closes, may_be_full; /* the step closes the world's delegate; meets a full device */
static wp_stats before;

struct step {
  const char *name; /* of the function, as in wp_error_info.call */
  void (*prepare)(void);
  wp_status (*run)(void);
};

/* -- what is there before a step -- */

static void with_warmth(void) { warm_up(MIB, world.s); }
static void with_a_part(void) { block = world_alloc(&world, 512, world.s); }
static void with_a_hit(void) {
  with_warmth();
  block = world_alloc(&world, MIB, world.s);
}
/* Listed parts of a segment, which a request for all of it merges. */
static void with_parts(void) {
  void *ptrs[4];
  for (int i = 0; i < 4; i++) ptrs[i] = world_alloc(&world, MIB / 2, world.s);
  for (int i = 0; i < 4; i++) free_on(ptrs[i], world.s);
}
static void with_neighbour(void) { warm_up(2 * MIB, world.t); }
static void with_full_device(void) {
  fake.device_memory = 4 * MIB;
  pair(2 * MIB, world.t);
  fake_stream_busy(world.t);
  pair(2 * MIB, world.t);
}
static void with_noted_block(void) {
  with_a_hit();
  fake_stream_busy(world.t);
  expect(WP_OK, wp_note_use(world.runtime, block, world.t));
}
static void with_finished_note(void) {
  with_a_hit();
  expect(WP_OK, wp_note_use(world.runtime, block, world.t));
}
/* Freed and finished, freed and busy, parked and busy, retired. */
static void with_frees(void) {
  wp_stream gone = fake_stream(0);
  void *parked = world_alloc(&world, 2 * MIB, world.s);
  pair(2 * MIB, gone);
  expect(WP_OK, wp_stream_retire(world.runtime, 0, gone));
  fake_stream_die(gone);
  pair(4 * MIB, world.s);
  fake_stream_busy(world.t);
  pair(6 * MIB, world.t);
  free_on(parked, world.t);
}
static void with_finished_frees(void) {
  with_frees();
  fake_all_idle();
}
static void closed_with_block(void) {
  block = world_alloc(&world, 2 * MIB, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  closes = true;
}
static void closed_and_due(void) {
  with_frees();
  wp_status status = wp_delegate_close(world.delegate, NULL);
  cr_assert(status == WP_OK || status == WP_PENDING);
  fake_all_idle();
  closes = true;
}
static void with_second(void) {
  opened = open_delegate();
  pair(MIB, world.s);
}

/* -- steps -- */

static wp_status alloc(void) { return wp_alloc(world.delegate, MIB, world.s, &out); }
static wp_status alloc_large(void) { return wp_alloc(world.delegate, 4 * MIB, world.s, &out); }
static wp_status alloc_whole(void) { return wp_alloc(world.delegate, 2 * MIB, world.s, &out); }
static wp_status alloc_when_full(void) {
  may_be_full = true;
  return alloc_large();
}
static wp_status alloc_for_second(void) { return wp_alloc(opened, MIB, world.s, &out); }
static wp_status prime(void) { return wp_prime(world.delegate, 3 * MIB, world.s); }
static wp_status free_here(void) { return wp_free(world.runtime, block, world.s); }
static wp_status free_there(void) { return wp_free(world.runtime, block, world.t); }
static wp_status free_after_none(void) { return wp_free_after(world.runtime, block, NULL, 0); }
static wp_status free_after_two(void) {
  wp_stream streams[] = {world.s, WP_STREAM_PER_THREAD};
  return wp_free_after(world.runtime, block, streams, 2);
}
static wp_status trim_waiting(void) { return wp_trim(world.runtime, 0, 0, WP_WAIT, NULL); }
static wp_status trim_without_waiting(void) { return wp_trim(world.runtime, 0, MIB, WP_NO_WAIT, NULL); }
static wp_status tick(void) { return wp_tick(world.runtime); }
static wp_status close_last(void) {
  closes = true;
  return wp_delegate_close(world.delegate, NULL);
}
static wp_status close_first(void) {
  wp_delegate *first = world.delegate;
  world.delegate = opened;
  opened = NULL;
  return wp_delegate_close(first, NULL);
}
static wp_status retire(void) { return wp_stream_retire(world.runtime, 0, world.s); }

static const struct step steps[] = {
    {"wp_alloc", nothing_yet, alloc},
    {"wp_alloc", with_warmth, alloc},
    {"wp_alloc", with_a_part, alloc},
    {"wp_alloc", with_parts, alloc_whole},
    {"wp_alloc", with_warmth, alloc_large},
    {"wp_alloc", with_neighbour, alloc},
    {"wp_alloc", with_full_device, alloc_when_full},
    {"wp_alloc", with_second, alloc_for_second},
    {"wp_prime", nothing_yet, prime},
    {"wp_prime", with_warmth, prime},
    {"wp_free", with_a_part, free_here},
    {"wp_free", with_a_hit, free_here},
    {"wp_free", with_a_hit, free_there},
    {"wp_free", with_noted_block, free_here},
    {"wp_free", with_finished_note, free_here},
    {"wp_free", closed_with_block, free_here},
    {"wp_free", closed_with_block, free_there},
    {"wp_free_after", with_a_hit, free_after_none},
    {"wp_free_after", with_noted_block, free_after_two},
    {"wp_trim", with_frees, trim_waiting},
    {"wp_trim", with_finished_frees, trim_waiting},
    {"wp_trim", with_frees, trim_without_waiting},
    {"wp_tick", with_finished_frees, tick},
    {"wp_tick", closed_and_due, tick},
    {"wp_delegate_close", with_frees, close_last},
    {"wp_delegate_close", with_second, close_first},
    {"wp_stream_retire", with_warmth, retire},
};
#define STEPS (sizeof steps / sizeof *steps)

/* -- the trial -- */

static void check_failure(const struct step *step, wp_status status, wp_status injected, const wp_stats *after) {
  wp_error_info info = world_error();
  bool is_full = may_be_full && status == WP_ERROR_OUT_OF_MEMORY; /* where reclaiming fails */
  cr_assert(status == injected || is_full, "%s answered %s", step->name, wp_status_name(status));
  cr_assert_str_eq(info.call, step->name);
  cr_assert_neq(info.message[0], '\0');
  if (status == injected && injected != WP_ERROR_OUT_OF_HOST_MEMORY) cr_assert_str_eq(info.name, "FAKE_ERROR");
  cr_assert_null(out, "%s failed and touched its output", step->name);
  cr_assert_eq(after->allocs, before.allocs);
  cr_assert_eq(after->frees, before.frees);
  cr_assert_eq(after->live_bytes, before.live_bytes);
  if (block != NULL) cr_assert(world_is_live(&world, block), "%s failed and lost the block", step->name);
}

static void check_promises(const struct step *step, wp_status status, wp_status injected) {
  wp_stats after = world_stats(&world);
  check_sums();
  cr_assert_eq(after.driver_allocs - after.driver_frees, (uint64_t)fake_blocks());
  if (status > WP_PENDING) {
    check_failure(step, status, injected, &after);
  } else if (after.frees > before.frees) {
    cr_assert_not(world_is_live(&world, block), "%s left the block live", step->name);
    block = NULL;
  }
  cr_assert(fake_current() == 0, "%s changed the current device", step->name);
}

static void clean_up(void) {
  fake_all_idle();
  if (out != NULL) free_on(out, world.s);
  if (block != NULL) free_on(block, world.s);
  if (opened != NULL) expect(WP_OK, wp_delegate_close(opened, NULL));
  if (closes) reopen();
  if (world.log_lines > 0) { /* a free that could not be recorded is vouched for by the next one on its stream */
    pair(1, world.s);
    pair(1, world.t);
  }
  world_end(&world);
}

/* One step with the nth call of `entry` (NULL: of any; "": the nth host allocation) failing; whether there was one. */
static bool try_step(const struct step *step, const char *entry, int n, wp_status injected) {
  bool of_host = entry != NULL && entry[0] == '\0';
  block = out = NULL;
  opened = NULL;
  closes = may_be_full = false;
  fake_reset();
  start_checked();
  step->prepare();
  before = world_stats(&world);
  if (of_host) {
    wp__test_fail_allocation(n);
  } else {
    fake_fail(entry, n, injected);
  }
  wp_status status = step->run();
  bool failed = of_host ? wp__test_allocation_failed() : fake_failed();
  fake_fail(NULL, 0, WP_OK);
  wp__test_fail_allocation(0);
  check_promises(step, status, injected);
  clean_up();
  return failed;
}

void lanes_try_all(const char *entry, wp_status injected) {
  for (size_t i = 0; i < STEPS; i++) {
    int n = 1;
    while (try_step(&steps[i], entry, n, injected)) n++;
    cr_log_info("step %zu (%s): %d calls failed in turn", i, steps[i].name, n - 1);
  }
}

static void declare(void) { world_options.stream_contract = WP_STREAMS_DECLARED; }
static void without_waiting(void) { world_options.release_wait = WP_NO_WAIT; }
static void bounded(void) { world_options.release_threshold = 2 * MIB; }

#define EACH_MAY_FAIL(name, settings, entry, status)                                                                   \
  Test(lanes_failures, name) {                                                                                         \
    settings();                                                                                                        \
    lanes_try_all(entry, status);                                                                                      \
  }
EACH_MAY_FAIL(every_driver_call_may_fail_checked, nothing_yet, NULL, WP_ERROR_DRIVER)
EACH_MAY_FAIL(every_driver_call_may_fail_declared, declare, NULL, WP_ERROR_DRIVER)
EACH_MAY_FAIL(every_driver_call_may_fail_without_waiting, without_waiting, NULL, WP_ERROR_DRIVER)
EACH_MAY_FAIL(every_driver_call_may_fail_below_a_threshold, bounded, NULL, WP_ERROR_DRIVER)
EACH_MAY_FAIL(every_event_may_be_one_too_many, declare, "event_create", WP_ERROR_OUT_OF_MEMORY)
EACH_MAY_FAIL(every_host_allocation_may_fail_checked, nothing_yet, "", WP_ERROR_OUT_OF_HOST_MEMORY)
EACH_MAY_FAIL(every_host_allocation_may_fail_declared, declare, "", WP_ERROR_OUT_OF_HOST_MEMORY)
