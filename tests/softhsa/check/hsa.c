/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"

#define MS ((uint64_t)1000000)

static hsa_agent_t cpu_agent, gpu_agents[16];
static size_t gpus;

/* What a check leaves behind, and `end` takes away. */
#define LEFT_MAX 16
static hsa_signal_t made_signals[LEFT_MAX];
static hsa_queue_t *made_queues[LEFT_MAX];
static size_t signal_count, queue_count;

static hsa_status_t note_agent(hsa_agent_t agent, void *unused) {
  (void)unused;
  hsa_device_type_t type;
  REQUIRE(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_CPU) {
    cpu_agent = agent;
  } else {
    gpu_agents[gpus++] = agent;
  }
  return HSA_STATUS_SUCCESS;
}

void begin(void) {
  REQUIRE(hsa_init());
  REQUIRE(hsa_iterate_agents(note_agent, NULL));
}

void end(void) {
  while (queue_count != 0) queue_destroy(made_queues[0]);
  REQUIRE(hsa_shut_down());
  while (signal_count != 0) REQUIRE(hsa_signal_destroy(made_signals[--signal_count]));
}

hsa_agent_t cpu(void) { return cpu_agent; }
hsa_agent_t gpu(size_t index) { return gpu_agents[index]; }
size_t gpu_count(void) { return gpus; }

static hsa_status_t take_first(hsa_amd_memory_pool_t pool, void *out) {
  *(hsa_amd_memory_pool_t *)out = pool;
  return HSA_STATUS_INFO_BREAK;
}

hsa_amd_memory_pool_t pool_of(hsa_agent_t agent) {
  hsa_amd_memory_pool_t pool = {0};
  cr_assert_eq(hsa_amd_agent_iterate_memory_pools(agent, take_first, &pool), HSA_STATUS_INFO_BREAK);
  return pool;
}

void *allocate(hsa_agent_t agent, size_t bytes) {
  void *memory = NULL;
  REQUIRE(hsa_amd_memory_pool_allocate(pool_of(agent), bytes, 0, &memory));
  return memory;
}

hsa_signal_t signal_at(hsa_signal_value_t value) {
  hsa_signal_t signal;
  cr_assert_lt(signal_count, LEFT_MAX);
  REQUIRE(hsa_signal_create(value, 0, NULL, &signal));
  made_signals[signal_count++] = signal;
  return signal;
}

bool comes_to(hsa_signal_t signal, hsa_signal_value_t value) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, 20000 * MS, HSA_WAIT_STATE_BLOCKED) == value;
}

bool stays_at(hsa_signal_t signal, hsa_signal_value_t value) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_NE, value, 20 * MS, HSA_WAIT_STATE_BLOCKED) == value;
}

hsa_queue_t *queue_create(hsa_agent_t agent) {
  hsa_queue_t *queue;
  REQUIRE(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  cr_assert_lt(queue_count, LEFT_MAX);
  made_queues[queue_count++] = queue;
  return queue;
}

void queue_destroy(hsa_queue_t *queue) {
  size_t i = 0;
  while (made_queues[i] != queue) ++i;
  made_queues[i] = made_queues[--queue_count];
  REQUIRE(hsa_queue_destroy(queue));
}

void push(hsa_queue_t *queue, uint16_t type, const void *packet) {
  uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  char *slot = (char *)queue->base_address + (index & (queue->size - 1)) * 64;
  memcpy(slot + 2, (const char *)packet + 2, 62);
  __atomic_store_n((uint16_t *)slot, (uint16_t)(type << HSA_PACKET_HEADER_TYPE), __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

void push_and(hsa_queue_t *queue, const hsa_signal_t *signals, size_t count, hsa_signal_t completion) {
  hsa_barrier_and_packet_t packet = {.completion_signal = completion};
  for (size_t i = 0; i < count; ++i) packet.dep_signal[i] = signals[i];
  push(queue, HSA_PACKET_TYPE_BARRIER_AND, &packet);
}

void push_or(hsa_queue_t *queue, const hsa_signal_t *signals, size_t count, hsa_signal_t completion) {
  hsa_barrier_or_packet_t packet = {.completion_signal = completion};
  for (size_t i = 0; i < count; ++i) packet.dep_signal[i] = signals[i];
  push(queue, HSA_PACKET_TYPE_BARRIER_OR, &packet);
}
