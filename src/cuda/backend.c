/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime behind the library's vtable: calls, and nothing clever. */
#include "warmpool/backend.h"

#include <string.h>

#include "call.h"
#include "entry.h"

/* -- devices -- */

static wp_status device_count(void *self, int *out) {
  (void)self;
  return CALL(cudaGetDeviceCount, out);
}

static wp_status device_current(void *self, int *out) {
  (void)self;
  return wp__cuda_finish(wp__cuda_current_device(out), "cudaGetDevice");
}

static wp_status device_set(void *self, int device) {
  (void)self;
  return CALL(cudaSetDevice, device);
}

static wp_status device_memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes) {
  (void)self;
  size_t available = 0, total = 0;
  wp_status status = CALL(cudaMemGetInfo, &available, &total);
  if (status != WP_OK) return status;
  *free_bytes = available;
  *total_bytes = total;
  return WP_OK;
}

/* -- streams -- */

static wp_status stream_create(void *self, wp_stream *out) {
  (void)self;
  return CALL(cudaStreamCreateWithFlags, (cudaStream_t *)out, cudaStreamNonBlocking);
}

static wp_status stream_destroy(void *self, wp_stream stream) {
  (void)self;
  return CALL(cudaStreamDestroy, stream);
}

static wp_status stream_synchronize(void *self, wp_stream stream) {
  (void)self;
  return CALL(cudaStreamSynchronize, stream);
}

static wp_status stream_capturing(void *self, wp_stream stream, wp_capture_state *out) {
  (void)self;
  enum cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
  cudaError_t error = wp__cuda_is_capturing(stream, &found);
  if (error == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError(); /* an answer, not a failure */
    *out = WP_CAPTURE_IMPLICIT;
    return WP_OK;
  }
  wp_status status = wp__cuda_finish(error, "cudaStreamIsCapturing");
  if (status == WP_OK) *out = found == cudaStreamCaptureStatusNone ? WP_CAPTURE_NONE : WP_CAPTURE_ACTIVE;
  return status;
}

static wp_status stream_identity(void *self, wp_stream stream, uint64_t *out) {
  (void)self;
#if CUDART_VERSION >= 12000
  unsigned long long identity = 0;
  wp_status status = wp__cuda_finish(wp__cuda_stream_id(stream, &identity), "cudaStreamGetId");
  if (status == WP_OK) *out = identity;
  return status;
#else
  (void)stream;
  (void)out;
  return wp__cuda_finish(cudaErrorNotSupported, "cudaStreamGetId");
#endif
}

static wp_status stream_device(void *self, wp_stream stream, int *out) {
  (void)self;
#if CUDART_VERSION >= 12080
  return CALL(cudaStreamGetDevice, stream, out);
#else
  (void)stream;
  (void)out;
  return wp__cuda_finish(cudaErrorNotSupported, "cudaStreamGetDevice");
#endif
}

/* -- events -- */

static wp_status event_create(void *self, wp_event *out) {
  (void)self;
  return CALL(cudaEventCreateWithFlags, (cudaEvent_t *)out, cudaEventDisableTiming);
}

static wp_status event_destroy(void *self, wp_event event) {
  (void)self;
  return CALL(cudaEventDestroy, event);
}

static wp_status event_record(void *self, wp_event event, wp_stream stream) {
  (void)self;
  return CALL(cudaEventRecord, event, stream);
}

static wp_status event_wait(void *self, wp_stream stream, wp_event event) {
  (void)self;
  return CALL(cudaStreamWaitEvent, stream, event, 0);
}

static wp_status event_query(void *self, wp_event event, bool *complete) {
  (void)self;
  cudaError_t error = cudaEventQuery(event);
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError(); /* an answer, not a failure */
    *complete = false;
    return WP_OK;
  }
  wp_status status = wp__cuda_finish(error, "cudaEventQuery");
  if (status == WP_OK) *complete = true;
  return status;
}

static wp_status event_synchronize(void *self, wp_event event) {
  (void)self;
  return CALL(cudaEventSynchronize, event);
}

/* -- pools -- */

static wp_status pool_destroy(void *self, wp_pool pool) {
  (void)self;
  return CALL(cudaMemPoolDestroy, pool);
}

static wp_status set_up_pool(cudaMemPool_t pool, int device) {
  struct cudaMemAccessDesc access;
  int no = 0;
  (void)memset(&access, 0, sizeof access);
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = device;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  wp_status status = CALL(cudaMemPoolSetAccess, pool, &access, 1);
  if (status != WP_OK) return status;
  /* An allocation shall never make its stream wait for another one. */
  return CALL(cudaMemPoolSetAttribute, pool, cudaMemPoolReuseAllowInternalDependencies, &no);
}

static wp_status pool_create(void *self, wp_pool *out) {
  struct cudaMemPoolProps properties;
  cudaMemPool_t pool;
  int device;
  wp_status status = CALL(cudaGetDevice, &device);
  if (status != WP_OK) return status;
  (void)memset(&properties, 0, sizeof properties);
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  status = CALL(cudaMemPoolCreate, &pool, &properties);
  if (status != WP_OK) return status;
  status = set_up_pool(pool, device);
  if (status == WP_OK) {
    *out = pool;
  } else {
    (void)pool_destroy(self, pool);
  }
  return status;
}

static wp_status pool_set_threshold(void *self, wp_pool pool, uint64_t bytes) {
  (void)self;
  return CALL(cudaMemPoolSetAttribute, pool, cudaMemPoolAttrReleaseThreshold, &bytes);
}

