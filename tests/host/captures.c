/* SPDX-License-Identifier: Apache-2.0 */
/* The captures and graphs of host.h: what they run, what is refused, and what a refusal leaves. */
#include <pthread.h>
#include <stdatomic.h>

#include "engine_test.h"
#include "warmpool/host.h"
#include "warmpool/warmpool.h"

#define GOOD(call) cr_assert_eq((call), WP_OK, "%s", #call)
#define REFUSED(status, call) cr_expect_eq((call), WP_ERROR_##status, "%s", #call)

static wp_stream stream, other;
static atomic_int runs;

static void count(void *argument) {
  (void)argument;
  (void)atomic_fetch_add(&runs, 1);
}

static void set_up(void) {
  use_small_devices();
  GOOD(wp_host_stream_create(0, &stream));
  GOOD(wp_host_stream_create(0, &other));
}

TestSuite(host_captures, .init = set_up, .timeout = 20);

static void begin(wp_stream on) { GOOD(wp_host_capture_begin(on, WP_HOST_CAPTURE_GLOBAL)); }

static wp_host_executable end(wp_stream on) {
  wp_host_graph graph = NULL;
  wp_host_executable executable = NULL;
  GOOD(wp_host_capture_end(on, &graph));
  GOOD(wp_host_graph_instantiate(graph, &executable));
  GOOD(wp_host_graph_destroy(graph));
  return executable;
}

static void run(wp_host_executable executable, wp_stream on) {
  GOOD(wp_host_graph_launch(executable, on));
  GOOD(wp_host_stream_synchronize(on));
}

static void expect_capturing(wp_stream on) {
  wp_host_executable executable = end(on);
  GOOD(wp_host_executable_destroy(executable));
}

static void expect_invalidated(wp_stream on) {
  wp_host_graph graph = &graph;
  REFUSED(CAPTURING, wp_host_launch(on, count, NULL));
  REFUSED(CAPTURING, wp_host_capture_end(on, &graph));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(on, &graph)); /* it is over */
  cr_expect_eq(graph, &graph);
}

/* -- what they run -- */

Test(host_captures, run_at_each_launch_and_not_before) {
  for (int mode = WP_HOST_CAPTURE_GLOBAL; mode <= WP_HOST_CAPTURE_RELAXED; ++mode) {
    atomic_store(&runs, 0);
    GOOD(wp_host_capture_begin(stream, (wp_host_capture_mode)mode));
    GOOD(wp_host_launch(stream, count, NULL));
    GOOD(wp_host_launch(stream, count, NULL));
    wp_host_executable executable = end(stream);
    GOOD(wp_host_stream_synchronize(stream));
    cr_expect_eq(runs, 0);
    run(executable, stream);
    run(executable, other);
    cr_expect_eq(runs, 4);
    GOOD(wp_host_executable_destroy(executable));
  }
}

static int at;
static void expect_at(void *argument) {
  if (at == *(const int *)argument) ++at;
}

Test(host_captures, take_in_a_stream_that_waits_and_keep_its_place) {
  static const int steps[] = {0, 1, 2, 3};
  begin(stream);
  GOOD(wp_host_launch(stream, expect_at, (void *)&steps[0]));
  GOOD(wp_host_stream_wait(other, stream));
  GOOD(wp_host_launch(other, expect_at, (void *)&steps[1]));
  GOOD(wp_host_stream_wait(stream, other));
  GOOD(wp_host_launch(stream, expect_at, (void *)&steps[2]));
  wp_host_executable executable = end(stream);
  GOOD(wp_host_launch(other, expect_at, (void *)&steps[3])); /* runs, and now: it is not captured any more */
  GOOD(wp_host_stream_synchronize(other));
  cr_expect_eq(at, 0);
  run(executable, other);
  cr_expect_eq(at, 3);
}

Test(host_captures, begin_beside_work_that_the_stream_has_still_to_run) {
  rig_hold *hold = rig_hold_stream(stream);
  begin(stream);
  GOOD(wp_host_launch(stream, count, NULL));
  wp_host_executable executable = end(stream);
  rig_release(hold);
  run(executable, stream);
  cr_expect_eq(runs, 1);
}

Test(host_captures, run_to_their_end_without_handles) {
  begin(stream);
  GOOD(wp_host_launch(stream, count, NULL));
  wp_host_executable executable = end(stream);
  rig_hold *hold = rig_hold_stream(stream);
  GOOD(wp_host_graph_launch(executable, stream));
  GOOD(wp_host_executable_destroy(executable));
  rig_release(hold);
  GOOD(wp_host_stream_synchronize(stream));
  cr_expect_eq(runs, 1);
}

