/* SPDX-License-Identifier: Apache-2.0 */
/* What AMD's runtimes answer where there is nothing to do, nothing left, or no device; and how streams end. */
#define _DEFAULT_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "hip_facts.h"

#define BYTES (64 * MIB)

TestSuite(hip_errors, .init = facts_init, .fini = facts_fini, .timeout = 20);
TestSuite(hip_streams, .init = facts_init, .fini = facts_fini, .timeout = 20);
TestSuite(hip_capture, .init = facts_init, .fini = facts_fini, .timeout = 20);

/* H1: the runtime has not been called in this process yet. On 5.2.3 creating a stream or a pool then crashes; the
 * library counts first. */
Test(hip_devices, that_do_not_exist_are_told_and_nothing_crashes) {
  int count = 77, current;
  uint32_t capabilities;
  wp_stream none;
  wp_pool no_pool;
  uint64_t free_bytes, total_bytes;
  cr_assert_eq(setenv("SOFTHSA_GPUS", "0", 1), 0);
  driver = wp_backend_builtin();
  cr_expect_eq(driver->device_count(driver->self, &count), WP_ERROR_NO_DEVICE);
  cr_expect_eq(count, 77);
  if (hip_generation() < 6) return;
  cr_expect_eq(driver->device_current(driver->self, &current), WP_ERROR_NO_DEVICE);
  cr_expect_eq(driver->device_set(driver->self, 0), WP_ERROR_NO_DEVICE);
  cr_expect_eq(driver->device_capabilities(driver->self, 0, &capabilities), WP_ERROR_NO_DEVICE);
  cr_expect_eq(driver->device_memory(driver->self, &free_bytes, &total_bytes), WP_ERROR_NO_DEVICE);
  cr_expect_eq(driver->stream_create(driver->self, &none), WP_ERROR_NO_DEVICE);
  cr_expect_eq(driver->pool_create(driver->self, &no_pool), WP_ERROR_NO_DEVICE);
}

/* H8: absorbed by the vtable. */
Test(hip_errors, of_no_bytes_and_of_null_depend_on_the_version) {
  void *memory = &pool;
  cr_expect_eq(hipMallocFromPoolAsync(&memory, 0, pool, stream),
               BY_VERSION(hipErrorInvalidValue, hipSuccess, hipSuccess));
  cr_expect_eq(hipFreeAsync(NULL, stream), BY_VERSION(hipErrorInvalidValue, hipErrorInvalidValue, hipSuccess));
  memory = &pool;
  cr_expect_eq(driver->memory_alloc(driver->self, pool, 0, stream, &memory), WP_OK);
  cr_expect_null(memory);
  cr_expect_eq(driver->memory_free(driver->self, NULL, stream), WP_OK);
}

static size_t device_total(void) {
  uint64_t free_bytes, total_bytes;
  cr_assert_eq(driver->device_memory(driver->self, &free_bytes, &total_bytes), WP_OK);
  return (size_t)total_bytes;
}

/* H12: absorbed by the vtable. */
Test(hip_errors, exhaustion_is_a_success_with_null_in_old_versions) {
  size_t bytes = device_total() / 512 * 512 + 512;
  void *memory = &pool;
  cr_expect_eq(hipMallocFromPoolAsync(&memory, bytes, pool, stream),
               BY_VERSION(hipSuccess, hipErrorOutOfMemory, hipErrorOutOfMemory));
  cr_expect_null(memory);
  memory = &pool;
  cr_expect_eq(driver->memory_alloc(driver->self, pool, bytes, stream, &memory), WP_ERROR_OUT_OF_MEMORY);
  cr_expect_eq(memory, &pool);
  cr_expect_eq(rig_last_error(), 0);
}

/* H12: so the library trims before it gives up. 7.2.4 does so by itself. */
Test(hip_errors, exhaustion_comes_though_the_pool_has_cached_blocks) {
  size_t sixteenth = device_total() / 16 / 512 * 512;
  void *live = allocate(pool, 7 * sixteenth, stream), *one = allocate(pool, 4 * sixteenth, stream), *memory = NULL;
  cr_assert_eq(driver->pool_set_threshold(driver->self, pool, UINT64_MAX), WP_OK); /* H4 */
  release(one, stream);
  synchronize(stream);
  wp_status status = driver->memory_alloc(driver->self, pool, 6 * sixteenth, stream, &memory);
  cr_expect_eq(status, BY_VERSION(WP_ERROR_OUT_OF_MEMORY, WP_ERROR_OUT_OF_MEMORY, WP_OK));
  trim(pool);
  if (status != WP_OK) memory = allocate(pool, 6 * sixteenth, stream);
  release(memory, stream);
  release(live, stream);
}

