/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every driver call and every host allocation of every function is made to fail in turn. Whatever the function then
 * answers, it keeps its promises: an error has changed nothing, a success stands, and afterwards everything can be
 * given back to the last byte, event and pool.
 */
#include <string.h>

#include "world.h"

struct trial {
  struct world world;
  void *block;         /* live before the step; what becomes of it depends on the step */
  void *out;           /* what the step allocated */
  wp_delegate *opened; /* by the step */
  wp_stats before;
  bool frees_block, allocs, closes_delegate;
};

typedef wp_status step_function(struct trial *trial);
struct step {
  const char *name; /* of the function, as in wp_error_info.call */
  void (*prepare)(struct trial *trial);
  step_function *run;
};

/* -- steps -- */

static void nothing(struct trial *trial) { (void)trial; }
static void with_block(struct trial *trial) { trial->block = world_alloc(&trial->world, MIB, trial->world.s); }

static wp_status open_again(struct trial *trial) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  options.name = "second";
  return wp_delegate_open(trial->world.runtime, 0, &options, &trial->opened);
}
static wp_status open_other(struct trial *trial) {
  return wp_delegate_open(trial->world.runtime, 1, NULL, &trial->opened);
}

static wp_status alloc(struct trial *trial) {
  trial->allocs = true;
  return wp_alloc(trial->world.delegate, MIB, trial->world.t, &trial->out);
}
/* The device is full of what another stream has freed: this has to be given back first. */
static void fill_device(struct trial *trial) {
  fake.device_memory = 4 * MIB;
  void *ptr = world_alloc(&trial->world, 3 * MIB, trial->world.s);
  expect(WP_OK, wp_free(trial->world.runtime, ptr, trial->world.s));
  ptr = world_alloc(&trial->world, MIB, trial->world.s);
  fake_stream_busy(trial->world.s);
  expect(WP_OK, wp_free(trial->world.runtime, ptr, trial->world.s));
}
static wp_status alloc_when_full(struct trial *trial) {
  trial->allocs = true;
  return wp_alloc(trial->world.delegate, 4 * MIB, trial->world.t, &trial->out);
}

static wp_status free_here(struct trial *trial) {
  trial->frees_block = true;
  return wp_free(trial->world.runtime, trial->block, trial->world.s);
}
static wp_status free_on_new_stream(struct trial *trial) {
  trial->frees_block = true;
  return wp_free(trial->world.runtime, trial->block, trial->world.t);
}
static void with_noted_block(struct trial *trial) {
  with_block(trial);
  expect(WP_OK, wp_note_use(trial->world.runtime, trial->block, trial->world.s));
  fake_stream_busy(trial->world.t);
  expect(WP_OK, wp_note_use(trial->world.runtime, trial->block, trial->world.t));
}
static void with_finished_note(struct trial *trial) {
  with_block(trial);
  expect(WP_OK, wp_note_use(trial->world.runtime, trial->block, trial->world.t));
}
static void closed_with_block(struct trial *trial) {
  wp_delegate *last = trial->world.delegate;
  with_block(trial);
  expect(WP_OK, wp_delegate_close(last, NULL));
}
static wp_status free_when_closed(struct trial *trial) {
  trial->closes_delegate = true;
  return free_here(trial);
}
static wp_status free_after_none(struct trial *trial) {
  trial->frees_block = true;
  return wp_free_after(trial->world.runtime, trial->block, NULL, 0);
}
static wp_status free_after_three(struct trial *trial) {
  wp_stream streams[] = {trial->world.s, trial->world.t, WP_STREAM_PER_THREAD};
  trial->frees_block = true;
  return wp_free_after(trial->world.runtime, trial->block, streams, 3);
}
static wp_status note_use(struct trial *trial) {
  return wp_note_use(trial->world.runtime, trial->block, trial->world.t);
}
/* Freed and finished, freed and busy, parked and busy, retired. */
static void with_frees(struct trial *trial) {
  struct world *world = &trial->world;
  void *finished = world_alloc(world, MIB, world->s);
  void *busy = world_alloc(world, 2 * MIB, world->t);
  void *parked = world_alloc(world, 3 * MIB, world->s);
  wp_stream gone = fake_stream(0);
  void *of_gone = world_alloc(world, 4 * MIB, gone);
  expect(WP_OK, wp_free(world->runtime, finished, world->s));
  expect(WP_OK, wp_free(world->runtime, of_gone, gone));
  expect(WP_OK, wp_stream_retire(world->runtime, 0, gone));
  fake_stream_die(gone);
  fake_stream_busy(world->t);
  expect(WP_OK, wp_note_use(world->runtime, parked, world->t));
  expect(WP_OK, wp_free(world->runtime, parked, world->s));
  expect(WP_OK, wp_free(world->runtime, busy, world->t));
}
/* Captured allocations: made and freed inside, live outside, and dormant. */
static wp_status alloc_captured(struct trial *trial) {
  fake_stream_capture(trial->world.t, true);
  wp_status status = alloc(trial);
  fake_stream_capture(trial->world.t, false);
  if (status == WP_OK) fake_graph_launch(0);
  return status;
}
static void with_captured_block(struct trial *trial) {
  fake_stream_capture(trial->world.s, true);
  with_block(trial);
}
static wp_status free_inside(struct trial *trial) {
  wp_status status = free_here(trial);
  fake_stream_capture(trial->world.s, false);
  if (status != WP_OK) fake_graph_launch(0); /* the clean-up frees it outside */
  return status;
}
static void with_launched_block(struct trial *trial) {
  with_captured_block(trial);
  fake_stream_capture(trial->world.s, false);
  fake_graph_launch(0);
}
static void with_dormant_block(struct trial *trial) {
  with_launched_block(trial);
  expect(WP_OK, wp_free(trial->world.runtime, trial->block, trial->world.s));
  fake_graph_launch(0);
}
static wp_status free_dormant(struct trial *trial) {
  wp_status status = wp_free(trial->world.runtime, trial->block, trial->world.s);
  if (status == WP_OK || !fake_failed()) return status;
  expect(WP_OK, wp_free(trial->world.runtime, trial->block, trial->world.s)); /* nothing was lost */
  return WP_OK;
}
static void with_graphs(struct trial *trial) {
  with_frees(trial);
  fake_stream_capture(trial->world.s, true);
  void *ptr = world_alloc(&trial->world, MIB, trial->world.s);
  expect(WP_OK, wp_free(trial->world.runtime, ptr, trial->world.s));
  fake_stream_capture(trial->world.s, false);
  fake_graph_launch(0);
}
static wp_status prime(struct trial *trial) { return wp_prime(trial->world.delegate, MIB, trial->world.t); }

