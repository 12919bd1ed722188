/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine's captures and graphs. What a GPU's driver does in the same way is in tests/facts. */
#include <pthread.h>
#include <stdatomic.h>

#include "../../src/common/os.h"
#include "engine_test.h"

#define ANSWERS(result, call) cr_expect_eq((call), WP__HOST_##result, "%s", #call)

static void *stream, *other, *event, *pool;

static void set_up(void) {
  use_small_devices();
  stream = make_stream(0);
  other = make_stream(0);
  event = make_event(0);
  pool = make_pool(0);
}

TestSuite(host_graphs, .init = set_up, .timeout = 20);

static atomic_int runs, releases;
static void count_run(void *argument) { (void)atomic_fetch_add((atomic_int *)argument, 1); }
static void count_release(void *argument) {
  (void)argument;
  (void)atomic_fetch_add(&releases, 1);
}
static void submit(void *to) { OK(wp__host_submit(to, count_run, count_release, &runs)); }

static void begin(void *on) { OK(wp__host_capture_begin(on, WP__HOST_CAPTURE_GLOBAL)); }

static void *end(void *on) {
  void *graph = NULL, *executable = NULL;
  OK(wp__host_capture_end(on, &graph));
  OK(wp__host_graph_instantiate(graph, &executable));
  OK(wp__host_graph_destroy(graph));
  return executable;
}

static void wait_for(void *waiting, void *waited_for) {
  OK(wp__host_event_record(event, waited_for));
  OK(wp__host_stream_wait(waiting, event));
}

static void run(void *executable, void *on) {
  OK(wp__host_executable_launch(executable, on));
  OK(wp__host_stream_synchronize(on));
}

static void expect_invalidated(void *on) {
  void *graph = &graph;
  enum wp__host_capture_state state;
  OK(wp__host_capture_status(on, &state));
  cr_expect_eq(state, WP__HOST_CAPTURE_BROKEN);
  ANSWERS(CAPTURE_INVALIDATED, wp__host_submit(on, count_run, NULL, &runs));
  ANSWERS(CAPTURE_INVALIDATED, wp__host_capture_end(on, &graph));
  cr_expect_eq(graph, &graph);
  OK(wp__host_capture_status(on, &state));
  cr_expect_eq(state, WP__HOST_CAPTURE_NONE);
}

/* -- work -- */

Test(host_graphs, run_what_was_captured_at_each_launch_and_not_before) {
  begin(stream);
  for (int i = 0; i < 40; ++i) submit(stream);
  void *executable = end(stream);
  cr_expect_eq(runs, 0);
  run(executable, other);
  run(executable, stream);
  cr_expect_eq(runs, 80);
  cr_expect_eq(releases, 0);
  OK(wp__host_executable_destroy(executable));
  cr_expect_eq(releases, 40);
  INVALID(wp__host_executable_launch(executable, stream));
}

Test(host_graphs, run_to_their_end_when_destroyed) {
  begin(stream);
  submit(stream);
  void *executable = end(stream);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_executable_launch(executable, stream));
  OK(wp__host_executable_destroy(executable));
  cr_expect_eq(releases, 0);
  rig_release(hold);
  OK(wp__host_stream_synchronize(stream));
  cr_expect_eq(runs, 1);
  while (releases != 1) wp__yield();
}

Test(host_graphs, run_one_launch_of_an_executable_after_the_other) {
  bool complete = true;
  begin(stream);
  submit(stream);
  void *executable = end(stream);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_executable_launch(executable, stream));
  OK(wp__host_executable_launch(executable, other));
  OK(wp__host_stream_query(other, &complete));
  cr_expect_not(complete);
  rig_release(hold);
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(runs, 2);
}

Test(host_graphs, take_in_a_stream_that_waits_for_the_capture) {
  begin(stream);
  submit(stream);
  wait_for(other, stream);
  submit(other);
  submit(stream);
  wait_for(stream, other);
  void *executable = end(stream);
  cr_expect_eq(runs, 0);
  run(executable, stream);
  cr_expect_eq(runs, 3);
  submit(other); /* is on its own again */
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(runs, 4);
}

/* -- what a capture cannot be -- */

Test(host_graphs, are_not_made_of_a_fork_that_nobody_joined) {
  void *graph = NULL;
  begin(stream);
  wait_for(other, stream);
  submit(other);
  ANSWERS(CAPTURE_UNJOINED, wp__host_capture_end(stream, &graph));
  cr_expect_null(graph);
  cr_expect_eq(releases, 1);
  submit(other);
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(runs, 1);
}

Test(host_graphs, are_not_made_of_two_captures) {
  begin(stream);
  begin(other);
  OK(wp__host_event_record(event, stream));
  ANSWERS(CAPTURE_MERGE, wp__host_stream_wait(other, event));
  expect_invalidated(stream);
  expect_invalidated(other);
}

