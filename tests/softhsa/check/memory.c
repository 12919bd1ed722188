/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void begin_small(void) {
  cr_assert_eq(setenv("SOFTHSA_GPUS", "2", 1), 0);
  cr_assert_eq(setenv("SOFTHSA_VRAM", "4194304", 1), 0);
  begin();
}

TestSuite(memory, .init = begin_small, .fini = end);

static hsa_status_t try(size_t index, size_t bytes) {
  void *memory;
  hsa_status_t status = hsa_amd_memory_pool_allocate(pool_of(gpu(index)), bytes, 0, &memory);
  if (status == HSA_STATUS_SUCCESS) memset(memory, 1, bytes);
  return status;
}

Test(memory, a_gpu_has_so_much_and_no_more) {
  void *first = allocate(gpu(0), 3 * MIB);
  cr_assert_eq(softhsa_device_bytes(0), 3 * MIB);
  cr_assert_neq(try(0, 2 * MIB), HSA_STATUS_SUCCESS);
  cr_assert_eq(try(0, 1 * MIB), HSA_STATUS_SUCCESS);
  cr_assert_neq(try(0, 1), HSA_STATUS_SUCCESS, "even a byte takes a page");
  REQUIRE(hsa_amd_memory_pool_free(first));
  cr_assert_eq(try(0, 3 * MIB), HSA_STATUS_SUCCESS);
}

Test(memory, each_gpu_has_its_own) {
  cr_assert_eq(gpu_count(), 2);
  (void)allocate(gpu(0), 4 * MIB);
  void *other = allocate(gpu(1), 3 * MIB);
  cr_assert_eq(softhsa_device_bytes(0), 4 * MIB);
  cr_assert_eq(softhsa_device_bytes(1), 3 * MIB);
  cr_assert_eq(softhsa_device_bytes(-1), 7 * MIB);
  uint64_t available;
  REQUIRE(hsa_agent_get_info(gpu(1), (hsa_agent_info_t)HSA_AMD_AGENT_INFO_MEMORY_AVAIL, &available));
  cr_assert_eq(available, 1 * MIB);
  REQUIRE(hsa_amd_memory_pool_free(other));
  cr_assert_eq(softhsa_device_bytes(0), 4 * MIB);
  cr_assert_eq(softhsa_device_bytes(1), 0);
}

Test(memory, the_host_has_more) {
  void *memory = allocate(cpu(), 64 * MIB);
  cr_assert_eq(softhsa_device_bytes(-1), 0);
  cr_assert_eq(softhsa_count(SOFTHSA_HOST_ALLOCATIONS), 1);
  REQUIRE(hsa_amd_memory_pool_free(memory));
  cr_assert_eq(softhsa_count(SOFTHSA_HOST_FREES), 1);
}

Test(memory, what_is_asked_for_is_counted) {
  void *memory = allocate(gpu(0), 1);
  (void)allocate(gpu(1), MIB);
  cr_assert_eq(softhsa_count(SOFTHSA_DEVICE_ALLOCATIONS), 2);
  cr_assert_eq(softhsa_count(SOFTHSA_DEVICE_FREES), 0);
  REQUIRE(hsa_amd_memory_pool_free(memory));
  cr_assert_eq(softhsa_count(SOFTHSA_DEVICE_FREES), 1);
  cr_assert_neq(try(0, 5 * MIB), HSA_STATUS_SUCCESS);
  cr_assert_eq(softhsa_count(SOFTHSA_DEVICE_REFUSALS), 1);
  cr_assert_eq(softhsa_count(SOFTHSA_DEVICE_ALLOCATIONS), 2);
  cr_assert_eq(softhsa_count(SOFTHSA_COUNTER_COUNT), 0);
}

