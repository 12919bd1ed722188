/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: pages of the host's, and how many of them count as a GPU's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "soft.h"

struct block {
  struct block *next;
  char *memory;
  size_t bytes, asked_for;
  hsa_amd_memory_pool_t pool;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks; /* under the lock, as are the two below */
static uint64_t used[SOFT_MAX_GPUS];
static uint64_t fails_in; /* device allocations until one fails; 0: none does */

static size_t round_up(size_t bytes) { return (bytes + SOFT_PAGE - 1) & ~(SOFT_PAGE - 1); }

/* -- how much -- */

bool soft_vram_take(int gpu, size_t bytes) {
  (void)pthread_mutex_lock(&lock);
  bool fails = fails_in != 0 && --fails_in == 0;
  bool fits = !fails && bytes <= soft_settings()->vram && used[gpu] <= soft_settings()->vram - bytes;
  if (fits) used[gpu] += bytes;
  (void)pthread_mutex_unlock(&lock);
  soft_count(fits ? SOFTHSA_DEVICE_ALLOCATIONS : SOFTHSA_DEVICE_REFUSALS);
  return fits;
}

void soft_vram_give(int gpu, size_t bytes) {
  (void)pthread_mutex_lock(&lock);
  used[gpu] -= bytes;
  (void)pthread_mutex_unlock(&lock);
  soft_count(SOFTHSA_DEVICE_FREES);
}

uint64_t soft_vram_used(int gpu) {
  uint64_t bytes = 0;
  (void)pthread_mutex_lock(&lock);
  for (int i = 0; i < SOFT_MAX_GPUS; ++i) {
    if (gpu == -1 || gpu == i) bytes += used[i];
  }
  (void)pthread_mutex_unlock(&lock);
  return bytes;
}

void softhsa_fail_allocation(uint64_t n) {
  (void)pthread_mutex_lock(&lock);
  fails_in = n;
  (void)pthread_mutex_unlock(&lock);
}

/* -- blocks -- */

static struct block *make(hsa_amd_memory_pool_t pool, size_t size) {
  struct block *block = malloc(sizeof *block);
  if (block == NULL) return NULL;
  *block = (struct block){.bytes = round_up(size), .asked_for = size, .pool = pool};
  void *memory = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    free(block);
    return NULL;
  }
  block->memory = memory;
  return block;
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **out) {
  (void)flags;
  bool is_vram = soft_pool_kind(pool) == SOFT_VRAM;
  int gpu = soft_pool_gpu(pool);
  if (out == NULL || size == 0 || size > SIZE_MAX - SOFT_PAGE) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  bool fits = !is_vram || soft_vram_take(gpu, round_up(size));
  struct block *block = fits ? make(pool, size) : NULL;
  if (block == NULL) {
    if (is_vram && fits) soft_vram_give(gpu, round_up(size));
    soft_say(SOFT_TRACE, "allocating %zu bytes of GPU %d failed", size, gpu);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  (void)pthread_mutex_lock(&lock);
  block->next = blocks;
  blocks = block;
  (void)pthread_mutex_unlock(&lock);
  if (!is_vram) soft_count(SOFTHSA_HOST_ALLOCATIONS);
  soft_say(SOFT_TRACE, "allocated %zu bytes of %s %d: %p", size, is_vram ? "GPU" : "the host", gpu,
           (void *)block->memory);
  *out = block->memory;
  return HSA_STATUS_SUCCESS;
}

static struct block *take_out(const void *memory) {
  (void)pthread_mutex_lock(&lock);
  struct block **at = &blocks;
  while (*at != NULL && (*at)->memory != memory) at = &(*at)->next;
  struct block *block = *at;
  if (block != NULL) *at = block->next;
  (void)pthread_mutex_unlock(&lock);
  return block;
}

hsa_status_t hsa_amd_memory_pool_free(void *memory) {
  if (memory == NULL) return HSA_STATUS_SUCCESS;
  struct block *block = take_out(memory);
  soft_say(block == NULL ? SOFT_UNSUPPORTED : SOFT_TRACE, "freeing %p%s", memory, block == NULL ? ": unknown" : "");
  if (block == NULL) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  (void)munmap(block->memory, block->bytes);
  if (soft_pool_kind(block->pool) == SOFT_VRAM) {
    soft_vram_give(soft_pool_gpu(block->pool), block->bytes);
  } else {
    soft_count(SOFTHSA_HOST_FREES);
  }
  free(block);
  return HSA_STATUS_SUCCESS;
}

/* -- what a pointer is -- */

static void describe(const struct block *block, hsa_amd_pointer_info_t *info) {
  bool is_vram = soft_pool_kind(block->pool) == SOFT_VRAM;
  bool is_coarse = is_vram || soft_pool_kind(block->pool) == SOFT_HOST_COARSE;
  info->type = HSA_EXT_POINTER_TYPE_HSA;
  info->agentBaseAddress = block->memory;
  info->hostBaseAddress = block->memory;
  info->sizeInBytes = block->asked_for;
  info->agentOwner = is_vram ? soft_gpu(soft_pool_gpu(block->pool)) : soft_cpu();
  info->global_flags =
      is_coarse ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
}

hsa_status_t hsa_amd_pointer_info(const void *pointer, hsa_amd_pointer_info_t *out, void *(*allocate)(size_t),
                                  uint32_t *accessible_count, hsa_agent_t **accessible) {
  (void)allocate;
  hsa_amd_pointer_info_t info = {.size = sizeof info, .type = HSA_EXT_POINTER_TYPE_UNKNOWN};
  uintptr_t address = (uintptr_t)pointer;
  (void)pthread_mutex_lock(&lock);
  for (const struct block *block = blocks; block != NULL; block = block->next) {
    if (address - (uintptr_t)block->memory < block->bytes) describe(block, &info);
  }
  (void)pthread_mutex_unlock(&lock);
  /* The caller says how large its structure is: older ones end earlier. */
  memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
  if (accessible_count != NULL) *accessible_count = 0;
  if (accessible != NULL) *accessible = NULL;
  return HSA_STATUS_SUCCESS;
}

/* -- everybody sees all memory here, at the same address -- */

hsa_status_t hsa_amd_agents_allow_access(uint32_t count, const hsa_agent_t *agents, const uint32_t *flags,
                                         const void *memory) {
  (void)count;
  (void)agents;
  (void)flags;
  (void)memory;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_lock_to_pool(void *memory, size_t size, hsa_agent_t *agents, int count,
                                         hsa_amd_memory_pool_t pool, uint32_t flags, void **out) {
  (void)size;
  (void)agents;
  (void)count;
  (void)pool;
  (void)flags;
  *out = memory;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_unlock(void *memory) {
  (void)memory;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_register(void *memory, size_t size) {
  (void)memory;
  (void)size;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_deregister(void *memory, size_t size) {
  (void)memory;
  (void)size;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type) {
  (void)agent;
  (void)type;
  return HSA_STATUS_SUCCESS;
}
