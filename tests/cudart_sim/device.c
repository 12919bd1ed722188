/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, memory of the host's, and the driver's functions. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#define DRIVER_VERSION CUDART_VERSION

cudaError_t cudaGetDeviceCount(int *count) { return sim_finish(wp__host_device_count(count)); }
cudaError_t cudaGetDevice(int *device) { return sim_finish(wp__host_device_current(device)); }
cudaError_t cudaSetDevice(int device) { return sim_finish(wp__host_device_set(device)); }

cudaError_t cudaDeviceSynchronize(void) {
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result == WP__HOST_SUCCESS) result = wp__host_device_synchronize(device);
  return sim_finish(result);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  uint64_t free_bytes = 0, total_bytes = 0;
  int device;
  if (free == NULL || total == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = wp__host_device_current(&device);
  if (result == WP__HOST_SUCCESS) result = wp__host_device_memory(device, &free_bytes, &total_bytes);
  if (result != WP__HOST_SUCCESS) return sim_finish(result);
  *free = (size_t)free_bytes;
  *total = (size_t)total_bytes;
  return cudaSuccess;
}

static cudaError_t put_version(int *out) {
  if (out == NULL) return sim_fail(cudaErrorInvalidValue);
  *out = DRIVER_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) { return put_version(version); }
cudaError_t cudaDriverGetVersion(int *version) { return put_version(version); }

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
  int count;
  wp__host_result result = wp__host_device_count(&count);
  if (result != WP__HOST_SUCCESS) return sim_finish(result);
  if (out == NULL || device < 0 || device >= count) {
    return sim_fail(out == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
  }
  (void)memset(out, 0, sizeof *out);
  (void)snprintf(out->name, sizeof out->name, "stand-in, device %d", device);
  return sim_finish(WP__HOST_SUCCESS);
}

/* -- memory of the host's that devices see at the same address -- */

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned int flags) {
  const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (out == NULL || (flags & ~known) != 0) return sim_fail(cudaErrorInvalidValue);
  void *memory = wp__os_calloc(1, bytes);
  if (memory == NULL) return sim_fail(cudaErrorMemoryAllocation);
  *out = memory;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory) {
  wp__os_free(memory);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **out, void *memory, unsigned int flags) {
  if (out == NULL || memory == NULL || flags != 0) return sim_fail(cudaErrorInvalidValue);
  *out = memory;
  return cudaSuccess;
}

/* -- the driver's functions -- */

static cudaError_t find(const char *name, void **out, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *found) {
  if (name == NULL || out == NULL || flags != cudaEnableDefault) return sim_fail(cudaErrorInvalidValue);
  void *function = sim_driver_function(name);
  *out = function;
  if (found != NULL) *found = function == NULL ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *found) {
  (void)version;
  return find(name, out, flags, found);
}
#else
cudaError_t cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags
#if CUDART_VERSION >= 12000
                                    ,
                                    enum cudaDriverEntryPointQueryResult *found) {
  return find(name, out, flags, found);
#else
) {
  return find(name, out, flags, NULL);
#endif
}
#endif
