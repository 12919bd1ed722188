/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture forbids, what becomes of it then, and what can be done beside it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "facts.h"

#define BYTES (64 * MIB)
#define ROUNDS 20

static wp_stream other;
static wp_event finished;

static void capture_init(void) {
  facts_init();
  other = rig_stream_create(0);
  finished = record(other);
}

static void capture_fini(void) {
  rig_stream_destroy(other);
  facts_fini();
}

TestSuite(capture, .init = capture_init, .fini = capture_fini, .timeout = 20);

/* -- C8: what another stream, and a pool, can be asked for -- */

static wp_status allocate_elsewhere(void) {
  void *memory;
  return driver->memory_alloc(driver->self, pool, BYTES, other, &memory);
}

static wp_status query_event(void) {
  bool complete;
  return driver->event_query(driver->self, finished, &complete);
}

static wp_status synchronize_event(void) { return driver->event_synchronize(driver->self, finished); }
static wp_status synchronize_elsewhere(void) { return driver->stream_synchronize(driver->self, other); }
static wp_status trim_pool(void) { return driver->pool_trim(driver->self, pool, 0); }

static void expect_forbidden(wp_status (*call)(void)) {
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  cr_expect_eq(call(), WP_ERROR_CAPTURING);
  cr_expect_eq(rig_last_error(), 0);
  cr_expect_eq(rig_capture_status(stream), RIG_CAPTURE_INVALIDATED);
  cr_expect_null(rig_capture_end(stream));
  cr_expect_eq(rig_capture_status(stream), RIG_CAPTURE_NONE);
  cr_expect_eq(call(), WP_OK);
}

/* C8 */
Test(capture, in_global_mode_is_invalidated_by_an_allocation) { expect_forbidden(allocate_elsewhere); }
/* C8 */
Test(capture, in_global_mode_is_invalidated_by_an_event_query) { expect_forbidden(query_event); }
/* C8 */
Test(capture, in_global_mode_is_invalidated_by_synchronising_an_event) { expect_forbidden(synchronize_event); }
/* C8 */
Test(capture, in_global_mode_is_invalidated_by_synchronising_a_stream) { expect_forbidden(synchronize_elsewhere); }
/* C8 */
Test(capture, in_global_mode_is_invalidated_by_a_trim) { expect_forbidden(trim_pool); }

static int relax(void) {
  int previous;
  cr_assert_eq(driver->capture_relax(driver->self, &previous), WP_OK);
  return previous;
}

static void restore(int previous) { cr_assert_eq(driver->capture_restore(driver->self, previous), WP_OK); }

static void expect_allowed_when_relaxed(wp_status (*call)(void)) {
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  int previous = relax();
  cr_expect_eq(call(), WP_OK);
  restore(previous);
  cr_expect_eq(rig_capture_status(stream), RIG_CAPTURE_ACTIVE);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  rig_graph_destroy(graph);
}

/* C8 */
Test(capture, allows_a_relaxed_thread_an_allocation) { expect_allowed_when_relaxed(allocate_elsewhere); }
/* C8 */
Test(capture, allows_a_relaxed_thread_an_event_query) { expect_allowed_when_relaxed(query_event); }
/* C8 */
Test(capture, allows_a_relaxed_thread_to_synchronise_an_event) { expect_allowed_when_relaxed(synchronize_event); }
/* C8 */
Test(capture, allows_a_relaxed_thread_to_synchronise_a_stream) { expect_allowed_when_relaxed(synchronize_elsewhere); }
/* C8 */
Test(capture, allows_a_relaxed_thread_a_trim) { expect_allowed_when_relaxed(trim_pool); }

/* C8: the mode is the thread's again what it was. */
Test(capture, forbids_a_thread_again_what_it_was_allowed_while_relaxed) {
  restore(relax());
  expect_forbidden(query_event);
}

static atomic_bool is_over;
static atomic_uint rounds_beside;

static void *allocate_and_trim_relaxed(void *argument) {
  (void)argument;
  while (!atomic_load(&is_over)) {
    int previous = relax();
    release(allocate(pool, MIB, other), other);
    cr_assert_eq(query_event(), WP_OK);
    synchronize(other);
    trim(pool);
    restore(previous);
    (void)atomic_fetch_add(&rounds_beside, 1);
  }
  return NULL;
}

/* C8 */
Test(capture, in_global_mode_is_not_disturbed_by_another_thread_that_is_relaxed) {
  pthread_t thread;
  unsigned char *memory = allocate(pool, MIB, stream);
  cr_assert_eq(pthread_create(&thread, NULL, allocate_and_trim_relaxed, NULL), 0);
  for (unsigned captures = 0; captures < ROUNDS || atomic_load(&rounds_beside) < ROUNDS; captures++) {
    rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
    rig_fill(stream, memory, 1, MIB);
    rig_graph *graph = rig_capture_end(stream);
    cr_assert_not_null(graph, "capture %u", captures);
    rig_graph_destroy(graph);
  }
  atomic_store(&is_over, true);
  (void)pthread_join(thread, NULL);
}

/* -- memory of the pool beside a capture -- */

static rig_graph *fill_captured(unsigned char *memory, int byte) {
  rig_fill(stream, memory, byte, BYTES);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  return graph;
}