static void with_finished_frees(struct trial *trial) {
  with_frees(trial);
  fake_all_idle();
}
static wp_status trim_waiting(struct trial *trial) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  return wp_trim(trial->world.runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report);
}
static wp_status trim_without_waiting(struct trial *trial) {
  return wp_trim(trial->world.runtime, 0, 0, WP_NO_WAIT, NULL);
}
static wp_status tick(struct trial *trial) { return wp_tick(trial->world.runtime); }
static wp_status close_last(struct trial *trial) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  trial->closes_delegate = true;
  return wp_delegate_close(trial->world.delegate, &report);
}
static void with_second(struct trial *trial) {
  expect(WP_OK, wp_delegate_open(trial->world.runtime, 0, NULL, &trial->opened));
}
static wp_status close_second(struct trial *trial) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_delegate *second = trial->opened;
  trial->opened = NULL;
  return wp_delegate_close(second, &report);
}
static void closed_and_due(struct trial *trial) {
  with_frees(trial);
  wp_status status = wp_delegate_close(trial->world.delegate, NULL);
  cr_assert(status == WP_PENDING || status == WP_OK);
  fake_all_idle();
}
static wp_status tick_when_closed(struct trial *trial) {
  trial->closes_delegate = true;
  return wp_tick(trial->world.runtime);
}
static wp_status retire(struct trial *trial) { return wp_stream_retire(trial->world.runtime, 0, trial->world.s); }
static wp_status query(struct trial *trial) {
  wp_driver_stats stats = WP_DRIVER_STATS_INIT;
  return wp_query_driver(trial->world.runtime, WP_DEVICE_CURRENT, &stats);
}
static wp_status reset_peaks(struct trial *trial) { return wp_reset_peaks(trial->world.runtime, WP_DEVICE_ALL); }
static wp_status stats(struct trial *trial) {
  wp_stats out = WP_STATS_INIT;
  return wp_device_stats(trial->world.runtime, WP_DEVICE_CURRENT, &out);
}

