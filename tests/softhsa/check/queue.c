/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "check.h"

TestSuite(queue, .init = begin, .fini = end);

#define NONE ((hsa_signal_t){0})

Test(queue, a_packet_completes_its_signal) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(2);
  push_and(queue, NULL, 0, done);
  cr_assert(comes_to(done, 1));
  push_and(queue, NULL, 0, done);
  cr_assert(comes_to(done, 0));
  cr_assert_eq(softhsa_count(SOFTHSA_PACKETS), 2);
  cr_assert_eq(softhsa_count(SOFTHSA_BARRIERS), 2);
}

/* Its header may be valid before the rest of it is there. */
Test(queue, a_packet_waits_for_the_doorbell) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1);
  hsa_barrier_and_packet_t *packet = queue->base_address;
  uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  packet->completion_signal = done;
  __atomic_store_n(&packet->header, (uint16_t)(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE),
                   __ATOMIC_RELEASE);
  hsa_signal_store_screlease(signal_at(0), 1); /* the queue looks */
  cr_assert(stays_at(done, 1));
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  cr_assert(comes_to(done, 0));
}

Test(queue, a_barrier_and_waits_for_all) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1), of[3] = {signal_at(1), signal_at(2), signal_at(1)};
  push_and(queue, of, 3, done);
  cr_assert(stays_at(done, 1));
  hsa_signal_store_screlease(of[2], 0);
  hsa_signal_store_screlease(of[0], 0);
  hsa_signal_subtract_relaxed(of[1], 1);
  cr_assert(stays_at(done, 1));
  hsa_signal_subtract_relaxed(of[1], 1);
  cr_assert(comes_to(done, 0));
}

Test(queue, a_barrier_or_waits_for_one) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1), of[2] = {signal_at(1), signal_at(1)};
  push_or(queue, of, 2, done);
  cr_assert(stays_at(done, 1));
  hsa_signal_store_screlease(of[1], 0);
  cr_assert(comes_to(done, 0));
  cr_assert_eq(hsa_signal_load_relaxed(of[0]), 1);
}

Test(queue, a_barrier_or_of_nothing_does_not_wait) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1);
  push_or(queue, NULL, 0, done);
  cr_assert(comes_to(done, 0));
}

Test(queue, packets_run_in_their_order) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t gate = signal_at(1), last = signal_at(1);
  push_and(queue, &gate, 1, NONE);
  push_and(queue, NULL, 0, last);
  cr_assert(stays_at(last, 1), "passed the one before it");
  hsa_signal_store_screlease(gate, 0);
  cr_assert(comes_to(last, 0));
}

Test(queue, queues_depend_on_each_other_by_signals_only) {
  hsa_queue_t *first = queue_create(gpu(0)), *second = queue_create(gpu(0));
  hsa_signal_t gate = signal_at(1), between = signal_at(1), done = signal_at(1), other = signal_at(1);
  push_and(second, NULL, 0, other);
  cr_assert(comes_to(other, 0));
  push_and(first, &gate, 1, between);
  push_and(second, &between, 1, done);
  cr_assert(stays_at(done, 1));
  hsa_signal_store_screlease(gate, 0);
  cr_assert(comes_to(done, 0));
}

Test(queue, a_barrier_waits_for_a_value_also_when_nobody_tells) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t word = signal_at(0), done = signal_at(1);
  hsa_amd_barrier_value_packet_t packet = {.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE,
                                           .signal = word,
                                           .value = 5,
                                           .mask = 0xff,
                                           .cond = HSA_SIGNAL_CONDITION_GTE,
                                           .completion_signal = done};
  push(queue, HSA_PACKET_TYPE_VENDOR_SPECIFIC, &packet);
  volatile hsa_signal_value_t *value;
  REQUIRE(hsa_amd_signal_value_pointer(word, &value));
  __atomic_store_n(value, 0x104, __ATOMIC_SEQ_CST);
  cr_assert(stays_at(done, 1), "the mask was not heeded");
  __atomic_store_n(value, 5, __ATOMIC_SEQ_CST);
  cr_assert(comes_to(done, 0));
}