Test(host_graphs, do_not_depend_on_work_outside) {
  OK(wp__host_event_record(event, other));
  begin(stream);
  ANSWERS(CAPTURE_ISOLATION, wp__host_stream_wait(stream, event));
  expect_invalidated(stream);
  begin(stream);
  OK(wp__host_stream_wait(stream, make_event(0))); /* never recorded */
  OK(wp__host_executable_destroy(end(stream)));
}

Test(host_graphs, come_from_the_stream_and_the_thread_that_began) {
  void *graph = NULL;
  enum wp__host_capture_state state;
  ANSWERS(ILLEGAL_STATE, wp__host_capture_end(stream, &graph));
  ANSWERS(CAPTURE_UNSUPPORTED, wp__host_capture_begin(WP__HOST_STREAM_LEGACY, WP__HOST_CAPTURE_RELAXED));
  INVALID(wp__host_capture_begin(stream, (enum wp__host_capture_mode)3));
  begin(stream);
  ANSWERS(ILLEGAL_STATE, wp__host_capture_begin(stream, WP__HOST_CAPTURE_GLOBAL));
  OK(wp__host_capture_status(stream, &state));
  cr_expect_eq(state, WP__HOST_CAPTURE_ACTIVE);
  wait_for(other, stream);
  ANSWERS(CAPTURE_UNMATCHED, wp__host_capture_end(other, &graph));
  expect_invalidated(stream);
}

static void *answer_of_end(void *out) {
  void *graph = NULL;
  *(wp__host_result *)out = wp__host_capture_end(stream, &graph);
  return NULL;
}

static void *answer_of_query(void *out) {
  bool complete;
  *(wp__host_result *)out = wp__host_stream_query(other, &complete);
  return NULL;
}

static wp__host_result on_another_thread(void *(*body)(void *out)) {
  pthread_t thread;
  wp__host_result result = WP__HOST_SUCCESS;
  cr_assert_eq(pthread_create(&thread, NULL, body, &result), 0);
  (void)pthread_join(thread, NULL);
  return result;
}

Test(host_graphs, of_another_thread_are_its_own_to_end) {
  OK(wp__host_capture_begin(stream, WP__HOST_CAPTURE_THREAD_LOCAL));
  ANSWERS(CAPTURE_WRONG_THREAD, on_another_thread(answer_of_end));
  ANSWERS(SUCCESS, on_another_thread(answer_of_query)); /* thread-local: it may */
  OK(wp__host_executable_destroy(end(stream)));
  OK(wp__host_capture_begin(stream, WP__HOST_CAPTURE_RELAXED));
  ANSWERS(SUCCESS, on_another_thread(answer_of_end));
}

Test(host_graphs, captured_in_global_mode_forbid_other_threads_too) {
  begin(stream);
  ANSWERS(CAPTURE_UNSUPPORTED, on_another_thread(answer_of_query));
  expect_invalidated(stream);
}

Test(host_graphs, are_lost_when_somebody_asks_after_captured_work_even_if_relaxed) {
  enum wp__host_capture_mode mode = WP__HOST_CAPTURE_RELAXED;
  bool complete;
  OK(wp__host_capture_exchange_mode(&mode));
  cr_expect_eq(mode, WP__HOST_CAPTURE_GLOBAL);
  begin(stream);
  ANSWERS(CAPTURE_UNSUPPORTED, wp__host_stream_synchronize(stream));
  expect_invalidated(stream);
  begin(stream);
  OK(wp__host_event_record(event, stream));
  ANSWERS(CAPTURED_EVENT, wp__host_event_query(event, &complete));
  expect_invalidated(stream);
  ANSWERS(CAPTURED_EVENT, wp__host_stream_wait(other, event)); /* of a capture that is over */
}

Test(host_graphs, are_lost_with_the_stream_that_began) {
  begin(stream);
  submit(stream);
  OK(wp__host_stream_destroy(stream));
  cr_expect_eq(releases, 1);
  OK(wp__host_stream_synchronize(other)); /* nothing forbids it any more */
}

/* -- memory -- */

static wp__host_graph_figures graph_memory(void) {
  wp__host_graph_figures figures;
  OK(wp__host_graph_memory_measure(0, &figures));
  return figures;
}

Test(host_graphs, reuse_what_they_have_freed) {
  begin(stream);
  void *one = allocate(pool, 64 * MIB, stream);
  OK(wp__host_memory_free(one, stream));
  cr_expect_eq(allocate(pool, 64 * MIB, stream), one);
  OK(wp__host_memory_free(one, stream));
  INVALID(wp__host_memory_free(one, stream));
  void *executable = end(stream);
  cr_expect_eq(graph_memory().reserved, 0);
  run(executable, stream);
  run(executable, stream);
  cr_expect_eq(graph_memory().reserved, 64 * MIB);
  cr_expect_eq(graph_memory().reserved_peak, 64 * MIB);
  cr_expect_eq(graph_memory().used, 0);
  cr_expect_eq(device_free(0), 192 * MIB);
  OK(wp__host_graph_memory_trim(0));
  cr_expect_eq(device_free(0), 256 * MIB);
}

