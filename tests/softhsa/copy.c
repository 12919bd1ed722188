/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy engines. Each GPU has several; each begins its copies in the order in which they came, and one that waits for a
 * signal makes those behind it wait too. The runtime counts on that order.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "soft.h"

#define ENGINES 8u /* of each GPU */
enum { ENGINE_FROM_HOST, ENGINE_TO_HOST };

/* A block of `rows` times `slices` pieces of `bytes` each; a plain copy has one. */
struct shape {
  size_t bytes, rows, slices;
  size_t to_pitch, to_slice, from_pitch, from_slice;
};

struct copy {
  struct copy *next;
  char *to;
  const char *from;
  struct shape shape;
  bool is_to_host;
  hsa_signal_t completion;
  uint32_t dependency_count;
  hsa_signal_t dependencies[];
};

static struct engine {
  struct copy *first, **end;
  bool has_thread;
  pthread_t thread;
} engines[SOFT_MAX_GPUS][ENGINES]; /* under the lock, as are the three below */
static uint64_t pending;
static bool copies_are_held, engines_end;

uint64_t soft_copies_pending_locked(void) { return pending; }

void softhsa_hold_copies(bool is_held) {
  soft_lock();
  copies_are_held = is_held;
  soft_tell_locked();
  soft_unlock();
}

/* -- the thread -- */

static bool may_begin_locked(const struct engine *engine) {
  const struct copy *copy = engine->first;
  return copy != NULL && !copies_are_held && !soft_everything_is_held_locked() &&
         soft_all_arrived(copy->dependencies, copy->dependency_count);
}

static void move(const struct copy *copy) {
  const struct shape *shape = &copy->shape;
  for (size_t slice = 0; slice < shape->slices; ++slice) {
    for (size_t row = 0; row < shape->rows; ++row) {
      memmove(copy->to + slice * shape->to_slice + row * shape->to_pitch,
              copy->from + slice * shape->from_slice + row * shape->from_pitch, shape->bytes);
    }
  }
}

static void *work(void *argument) {
  struct engine *engine = argument;
  soft_lock();
  while (!engines_end) {
    if (!may_begin_locked(engine)) {
      soft_await_locked();
      continue;
    }
    struct copy *copy = engine->first;
    soft_unlock();
    uint64_t start = soft_now();
    if (copy->is_to_host) soft_sleep_us(soft_settings()->to_host_us);
    move(copy);
    soft_say(SOFT_TRACE, "copied %zu bytes", copy->shape.bytes * copy->shape.rows * copy->shape.slices);
    soft_count(SOFTHSA_COPIES);
    soft_lock();
    engine->first = copy->next;
    if (engine->first == NULL) engine->end = &engine->first;
    --pending;
    soft_unlock();
    soft_complete(copy->completion, start);
    free(copy);
    soft_lock();
  }
  soft_unlock();
  return NULL;
}

static bool provide_thread_locked(struct engine *engine) {
  if (engine->has_thread) return true;
  engine->first = NULL;
  engine->end = &engine->first;
  engine->has_thread = pthread_create(&engine->thread, NULL, work, engine) == 0;
  return engine->has_thread;
}

static void discard(struct engine *engine) {
  while (engine->first != NULL) {
    struct copy *copy = engine->first;
    engine->first = copy->next;
    --pending;
    free(copy);
  }
  engine->has_thread = false;
}

void soft_engines_stop(void) {
  soft_lock();
  engines_end = true;
  soft_tell_locked();
  soft_unlock();
  for (struct engine *engine = &engines[0][0]; engine < &engines[0][0] + SOFT_MAX_GPUS * ENGINES; ++engine) {
    if (!engine->has_thread) continue;
    (void)pthread_join(engine->thread, NULL);
    discard(engine);
  }
  engines_end = false;
}

/* -- submission -- */

/* The GPU whose engine copies; between host and host the first one's. */
static int gpu_of(hsa_agent_t dst_agent, hsa_agent_t src_agent) {
  int gpu = soft_gpu_index(src_agent);
  if (gpu < 0) gpu = soft_gpu_index(dst_agent);
  return gpu < 0 ? 0 : gpu;
}

static bool is_to_host(hsa_agent_t dst_agent, hsa_agent_t src_agent) {
  return soft_gpu_index(dst_agent) < 0 && soft_gpu_index(src_agent) >= 0;
}