/* C7 */
Test(capture, refuses_to_free_what_was_allocated_outside_and_survives) {
  unsigned char *memory = allocate(pool, BYTES, stream);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  cr_expect_eq(driver->memory_free(driver->self, memory, stream), WP_ERROR_INVALID_POINTER);
  cr_expect_eq(rig_last_error(), 0);
  cr_expect_eq(rig_capture_status(stream), RIG_CAPTURE_ACTIVE);
  rig_graph *graph = fill_captured(memory, 1);
  cr_expect(rig_graph_launch(graph, stream));
  rig_graph_destroy(graph);
  release(memory, stream);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C9 */
Test(capture, can_use_memory_that_is_allocated_beside_it) {
  unsigned char byte = 0;
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  int previous = relax();
  unsigned char *memory = allocate(pool, BYTES, other);
  synchronize(other);
  restore(previous);
  rig_graph *graph = fill_captured(memory, 0x5a);
  for (int i = 0; i < 2; i++) cr_expect(rig_graph_launch(graph, stream));
  rig_read(stream, &byte, memory + BYTES - 1, 1);
  cr_expect_eq(byte, 0x5a);
  cr_expect_eq(graph_reserved(), 0);
  cr_expect_eq(reserved(pool), BYTES);
  rig_graph_destroy(graph);
  release(memory, other);
  synchronize(other);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* -- C17: the legacy stream beside the capture of a blocking one -- */

static wp_capture_state state_of(wp_stream of) {
  wp_capture_state state;
  cr_assert_eq(driver->stream_capturing(driver->self, of, &state), WP_OK);
  return state;
}

/* C17 */
Test(capture, of_a_blocking_stream_is_implicit_in_the_legacy_stream_and_asking_harms_nothing) {
  wp_stream blocking = rig_stream_create_blocking(0);
  cr_expect_eq(state_of(WP_STREAM_LEGACY), WP_CAPTURE_NONE);
  rig_capture_begin(blocking, RIG_CAPTURE_RELAXED);
  cr_expect_eq(state_of(blocking), WP_CAPTURE_ACTIVE);
  cr_expect_eq(state_of(WP_STREAM_LEGACY), WP_CAPTURE_IMPLICIT);
  cr_expect_eq(rig_last_error(), 0);
  cr_expect_eq(rig_capture_status(blocking), RIG_CAPTURE_ACTIVE);
  rig_graph *graph = rig_capture_end(blocking);
  cr_assert_not_null(graph);
  cr_expect_eq(state_of(WP_STREAM_LEGACY), WP_CAPTURE_NONE);
  rig_graph_destroy(graph);
  rig_stream_destroy(blocking);
}

/* C17 */
Test(capture, of_a_blocking_stream_is_invalidated_by_recording_on_the_legacy_stream) {
  wp_stream blocking = rig_stream_create_blocking(0);
  rig_capture_begin(blocking, RIG_CAPTURE_RELAXED);
  cr_expect_eq(driver->event_record(driver->self, finished, WP_STREAM_LEGACY), WP_ERROR_CAPTURING);
  cr_expect_eq(rig_last_error(), 0);
  cr_expect_eq(rig_capture_status(blocking), RIG_CAPTURE_INVALIDATED);
  cr_expect_null(rig_capture_end(blocking));
  rig_stream_destroy(blocking);
}

/* C17: the control. */
Test(capture, of_another_stream_leaves_the_legacy_stream_alone) {
  rig_capture_begin(stream, RIG_CAPTURE_RELAXED);
  cr_expect_eq(state_of(WP_STREAM_LEGACY), WP_CAPTURE_NONE);
  cr_expect_eq(driver->event_record(driver->self, finished, WP_STREAM_LEGACY), WP_OK);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  rig_graph_destroy(graph);
}

/* C20 */
Test(capture, that_a_fork_has_not_joined_again_ends_without_a_graph) {
  void *memory = allocate(pool, BYTES, stream);
  synchronize(stream);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  rig_wait(other, stream);
  rig_fill(other, memory, 1, 4096);
  cr_expect_null(rig_capture_end(stream));
  cr_expect_eq(rig_capture_status(stream), RIG_CAPTURE_NONE);
  cr_expect_eq(rig_capture_status(other), RIG_CAPTURE_NONE);
  release(memory, stream);
}

/* C20, H21: also where its streams go on saying that they are captured. */
Test(capture, that_could_not_be_ended_leaves_what_was_sent_before_to_be_waited_for) {
  bool complete = true;
  wp_stream third = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, third);
  synchronize(third);
  rig_hold *hold = rig_hold_stream(other);
  cr_assert_eq(driver->event_record(driver->self, finished, other), WP_OK);
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  rig_wait(other, stream);
  rig_fill(other, memory, 1, 4096);
  cr_expect_null(rig_capture_end(stream));
  cr_expect_eq(driver->event_wait(driver->self, third, finished), WP_OK);
  cr_expect_eq(driver->event_record(driver->self, finished, third), WP_OK);
  cr_expect_eq(driver->event_query(driver->self, finished, &complete), WP_OK);
  cr_expect(!complete);
  rig_release(hold);
  cr_expect_eq(driver->stream_synchronize(driver->self, third), WP_OK);
  cr_expect_eq(driver->event_query(driver->self, finished, &complete), WP_OK);
  cr_expect(complete);
  release(memory, third);
  rig_stream_destroy(third);
}

/* Seen on an H200 with driver 580.159 and CUDA 13.0; relaxed mode does not help. */
Test(capture, of_a_stream_is_invalidated_by_asking_who_the_stream_is) {
  uint32_t capabilities = 0;
  uint64_t identity;
  int mode;
  cr_assert_eq(driver->device_capabilities(driver->self, 0, &capabilities), WP_OK);
  if ((capabilities & WP_CAP_STREAM_IDENTITY) == 0) return;
  rig_capture_begin(stream, RIG_CAPTURE_RELAXED);
  cr_assert_eq(driver->capture_relax(driver->self, &mode), WP_OK);
  cr_expect_eq(driver->stream_identity(driver->self, stream, &identity), WP_ERROR_CAPTURING);
  cr_assert_eq(driver->capture_restore(driver->self, mode), WP_OK);
  cr_expect_null(rig_capture_end(stream));
}