Test(host_graphs, can_free_what_another_one_has_allocated) {
  begin(stream);
  void *memory = allocate(pool, MIB, stream);
  void *allocates = end(stream);
  begin(stream);
  OK(wp__host_memory_free(memory, stream));
  void *frees = end(stream);
  INVALID(wp__host_executable_launch(frees, stream));
  for (int i = 0; i < 2; ++i) {
    run(allocates, stream);
    cr_expect_gt(graph_memory().used, 0);
    run(frees, stream);
    cr_expect_eq(graph_memory().used, 0);
  }
}

Test(host_graphs, with_memory_have_one_executable_at_a_time) {
  void *graph = NULL, *one = NULL, *two = NULL;
  begin(stream);
  OK(wp__host_memory_free(allocate(pool, MIB, stream), stream));
  OK(wp__host_capture_end(stream, &graph));
  OK(wp__host_graph_instantiate(graph, &one));
  ANSWERS(NOT_SUPPORTED, wp__host_graph_instantiate(graph, &two));
  OK(wp__host_executable_destroy(one));
  OK(wp__host_graph_instantiate(graph, &two));
}

Test(host_graphs, that_need_more_than_there_is_are_not_launched_and_harm_nothing) {
  begin(stream);
  (void)allocate(pool, 128 * MIB, stream);
  (void)allocate(pool, 192 * MIB, stream);
  void *executable = end(stream);
  ANSWERS(OUT_OF_MEMORY, wp__host_executable_launch(executable, stream));
  cr_expect_eq(graph_memory().used, 0);
  OK(wp__host_graph_memory_trim(0));
  cr_expect_eq(device_free(0), 256 * MIB);
}

Test(host_graphs, leave_memory_to_a_trim_only_when_their_launch_has_ended) {
  begin(stream);
  OK(wp__host_memory_free(allocate(pool, 64 * MIB, stream), stream));
  void *executable = end(stream);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_executable_launch(executable, stream));
  OK(wp__host_graph_memory_trim(0));
  cr_expect_eq(graph_memory().reserved, 64 * MIB);
  rig_release(hold);
  OK(wp__host_stream_synchronize(stream));
  OK(wp__host_graph_memory_trim(0));
  cr_expect_eq(graph_memory().reserved, 0);
}

/* -- out of host memory, at each allocation in turn -- */

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    wp__host_result result = (call);                                                                                   \
    if (result != WP__HOST_SUCCESS) return result;                                                                     \
  } while (0)

static wp__host_result use_graph(void **graph, void **executable) {
  void *memory = NULL;
  TRY(wp__host_capture_begin(stream, WP__HOST_CAPTURE_GLOBAL));
  TRY(wp__host_memory_alloc(pool, MIB, stream, &memory));
  TRY(wp__host_event_record(event, stream));
  TRY(wp__host_stream_wait(other, event));
  TRY(wp__host_submit(other, count_run, NULL, &runs));
  TRY(wp__host_submit(stream, count_run, NULL, &runs));
  TRY(wp__host_stream_join(stream, other));
  TRY(wp__host_memory_free(memory, stream));
  TRY(wp__host_capture_end(stream, graph));
  TRY(wp__host_graph_instantiate(*graph, executable));
  TRY(wp__host_executable_launch(*executable, other));
  TRY(wp__host_executable_launch(*executable, stream));
  return WP__HOST_SUCCESS;
}

Test(host_graphs, are_made_and_launched_once_there_is_host_memory) {
  long nth = 1;
  for (bool has_failed = true; has_failed; ++nth) {
    void *graph = NULL, *executable = NULL, *left = NULL;
    enum wp__host_capture_state state;
    wp__test_fail_allocation(nth);
    wp__host_result result = use_graph(&graph, &executable);
    has_failed = wp__test_allocation_failed();
    wp__test_fail_allocation(0);
    cr_expect_eq(result, has_failed ? WP__HOST_OUT_OF_HOST_MEMORY : WP__HOST_SUCCESS, "allocation %ld", nth);
    OK(wp__host_capture_status(stream, &state));
    if (state != WP__HOST_CAPTURE_NONE && wp__host_capture_end(stream, &left) == WP__HOST_SUCCESS) graph = left;
    if (executable != NULL) OK(wp__host_executable_destroy(executable));
    if (graph != NULL) OK(wp__host_graph_destroy(graph));
    OK(wp__host_stream_synchronize(stream));
    OK(wp__host_stream_synchronize(other));
    while (graph_memory().used != 0) wp__yield();
    OK(wp__host_graph_memory_trim(0));
    cr_expect_eq(device_free(0), 256 * MIB, "allocation %ld", nth);
  }
  cr_expect_gt(nth, 15);
}
