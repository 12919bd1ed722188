/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools and what is allocated from them. */
#include "sim.h"

/* Of each device, made when first used: the default pool; and for cudaMalloc, which the engine does not know, a pool
 * and a stream that nobody else sees. */
static struct own { void *default_pool, *plain_pool, *plain_stream; } owns[WP__HOST_MAX_DEVICES];
static wp__mutex lock = WP__MUTEX_INIT;

static wp__host_result make(struct own *own, int device) {
  wp__host_result result = WP__HOST_SUCCESS;
  if (own->default_pool == NULL) result = wp__host_pool_create(device, &own->default_pool);
  if (result == WP__HOST_SUCCESS && own->plain_pool == NULL) result = wp__host_pool_create(device, &own->plain_pool);
  if (result == WP__HOST_SUCCESS && own->plain_stream == NULL) {
    result = wp__host_stream_create(device, &own->plain_stream);
  }
  return result;
}

static wp__host_result own_of(int device, struct own *out) {
  uint64_t free_bytes, total_bytes;
  wp__host_result result = wp__host_device_memory(device, &free_bytes, &total_bytes); /* whether there is one */
  if (result != WP__HOST_SUCCESS) return result;
  enum wp__host_capture_mode mode = WP__HOST_CAPTURE_RELAXED;
  (void)wp__host_capture_exchange_mode(&mode);
  wp__mutex_lock(&lock);
  result = make(&owns[device], device);
  *out = owns[device];
  wp__mutex_unlock(&lock);
  (void)wp__host_capture_exchange_mode(&mode);
  return result;
}

static wp__host_result own_of_current(struct own *out) {
  int device;
  wp__host_result result = wp__host_device_current(&device);
  return result == WP__HOST_SUCCESS ? own_of(device, out) : result;
}

/* -- pools -- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *properties) {
  if (out == NULL || properties == NULL || properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice) {
    return sim_fail(cudaErrorInvalidValue);
  }
  if (properties->handleTypes != cudaMemHandleTypeNone) return sim_fail(cudaErrorNotSupported);
  return sim_finish(wp__host_pool_create(properties->location.id, (void **)out));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return sim_finish(wp__host_pool_destroy(pool)); }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) { return sim_finish(wp__host_pool_trim(pool, keep)); }

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device) {
  struct own own;
  if (out == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = own_of(device, &own);
  if (result == WP__HOST_SUCCESS) *out = own.default_pool;
  return sim_finish(result);
}

/* Only what a pool's own device has anyway. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count) {
  wp__host_pool_figures figures;
  wp__host_result result = wp__host_pool_measure(pool, &figures);
  if (result != WP__HOST_SUCCESS || (list == NULL && count != 0)) return sim_fail(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    int devices = 0;
    (void)wp__host_device_count(&devices);
    if (list[i].location.type != cudaMemLocationTypeDevice || list[i].location.id < 0 ||
        list[i].location.id >= devices || list[i].flags != cudaMemAccessFlagsProtReadWrite) {
      return sim_fail(cudaErrorInvalidValue);
    }
  }
  return cudaSuccess;
}

static cudaError_t reset_peak(cudaMemPool_t pool, bool is_reserved, const uint64_t *value) {
  if (*value != 0) return sim_fail(cudaErrorInvalidValue);
  return sim_finish(wp__host_pool_reset_peaks(pool, is_reserved, !is_reserved));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  wp__host_pool_figures figures;
  if (value == NULL) return sim_fail(cudaErrorInvalidValue);
  switch (attribute) {
  case cudaMemPoolAttrReleaseThreshold: return sim_finish(wp__host_pool_set_threshold(pool, *(const uint64_t *)value));
  case cudaMemPoolAttrReservedMemHigh: return reset_peak(pool, true, value);
  case cudaMemPoolAttrUsedMemHigh: return reset_peak(pool, false, value);
  case cudaMemPoolReuseFollowEventDependencies:
  case cudaMemPoolReuseAllowOpportunistic:
  case cudaMemPoolReuseAllowInternalDependencies: /* the engine never makes a stream wait for memory */
    return sim_finish(wp__host_pool_measure(pool, &figures));
  default: return sim_fail(cudaErrorInvalidValue);
  }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  wp__host_pool_figures figures;
  if (value == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = wp__host_pool_measure(pool, &figures);
  if (result != WP__HOST_SUCCESS) return sim_finish(result);
  uint64_t *out = value;
  switch (attribute) {
  case cudaMemPoolAttrReleaseThreshold: *out = figures.threshold; break;
  case cudaMemPoolAttrReservedMemCurrent: *out = figures.reserved; break;
  case cudaMemPoolAttrReservedMemHigh: *out = figures.reserved_peak; break;
  case cudaMemPoolAttrUsedMemCurrent: *out = figures.used; break;
  case cudaMemPoolAttrUsedMemHigh: *out = figures.used_peak; break;
  default: return sim_fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

/* -- memory in stream order -- */

cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return sim_finish(wp__host_memory_alloc(pool, bytes, stream, out));
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
  struct own own;
  int device;
  wp__host_result result = wp__host_stream_device(stream, &device);
  if (result == WP__HOST_SUCCESS) result = own_of(device, &own);
  if (result == WP__HOST_SUCCESS) result = wp__host_memory_alloc(own.default_pool, bytes, stream, out);
  return sim_finish(result);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  return sim_finish(wp__host_memory_free(memory, stream));
}

/* -- plain memory -- */

cudaError_t cudaMalloc(void **out, size_t bytes) {
  struct own own;
  wp__host_result result = own_of_current(&own);
  if (result == WP__HOST_SUCCESS) result = wp__host_memory_alloc(own.plain_pool, bytes, own.plain_stream, out);
  return sim_finish(result);
}

cudaError_t cudaFree(void *memory) {
  struct own own;
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result == WP__HOST_SUCCESS) result = own_of(device, &own);
  if (memory == NULL || result != WP__HOST_SUCCESS) return sim_finish(result);
  result = wp__host_device_synchronize(device);
  if (result == WP__HOST_SUCCESS) result = wp__host_memory_free(memory, own.plain_stream);
  if (result == WP__HOST_SUCCESS) result = wp__host_stream_synchronize(own.plain_stream);
  return sim_finish(result);
}
