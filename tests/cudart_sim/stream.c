/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and captures. Handles are the engine's own; the special ones are the same numbers in both. */
#include "sim.h"

static cudaError_t of_current(wp__host_result (*create)(int device, void **out), void **out) {
  int device;
  wp__host_result result = wp__host_device_current(&device);
  if (result == WP__HOST_SUCCESS) result = create(device, out);
  return sim_finish(result);
}

/* -- streams -- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned int flags) {
  if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return sim_fail(cudaErrorInvalidValue);
  return of_current(flags == cudaStreamNonBlocking ? wp__host_stream_create : wp__host_stream_create_blocking,
                    (void **)out);
}

cudaError_t cudaStreamCreate(cudaStream_t *out) { return cudaStreamCreateWithFlags(out, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return sim_finish(wp__host_stream_destroy(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return sim_finish(wp__host_stream_synchronize(stream)); }

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  bool complete;
  wp__host_result result = wp__host_stream_query(stream, &complete);
  if (result != WP__HOST_SUCCESS) return sim_finish(result);
  return complete ? cudaSuccess : sim_fail(cudaErrorNotReady);
}

#if CUDART_VERSION >= 12000
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
  uint64_t found = 0;
  if (id == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = wp__host_capture_refuse_identity(stream);
  if (result == WP__HOST_SUCCESS) result = wp__host_stream_id(stream, &found);
  if (result == WP__HOST_SUCCESS) *id = found;
  return sim_finish(result);
}
#endif

#if CUDART_VERSION >= 12080
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
  wp__host_result result = wp__host_capture_refuse_identity(stream);
  return sim_finish(result == WP__HOST_SUCCESS ? wp__host_stream_device(stream, device) : result);
}
#endif

/* -- events -- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned int flags) {
  if ((flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) {
    return sim_fail(cudaErrorInvalidValue);
  }
  return of_current(wp__host_event_create, (void **)out);
}

cudaError_t cudaEventCreate(cudaEvent_t *out) { return cudaEventCreateWithFlags(out, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return sim_finish(wp__host_event_destroy(event)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return sim_finish(wp__host_event_synchronize(event)); }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return sim_finish(wp__host_event_record(event, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  bool complete;
  wp__host_result result = wp__host_event_query(event, &complete);
  if (result != WP__HOST_SUCCESS) return sim_finish(result);
  return complete ? cudaSuccess : sim_fail(cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  if (flags != 0) return sim_fail(cudaErrorInvalidValue);
  return sim_finish(wp__host_stream_wait(stream, event));
}

/* -- captures: the modes and states are the same numbers in both -- */

_Static_assert((int)cudaStreamCaptureModeGlobal == WP__HOST_CAPTURE_GLOBAL, "the mode is passed on");
_Static_assert((int)cudaStreamCaptureModeThreadLocal == WP__HOST_CAPTURE_THREAD_LOCAL, "the mode is passed on");
_Static_assert((int)cudaStreamCaptureModeRelaxed == WP__HOST_CAPTURE_RELAXED, "the mode is passed on");
_Static_assert((int)cudaStreamCaptureStatusNone == WP__HOST_CAPTURE_NONE, "the state is passed on");
_Static_assert((int)cudaStreamCaptureStatusActive == WP__HOST_CAPTURE_ACTIVE, "the state is passed on");
_Static_assert((int)cudaStreamCaptureStatusInvalidated == WP__HOST_CAPTURE_BROKEN, "the state is passed on");

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  return sim_finish(wp__host_capture_begin(stream, (enum wp__host_capture_mode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
  void *graph = NULL;
  if (out == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = wp__host_capture_end(stream, &graph);
  *out = graph; /* NULL after a failure */
  return sim_finish(result);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out) {
  enum wp__host_capture_state state;
  if (out == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = wp__host_capture_status(stream, &state);
  if (result == WP__HOST_SUCCESS) *out = (enum cudaStreamCaptureStatus)state;
  return sim_finish(result);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  if (mode == NULL) return sim_fail(cudaErrorInvalidValue);
  enum wp__host_capture_mode exchanged = (enum wp__host_capture_mode) * mode;
  wp__host_result result = wp__host_capture_exchange_mode(&exchanged);
  if (result == WP__HOST_SUCCESS) *mode = (enum cudaStreamCaptureMode)exchanged;
  return sim_finish(result);
}