static const struct step steps[] = {
    {"wp_delegate_open", nothing, open_again},
    {"wp_delegate_open", nothing, open_other},
    {"wp_alloc", nothing, alloc},
    {"wp_alloc", fill_device, alloc_when_full},
    {"wp_free", with_block, free_here},
    {"wp_free", with_block, free_on_new_stream},
    {"wp_free", with_noted_block, free_here},
    {"wp_free", with_finished_note, free_here},
    {"wp_free", closed_with_block, free_when_closed},
    {"wp_free_after", with_block, free_after_none},
    {"wp_free_after", with_block, free_after_three},
    {"wp_free_after", with_noted_block, free_after_three},
    {"wp_note_use", with_block, note_use},
    {"wp_note_use", with_noted_block, note_use},
    {"wp_prime", nothing, prime},
    {"wp_alloc", nothing, alloc_captured},
    {"wp_free", with_captured_block, free_inside},
    {"wp_free", with_launched_block, free_here},
    {"wp_free_after", with_launched_block, free_after_three},
    {"wp_free", with_dormant_block, free_dormant},
    {"wp_trim", with_graphs, trim_waiting},
    {"wp_delegate_close", with_graphs, close_last},
    {"wp_trim", with_frees, trim_waiting},
    {"wp_trim", with_frees, trim_without_waiting},
    {"wp_trim", with_finished_frees, trim_without_waiting},
    {"wp_tick", with_finished_frees, tick},
    {"wp_tick", closed_and_due, tick_when_closed},
    {"wp_delegate_close", with_frees, close_last},
    {"wp_delegate_close", with_second, close_second},
    {"wp_stream_retire", with_frees, retire},
    {"wp_query_driver", nothing, query},
    {"wp_reset_peaks", nothing, reset_peaks},
    {"wp_device_stats", nothing, stats},
};
#define STEPS (sizeof steps / sizeof *steps)

/* -- the trial -- */

static void check_promises(struct trial *trial, const struct step *step, wp_status status, wp_status injected,
                           int device_before) {
  wp_stats after = world_stats(&trial->world);
  if (status > WP_PENDING) {
    wp_error_info info = world_error();
    /* Where reclaiming fails, the device is still full. */
    bool is_full = status == WP_ERROR_OUT_OF_MEMORY && step->run == alloc_when_full;
    cr_assert(status == injected || is_full, "%s answered %s", step->name, wp_status_name(status));
    cr_assert_str_eq(info.call, step->name);
    cr_assert_neq(info.message[0], '\0');
    if (injected == WP_ERROR_DRIVER) cr_assert_str_eq(info.name, "FAKE_ERROR");
    if (trial->frees_block) {
      cr_assert(world_is_live(&trial->world, trial->block), "%s failed and lost the block", step->name);
      cr_assert_eq(after.live_bytes, trial->before.live_bytes);
      cr_assert_eq(after.frees, trial->before.frees);
    }
    if (trial->allocs) cr_assert_null(trial->out, "%s failed and touched its output", step->name);
    if (trial->allocs) cr_assert_eq(after.allocs, trial->before.allocs);
  } else if (trial->frees_block) {
    cr_assert_not(world_is_live(&trial->world, trial->block), "%s left the block live", step->name);
    cr_assert_eq(after.frees, trial->before.frees + 1);
    trial->block = NULL;
  }
  cr_assert(fake_current() == device_before || status == WP_OK, "%s changed the current device", step->name);
}

static void clean_up(struct trial *trial) {
  struct world *world = &trial->world;
  fake_all_idle();
  fake_set_current(0);
  if (trial->out != NULL) expect(WP_OK, wp_free(world->runtime, trial->out, world->t));
  if (trial->block != NULL && world_is_live(world, trial->block)) {
    expect(WP_OK, wp_free(world->runtime, trial->block, world->s));
  }
  if (trial->opened != NULL) expect(WP_OK, wp_delegate_close(trial->opened, NULL));
  if (trial->closes_delegate) { /* so that world_end has one to close */
    expect(WP_OK, wp_delegate_open(world->runtime, 0, NULL, &world->delegate));
  }
  if (world->log_lines > 0) { /* a free that could not be recorded is vouched for by the next one on its stream */
    expect(WP_OK, wp_free(world->runtime, world_alloc(world, 1, world->s), world->s));
    expect(WP_OK, wp_free(world->runtime, world_alloc(world, 1, world->t), world->t));
  }
  world_end(world);
}

