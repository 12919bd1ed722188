/* SPDX-License-Identifier: Apache-2.0 */
/* The HIP runtime behind the library's vtable: calls, and nothing clever. It is src/cuda with other names; where it is
 * not, H9 and the like is the number of the fact (docs/facts.md) that is the reason. */
#include "warmpool/backend.h"

#include <string.h>

#include "call.h"

/* H20: AMD's 5.2.3 does not know the handle 1. */
static hipStream_t native(wp_stream stream) {
  return WP__HIP_ON_AMD && stream == (wp_stream)1 ? NULL : (hipStream_t)stream;
}

/* -- devices -- */

static wp_status device_count(void *self, int *out) {
  (void)self;
  int count = 0; /* H1: it becomes 0 also where the call fails */
  wp_status status = CALL(hipGetDeviceCount, &count);
  if (status == WP_OK) *out = count;
  return status;
}

static wp_status device_current(void *self, int *out) {
  (void)self;
  return CALL(hipGetDevice, out);
}

static wp_status device_set(void *self, int device) {
  (void)self;
  return CALL(hipSetDevice, device);
}

static wp_status device_memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes) {
  (void)self;
  size_t available = 0, total = 0;
  wp_status status = CALL(hipMemGetInfo, &available, &total);
  if (status != WP_OK) return status;
  *free_bytes = available;
  *total_bytes = total;
  return WP_OK;
}

/* -- streams -- */

static wp_status stream_create(void *self, wp_stream *out) {
  (void)self;
  return CALL(hipStreamCreateWithFlags, (hipStream_t *)out, hipStreamNonBlocking);
}

static wp_status stream_destroy(void *self, wp_stream stream) {
  (void)self;
  return CALL(hipStreamDestroy, stream);
}

static wp_status stream_synchronize(void *self, wp_stream stream) {
  (void)self;
  return CALL(hipStreamSynchronize, native(stream));
}

static wp_status stream_capturing(void *self, wp_stream stream, wp_capture_state *out) {
  (void)self;
  hipStreamCaptureStatus found = hipStreamCaptureStatusNone;
  hipError_t error = hipStreamIsCapturing(native(stream), &found);
  if (error == hipErrorStreamCaptureImplicit) {
    (void)hipGetLastError(); /* an answer, not a failure */
    *out = WP_CAPTURE_IMPLICIT;
    return WP_OK;
  }
  wp_status status = wp__hip_finish(error, "hipStreamIsCapturing");
  if (status == WP_OK) *out = found == hipStreamCaptureStatusNone ? WP_CAPTURE_NONE : WP_CAPTURE_ACTIVE;
  return status;
}

static wp_status stream_identity(void *self, wp_stream stream, uint64_t *out) {
  (void)self;
#if WP__HIP_HAS_STREAM_IDS /* H16 */
  unsigned long long identity = 0;
  wp_status status = CALL(hipStreamGetId, stream, &identity);
  if (status == WP_OK) *out = identity;
  return status;
#else
  (void)stream;
  (void)out;
  return wp__hip_finish(hipErrorNotSupported, "hipStreamGetId");
#endif
}

static wp_status stream_device(void *self, wp_stream stream, int *out) {
  (void)self;
#if WP__HIP_HAS_STREAM_DEVICES /* H16 */
  return CALL(hipStreamGetDevice, stream, out);
#else
  (void)stream;
  (void)out;
  return wp__hip_finish(hipErrorNotSupported, "hipStreamGetDevice");
#endif
}

/* -- events -- */

static wp_status event_create(void *self, wp_event *out) {
  (void)self;
  return CALL(hipEventCreateWithFlags, (hipEvent_t *)out, hipEventDisableTiming);
}

static wp_status event_destroy(void *self, wp_event event) {
  (void)self;
  return CALL(hipEventDestroy, event);
}

static wp_status event_record(void *self, wp_event event, wp_stream stream) {
  (void)self;
  return CALL(hipEventRecord, event, native(stream));
}

static wp_status event_wait(void *self, wp_stream stream, wp_event event) {
  (void)self;
  return CALL(hipStreamWaitEvent, native(stream), event, 0);
}

