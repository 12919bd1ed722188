/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that use everything at once, for ThreadSanitizer; a plain program, because Criterion's runner aborts there.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "newer.h"
#include "softhsa.h"

#define THREADS 4
#define ROUNDS 300
#define BYTES 4096

static hsa_agent_t cpu, gpu;
static hsa_amd_memory_pool_t pool;
static atomic_int calls;

#define REQUIRE(call)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != HSA_STATUS_SUCCESS) {                                                                                \
      (void)fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #call);                                          \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

static hsa_status_t note_agent(hsa_agent_t agent, void *unused) {
  (void)unused;
  hsa_device_type_t type;
  REQUIRE(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  *(type == HSA_DEVICE_TYPE_CPU ? &cpu : &gpu) = agent;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t note_pool(hsa_amd_memory_pool_t first, void *unused) {
  (void)unused;
  pool = first;
  return HSA_STATUS_INFO_BREAK;
}

static bool note_call(hsa_signal_value_t value, void *unused) {
  (void)value;
  (void)unused;
  (void)atomic_fetch_add(&calls, 1);
  return false;
}

static void push_barrier(hsa_queue_t *queue, hsa_signal_t after, hsa_signal_t done) {
  hsa_barrier_and_packet_t packet = {.dep_signal = {after}, .completion_signal = done};
  uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  char *slot = (char *)queue->base_address + (index & (queue->size - 1)) * sizeof packet;
  memcpy(slot + 2, (const char *)&packet + 2, sizeof packet - 2);
  __atomic_store_n((uint16_t *)slot, (uint16_t)HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void await(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) > 0) {
  }
}

/* To the GPU, a barrier behind it, and back behind that; what comes back is what went. */
static hsa_signal_t go_around(hsa_queue_t *queue, char tag) {
  char there[BYTES], back[BYTES];
  void *memory;
  hsa_signal_t first, second, third;
  memset(there, tag, sizeof there);
  REQUIRE(hsa_signal_create(1, 0, NULL, &first));
  REQUIRE(hsa_signal_create(1, 0, NULL, &second));
  REQUIRE(hsa_signal_create(1, 0, NULL, &third));
  REQUIRE(hsa_amd_memory_pool_allocate(pool, BYTES, 0, &memory));
  REQUIRE(hsa_amd_signal_async_handler(second, HSA_SIGNAL_CONDITION_LT, 1, note_call, NULL));
  REQUIRE(hsa_amd_memory_async_copy(memory, gpu, there, cpu, BYTES, 0, NULL, first));
  push_barrier(queue, first, second);
  REQUIRE(hsa_amd_memory_async_copy(back, cpu, memory, gpu, BYTES, 1, &second, third));
  await(third);
  if (memcmp(there, back, BYTES) != 0) abort();
  REQUIRE(hsa_amd_memory_pool_free(memory));
  REQUIRE(hsa_signal_destroy(first));
  REQUIRE(hsa_signal_destroy(third));
  return second; /* the thread that calls handlers may still look at it */
}

static hsa_signal_t kept[THREADS][ROUNDS];

static void *run(void *number) {
  hsa_queue_t *queue;
  for (int i = 0; i < ROUNDS; ++i) {
    if (i % 50 == 0) REQUIRE(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    kept[*(int *)number][i] = go_around(queue, (char)(i + *(int *)number));
    if (i % 50 == 49) REQUIRE(hsa_queue_destroy(queue));
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  REQUIRE(hsa_init());
  REQUIRE(hsa_iterate_agents(note_agent, NULL));
  (void)hsa_amd_agent_iterate_memory_pools(gpu, note_pool, NULL);
  for (int i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0) abort();
  }
  for (int i = 0; i < 200; ++i) {
    softhsa_hold(i % 2 == 0);
    softhsa_hold_copies(i % 3 == 0);
    (void)softhsa_hold_queue((uint64_t)i % THREADS, i % 5 == 0);
    (void)softhsa_pending();
  }
  softhsa_hold(false);
  softhsa_hold_copies(false);
  for (uint64_t i = 0; i < THREADS; ++i) (void)softhsa_hold_queue(i, false);
  for (int i = 0; i < THREADS; ++i) (void)pthread_join(threads[i], NULL);
  REQUIRE(hsa_shut_down());
  for (int i = 0; i < THREADS * ROUNDS; ++i) REQUIRE(hsa_signal_destroy(kept[i / ROUNDS][i % ROUNDS]));
  bool is_clean = softhsa_device_bytes(-1) == 0 && softhsa_count(SOFTHSA_PACKETS) == THREADS * ROUNDS;
  return is_clean && atomic_load(&calls) <= THREADS * ROUNDS ? 0 : 1;
}