/* H14: the library asks neither; it tries. */
Test(hip_errors, pools_work_whatever_their_attribute_says) {
  int supported = -1;
  cr_assert_eq(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0), hipSuccess);
  cr_expect_eq(supported, BY_VERSION(0, 1, 1));
  cr_expect_eq((hip_capabilities() & WP_CAP_POOLS) != 0, true);
}

/* H9, H14, H16, H21 */
Test(hip_errors, capabilities_grow_with_the_version) {
  uint32_t found = hip_capabilities();
  cr_expect_eq((found & WP_CAP_KEEPS_FREED) != 0, BY_VERSION(false, true, true));
  cr_expect_eq((found & WP_CAP_GRAPH_MEMORY) != 0, BY_VERSION(false, true, true));
  cr_expect_eq((found & WP_CAP_STREAM_IDENTITY) != 0, BY_VERSION(false, false, true));
  cr_expect_neq(found & WP_CAP_STREAMS_DRAIN, 0);
  cr_expect_eq(found & WP_CAP_CHECKED_FREE, 0); /* H8 */
  cr_expect_eq(found & WP_CAP_CAPTURES_END, 0);
}

/* H9, H11: the pool is asked to go with a block in it, stays for that, and the block can be used and freed. */
Test(hip_errors, destroying_a_pool_spares_a_live_block) {
  void *memory = allocate(pool, BYTES, stream);
  cr_assert_eq(driver->pool_destroy(driver->self, pool), WP_OK);
  rig_fill(stream, memory, 1, BYTES);
  release(memory, stream);
  synchronize(stream);
}

/* H16: so a handle that is handed out again has no unfinished work behind it. */
Test(hip_streams, are_destroyed_only_when_their_work_has_finished) {
  hipStream_t busy;
  cr_assert_eq(hipStreamCreateWithFlags(&busy, hipStreamNonBlocking), hipSuccess);
  hip_release_later(rig_hold_stream(busy), true);
  cr_assert_eq(hipStreamDestroy(busy), hipSuccess);
  cr_expect_eq(hip_has_waited(), true);
}

static void *destroy_a_stream(void *is_done) {
  hipStream_t made;
  if (hipStreamCreateWithFlags(&made, hipStreamNonBlocking) != hipSuccess) return NULL;
  if (hipStreamDestroy(made) != hipSuccess) return NULL;
  atomic_store((atomic_bool *)is_done, true);
  return NULL;
}

static atomic_bool thread_has_ended;
static void *bytes_of_thread;

static void end_thread(void *nothing) {
  (void)nothing;
  atomic_store(&thread_has_ended, true);
}

static void *leave_work(void *key) {
  rig_device_set(0);
  (void)pthread_setspecific(*(pthread_key_t *)key, &thread_has_ended);
  rig_busy(WP_STREAM_PER_THREAD, 150);
  rig_fill(WP_STREAM_PER_THREAD, bytes_of_thread, 0x3c, MIB);
  return NULL;
}

/* H16: a thread's own, before destructors of thread-specific data run. */
Test(hip_streams, of_threads_end_when_their_work_has_finished) {
  pthread_key_t key;
  pthread_t thread;
  unsigned char bytes[16];
  bytes_of_thread = allocate(pool, MIB, stream);
  rig_fill(stream, bytes_of_thread, 0, MIB);
  synchronize(stream);
  cr_assert_eq(pthread_key_create(&key, end_thread), 0);
  cr_assert_eq(pthread_create(&thread, NULL, leave_work, &key), 0);
  while (!atomic_load(&thread_has_ended)) (void)sched_yield();
  rig_read(stream, bytes, bytes_of_thread, sizeof bytes);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_expect_eq(bytes[0], 0x3c);
  release(bytes_of_thread, stream);
}

