/* SPDX-License-Identifier: Apache-2.0 */
/* Which agents and memory pools there are, and what they say of themselves: a large GPU of AMD's, much simplified. */
#include <stdio.h>
#include <string.h>

#include "soft.h"

#define CPU 0x100u
#define GPU 0x200u
#define ISA 0x300u
#define LDS_BYTES 65536u
#define HOST_BYTES ((uint64_t)8 << 30)

hsa_agent_t soft_cpu(void) { return (hsa_agent_t){CPU}; }
hsa_agent_t soft_gpu(int index) { return (hsa_agent_t){GPU + (uint64_t)index}; }

int soft_gpu_index(hsa_agent_t agent) {
  return agent.handle >= GPU && agent.handle < GPU + SOFT_MAX_GPUS ? (int)(agent.handle - GPU) : -1;
}

hsa_amd_memory_pool_t soft_pool(enum soft_pool_kind kind, int gpu) {
  return (hsa_amd_memory_pool_t){(uint64_t)kind << 8 | (uint64_t)gpu};
}

enum soft_pool_kind soft_pool_kind(hsa_amd_memory_pool_t pool) { return (enum soft_pool_kind)(pool.handle >> 8); }
int soft_pool_gpu(hsa_amd_memory_pool_t pool) { return (int)(pool.handle & 0xff); }

/* -- answers: most are a number of some type -- */

enum type { BOOL, U16, U32, U64 };

struct answer {
  int attribute;
  enum type type;
  uint64_t value;
};

static void put(void *to, enum type type, uint64_t value) {
  switch (type) {
  case BOOL: *(bool *)to = value != 0; break;
  case U16: *(uint16_t *)to = (uint16_t)value; break;
  case U32: *(uint32_t *)to = (uint32_t)value; break;
  case U64: *(uint64_t *)to = value; break;
  }
}

static hsa_status_t answer(const struct answer *list, size_t count, const char *who, int attribute, void *to) {
  for (size_t i = 0; i < count; ++i) {
    if (list[i].attribute != attribute) continue;
    put(to, list[i].type, list[i].value);
    return HSA_STATUS_SUCCESS;
  }
  soft_say(SOFT_UNSUPPORTED, "%s: property %#x is not known", who, (unsigned)attribute);
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A text of HSA's has 64 bytes, zeros at the end. */
static void put_text(void *to, const char *text) {
  memset(to, 0, 64);
  memcpy(to, text, strnlen(text, 63));
}

/* -- the system -- */

hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void *value) {
  const struct answer answers[] = {
      {HSA_SYSTEM_INFO_VERSION_MAJOR, U16, 1},
      {HSA_SYSTEM_INFO_VERSION_MINOR, U16, 1},
      {HSA_SYSTEM_INFO_TIMESTAMP, U64, soft_now()},
      {HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, U64, 1000000000},
      {HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT, U64, UINT64_MAX},
      {HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, BOOL, 0},
      {HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT, BOOL, 0},
      {HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED, BOOL, soft_settings()->has_vmem},
  };
  return answer(answers, COUNT(answers), "system", (int)attribute, value);
}

/* -- agents -- */

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data) {
  hsa_status_t status = callback(soft_cpu(), data);
  for (int i = 0; i < soft_settings()->gpus && status == HSA_STATUS_SUCCESS; ++i) status = callback(soft_gpu(i), data);
  return status;
}

static hsa_status_t agent_number(hsa_agent_t agent, int attribute, void *value) {
  int gpu = soft_gpu_index(agent);
  uint64_t node = (uint64_t)(gpu + 1); /* the CPU is 0 */
  const struct answer answers[] = {
      {HSA_AGENT_INFO_DEVICE, U32, gpu < 0 ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU},
      {HSA_AGENT_INFO_PROFILE, U32, HSA_PROFILE_BASE},
      {HSA_AGENT_INFO_WAVEFRONT_SIZE, U32, 64},
      {HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, U32, 1024},
      {HSA_AGENT_INFO_GRID_MAX_SIZE, U32, UINT32_MAX},
      {HSA_AGENT_INFO_QUEUES_MAX, U32, 128},
      {HSA_AGENT_INFO_QUEUE_MIN_SIZE, U32, 64},
      {HSA_AGENT_INFO_QUEUE_MAX_SIZE, U32, 131072},
      {HSA_AGENT_INFO_NODE, U32, node},
      {HSA_AGENT_INFO_VERSION_MAJOR, U16, 1},
      {HSA_AGENT_INFO_VERSION_MINOR, U16, 1},
      {HSA_AMD_AGENT_INFO_CHIP_ID, U32, 0x740c},
      {HSA_AMD_AGENT_INFO_CACHELINE_SIZE, U32, 64},
      {HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, U32, 104},
      {HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT, U32, 104},
      {HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, U32, 1700},
      {HSA_AMD_AGENT_INFO_DRIVER_NODE_ID, U32, node},
      {HSA_AMD_AGENT_INFO_BDFID, U32, node << 8},
      {HSA_AMD_AGENT_INFO_DOMAIN, U32, 0},
      {HSA_AMD_AGENT_INFO_MEMORY_WIDTH, U32, 4096},
      {HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY, U32, 1600},
      {HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, U32, 32},
      {HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, U32, 4},
      {HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES, BOOL, 0},
      {HSA_AMD_AGENT_INFO_ASIC_REVISION, U32, 1},
      {HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS, BOOL, 0},
      {HSA_AMD_AGENT_INFO_MEMORY_AVAIL, U64, gpu < 0 ? HOST_BYTES : soft_settings()->vram - soft_vram_used(gpu)},
      {HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY, U64, 100000000},
      {HSA_AMD_AGENT_INFO_NUM_SDMA_ENG, U32, 2},
      {HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG, U32, 0},
      {HSA_AMD_AGENT_INFO_NUM_XCC, U32, 1},
      {HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX, U64, (uint64_t)1 << 30},
      {HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT, U64, (uint64_t)1 << 30},
      {HSA_AMD_AGENT_INFO_IOMMU_SUPPORT, U32, 0},
      {HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES, U64, 0},
      {HSA_AMD_AGENT_INFO_DRIVER_UID, U32, node},
      {HSA_AMD_AGENT_INFO_NEAREST_CPU, U64, CPU},
  };
  return answer(answers, COUNT(answers), gpu < 0 ? "CPU" : "GPU", attribute, value);
}