static wp_status event_query(void *self, wp_event event, bool *complete) {
  (void)self;
  hipError_t error = hipEventQuery(event);
  if (error == hipErrorNotReady) {
    (void)hipGetLastError(); /* an answer, not a failure */
    *complete = false;
    return WP_OK;
  }
  wp_status status = wp__hip_finish(error, "hipEventQuery");
  if (status == WP_OK) *complete = true;
  return status;
}

static wp_status event_synchronize(void *self, wp_event event) {
  (void)self;
  return CALL(hipEventSynchronize, event);
}

/* -- pools -- */

static wp_status pool_set_threshold(void *self, wp_pool pool, uint64_t bytes);
static wp_status pool_usage(void *self, wp_pool pool, wp_pool_usage *out);

static wp_status pool_destroy(void *self, wp_pool pool) {
  wp_pool_usage usage = {0, 0};
  /* H9: a block that outlives its pool deadlocks AMD's 5.2.3 when it is freed. Such a pool stays, and keeps nothing. */
  wp_status status = WP__HIP_ON_AMD ? pool_usage(self, pool, &usage) : WP_OK;
  if (status == WP_OK && usage.used > 0) return pool_set_threshold(self, pool, 0);
  return CALL(hipMemPoolDestroy, pool); /* H11: once */
}

static wp_status set_up_pool(hipMemPool_t pool, int device) {
  hipMemAccessDesc access;
  int no = 0;
  (void)memset(&access, 0, sizeof access);
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = device;
  access.flags = hipMemAccessFlagsProtReadWrite;
  wp_status status = CALL(hipMemPoolSetAccess, pool, &access, 1);
  if (status != WP_OK) return status;
  /* An allocation shall never make its stream wait for another one. */
  return CALL(hipMemPoolSetAttribute, pool, hipMemPoolReuseAllowInternalDependencies, &no);
}

static wp_status pool_create(void *self, wp_pool *out) {
  hipMemPoolProps properties;
  hipMemPool_t pool;
  int device;
  wp_status status = CALL(hipGetDevice, &device);
  if (status != WP_OK) return status;
  (void)memset(&properties, 0, sizeof properties);
  properties.allocType = hipMemAllocationTypePinned;
  properties.handleTypes = hipMemHandleTypeNone;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  status = CALL(hipMemPoolCreate, &pool, &properties);
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
  return CALL(hipMemPoolSetAttribute, pool, hipMemPoolAttrReleaseThreshold, &bytes);
}

static wp_status pool_trim(void *self, wp_pool pool, uint64_t keep_bytes) {
  (void)self;
  /* Sizes near the highest wrap to 0 when the driver rounds them up, and then it keeps nothing. */
  const uint64_t most = (uint64_t)1 << 62;
  return CALL(hipMemPoolTrimTo, pool, (size_t)(keep_bytes < most ? keep_bytes : most));
}

static wp_status pool_usage(void *self, wp_pool pool, wp_pool_usage *out) {
  (void)self;
  wp_pool_usage usage = {0, 0};
  wp_status status = CALL(hipMemPoolGetAttribute, pool, hipMemPoolAttrReservedMemCurrent, &usage.reserved);
  if (status == WP_OK) status = CALL(hipMemPoolGetAttribute, pool, hipMemPoolAttrUsedMemCurrent, &usage.used);
  if (status == WP_OK) *out = usage;
  return status;
}

static wp_status pool_reset_peaks(void *self, wp_pool pool) {
  (void)self;
  uint64_t zero = 0; /* the only value that is taken */
  /* H6: 5.x refuses the first. */
  (void)CALL(hipMemPoolSetAttribute, pool, hipMemPoolAttrReservedMemHigh, &zero);
  return CALL(hipMemPoolSetAttribute, pool, hipMemPoolAttrUsedMemHigh, &zero);
}

/* -- memory -- */

static wp_status memory_alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  (void)self;
  void *memory = NULL;
  wp_status status = WP_OK; /* H8: 5.2.3 refuses no bytes */
  if (bytes > 0) status = CALL(hipMallocFromPoolAsync, &memory, bytes, pool, native(stream));
  if (status == WP_OK && bytes > 0 && memory == NULL) { /* H12 */
    status = wp__hip_finish(hipErrorOutOfMemory, "hipMallocFromPoolAsync");
  }
  if (status == WP_OK) *out = memory;
  return status;
}

