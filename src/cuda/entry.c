/* SPDX-License-Identifier: Apache-2.0 */
#include "entry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The driver's enumerations have the runtime's values, and so have the errors told apart here. */
typedef int device_function(int *device);
typedef int exchange_function(enum cudaStreamCaptureMode *mode);
typedef int capturing_function(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
typedef int id_function(cudaStream_t stream, unsigned long long *id);

static _Atomic(device_function *) driver_device;
static _Atomic(exchange_function *) driver_exchange;
static _Atomic(capturing_function *) driver_capturing;
static _Atomic(id_function *) driver_id;
static atomic_bool looked_up;

static void look_up(const char *name, void **out) {
  *out = NULL;
#if CUDART_VERSION >= 12050
  enum cudaDriverEntryPointQueryResult found;
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, out, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess) (void)cudaGetLastError();
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) *out = NULL;
#else
  (void)name; /* the runtime is asked, then */
#endif
}

/* By a thread that is in relaxed mode. Of two that come at once both find the same. */
static void look_up_all(void) {
  device_function *device;
  exchange_function *exchange;
  capturing_function *capturing;
  id_function *id;
  look_up("cuCtxGetDevice", (void **)&device); /* which cudaSetDevice sets at once since 12.0 */
  look_up("cuThreadExchangeStreamCaptureMode", (void **)&exchange);
  look_up("cuStreamIsCapturing", (void **)&capturing);
  look_up("cuStreamGetId", (void **)&id);
  atomic_store_explicit(&driver_device, device, memory_order_relaxed);
  atomic_store_explicit(&driver_exchange, exchange, memory_order_relaxed);
  atomic_store_explicit(&driver_capturing, capturing, memory_order_relaxed);
  atomic_store_explicit(&driver_id, id, memory_order_relaxed);
  atomic_store_explicit(&looked_up, true, memory_order_relaxed);
}

cudaError_t wp__cuda_current_device(int *device) {
  device_function *ask = atomic_load_explicit(&driver_device, memory_order_relaxed);
  if (ask != NULL && ask(device) == (int)cudaSuccess) return cudaSuccess;
  return cudaGetDevice(device);
}

cudaError_t wp__cuda_exchange_mode(enum cudaStreamCaptureMode *mode) {
  exchange_function *exchange = atomic_load_explicit(&driver_exchange, memory_order_relaxed);
  if (exchange != NULL && exchange(mode) == (int)cudaSuccess) return cudaSuccess;
  bool relaxes = *mode == cudaStreamCaptureModeRelaxed;
  cudaError_t error = cudaThreadExchangeStreamCaptureMode(mode);
  if (error == cudaSuccess && relaxes && !atomic_load_explicit(&looked_up, memory_order_relaxed)) look_up_all();
  return error;
}

cudaError_t wp__cuda_is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  capturing_function *capturing = atomic_load_explicit(&driver_capturing, memory_order_relaxed);
  if (capturing != NULL && capturing(stream, status) == (int)cudaSuccess) return cudaSuccess;
  return cudaStreamIsCapturing(stream, status);
}

#if CUDART_VERSION >= 12000
cudaError_t wp__cuda_stream_id(cudaStream_t stream, unsigned long long *id) {
  id_function *ask = atomic_load_explicit(&driver_id, memory_order_relaxed);
  if (ask != NULL && ask(stream, id) == (int)cudaSuccess) return cudaSuccess;
  return cudaStreamGetId(stream, id);
}
#endif