/* -- bad input -- */

Test(host_captures, begin_on_streams_in_a_mode) {
  static const int modes[] = {-1, WP_HOST_CAPTURE_RELAXED + 1};
  wp_stream gone = other;
  GOOD(wp_host_stream_destroy(gone));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_begin(gone, WP_HOST_CAPTURE_GLOBAL));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_begin((wp_stream)0x123456, WP_HOST_CAPTURE_GLOBAL));
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    REFUSED(INVALID_ARGUMENT, wp_host_capture_begin(stream, (wp_host_capture_mode)modes[i]));
  }
  REFUSED(NOT_SUPPORTED, wp_host_capture_begin(WP_STREAM_LEGACY, WP_HOST_CAPTURE_RELAXED));
  REFUSED(NOT_SUPPORTED, wp_host_capture_begin((wp_stream)1, WP_HOST_CAPTURE_RELAXED));
  GOOD(wp_host_launch(stream, count, NULL)); /* nothing is captured */
  GOOD(wp_host_stream_synchronize(stream));
  cr_expect_eq(runs, 1);
}

Test(host_captures, begin_once_before_they_end_once) {
  wp_host_graph graph = &graph;
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(stream, &graph));
  begin(stream);
  REFUSED(CAPTURING, wp_host_capture_begin(stream, WP_HOST_CAPTURE_GLOBAL));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(stream, NULL));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(other, &graph));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end((wp_stream)0x123456, &graph));
  REFUSED(INVALID_ARGUMENT, wp_host_launch(stream, NULL, NULL));
  expect_capturing(stream);
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(stream, &graph));
  cr_expect_eq(graph, &graph);
}

Test(host_captures, end_on_the_stream_that_began) {
  wp_host_graph graph = &graph;
  begin(stream);
  GOOD(wp_host_stream_wait(other, stream));
  REFUSED(CAPTURING, wp_host_capture_begin(other, WP_HOST_CAPTURE_GLOBAL));
  REFUSED(CAPTURING, wp_host_capture_end(other, &graph));
  cr_expect_eq(graph, &graph);
  expect_invalidated(stream);
}

static void *end_elsewhere(void *out) {
  wp_host_graph graph = NULL;
  *(wp_status *)out = wp_host_capture_end(stream, &graph);
  if (graph != NULL) (void)wp_host_graph_destroy(graph);
  return NULL;
}

static wp_status answer_to_another_thread(void) {
  pthread_t thread;
  wp_status status = WP_OK;
  cr_assert_eq(pthread_create(&thread, NULL, end_elsewhere, &status), 0);
  (void)pthread_join(thread, NULL);
  return status;
}

Test(host_captures, end_on_the_thread_that_began_unless_relaxed) {
  begin(stream);
  cr_expect_eq(answer_to_another_thread(), WP_ERROR_CAPTURING);
  expect_capturing(stream);
  GOOD(wp_host_capture_begin(stream, WP_HOST_CAPTURE_RELAXED));
  cr_expect_eq(answer_to_another_thread(), WP_OK);
}

Test(host_captures, give_handles_that_are_told_apart_and_good_until_destroyed) {
  wp_host_graph graph = NULL;
  wp_host_executable executable = NULL, none = &none;
  begin(stream);
  GOOD(wp_host_capture_end(stream, &graph));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_instantiate(graph, NULL));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_instantiate(NULL, &none));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_launch(graph, stream));
  GOOD(wp_host_graph_instantiate(graph, &executable));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_instantiate(executable, &none));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_destroy(executable));
  REFUSED(INVALID_ARGUMENT, wp_host_executable_destroy(graph));
  GOOD(wp_host_graph_destroy(graph));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_destroy(graph));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_instantiate(graph, &none));
  run(executable, stream);
  REFUSED(INVALID_ARGUMENT, wp_host_graph_launch(executable, (wp_stream)0x123456));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_launch(NULL, stream));
  GOOD(wp_host_executable_destroy(executable));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_launch(executable, stream));
  REFUSED(INVALID_ARGUMENT, wp_host_executable_destroy(executable));
  REFUSED(INVALID_ARGUMENT, wp_host_executable_destroy(NULL));
  REFUSED(INVALID_ARGUMENT, wp_host_graph_destroy(NULL));
  cr_expect_eq(none, &none);
}

