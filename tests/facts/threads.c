/* SPDX-License-Identifier: Apache-2.0 */
/* The stream that each thread has of its own. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "facts.h"

#define BYTES (64 * MIB)

/* What a thread leaves behind. */
static void *memory;
static rig_hold *hold;
static wp_event event, event_at_end;

TestSuite(threads, .init = facts_init, .fini = facts_fini, .timeout = 20);

static bool is_complete(wp_event of) {
  bool complete = false;
  cr_assert_eq(driver->event_query(driver->self, of, &complete), WP_OK);
  return complete;
}

static void run_thread(void *(*body)(void *argument), void *argument) {
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, body, argument), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
}

/* Both return with the thread's stream busy. No hold: rig/cuda.c says why. */
static void *leave_event(void *argument) {
  (void)argument;
  rig_device_set(0);
  memory = allocate(pool, BYTES, WP_STREAM_PER_THREAD);
  rig_busy(WP_STREAM_PER_THREAD, 50);
  event = record(WP_STREAM_PER_THREAD);
  return NULL;
}

static void *leave_event_at_end(void *key) {
  (void)leave_event(NULL);
  (void)pthread_setspecific(*(pthread_key_t *)key, &event_at_end);
  return NULL;
}

static void record_at_end(void *out) { *(wp_event *)out = record(WP_STREAM_PER_THREAD); }

/* C15 */
Test(threads, the_legacy_stream_is_ordered_after_a_threads_own) {
  hold = rig_hold_stream(WP_STREAM_PER_THREAD);
  event = record(WP_STREAM_LEGACY);
  cr_expect_not(is_complete(event));
  rig_release(hold);
  await_by_query(event);
}

/* C15 */
Test(threads, a_threads_own_stream_is_ordered_after_the_legacy_stream) {
  hold = rig_hold_stream(WP_STREAM_LEGACY);
  event = record(WP_STREAM_PER_THREAD);
  cr_expect_not(is_complete(event));
  rig_release(hold);
  await_by_query(event);
}

/* C15 */
Test(threads, another_threads_own_stream_is_another_stream) {
  rig_hold *own = rig_hold_stream(WP_STREAM_PER_THREAD);
  run_thread(leave_event, NULL);
  await_by_query(event);
  rig_release(own);
}

/* C15 */
Test(threads, an_event_of_a_thread_outlives_it_and_vouches_for_its_memory) {
  run_thread(leave_event, NULL);
  wait_for(stream, event);
  release(memory, stream);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C15: the key is made after the main thread's stream, so that it is the later one also where both are keys. */
Test(threads, the_handle_names_a_new_stream_in_a_threads_destructors) {
  pthread_key_t key;
  await_by_query(record(WP_STREAM_PER_THREAD));
  cr_assert_eq(pthread_key_create(&key, record_at_end), 0);
  run_thread(leave_event_at_end, &key);
  cr_expect(is_complete(event_at_end));
  await_by_query(event);
}
