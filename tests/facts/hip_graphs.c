/* SPDX-License-Identifier: Apache-2.0 */
/* H27: what a graph that forks waits for, when it is launched. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <time.h>

#include "hip_facts.h"

TestSuite(hip_graphs, .init = facts_init, .fini = facts_fini, .timeout = 20);

#if HIP_VERSION >= 50700000 /* before, a host function cannot be part of a graph */

static atomic_int value, seen;

static void write_one(void *argument) {
  (void)argument;
  atomic_store(&value, 1);
}

static void write_two(void *argument) {
  (void)argument;
  atomic_store(&value, 2);
}

/* Slowly, so that what does not wait for it is seen. */
static void look_for_two(void *argument) {
  struct timespec a_while = {0, 2 * 1000 * 1000};
  (void)argument;
  (void)nanosleep(&a_while, NULL);
  if (atomic_load(&value) != 2) (void)atomic_fetch_add(&seen, 1);
}

static void nothing(void *argument) { (void)argument; }

static void send(wp_stream to, hipHostFn_t function) {
  cr_assert_eq(hipLaunchHostFunc(to, function, NULL), hipSuccess);
}

static int disturbed(bool forks) {
  wp_stream fork = rig_stream_create(0);
  atomic_store(&seen, 0);
  rig_capture_begin(stream, RIG_CAPTURE_THREAD_LOCAL);
  if (forks) rig_wait(fork, stream);
  if (forks) send(fork, nothing);
  send(stream, write_one);
  send(stream, write_two);
  if (forks) rig_wait(stream, fork);
  send(stream, nothing);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  for (int i = 0; i < 20; i++) {
    cr_assert(rig_graph_launch(graph, stream));
    send(stream, look_for_two);
  }
  rig_stream_synchronize(stream);
  rig_graph_destroy(graph);
  rig_stream_destroy(fork);
  return atomic_load(&seen);
}

/* H27 */
Test(hip_graphs, that_fork_run_beside_a_host_function_before_them) {
  cr_expect_eq(disturbed(true) > 0, BY_VERSION(false, false, true));
}

/* H27: the control. */
Test(hip_graphs, that_do_not_fork_wait_for_a_host_function_before_them) { cr_expect_eq(disturbed(false), 0); }

#endif

/* How many of the two halves a graph has filled with 2, after a while; where one will be, as soon as it is. */
static int halves_filled(wp_stream reader, const char *memory, bool will_be) {
  struct timespec a_while = {0, 20 * 1000 * 1000};
  unsigned char one = 1, other = 1;
  do {
    (void)nanosleep(&a_while, NULL);
    rig_read(reader, &one, memory, 1);
    rig_read(reader, &other, memory + MIB, 1);
  } while (will_be && one != 2 && other != 2);
  return (one == 2) + (other == 2);
}

/* H27: one of its branches does not. */
Test(hip_graphs, that_fork_wait_for_what_their_stream_has_to_do) {
  unsigned char byte = 0;
  bool runs_early = BY_VERSION(false, false, true);
  wp_stream fork = rig_stream_create(0), reader = rig_stream_create(0);
  char *memory = allocate(pool, 2 * MIB, stream);
  rig_fill(stream, memory, 1, 2 * MIB);
  rig_capture_begin(stream, RIG_CAPTURE_THREAD_LOCAL);
  rig_wait(fork, stream);
  rig_fill(fork, memory, 2, MIB);
  rig_fill(stream, memory + MIB, 2, MIB);
  rig_wait(stream, fork);
  rig_fill(stream, memory, 2, 2 * MIB);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  rig_stream_synchronize(stream);
  rig_hold *hold = rig_hold_stream(stream);
  cr_assert(rig_graph_launch(graph, stream));
  cr_expect_eq(halves_filled(reader, memory, runs_early), runs_early);
  rig_release(hold);
  rig_read(stream, &byte, memory, 1);
  cr_expect_eq(byte, 2);
  rig_graph_destroy(graph);
  release(memory, stream);
  rig_stream_destroy(fork);
  rig_stream_destroy(reader);
}
