/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine's streams and events: order, handles, threads, bad input. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "engine_test.h"
#include "warmpool/host.h"

TestSuite(host_streams, .init = use_small_devices, .timeout = 20);

static void nothing(void *argument) { (void)argument; }
static void count(void *argument) { ++*(int *)argument; }

/* Whoever does not wait though it should has the time to be caught. */
static void let_others_run(void) {
  void *stream = make_stream(0);
  rig_busy(stream, 30);
  OK(wp__host_stream_synchronize(stream));
  OK(wp__host_stream_destroy(stream));
}

struct step {
  int *at, expected;
};
static void check_step(void *argument) {
  struct step *step = argument;
  if (*step->at == step->expected) ++*step->at;
}

Test(host_streams, run_work_in_order) {
  enum { STEPS = 100 };
  struct step steps[STEPS];
  int at = 0;
  void *stream = make_stream(0);
  for (int i = 0; i < STEPS; ++i) {
    steps[i] = (struct step){&at, i};
    OK(wp__host_launch(stream, check_step, &steps[i]));
  }
  OK(wp__host_stream_synchronize(stream));
  cr_expect_eq(at, STEPS);
  OK(wp__host_stream_destroy(stream));
}

Test(host_streams, run_what_was_submitted_before_they_were_destroyed) {
  int runs = 0;
  void *stream = make_stream(0), *event = make_event(0);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_launch(stream, count, &runs));
  OK(wp__host_event_record(event, stream));
  OK(wp__host_stream_destroy(stream));
  rig_release(hold);
  OK(wp__host_event_synchronize(event));
  cr_expect_eq(runs, 1);
}

Test(host_streams, wait_for_one_another) {
  int at = 0;
  struct step first = {&at, 0}, second = {&at, 1};
  void *one = make_stream(0), *other = make_stream(1), *event = make_event(0);
  rig_hold *hold = rig_hold_stream(one);
  OK(wp__host_launch(one, check_step, &first));
  OK(wp__host_event_record(event, one));
  OK(wp__host_stream_wait(other, event));
  OK(wp__host_launch(other, check_step, &second));
  let_others_run();
  bool complete = true;
  OK(wp__host_stream_query(other, &complete));
  cr_expect_not(complete);
  rig_release(hold);
  OK(wp__host_stream_synchronize(other));
  cr_expect_eq(at, 2);
}

Test(host_streams, do_not_wait_for_themselves) {
  void *stream = make_stream(0);
  rig_hold *hold = rig_hold_stream(stream);
  OK(wp__host_stream_join(stream, stream));
  rig_release(hold);
  OK(wp__host_stream_synchronize(stream));
}

Test(host_streams, an_event_stands_for_what_it_was_recorded_behind_last) {
  void *one = make_stream(0), *other = make_stream(0), *event = make_event(0);
  bool complete = false;
  OK(wp__host_event_query(event, &complete));
  cr_expect(complete);
  OK(wp__host_event_synchronize(event));
  rig_hold *hold = rig_hold_stream(one);
  OK(wp__host_event_record(event, one));
  OK(wp__host_event_query(event, &complete));
  cr_expect_not(complete);
  OK(wp__host_event_record(event, other));
  OK(wp__host_event_query(event, &complete));
  cr_expect(complete);
  rig_release(hold);
}

static void *own_id(void *out) {
  (void)wp__host_stream_id(WP__HOST_STREAM_PER_THREAD, out);
  return NULL;
}

Test(host_streams, a_threads_own_stream_is_another_one_in_each_thread_and_on_each_device) {
  uint64_t here = 0, again = 0, there = 0, far = 0;
  pthread_t thread;
  (void)own_id(&here);
  (void)own_id(&again);
  cr_assert_eq(pthread_create(&thread, NULL, own_id, &there), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  OK(wp__host_device_set(1));
  (void)own_id(&far);
  cr_expect_eq(here, again);
  cr_expect(here != 0 && there != 0 && far != 0);
  cr_expect(here != there && here != far && there != far);
}

Test(host_streams, a_devices_legacy_stream_has_an_id_that_stays) {
  uint64_t null = 0, alias = 0, far = 0;
  int device = -1;
  OK(wp__host_stream_id(WP__HOST_STREAM_LEGACY, &null));
  OK(wp__host_stream_id(WP__HOST_STREAM_LEGACY_ALIAS, &alias));
  OK(wp__host_device_set(1));
  OK(wp__host_stream_id(WP__HOST_STREAM_LEGACY, &far));
  OK(wp__host_stream_device(WP__HOST_STREAM_LEGACY, &device));
  cr_expect_eq(null, alias);
  cr_expect_neq(null, far);
  cr_expect_eq(device, 1);
}

static void *leave_work(void *argument) {
  rig_hold **hold = argument;
  *hold = rig_hold_stream(WP__HOST_STREAM_PER_THREAD);
  return NULL;
}

Test(host_streams, a_threads_own_stream_ends_its_work_after_the_thread) {
  rig_hold *hold;
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, leave_work, &hold), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  rig_release(hold);
}

/* -- bad input -- */

