/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory: a handle is a file in memory, and mapping it means mapping that file. */
#define _GNU_SOURCE /* memfd_create */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "soft.h"

#define NO_ACCESS ((hsa_access_permission_t)0) /* the older headers have no name for it */

/* A handle and its mappings hold the physical memory together; it goes back with the last of them. */
struct physical {
  int file, gpu;
  size_t bytes;
  unsigned references;
};

struct mapping {
  struct mapping *next;
  char *at;
  size_t bytes;
  struct physical *physical;
  hsa_access_permission_t permission;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings; /* under the lock, as are the references */

/* -- address ranges -- */

static hsa_status_t reserve(void **va, size_t size, uint64_t address, size_t alignment) {
  if (va == NULL || size == 0 || (alignment & (alignment - 1)) != 0 || size > SIZE_MAX - alignment) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  size_t bytes = size + alignment;
  char *memory = mmap((void *)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  size_t before = (size_t)(-(uintptr_t)memory & (alignment - 1));
  if (before != 0) (void)munmap(memory, before);
  (void)munmap(memory + before + size, bytes - before - size);
  soft_count(SOFTHSA_RESERVES);
  soft_say(SOFT_TRACE, "reserved %zu bytes of addresses: %p", size, (void *)(memory + before));
  *va = memory + before;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_address_reserve(void **va, size_t size, uint64_t address, uint64_t flags) {
  (void)flags;
  return reserve(va, size, address, SOFT_PAGE);
}

hsa_status_t hsa_amd_vmem_address_reserve_align(void **va, size_t size, uint64_t address, uint64_t alignment,
                                                uint64_t flags) {
  (void)flags;
  return reserve(va, size, address, alignment < SOFT_PAGE ? SOFT_PAGE : alignment);
}

hsa_status_t hsa_amd_vmem_address_free(void *va, size_t size) {
  soft_say(SOFT_TRACE, "gave back %zu bytes of addresses: %p", size, va);
  if (munmap(va, size) != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  soft_count(SOFTHSA_UNRESERVES);
  return HSA_STATUS_SUCCESS;
}

/* -- handles -- */

static struct physical *physical_of(hsa_amd_vmem_alloc_handle_t handle) { return (struct physical *)handle.handle; }

static struct physical *make(int gpu, size_t bytes) {
  struct physical *physical = malloc(sizeof *physical);
  int file = memfd_create("softhsa", MFD_CLOEXEC);
  if (physical == NULL || file < 0 || ftruncate(file, (off_t)bytes) != 0) {
    if (file >= 0) (void)close(file);
    free(physical);
    return NULL;
  }
  *physical = (struct physical){.file = file, .gpu = gpu, .bytes = bytes, .references = 1};
  return physical;
}

static void release(struct physical *physical) {
  (void)pthread_mutex_lock(&lock);
  bool is_last = --physical->references == 0;
  (void)pthread_mutex_unlock(&lock);
  if (!is_last) return;
  (void)close(physical->file);
  soft_vram_give(physical->gpu, physical->bytes);
  free(physical);
}

hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, hsa_amd_memory_type_t type,
                                        uint64_t flags, hsa_amd_vmem_alloc_handle_t *out) {
  (void)type;
  (void)flags;
  int gpu = soft_pool_gpu(pool);
  if (soft_pool_kind(pool) != SOFT_VRAM) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (size == 0 || size % SOFT_PAGE != 0 || out == NULL) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!soft_vram_take(gpu, size)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  struct physical *physical = make(gpu, size);
  if (physical == NULL) {
    soft_vram_give(gpu, size);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  soft_say(SOFT_TRACE, "handle of %zu bytes of GPU %d: %p", size, gpu, (void *)physical);
  out->handle = (uint64_t)physical;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_handle_release(hsa_amd_vmem_alloc_handle_t handle) {
  soft_say(SOFT_TRACE, "released handle %p", (void *)handle.handle);
  if (handle.handle == 0) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  release(physical_of(handle));
  return HSA_STATUS_SUCCESS;
}

/* -- mappings -- */

hsa_status_t hsa_amd_vmem_map(void *va, size_t size, size_t offset, hsa_amd_vmem_alloc_handle_t handle,
                              uint64_t flags) {
  (void)flags;
  struct physical *physical = physical_of(handle);
  if (physical == NULL || offset > physical->bytes || size > physical->bytes - offset) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  struct mapping *mapping = malloc(sizeof *mapping);
  if (mapping == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (mmap(va, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, (off_t)offset) == MAP_FAILED) {
    free(mapping);
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *mapping = (struct mapping){.at = va, .bytes = size, .physical = physical, .permission = NO_ACCESS};
  (void)pthread_mutex_lock(&lock);
  ++physical->references;
  mapping->next = mappings;
  mappings = mapping;
  (void)pthread_mutex_unlock(&lock);
  soft_count(SOFTHSA_MAPS);
  soft_say(SOFT_TRACE, "mapped handle %p, %zu bytes: %p", (void *)physical, size, va);
  return HSA_STATUS_SUCCESS;
}

static struct mapping *take_out(const void *va) {
  (void)pthread_mutex_lock(&lock);
  struct mapping **at = &mappings;
  while (*at != NULL && (*at)->at != va) at = &(*at)->next;
  struct mapping *mapping = *at;
  if (mapping != NULL) *at = mapping->next;
  (void)pthread_mutex_unlock(&lock);
  return mapping;
}

hsa_status_t hsa_amd_vmem_unmap(void *va, size_t size) {
  struct mapping *mapping = take_out(va);
  soft_say(SOFT_TRACE, "unmapped %p, %zu bytes%s", va, size, mapping == NULL ? ": unknown" : "");
  if (mapping == NULL) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  /* The addresses stay reserved. */
  void *memory = mmap(va, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  release(mapping->physical);
  free(mapping);
  soft_count(SOFTHSA_UNMAPS);
  return memory == MAP_FAILED ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

/* -- access: one permission for all agents, the first that is named -- */

hsa_status_t hsa_amd_vmem_set_access(void *va, size_t size, const hsa_amd_memory_access_desc_t *list, size_t count) {
  hsa_access_permission_t permission = count == 0 ? NO_ACCESS : list[0].permissions;
  int protection = permission == HSA_ACCESS_PERMISSION_RW   ? PROT_READ | PROT_WRITE
                   : permission == HSA_ACCESS_PERMISSION_RO ? PROT_READ
                                                            : PROT_NONE;
  uintptr_t begin = (uintptr_t)va;
  (void)pthread_mutex_lock(&lock);
  for (struct mapping *mapping = mappings; mapping != NULL; mapping = mapping->next) {
    if ((uintptr_t)mapping->at - begin < size) mapping->permission = permission;
  }
  (void)pthread_mutex_unlock(&lock);
  return mprotect(va, size, protection) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t hsa_amd_vmem_get_access(void *va, hsa_access_permission_t *out, hsa_agent_t agent) {
  (void)agent;
  *out = NO_ACCESS;
  (void)pthread_mutex_lock(&lock);
  for (const struct mapping *mapping = mappings; mapping != NULL; mapping = mapping->next) {
    if ((uintptr_t)va - (uintptr_t)mapping->at < mapping->bytes) *out = mapping->permission;
  }
  (void)pthread_mutex_unlock(&lock);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_retain_alloc_handle(hsa_amd_vmem_alloc_handle_t *out, void *address) {
  out->handle = 0;
  (void)pthread_mutex_lock(&lock);
  for (const struct mapping *mapping = mappings; mapping != NULL; mapping = mapping->next) {
    if (out->handle != 0 || (uintptr_t)address - (uintptr_t)mapping->at >= mapping->bytes) continue;
    ++mapping->physical->references;
    out->handle = (uint64_t)mapping->physical;
  }
  (void)pthread_mutex_unlock(&lock);
  return out->handle == 0 ? HSA_STATUS_ERROR_INVALID_ALLOCATION : HSA_STATUS_SUCCESS;
}