/* One step with its nth driver call (or host allocation) failing; whether there was an nth. */
static bool try_step(const struct step *step, int n, bool of_host) {
  struct trial trial = {0};
  fake_reset();
  world_start(&trial.world);
  step->prepare(&trial);
  trial.before = world_stats(&trial.world);
  int device_before = fake_current();
  fake_fail(NULL, of_host ? 0 : n, WP_ERROR_DRIVER);
  if (of_host) wp__test_fail_allocation(n);
  wp_status status = step->run(&trial);
  bool failed = of_host ? wp__test_allocation_failed() : fake_failed();
  fake_fail(NULL, 0, WP_OK);
  wp__test_fail_allocation(0);
  check_promises(&trial, step, status, of_host ? WP_ERROR_OUT_OF_HOST_MEMORY : WP_ERROR_DRIVER, device_before);
  clean_up(&trial);
  return failed;
}

static void try_all(bool of_host) {
  for (size_t i = 0; i < STEPS; i++) {
    int n = 1;
    while (try_step(&steps[i], n, of_host)) n++;
    cr_log_info("step %zu (%s): %d calls failed in turn", i, steps[i].name, n - 1);
  }
}

Test(failures, every_driver_call_may_fail_checked, .timeout = 60) { try_all(false); }

Test(failures, every_driver_call_may_fail_declared, .timeout = 60) {
  world_options.stream_contract = WP_STREAMS_DECLARED;
  try_all(false);
}

Test(failures, every_driver_call_may_fail_without_waiting, .timeout = 60) {
  world_options.release_wait = WP_NO_WAIT;
  try_all(false);
}

Test(failures, every_host_allocation_may_fail_checked, .timeout = 60) { try_all(true); }
Test(failures, every_host_allocation_may_fail_declared, .timeout = 60) {
  world_options.stream_contract = WP_STREAMS_DECLARED;
  try_all(true);
}

/* -- the first use of a runtime: nothing of it is there yet -- */
static bool try_first_use(int n, bool of_host) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_runtime *runtime = NULL;
  wp_delegate *delegate = NULL;
  fake_reset();
  (void)wp__thread_self();
  long allocations = wp__test_allocations();
  options.backend = &fake_backend;
  fake_fail(NULL, of_host ? 0 : n, WP_ERROR_DRIVER);
  if (of_host) wp__test_fail_allocation(n);
  wp_status status = wp_runtime_create(&options, &runtime);
  if (status == WP_OK) status = wp_delegate_open(runtime, 1, NULL, &delegate);
  bool failed = of_host ? wp__test_allocation_failed() : fake_failed();
  fake_fail(NULL, 0, WP_OK);
  wp__test_fail_allocation(0);
  fake_set_current(0);
  cr_assert(failed || status == WP_OK);
  if (runtime != NULL && delegate == NULL) { /* it works the next time */
    expect(WP_OK, wp_delegate_open(runtime, 1, NULL, &delegate));
  }
  expect(WP_OK, wp_delegate_close(delegate, NULL));
  expect(WP_OK, wp_runtime_destroy(runtime));
  cr_assert_eq(fake_objects(), 0, "%d driver objects are left", fake_objects());
  cr_assert_eq(wp__test_allocations(), allocations);
  return failed;
}

Test(failures, first_open_may_fail_at_every_step, .timeout = 60) {
  for (int n = 1; try_first_use(n, false);) n++;
}
Test(failures, first_open_may_run_out_of_host_memory_at_every_step, .timeout = 60) {
  for (int n = 1; try_first_use(n, true);) n++;
}

/* -- the end of a runtime: it goes whatever the driver says -- */
static bool try_destroy(int n, wp_wait wait) {
  struct trial trial = {0};
  world_options.release_wait = wait;
  fake_reset();
  (void)wp__thread_self();
  long allocations = wp__test_allocations();
  world_start(&trial.world);
  with_frees(&trial);
  wp_status closed = wp_delegate_close(trial.world.delegate, NULL);
  wp_status wanted = wait == WP_WAIT ? WP_OK : WP_PENDING;
  cr_assert(closed == wanted, "the close answered %s", wp_status_name(closed));
  fake_fail(NULL, n, WP_ERROR_DRIVER);
  wp_status status = wp_runtime_destroy(trial.world.runtime);
  bool failed = fake_failed();
  fake_fail(NULL, 0, WP_OK);
  cr_assert(status == WP_ERROR_DRIVER || status == closed);
  cr_assert_eq(wp__test_allocations(), allocations);
  if (!failed) {
    cr_assert_eq(status, closed);
    cr_assert_eq(fake_objects(), 0);
    cr_assert_eq(fake_blocks(), 0);
  }
  return failed;
}

Test(failures, destroy_may_fail_at_every_step, .timeout = 60) {
  for (int n = 1; try_destroy(n, WP_WAIT);) n++;
  for (int n = 1; try_destroy(n, WP_NO_WAIT);) n++;
}