Test(queue, more_packets_than_slots) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1000);
  for (uint64_t i = 0; i < 1000; ++i) {
    while (i - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
    }
    push_and(queue, NULL, 0, done);
  }
  cr_assert(comes_to(done, 0));
}

/* -- holds -- */

Test(queue, everything_can_be_held) {
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1);
  softhsa_hold(true);
  push_and(queue, NULL, 0, done);
  cr_assert(stays_at(done, 1));
  cr_assert_eq(softhsa_pending(), 1);
  softhsa_hold(false);
  cr_assert(comes_to(done, 0));
  cr_assert_eq(softhsa_pending(), 0);
}

Test(queue, one_queue_can_be_held) {
  hsa_queue_t *held = queue_create(gpu(0)), *other = queue_create(gpu(0));
  hsa_signal_t of_held = signal_at(1), of_other = signal_at(1);
  cr_assert(softhsa_hold_queue(held->id, true));
  push_and(held, NULL, 0, of_held);
  push_and(other, NULL, 0, of_other);
  cr_assert(comes_to(of_other, 0));
  cr_assert(stays_at(of_held, 1));
  softhsa_hold(true);
  softhsa_hold(false);
  cr_assert(stays_at(of_held, 1), "the one hold took off the other");
  cr_assert(softhsa_hold_queue(held->id, false));
  cr_assert(comes_to(of_held, 0));
}

Test(queue, a_queue_that_is_not_there_cannot_be_held) {
  hsa_queue_t *queue = queue_create(gpu(0));
  uint64_t id = queue->id;
  queue_destroy(queue);
  cr_assert_not(softhsa_hold_queue(id, true));
}

static void *ring_nothing(void *out) {
  *(uint64_t *)out = softhsa_queue_rung();
  return NULL;
}

Test(queue, a_thread_knows_the_queue_that_it_rang) {
  hsa_queue_t *first = queue_create(gpu(0)), *second = queue_create(gpu(0));
  cr_assert_eq(softhsa_queue_rung(), SOFTHSA_NO_QUEUE);
  push_and(first, NULL, 0, NONE);
  cr_assert_eq(softhsa_queue_rung(), first->id);
  push_and(second, NULL, 0, NONE);
  cr_assert_eq(softhsa_queue_rung(), second->id);
  pthread_t thread;
  uint64_t of_thread;
  cr_assert_eq(pthread_create(&thread, NULL, ring_nothing, &of_thread), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_assert_eq(of_thread, SOFTHSA_NO_QUEUE);
}

/* -- ends -- */

Test(queue, a_queue_can_be_destroyed_while_it_waits) {
  hsa_queue_t *held = queue_create(gpu(0)), *waiting = queue_create(gpu(0)), *polling = queue_create(gpu(0));
  hsa_signal_t gate = signal_at(1), done = signal_at(3);
  cr_assert(softhsa_hold_queue(held->id, true));
  push_and(held, NULL, 0, done);
  push_and(waiting, &gate, 1, done);
  hsa_amd_barrier_value_packet_t packet = {.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE,
                                           .signal = gate,
                                           .value = 5,
                                           .mask = -1,
                                           .cond = HSA_SIGNAL_CONDITION_EQ,
                                           .completion_signal = done};
  push(polling, HSA_PACKET_TYPE_VENDOR_SPECIFIC, &packet);
  cr_assert(stays_at(done, 3));
  queue_destroy(held);
  queue_destroy(waiting);
  queue_destroy(polling);
  cr_assert_eq(hsa_signal_load_relaxed(done), 3, "what did not run was said to be done");
  cr_assert_eq(softhsa_pending(), 0);
}

Test(queue, only_a_gpu_has_queues) {
  hsa_queue_t *queue;
  cr_assert_neq(hsa_queue_create(cpu(), 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), HSA_STATUS_SUCCESS);
  cr_assert_neq(hsa_queue_create(gpu(0), 63, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), HSA_STATUS_SUCCESS);
}