/* H9: on 5.2.3 that runs for ever, in a thread that is left behind. */
Test(hip_streams, can_be_destroyed_while_a_pool_has_a_freed_block) {
  static atomic_bool is_done;
  struct timespec a_while = {0, 10 * 1000 * 1000};
  pthread_t thread;
  bool ends = BY_VERSION(false, true, true);
  release(allocate(pool, BYTES, stream), stream);
  synchronize(stream);
  cr_assert_eq(pthread_create(&thread, NULL, destroy_a_stream, &is_done), 0);
  for (int i = 0; !atomic_load(&is_done) && (ends || i < 50); i++) (void)nanosleep(&a_while, NULL);
  cr_expect_eq(atomic_load(&is_done), ends);
}

/* H10: also in relaxed mode. The vtable refuses the free on the legacy stream, which crashes. */
Test(hip_capture, of_a_blocking_stream_forbids_others_to_free_and_nothing_else) {
  void *memory = allocate(pool, BYTES, stream), *other = allocate(pool, BYTES, stream);
  wp_stream blocking = rig_stream_create_blocking(0);
  int mode;
  rig_capture_begin(blocking, RIG_CAPTURE_RELAXED);
  cr_assert_eq(driver->capture_relax(driver->self, &mode), WP_OK);
  wp_status forbidden = BY_VERSION(WP_OK, WP_ERROR_CAPTURING, WP_ERROR_CAPTURING);
  cr_expect_eq(driver->memory_free(driver->self, memory, stream), forbidden);
  cr_expect_eq(driver->memory_free(driver->self, other, WP_STREAM_LEGACY), forbidden);
  cr_expect_eq(rig_last_error(), 0);
  void *third = allocate(pool, BYTES, stream);
  synchronize(stream);
  trim(pool);
  cr_assert_eq(driver->capture_restore(driver->self, mode), WP_OK);
  rig_graph *graph = rig_capture_end(blocking);
  cr_assert_not_null(graph);
  rig_graph_destroy(graph);
  if (forbidden != WP_OK) {
    release(memory, stream);
    release(other, WP_STREAM_LEGACY);
  }
  release(third, stream);
  rig_stream_destroy(blocking);
}

/* H10, the control. */
Test(hip_capture, of_another_stream_forbids_nothing) {
  void *memory = allocate(pool, BYTES, stream), *other = allocate(pool, BYTES, stream);
  wp_stream captured = rig_stream_create(0);
  rig_capture_begin(captured, RIG_CAPTURE_RELAXED);
  release(memory, stream);
  release(other, WP_STREAM_LEGACY);
  rig_graph *graph = rig_capture_end(captured);
  cr_assert_not_null(graph);
  rig_graph_destroy(graph);
  rig_stream_destroy(captured);
}

/* H18: relaxed mode does not help. The event stands for work of before the capture, and has no part in it. */
Test(hip_capture, of_a_stream_is_invalidated_by_asking_for_an_event_recorded_there_before) {
  wp_event event = record(stream);
  synchronize(stream);
  bool complete = false;
  int mode;
  rig_capture_begin(stream, RIG_CAPTURE_RELAXED);
  cr_assert_eq(driver->capture_relax(driver->self, &mode), WP_OK);
  bool invalidates = BY_VERSION(false, true, false);
  cr_expect_eq(driver->event_query(driver->self, event, &complete), invalidates ? WP_ERROR_CAPTURING : WP_OK);
  cr_assert_eq(driver->capture_restore(driver->self, mode), WP_OK);
  rig_graph *graph = rig_capture_end(stream);
  cr_expect_eq(graph == NULL, invalidates);
  if (graph != NULL) rig_graph_destroy(graph);
}

/* H20: absorbed by the vtable; 5.2.3 itself takes it for an invalid stream. */
Test(hip_streams, include_the_legacy_one_by_the_handle_1) {
  const wp_stream one = (wp_stream)1;
  wp_capture_state state;
  wp_event event = record(one);
  await_by_query(event);
  wait_for(one, event);
  synchronize(one);
  cr_expect_eq(driver->stream_capturing(driver->self, one, &state), WP_OK);
  cr_expect_eq(state, WP_CAPTURE_NONE);
  release(allocate(pool, BYTES, one), one);
  synchronize(one);
}