Test(memory, the_nth_allocation_fails_once) {
  softhsa_fail_allocation(2);
  cr_assert_eq(try(0, 4096), HSA_STATUS_SUCCESS);
  cr_assert_eq(try(0, 4096), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  cr_assert_eq(try(0, 4096), HSA_STATUS_SUCCESS);
  cr_assert_eq(softhsa_device_bytes(0), 8192);
  softhsa_fail_allocation(1);
  softhsa_fail_allocation(0);
  cr_assert_eq(try(0, 4096), HSA_STATUS_SUCCESS);
  softhsa_fail_allocation(1);
  hsa_amd_vmem_alloc_handle_t handle;
  cr_assert_neq(hsa_amd_vmem_handle_create(pool_of(gpu(0)), 4096, (hsa_amd_memory_type_t)0, 0, &handle),
                HSA_STATUS_SUCCESS, "a handle is an allocation too");
}

Test(memory, a_pointer_says_what_it_is) {
  char *memory = allocate(gpu(1), 100);
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  REQUIRE(hsa_amd_pointer_info(memory + 50, &info, NULL, NULL, NULL));
  cr_assert_eq(info.type, HSA_EXT_POINTER_TYPE_HSA);
  cr_assert_eq(info.agentBaseAddress, (void *)memory);
  cr_assert_eq(info.sizeInBytes, 100);
  cr_assert_eq(info.agentOwner.handle, gpu(1).handle);
  info.size = sizeof info;
  REQUIRE(hsa_amd_pointer_info(&info, &info, NULL, NULL, NULL));
  cr_assert_eq(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

Test(memory, what_is_not_allocated_cannot_be_freed) {
  int variable;
  char *memory = allocate(gpu(0), MIB);
  cr_assert_neq(hsa_amd_memory_pool_free(&variable), HSA_STATUS_SUCCESS);
  cr_assert_neq(hsa_amd_memory_pool_free(memory + 4096), HSA_STATUS_SUCCESS);
  cr_assert_eq(hsa_amd_memory_pool_free(NULL), HSA_STATUS_SUCCESS);
}

/* -- virtual memory -- */

static hsa_amd_vmem_alloc_handle_t handle_of(size_t bytes) {
  hsa_amd_vmem_alloc_handle_t handle;
  REQUIRE(hsa_amd_vmem_handle_create(pool_of(gpu(0)), bytes, (hsa_amd_memory_type_t)0, 0, &handle));
  return handle;
}

static void make_writable(void *va, size_t bytes) {
  const hsa_amd_memory_access_desc_t access = {HSA_ACCESS_PERMISSION_RW, gpu(0)};
  REQUIRE(hsa_amd_vmem_set_access(va, bytes, &access, 1));
}

Test(memory, two_mappings_of_a_handle_show_the_same) {
  void *va;
  REQUIRE(hsa_amd_vmem_address_reserve(&va, 2 * MIB, 0, 0));
  cr_assert_eq(softhsa_device_bytes(0), 0, "addresses are no memory");
  char *first = va, *second = first + MIB;
  hsa_amd_vmem_alloc_handle_t handle = handle_of(MIB);
  REQUIRE(hsa_amd_vmem_map(first, MIB, 0, handle, 0));
  REQUIRE(hsa_amd_vmem_map(second, MIB, 0, handle, 0));
  make_writable(va, 2 * MIB);
  REQUIRE(hsa_amd_vmem_handle_release(handle));
  first[12345] = 7;
  cr_assert_eq(second[12345], 7);
  hsa_access_permission_t permission;
  REQUIRE(hsa_amd_vmem_get_access(second, &permission, gpu(0)));
  cr_assert_eq(permission, HSA_ACCESS_PERMISSION_RW);
  cr_assert_eq(softhsa_count(SOFTHSA_MAPS), 2);
}

Test(memory, mapped_memory_goes_back_with_its_last_holder) {
  void *va;
  REQUIRE(hsa_amd_vmem_address_reserve_align(&va, MIB, 0, 2 * MIB, 0));
  cr_assert_eq((uintptr_t)va % (2 * MIB), 0);
  hsa_amd_vmem_alloc_handle_t handle = handle_of(MIB), again;
  REQUIRE(hsa_amd_vmem_map(va, MIB, 0, handle, 0));
  REQUIRE(hsa_amd_vmem_handle_release(handle));
  cr_assert_eq(softhsa_device_bytes(0), MIB);
  REQUIRE(hsa_amd_vmem_retain_alloc_handle(&again, (char *)va + 100));
  REQUIRE(hsa_amd_vmem_unmap(va, MIB));
  cr_assert_eq(softhsa_device_bytes(0), MIB);
  REQUIRE(hsa_amd_vmem_handle_release(again));
  cr_assert_eq(softhsa_device_bytes(0), 0);
  cr_assert_neq(hsa_amd_vmem_unmap(va, MIB), HSA_STATUS_SUCCESS);
  REQUIRE(hsa_amd_vmem_address_free(va, MIB));
  cr_assert_eq(softhsa_count(SOFTHSA_DEVICE_FREES), 1);
  cr_assert_eq(softhsa_count(SOFTHSA_UNMAPS), 1);
  cr_assert_eq(softhsa_count(SOFTHSA_RESERVES), softhsa_count(SOFTHSA_UNRESERVES));
}

Test(memory, mapped_memory_counts_against_the_limit) {
  (void)allocate(gpu(0), 3 * MIB);
  hsa_amd_vmem_alloc_handle_t handle;
  cr_assert_neq(hsa_amd_vmem_handle_create(pool_of(gpu(0)), 2 * MIB, (hsa_amd_memory_type_t)0, 0, &handle),
                HSA_STATUS_SUCCESS);
}
