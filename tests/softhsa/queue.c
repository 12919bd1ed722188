/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, each with a thread that takes one packet after the other, and what holds them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "soft.h"

static struct soft_queue *queues; /* under the lock, as are the two below */
static uint64_t last_id;
static bool everything_is_held;
static _Thread_local uint64_t rung = SOFTHSA_NO_QUEUE;

static struct soft_queue *queue_of(const hsa_queue_t *queue) { return (struct soft_queue *)queue; }

static soft_packet *slot_of(const struct soft_queue *queue, uint64_t index) {
  soft_packet *ring = queue->amd.hsa_queue.base_address;
  return &ring[index & (queue->amd.hsa_queue.size - 1)];
}

/* -- the thread -- */

/* A packet is there when the doorbell says so: before that its header may be valid and the rest of it not yet written,
 * as 5.2.3 does with waits for a value. */
static bool has_packet(const struct soft_queue *queue) {
  const soft_packet *packet = slot_of(queue, queue->read);
  return queue->read < __atomic_load_n(&queue->write, __ATOMIC_ACQUIRE) &&
         queue->read < __atomic_load_n(&queue->announced, __ATOMIC_ACQUIRE) &&
         soft_packet_type(packet) != HSA_PACKET_TYPE_INVALID;
}

/* The next packet, or NULL when the queue ends. */
static soft_packet *await_packet(struct soft_queue *queue) {
  soft_lock();
  while (!queue->is_stopped && (everything_is_held || queue->is_held || !has_packet(queue))) soft_await_locked();
  bool ends = queue->is_stopped;
  soft_unlock();
  return ends ? NULL : slot_of(queue, queue->read);
}

static bool is_stopped(struct soft_queue *queue) {
  soft_lock();
  bool stopped = queue->is_stopped;
  soft_unlock();
  return stopped;
}

static void *process(void *argument) {
  struct soft_queue *queue = argument;
  soft_packet *packet;
  while ((packet = await_packet(queue)) != NULL) {
    uint64_t start = soft_now();
    hsa_signal_t completion = {0};
    soft_sleep_us(soft_settings()->packet_us);
    soft_packet_run(queue, packet, &completion);
    if (is_stopped(queue)) break; /* before its packet was done, perhaps */
    soft_say(SOFT_TRACE, "queue %llu: packet %llu of type %u is done", soft_queue_id(queue),
             (unsigned long long)queue->read, soft_packet_type(packet));
    soft_count(SOFTHSA_PACKETS);
    /* The slot is the runtime's again as soon as the index says so. */
    __atomic_store_n(&packet->header, (uint16_t)HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
    queue->amd.read_dispatch_id = queue->read + 1;
    __atomic_store_n(&queue->read, queue->read + 1, __ATOMIC_RELEASE);
    soft_complete(completion, start);
  }
  return NULL;
}

bool soft_queue_rest(struct soft_queue *queue) {
  soft_lock();
  if (!queue->is_stopped) soft_await_until_locked(soft_now() + SOFT_POLL_NS);
  bool goes_on = !queue->is_stopped;
  soft_unlock();
  return goes_on;
}

/* -- creation and destruction -- */

static struct soft_queue *make(uint32_t size, hsa_queue_type32_t type) {
  struct soft_queue *queue = aligned_alloc(AMD_QUEUE_ALIGN_BYTES, sizeof *queue);
  soft_packet *ring = aligned_alloc(sizeof *ring, size * sizeof *ring);
  if (queue == NULL || ring == NULL) {
    free(queue);
    free(ring);
    return NULL;
  }
  memset(queue, 0, sizeof *queue);
  memset(ring, 0, size * sizeof *ring);
  for (uint32_t i = 0; i < size; ++i) ring[i].header = HSA_PACKET_TYPE_INVALID;
  queue->amd.hsa_queue.type = type;
  queue->amd.hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  queue->amd.hsa_queue.size = size;
  queue->amd.hsa_queue.base_address = ring;
  return queue;
}

static void unmake(struct soft_queue *queue) {
  free(queue->amd.hsa_queue.base_address);
  free(queue);
}

static void enlist(struct soft_queue *queue) {
  soft_lock();
  queue->amd.hsa_queue.id = last_id++;
  queue->next = queues;
  queues = queue;
  soft_unlock();
}

static void delist(struct soft_queue *queue) {
  soft_lock();
  struct soft_queue **at = &queues;
  while (*at != queue) at = &(*at)->next;
  *at = queue->next;
  queue->is_stopped = true;
  soft_tell_locked();
  soft_unlock();
}

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_bytes,
                              uint32_t group_bytes, hsa_queue_t **out) {
  (void)callback;
  (void)data;
  (void)private_bytes;
  (void)group_bytes;
  if (soft_gpu_index(agent) < 0) return HSA_STATUS_ERROR_INVALID_AGENT;
  if (size == 0 || (size & (size - 1)) != 0 || out == NULL) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  struct soft_queue *queue = make(size, type);
  if (queue == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_signal_t *doorbell = &queue->amd.hsa_queue.doorbell_signal;
  hsa_status_t status = hsa_signal_create(-1, 0, NULL, doorbell);
  if (status != HSA_STATUS_SUCCESS) {
    unmake(queue);
    return status;
  }
  ((amd_signal_t *)doorbell->handle)->reserved2 = (uint64_t)queue; /* see soft_doorbell_rung */
  enlist(queue);
  if (pthread_create(&queue->thread, NULL, process, queue) != 0) {
    delist(queue);
    (void)hsa_signal_destroy(*doorbell);
    unmake(queue);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  soft_count(SOFTHSA_QUEUES);
  soft_say(SOFT_TRACE, "queue %llu: created, with %u slots", soft_queue_id(queue), size);
  *out = &queue->amd.hsa_queue;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_queue_destroy(hsa_queue_t *handle) {
  struct soft_queue *queue = queue_of(handle);
  if (queue == NULL) return HSA_STATUS_ERROR_INVALID_QUEUE;
  delist(queue);
  (void)pthread_join(queue->thread, NULL);
  (void)hsa_signal_destroy(handle->doorbell_signal);
  unmake(queue);
  return HSA_STATUS_SUCCESS;
}

/* -- indexes -- */

uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t *queue, uint64_t value) {
  return __atomic_fetch_add(&queue_of(queue)->write, value, __ATOMIC_SEQ_CST);
}

uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t *queue) {
  return __atomic_load_n(&queue_of(queue)->write, __ATOMIC_SEQ_CST);
}

uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t *queue) {
  return __atomic_load_n(&queue_of(queue)->read, __ATOMIC_SEQ_CST);
}

uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t *queue) {
  return hsa_queue_load_read_index_relaxed(queue);
}

/* -- what a queue can be told, and does not need to know here -- */

hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t *queue, uint32_t count, const uint32_t *mask) {
  (void)queue;
  (void)count;
  (void)mask;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority) {
  (void)queue;
  (void)priority;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *queue, int enable) {
  (void)queue;
  (void)enable;
  return HSA_STATUS_SUCCESS;
}

/* -- holds -- */

bool soft_everything_is_held_locked(void) { return everything_is_held; }

void softhsa_hold(bool is_held) {
  soft_lock();
  everything_is_held = is_held;
  soft_tell_locked();
  soft_unlock();
}

bool softhsa_hold_queue(uint64_t id, bool is_held) {
  soft_lock();
  struct soft_queue *queue = queues;
  while (queue != NULL && queue->amd.hsa_queue.id != id) queue = queue->next;
  if (queue != NULL) queue->is_held = is_held;
  soft_tell_locked();
  soft_unlock();
  return queue != NULL;
}

/* Of several threads the one with the later packet may ring first. */
void soft_doorbell_rung(hsa_signal_t signal, int64_t index) {
  struct soft_queue *queue = (struct soft_queue *)((const amd_signal_t *)signal.handle)->reserved2;
  if (queue == NULL) return;
  rung = queue->amd.hsa_queue.id;
  uint64_t before = __atomic_load_n(&queue->announced, __ATOMIC_RELAXED), now = (uint64_t)index + 1;
  while (before < now &&
         !__atomic_compare_exchange_n(&queue->announced, &before, now, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    continue;
}

uint64_t softhsa_queue_rung(void) { return rung; }

uint64_t softhsa_pending(void) {
  soft_lock();
  uint64_t pending = soft_copies_pending_locked();
  for (const struct soft_queue *queue = queues; queue != NULL; queue = queue->next) {
    pending += hsa_queue_load_write_index_relaxed(&queue->amd.hsa_queue) -
               hsa_queue_load_read_index_relaxed(&queue->amd.hsa_queue);
  }
  soft_unlock();
  return pending;
}
