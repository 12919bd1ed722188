/* SPDX-License-Identifier: Apache-2.0 */
/* fork() and exit(). */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.h"

SUITE(process);

/* -- DALI#4275: in the child every function that is given an object answers WP_ERROR_FORKED -- */

static wp_delegate *delegate;
static wp_delegate *closed; /* with a live block */
static void *memory;
static wp_stream stream;

static wp_status do_destroy(void) { return wp_runtime_destroy(runtime); }
static wp_status do_trim(void) { return wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, NULL); }
static wp_status do_trim_one(void) { return wp_trim(runtime, 0, 0, WP_NO_WAIT, NULL); }
static wp_status do_tick(void) { return wp_tick(runtime); }
static wp_status do_retire(void) { return wp_stream_retire(runtime, 0, stream); }
static wp_status do_lost(void) { return wp_device_lost(runtime, 0); }
static wp_status do_open(void) { return wp_delegate_open(runtime, 0, NULL, &(wp_delegate *){NULL}); }
static wp_status do_close(void) { return wp_delegate_close(delegate, NULL); }
static wp_status do_close_closed(void) { return wp_delegate_close(closed, NULL); }
static wp_status do_alloc(void) { return wp_alloc(delegate, 1, stream, &(void *){NULL}); }
static wp_status do_prime(void) { return wp_prime(delegate, 1, stream); }
static wp_status do_free(void) { return wp_free(runtime, memory, stream); }
static wp_status do_free_after(void) { return wp_free_after(runtime, memory, NULL, 0); }
static wp_status do_note(void) { return wp_note_use(runtime, memory, stream); }
static wp_status do_info(void) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  return wp_pointer_info(runtime, memory, &info);
}
static wp_status do_stats(void) {
  wp_stats out = WP_STATS_INIT;
  return wp_device_stats(runtime, 0, &out);
}
static wp_status do_delegate_stats(void) {
  wp_stats out = WP_STATS_INIT;
  return wp_delegate_stats(closed, &out);
}
static wp_status do_query(void) {
  wp_driver_stats out = WP_DRIVER_STATS_INIT;
  return wp_query_driver(runtime, 0, &out);
}
static wp_status do_reset(void) { return wp_reset_peaks(runtime, WP_DEVICE_ALL); }
static wp_status do_default(void) { return wp_runtime_default(&(wp_runtime *){NULL}); }
static wp_status do_json(void) { return wp_stats_json(runtime, NULL, 0) == 0 ? WP_ERROR_FORKED : WP_OK; }

static wp_status (*const calls[])(void) = {
    do_destroy, do_trim,         do_trim_one,       do_tick,  do_retire, do_lost,       do_open,
    do_close,   do_close_closed, do_alloc,          do_prime, do_free,   do_free_after, do_note,
    do_info,    do_stats,        do_delegate_stats, do_query, do_reset,  do_default,    do_json,
};

/* The number of the first call that did not answer as it should, from 1; 0 if all did. */
static int call_all_in_child(void) {
  for (size_t i = 0; i < COUNT_OF(calls); i++) {
    if (calls[i]() != WP_ERROR_FORKED) return (int)i + 1;
    if (calls[i] != do_json && last_error().code != WP_ERROR_FORKED) return (int)i + 101;
  }
  return 0;
}

static int wait_for(pid_t child) {
  int status = 0;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
  return WEXITSTATUS(status);
}

BOTH_CONTRACTS(process, that_was_forked_is_refused_everything) {
  wp_runtime *the_default;
  start(NULL);
  OK(wp_runtime_default(&the_default));
  delegate = open_on(0);
  closed = open_on(0);
  stream = rig_stream_create(0);
  memory = take(closed, MIB, stream);
  rig_fill(stream, memory, 0x55, MIB);
  give(take(delegate, MIB, stream), stream);
  rig_stream_synchronize(stream);
  OK(wp_delegate_close(closed, NULL));
  look();
  pid_t child = fork();
  if (child == 0) _exit(call_all_in_child());
  cr_assert_neq(child, -1);
  cr_expect_eq(wait_for(child), 0);
  /* To the parent it is as if nothing had happened. */
  expect_bytes(stream, memory, 0x55, MIB);
  cr_expect_eq(stats(0).live_bytes, MIB);
  give(memory, stream);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, stream);
}

/* -- rmm#2366: whatever is left behind, exit() ends well -- */

static void leak_everything(void) {
  contract = rand() % 2 ? WP_STREAMS_CHECKED : WP_STREAMS_DECLARED;
  start(NULL);
  for (int i = 0; i < rig_device_count(); i++) {
    wp_stream leaked = rig_stream_create(i);
    wp_delegate *open = open_on(i), *other = open_on(i);
    void *live = take(open, MIB, leaked), *parked = take(other, MIB, leaked);
    give(take(open, MIB, leaked), leaked);
    rig_busy(leaked, 5);
    OK(wp_note_use(runtime, parked, leaked));
    OK(wp_free_after(runtime, parked, NULL, 0));
    give(take(open, MIB, leaked), leaked);
    rig_fill(leaked, live, 1, MIB);
    OK(wp_delegate_close(other, NULL));
  }
  exit(0);
}

/* Children of a process that has not met the driver yet. */
Test(process, that_leaks_its_delegates_exits_with_0) {
  for (unsigned i = 0; i < 20; i++) {
    srand(i);
    pid_t child = fork();
    if (child == 0) leak_everything();
    cr_assert_neq(child, -1);
    cr_assert_eq(wait_for(child), 0, "exit %u of 20", i + 1);
  }
}

Test(process, that_leaks_its_delegates_exits_with_0_itself, .exit_code = 0) { leak_everything(); }