Test(host_captures, that_are_refused_are_not_the_librarys_failures) {
  wp_error_info why = WP_ERROR_INFO_INIT;
  wp_host_graph graph;
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(stream, &graph));
  wp_last_error(&why);
  cr_expect_null(why.call);
}

/* -- what a capture cannot be -- */

Test(host_captures, do_not_depend_on_work_that_runs) {
  begin(stream);
  REFUSED(CAPTURING, wp_host_stream_wait(stream, other));
  expect_invalidated(stream);
  begin(stream);
  REFUSED(CAPTURING, wp_host_stream_wait(WP_STREAM_LEGACY, stream));
  expect_invalidated(stream);
}

Test(host_captures, do_not_become_one) {
  begin(stream);
  begin(other);
  REFUSED(CAPTURING, wp_host_stream_wait(stream, other));
  expect_invalidated(stream);
  expect_invalidated(other);
}

Test(host_captures, end_without_a_graph_where_somebody_was_not_waited_for) {
  wp_host_graph graph = &graph;
  begin(stream);
  GOOD(wp_host_stream_wait(other, stream));
  GOOD(wp_host_launch(other, count, NULL));
  REFUSED(CAPTURING, wp_host_capture_end(stream, &graph));
  cr_expect_eq(graph, &graph);
  GOOD(wp_host_launch(other, count, NULL)); /* on its own again */
  GOOD(wp_host_stream_synchronize(other));
  cr_expect_eq(runs, 1);
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(stream, &graph));
}

Test(host_captures, are_not_waited_for) {
  GOOD(wp_host_capture_begin(stream, WP_HOST_CAPTURE_RELAXED));
  GOOD(wp_host_stream_synchronize(other));
  REFUSED(CAPTURING, wp_host_stream_synchronize(stream));
  expect_invalidated(stream);
  begin(stream);
  REFUSED(CAPTURING, wp_host_stream_synchronize(other)); /* the mode forbids it */
  expect_invalidated(stream);
}

Test(host_captures, of_a_threads_own_stream_keep_the_legacy_stream_out) {
  GOOD(wp_host_capture_begin(WP_STREAM_PER_THREAD, WP_HOST_CAPTURE_RELAXED));
  REFUSED(CAPTURING, wp_host_launch(WP_STREAM_LEGACY, count, NULL));
  expect_invalidated(WP_STREAM_PER_THREAD);
  cr_expect_eq(runs, 0);
}

Test(host_captures, are_lost_with_their_streams) {
  wp_host_graph graph = NULL;
  begin(stream);
  GOOD(wp_host_stream_wait(other, stream));
  GOOD(wp_host_stream_destroy(other));
  expect_invalidated(stream);
  begin(stream);
  GOOD(wp_host_stream_destroy(stream));
  REFUSED(INVALID_ARGUMENT, wp_host_capture_end(stream, &graph));
  GOOD(wp_host_stream_synchronize(WP_STREAM_LEGACY)); /* nothing forbids it any more */
}

Test(host_captures, have_no_graphs_in_them) {
  begin(stream);
  wp_host_executable executable = end(stream);
  begin(stream);
  REFUSED(CAPTURING, wp_host_graph_launch(executable, stream));
  expect_invalidated(stream);
  run(executable, stream);
}

/* -- memory -- */

Test(host_captures, with_memory_are_launched_where_it_is_there_and_free) {
  wp_host_graph graph = NULL;
  wp_host_executable one = NULL, two = &two;
  void *pool = make_pool(0);
  begin(stream);
  void *memory = allocate(pool, 64 * MIB, stream);
  GOOD(wp_host_capture_end(stream, &graph));
  GOOD(wp_host_graph_instantiate(graph, &one));
  REFUSED(NOT_SUPPORTED, wp_host_graph_instantiate(graph, &two));
  run(one, stream);
  REFUSED(INVALID_ARGUMENT, wp_host_graph_launch(one, stream)); /* its block is live */
  OK(wp__host_memory_free(memory, stream));
  OK(wp__host_stream_synchronize(stream));
  OK(wp__host_graph_memory_trim(0));
  void *rest = allocate(pool, 224 * MIB, stream);
  REFUSED(OUT_OF_MEMORY, wp_host_graph_launch(one, stream));
  OK(wp__host_memory_free(rest, stream));
  OK(wp__host_stream_synchronize(stream));
  OK(wp__host_pool_trim(pool, 0));
  run(one, stream);
  cr_expect_eq(two, &two);
}