static wp_status pool_trim(void *self, wp_pool pool, uint64_t keep_bytes) {
  (void)self;
  /* Sizes near the highest wrap to 0 when the driver rounds them up, and then it keeps nothing. */
  const uint64_t most = (uint64_t)1 << 62;
  return CALL(cudaMemPoolTrimTo, pool, (size_t)(keep_bytes < most ? keep_bytes : most));
}

static wp_status pool_usage(void *self, wp_pool pool, wp_pool_usage *out) {
  (void)self;
  wp_pool_usage usage = {0, 0};
  wp_status status = CALL(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrReservedMemCurrent, &usage.reserved);
  if (status == WP_OK) status = CALL(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrUsedMemCurrent, &usage.used);
  if (status == WP_OK) *out = usage;
  return status;
}

static wp_status pool_reset_peaks(void *self, wp_pool pool) {
  (void)self;
  uint64_t zero = 0; /* the only value that is taken */
  wp_status status = CALL(cudaMemPoolSetAttribute, pool, cudaMemPoolAttrReservedMemHigh, &zero);
  if (status == WP_OK) status = CALL(cudaMemPoolSetAttribute, pool, cudaMemPoolAttrUsedMemHigh, &zero);
  return status;
}

/* -- memory -- */

static wp_status memory_alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  (void)self;
  return CALL(cudaMallocFromPoolAsync, out, bytes, pool, stream);
}

static wp_status memory_free(void *self, void *ptr, wp_stream stream) {
  (void)self;
  cudaError_t error = cudaFreeAsync(ptr, stream);
  wp_status status = wp__cuda_finish(error, "cudaFreeAsync");
  return error == cudaErrorInvalidValue ? WP_ERROR_INVALID_POINTER : status;
}

/* -- graph memory -- */

static wp_status graph_trim(void *self, int device) {
  (void)self;
  return CALL(cudaDeviceGraphMemTrim, device);
}

static wp_status graph_usage(void *self, int device, wp_graph_usage *out) {
  (void)self;
  wp_graph_usage usage = {0, 0};
  wp_status status = CALL(cudaDeviceGetGraphMemAttribute, device, cudaGraphMemAttrReservedMemCurrent, &usage.reserved);
  if (status == WP_OK) {
    status = CALL(cudaDeviceGetGraphMemAttribute, device, cudaGraphMemAttrUsedMemCurrent, &usage.used);
  }
  if (status == WP_OK) *out = usage;
  return status;
}

/* -- capture mode -- */

static wp_status exchange_mode(enum cudaStreamCaptureMode mode, int *previous) {
  wp_status status = wp__cuda_finish(wp__cuda_exchange_mode(&mode), "cudaThreadExchangeStreamCaptureMode");
  if (status == WP_OK) *previous = (int)mode;
  return status;
}

static wp_status capture_relax(void *self, int *previous) {
  (void)self;
  return exchange_mode(cudaStreamCaptureModeRelaxed, previous);
}

static wp_status capture_restore(void *self, int previous) {
  (void)self;
  int relaxed;
  return exchange_mode((enum cudaStreamCaptureMode)previous, &relaxed);
}

/* -- capabilities: what works is found out by doing it -- */

static wp_status try_pool(void *self) {
  wp_stream stream;
  wp_pool pool;
  void *ptr;
  wp_status status = stream_create(self, &stream);
  if (status != WP_OK) return status;
  status = pool_create(self, &pool);
  if (status != WP_OK) goto no_pool;
  status = memory_alloc(self, pool, 512, stream, &ptr);
  if (status == WP_OK) status = memory_free(self, ptr, stream);
  if (status == WP_OK) status = stream_synchronize(self, stream);
  (void)pool_destroy(self, pool);
no_pool:
  (void)stream_destroy(self, stream);
  return status;
}

static wp_status device_capabilities(void *self, int device, uint32_t *out) {
  wp_graph_usage usage;
  uint32_t found = 0;
  wp_status status = try_pool(self);
  if (status != WP_OK && status != WP_ERROR_NOT_SUPPORTED) return status;
  if (status == WP_OK) found |= WP_CAP_POOLS;
  if (graph_usage(self, device, &usage) == WP_OK) found |= WP_CAP_GRAPH_MEMORY;
  found |= WP_CAP_CHECKED_FREE | WP_CAP_KEEPS_FREED | WP_CAP_ORDERED_FREE | WP_CAP_CAPTURES_END;
#if CUDART_VERSION >= 12000
  found |= WP_CAP_STREAM_IDENTITY;
#endif
#if CUDART_VERSION >= 12080
  found |= WP_CAP_STREAM_DEVICE;
#endif
  *out = found;
  return WP_OK;
}

static const wp_backend cuda_backend = {
    .size = sizeof(wp_backend),
    .name = "cuda",
    .self = NULL,
    .device_count = device_count,
    .device_current = device_current,
    .device_set = device_set,
    .device_capabilities = device_capabilities,
    .device_memory = device_memory,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_capturing = stream_capturing,
    .stream_identity = stream_identity,
    .stream_device = stream_device,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .pool_create = pool_create,
    .pool_destroy = pool_destroy,
    .pool_set_threshold = pool_set_threshold,
    .pool_trim = pool_trim,
    .pool_usage = pool_usage,
    .pool_reset_peaks = pool_reset_peaks,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .graph_trim = graph_trim,
    .graph_usage = graph_usage,
    .capture_relax = capture_relax,
    .capture_restore = capture_restore,
    .last_error = wp__cuda_last_error,
};

const wp_backend *wp_backend_builtin(void) { return &cuda_backend; }