Test(host_streams, unknown_and_stale_handles_are_told_apart_from_streams) {
  void *stream = make_stream(0), *gone = make_stream(0), *event = make_event(0);
  int foreign, device = 7;
  OK(wp__host_stream_destroy(gone));
  void *const handles[] = {gone, event, &foreign, (void *)3, (void *)0x10, (void *)UINTPTR_MAX};
  for (size_t i = 0; i < sizeof handles / sizeof *handles; ++i) {
    INVALID(wp__host_stream_destroy(handles[i]));
    INVALID(wp__host_stream_synchronize(handles[i]));
    INVALID(wp__host_stream_device(handles[i], &device));
    INVALID(wp__host_launch(handles[i], nothing, NULL));
    INVALID(wp__host_stream_join(stream, handles[i]));
    INVALID(wp__host_stream_join(handles[i], stream));
    INVALID(wp__host_event_record(event, handles[i]));
    INVALID(wp__host_memory_free(NULL, handles[i]));
  }
  INVALID(wp__host_stream_destroy(WP__HOST_STREAM_LEGACY));
  INVALID(wp__host_stream_destroy(WP__HOST_STREAM_PER_THREAD));
  INVALID(wp__host_event_destroy(stream));
  INVALID(wp__host_stream_wait(stream, stream));
  INVALID(wp__host_event_record(make_event(1), stream));
  cr_expect_eq(device, 7);
}

Test(host_streams, the_public_interface_refuses_bad_input) {
  wp_stream stream = NULL;
  int local;
  cr_expect_eq(wp_host_stream_create(0, NULL), WP_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(wp_host_stream_create(2, &stream), WP_ERROR_NO_DEVICE);
  cr_expect_eq(wp_host_stream_create(-1, &stream), WP_ERROR_NO_DEVICE);
  cr_expect_null(stream);
  cr_expect_eq(wp_host_device_set(2), WP_ERROR_NO_DEVICE);
  cr_expect_eq(wp_host_stream_create(1, &stream), WP_OK);
  cr_expect_eq(wp_host_launch(stream, NULL, NULL), WP_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(wp_host_launch(&local, nothing, NULL), WP_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(wp_host_stream_wait(stream, &local), WP_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(wp_host_stream_destroy(stream), WP_OK);
  cr_expect_eq(wp_host_stream_destroy(stream), WP_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(wp_host_stream_synchronize(stream), WP_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(wp_host_stream_destroy(WP_STREAM_LEGACY), WP_ERROR_INVALID_ARGUMENT);
}

/* C10 */
Test(host_streams, the_last_error_stays_until_it_is_taken) {
  INVALID(wp__host_stream_destroy(NULL));
  OK(wp__host_device_set(0));
  cr_expect_eq(wp__host_error_peek(), WP__HOST_INVALID_VALUE);
  cr_expect_eq(wp__host_error_take(), WP__HOST_INVALID_VALUE);
  cr_expect_eq(wp__host_error_take(), WP__HOST_SUCCESS);
}

Test(host_streams, the_vtable_leaves_alone_errors_that_are_not_its_own) {
  const wp_backend *backend = wp_backend_builtin();
  INVALID(wp__host_stream_destroy(NULL));
  cr_expect_eq(backend->device_set(backend->self, 0), WP_OK);
  cr_expect_eq(wp__host_error_take(), WP__HOST_INVALID_VALUE);
  wp_driver_error error;
  backend->last_error(backend->self, &error);
  cr_expect_eq(error.code, 0);
}

/* -- many threads -- */

struct chain {
  atomic_int *failures;
  int index;
};

static void *run_chain(void *argument) {
  enum { STEPS = 20 };
  struct chain *chain = argument;
  int at = 0;
  struct step steps[STEPS];
  for (int round = 0; round < 5; ++round) {
    void *stream = NULL;
    if (wp__host_stream_create(chain->index % 2, &stream) != WP__HOST_SUCCESS)
      (void)atomic_fetch_add(chain->failures, 1);
    at = 0;
    for (int i = 0; i < STEPS; ++i) {
      steps[i] = (struct step){&at, i};
      if (wp__host_launch(stream, check_step, &steps[i]) != WP__HOST_SUCCESS)
        (void)atomic_fetch_add(chain->failures, 1);
    }
    if (wp__host_stream_synchronize(stream) != WP__HOST_SUCCESS) (void)atomic_fetch_add(chain->failures, 1);
    if (wp__host_stream_destroy(stream) != WP__HOST_SUCCESS) (void)atomic_fetch_add(chain->failures, 1);
    if (at != STEPS) (void)atomic_fetch_add(chain->failures, 1);
  }
  return NULL;
}

Test(host_streams, sixty_four_threads_have_streams_of_their_own) {
  enum { THREADS = 64 };
  pthread_t threads[THREADS];
  struct chain chains[THREADS];
  atomic_int failures = 0;
  for (int i = 0; i < THREADS; ++i) {
    chains[i] = (struct chain){&failures, i};
    cr_assert_eq(pthread_create(&threads[i], NULL, run_chain, &chains[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) cr_assert_eq(pthread_join(threads[i], NULL), 0);
  cr_expect_eq(atomic_load(&failures), 0);
}