static hsa_status_t submit(struct copy copy, struct engine *engine, const hsa_signal_t *dependencies) {
  size_t bytes = copy.dependency_count * sizeof *dependencies;
  struct copy *queued = malloc(sizeof *queued + bytes);
  if (queued == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *queued = copy;
  if (bytes != 0) memcpy(queued->dependencies, dependencies, bytes);
  soft_lock();
  bool is_ready = provide_thread_locked(engine);
  if (is_ready) {
    *engine->end = queued;
    engine->end = &queued->next;
    ++pending;
    soft_tell_locked();
  }
  soft_unlock();
  if (is_ready) return HSA_STATUS_SUCCESS;
  free(queued);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t submit_plain(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size,
                                 uint32_t dep_count, const hsa_signal_t *deps, hsa_signal_t completion,
                                 unsigned engine) {
  struct copy copy = {.to = dst,
                      .from = src,
                      .shape = {.bytes = size, .rows = 1, .slices = 1},
                      .is_to_host = is_to_host(dst_agent, src_agent),
                      .completion = completion,
                      .dependency_count = dep_count};
  return submit(copy, &engines[gpu_of(dst_agent, src_agent)][engine], deps);
}

hsa_status_t hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent,
                                       size_t size, uint32_t dep_count, const hsa_signal_t *deps,
                                       hsa_signal_t completion) {
  unsigned engine = is_to_host(dst_agent, src_agent) ? ENGINE_TO_HOST : ENGINE_FROM_HOST;
  return submit_plain(dst, dst_agent, src, src_agent, size, dep_count, deps, completion, engine);
}

hsa_status_t hsa_amd_memory_async_copy_on_engine(void *dst, hsa_agent_t dst_agent, const void *src,
                                                 hsa_agent_t src_agent, size_t size, uint32_t dep_count,
                                                 const hsa_signal_t *deps, hsa_signal_t completion,
                                                 hsa_amd_sdma_engine_id_t engine, bool is_forced) {
  (void)is_forced;
  unsigned bits = (unsigned)engine;
  if (bits == 0 || (bits & (bits - 1)) != 0 || bits >= 1u << ENGINES) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return submit_plain(dst, dst_agent, src, src_agent, size, dep_count, deps, completion, (unsigned)__builtin_ctz(bits));
}

hsa_status_t hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset,
                                            const hsa_pitched_ptr_t *src, const hsa_dim3_t *src_offset,
                                            const hsa_dim3_t *range, hsa_agent_t agent,
                                            hsa_amd_copy_direction_t direction, uint32_t dep_count,
                                            const hsa_signal_t *deps, hsa_signal_t completion) {
  bool goes_to_host = direction == hsaDeviceToHost;
  struct copy copy = {.to = (char *)dst->base + dst_offset->z * dst->slice + dst_offset->y * dst->pitch + dst_offset->x,
                      .from = (const char *)src->base + src_offset->z * src->slice + src_offset->y * src->pitch +
                              src_offset->x,
                      .shape = {.bytes = range->x,
                                .rows = range->y,
                                .slices = range->z,
                                .to_pitch = dst->pitch,
                                .to_slice = dst->slice,
                                .from_pitch = src->pitch,
                                .from_slice = src->slice},
                      .is_to_host = goes_to_host,
                      .completion = completion,
                      .dependency_count = dep_count};
  return submit(copy, &engines[gpu_of(agent, agent)][goes_to_host ? ENGINE_TO_HOST : ENGINE_FROM_HOST], deps);
}

/* Those that have nothing to do. */
hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent, uint32_t *idle) {
  int gpu = gpu_of(dst_agent, src_agent);
  *idle = 0;
  soft_lock();
  for (unsigned i = 0; i < ENGINES; ++i) {
    if (engines[gpu][i].first == NULL) *idle |= 1u << i;
  }
  soft_unlock();
  return *idle == 0 ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t dst_agent, hsa_agent_t src_agent, uint32_t *engine) {
  (void)dst_agent;
  (void)src_agent;
  *engine = 0; /* any */
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable) {
  (void)enable;
  return HSA_STATUS_SUCCESS;
}

/* -- at once -- */

hsa_status_t hsa_memory_copy(void *dst, const void *src, size_t size) {
  memmove(dst, src, size);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_fill(void *memory, uint32_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) memcpy((char *)memory + i * sizeof value, &value, sizeof value);
  return HSA_STATUS_SUCCESS;
}