/* H10: from AMD's 6.2 on, a free on the legacy stream crashes while a blocking stream captures. */
static wp_status legacy_can_free(void *self) {
  wp_capture_state state;
  wp_status status = stream_capturing(self, WP_STREAM_LEGACY, &state);
  if (status != WP_OK || state == WP_CAPTURE_NONE) return status;
  return wp__hip_finish(hipErrorStreamCaptureImplicit, "hipFreeAsync");
}

static wp_status memory_free(void *self, void *ptr, wp_stream stream) {
  wp_status status = WP__HIP_ON_AMD && native(stream) == NULL ? legacy_can_free(self) : WP_OK;
  if (status != WP_OK || ptr == NULL) return status; /* H8: up to 6.4 NULL is an invalid value */
  hipError_t error = hipFreeAsync(ptr, native(stream));
  status = wp__hip_finish(error, "hipFreeAsync");
  return error == hipErrorInvalidValue ? WP_ERROR_INVALID_POINTER : status;
}

/* -- graph memory -- */

static wp_status graph_trim(void *self, int device) {
  (void)self;
#if WP__HIP_HAS_GRAPH_MEMORY /* H14 */
  return CALL(hipDeviceGraphMemTrim, device);
#else /* H14 */
  (void)device;
  return wp__hip_finish(hipErrorNotSupported, "hipDeviceGraphMemTrim");
#endif
}

static wp_status graph_usage(void *self, int device, wp_graph_usage *out) {
  (void)self;
#if WP__HIP_HAS_GRAPH_MEMORY /* H14 */
  wp_graph_usage usage = {0, 0};
  wp_status status = CALL(hipDeviceGetGraphMemAttribute, device, hipGraphMemAttrReservedMemCurrent, &usage.reserved);
  if (status == WP_OK) {
    status = CALL(hipDeviceGetGraphMemAttribute, device, hipGraphMemAttrUsedMemCurrent, &usage.used);
  }
  if (status == WP_OK) *out = usage;
  return status;
#else /* H14 */
  (void)device;
  (void)out;
  return wp__hip_finish(hipErrorNotSupported, "hipDeviceGetGraphMemAttribute");
#endif
}

/* -- capture mode -- */

static wp_status exchange_mode(hipStreamCaptureMode mode, int *previous) {
  wp_status status = CALL(hipThreadExchangeStreamCaptureMode, &mode);
  if (status == WP_OK) *previous = (int)mode;
  return status;
}

static wp_status capture_relax(void *self, int *previous) {
  (void)self;
  return exchange_mode(hipStreamCaptureModeRelaxed, previous);
}

static wp_status capture_restore(void *self, int previous) {
  (void)self;
  int relaxed;
  return exchange_mode((hipStreamCaptureMode)previous, &relaxed);
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
  int version; /* H9, H24 */
  wp_status status = try_pool(self);
  if (status != WP_OK && status != WP_ERROR_NOT_SUPPORTED) return status;
  if (status == WP_OK) found |= WP_CAP_POOLS; /* H14: the attribute says no up to 6.1 */
  if (graph_usage(self, device, &usage) == WP_OK) found |= WP_CAP_GRAPH_MEMORY;
  status = CALL(hipRuntimeGetVersion, &version);
  if (status != WP_OK) return status;
  found |= wp__hip_promises(version); /* H24 */
#if WP__HIP_HAS_STREAM_IDS            /* H16 */
  found |= WP_CAP_STREAM_IDENTITY;
#endif
#if WP__HIP_HAS_STREAM_DEVICES /* H16 */
  found |= WP_CAP_STREAM_DEVICE;
#endif
  *out = found;
  return WP_OK;
}

static const wp_backend hip_backend = {
    .size = sizeof(wp_backend),
    .name = "hip",
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
    .last_error = wp__hip_last_error,
};

const wp_backend *wp_backend_builtin(void) { return &hip_backend; }