/* The name of the processor: of amdgcn-amd-amdhsa--gfx90a:sramecc+ it is gfx90a. */
static void put_gpu_name(void *to) {
  char name[64];
  const char *begin = strstr(soft_settings()->isa, "--");
  begin = begin == NULL ? soft_settings()->isa : begin + 2;
  (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, ":"), begin);
  put_text(to, name);
}

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value) {
  int gpu = soft_gpu_index(agent);
  switch ((int)attribute) {
  case HSA_AGENT_INFO_NAME:
    put_text(value, "cpu");
    if (gpu >= 0) put_gpu_name(value);
    break;
  case HSA_AGENT_INFO_VENDOR_NAME: put_text(value, gpu < 0 ? "CPU" : "AMD"); break;
  case HSA_AMD_AGENT_INFO_PRODUCT_NAME: put_text(value, "softhsa"); break;
  case HSA_AMD_AGENT_INFO_UUID: (void)snprintf(value, 21, "GPU-%016x", 0xabc0u + (unsigned)gpu); break;
  case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
    for (int i = 0; i < 3; ++i) ((uint16_t *)value)[i] = 1024;
    break;
  case HSA_AGENT_INFO_GRID_MAX_DIM: *(hsa_dim3_t *)value = (hsa_dim3_t){UINT32_MAX, UINT32_MAX, UINT32_MAX}; break;
  case HSA_AGENT_INFO_CACHE_SIZE: memcpy(value, (uint32_t[4]){16384, 8 << 20}, 4 * sizeof(uint32_t)); break;
  case HSA_AGENT_INFO_EXTENSIONS: memset(value, 0, 128); break;
  case HSA_AMD_AGENT_INFO_HDP_FLUSH: memset(value, 0, sizeof(hsa_amd_hdp_flush_t)); break;
  default: return agent_number(agent, (int)attribute, value);
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void *), void *data) {
  (void)agent;
  return callback((hsa_isa_t){ISA}, data);
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void *value) {
  (void)isa;
  const char *name = soft_settings()->isa;
  switch ((int)attribute) {
  case HSA_ISA_INFO_NAME_LENGTH: *(uint32_t *)value = (uint32_t)strlen(name) + 1; return HSA_STATUS_SUCCESS;
  case HSA_ISA_INFO_NAME: memcpy(value, name, strlen(name) + 1); return HSA_STATUS_SUCCESS;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

/* -- memory pools -- */

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t, void *), void *data) {
  static const enum soft_pool_kind of_host[] = {SOFT_HOST_FINE, SOFT_HOST_KERNARG, SOFT_HOST_COARSE};
  static const enum soft_pool_kind of_gpu[] = {SOFT_VRAM, SOFT_LDS};
  int gpu = soft_gpu_index(agent);
  const enum soft_pool_kind *kinds = gpu < 0 ? of_host : of_gpu;
  size_t count = gpu < 0 ? COUNT(of_host) : COUNT(of_gpu);
  hsa_status_t status = HSA_STATUS_SUCCESS;
  for (size_t i = 0; i < count && status == HSA_STATUS_SUCCESS; ++i) {
    status = callback(soft_pool(kinds[i], gpu < 0 ? 0 : gpu), data);
  }
  return status;
}

static uint32_t flags_of(enum soft_pool_kind kind) {
  switch (kind) {
  case SOFT_HOST_FINE: return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  case SOFT_HOST_KERNARG:
    return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
  default: return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
  }
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                          void *value) {
  enum soft_pool_kind kind = soft_pool_kind(pool);
  uint64_t vram = soft_settings()->vram;
  const struct answer answers[] = {
      {HSA_AMD_MEMORY_POOL_INFO_SEGMENT, U32, kind == SOFT_LDS ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL},
      {HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, U32, flags_of(kind)},
      {HSA_AMD_MEMORY_POOL_INFO_SIZE, U64,
       kind == SOFT_LDS    ? LDS_BYTES
       : kind == SOFT_VRAM ? vram
                           : HOST_BYTES},
      {HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, BOOL, kind != SOFT_LDS},
      {HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, U64, SOFT_PAGE},
      {HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE, U64, SOFT_PAGE},
      {HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT, U64, SOFT_PAGE},
      {HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL, BOOL, kind != SOFT_VRAM && kind != SOFT_LDS},
      {HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, U64, kind == SOFT_VRAM ? vram : HOST_BYTES},
  };
  return answer(answers, COUNT(answers), "memory pool", (int)attribute, value);
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                                hsa_amd_agent_memory_pool_info_t attribute, void *value) {
  (void)agent;
  (void)pool;
  switch ((int)attribute) {
  case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
    *(hsa_amd_memory_pool_access_t *)value = HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
    break;
  case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS: *(uint32_t *)value = 1; break;
  case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO:
    *(hsa_amd_memory_pool_link_info_t *)value =
        (hsa_amd_memory_pool_link_info_t){.numa_distance = 20,
                                          .link_type = HSA_AMD_LINK_INFO_TYPE_PCIE,
                                          .atomic_support_32bit = true,
                                          .atomic_support_64bit = true,
                                          .coherent_support = true};
    break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}
