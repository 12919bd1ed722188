/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue does with a packet. One is finished before the next is looked at, whether or not it asks for that. */
#include "soft.h"

_Static_assert(sizeof(soft_packet) == 64, "the size of a slot");

#define DEPENDENCIES 5

unsigned soft_packet_type(const soft_packet *packet) {
  unsigned header = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);
  return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

static void await_dependencies(struct soft_queue *queue, const hsa_signal_t *signals,
                               bool (*have_arrived)(const hsa_signal_t *, size_t)) {
  soft_lock();
  while (!queue->is_stopped && !have_arrived(signals, DEPENDENCIES)) soft_await_locked();
  soft_unlock();
}

/* The signal's word may be written through its pointer, by a host that waits for nobody, so this one polls. */
static void await_value(struct soft_queue *queue, const hsa_amd_barrier_value_packet_t *packet) {
  if (packet->signal.handle == 0) return;
  while (!soft_compare(soft_signal_value(packet->signal) & packet->mask, (hsa_signal_condition_t)packet->cond,
                       packet->value)) {
    if (!soft_queue_rest(queue)) return;
  }
}

void soft_packet_run(struct soft_queue *queue, const soft_packet *packet, hsa_signal_t *completion) {
  switch (soft_packet_type(packet)) {
  case HSA_PACKET_TYPE_BARRIER_AND:
    soft_count(SOFTHSA_BARRIERS);
    *completion = packet->barrier_and.completion_signal;
    await_dependencies(queue, packet->barrier_and.dep_signal, soft_all_arrived);
    return;
  case HSA_PACKET_TYPE_BARRIER_OR:
    soft_count(SOFTHSA_BARRIERS);
    *completion = packet->barrier_or.completion_signal;
    await_dependencies(queue, packet->barrier_or.dep_signal, soft_any_arrived);
    return;
  case HSA_PACKET_TYPE_KERNEL_DISPATCH:
    *completion = packet->dispatch.completion_signal;
    soft_kernel_run(queue, &packet->dispatch);
    return;
  case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
    *completion = packet->barrier_value.completion_signal;
    if (packet->barrier_value.header.AmdFormat != HSA_AMD_PACKET_TYPE_BARRIER_VALUE) break;
    soft_count(SOFTHSA_BARRIERS);
    await_value(queue, &packet->barrier_value);
    return;
  default: *completion = packet->dispatch.completion_signal; break; /* where all the formats have it */
  }
  soft_say(SOFT_UNSUPPORTED, "queue %llu: a packet of unknown type %u is passed over", soft_queue_id(queue),
           soft_packet_type(packet));
}
