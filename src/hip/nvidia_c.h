/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HIP's header for NVIDIA keeps for C++, as far as it is used here: HIP's functions over CUDA's, as all of that
 * header's are. cmake/hip_nvidia.cmake copies this file beside the header, which includes it.
 */
#ifndef WARMPOOL_HIP_NVIDIA_C_H
#define WARMPOOL_HIP_NVIDIA_C_H

/* -- capture -- */

static inline hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return hipCUDAErrorTohipError(cudaStreamBeginCapture(stream, mode));
}

static inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph) {
  return hipCUDAErrorTohipError(cudaStreamEndCapture(stream, graph));
}

static inline hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
  return hipCUDAErrorTohipError(cudaStreamIsCapturing(stream, status));
}

static inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}

/* -- graphs -- */

static inline hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *executable, hipGraph_t graph,
                                                      unsigned long long flags) {
  return hipCUDAErrorTohipError(cudaGraphInstantiateWithFlags(executable, graph, flags));
}

static inline hipError_t hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph, hipGraphNode_t *culprit,
                                             char *log, size_t log_bytes) {
  (void)culprit, (void)log, (void)log_bytes; /* which CUDA 12 has no more */
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}

static inline hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return hipCUDAErrorTohipError(cudaGraphLaunch(executable, stream));
}

static inline hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return hipCUDAErrorTohipError(cudaGraphExecDestroy(executable));
}

static inline hipError_t hipGraphDestroy(hipGraph_t graph) { return hipCUDAErrorTohipError(cudaGraphDestroy(graph)); }

static inline hipError_t hipDeviceGetGraphMemAttribute(int device, hipGraphMemAttributeType attribute, void *value) {
  return hipCUDAErrorTohipError(cudaDeviceGetGraphMemAttribute(device, attribute, value));
}

static inline hipError_t hipDeviceGraphMemTrim(int device) {
  return hipCUDAErrorTohipError(cudaDeviceGraphMemTrim(device));
}

/* -- work -- */

static inline hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *argument) {
  return hipCUDAErrorTohipError(cudaLaunchHostFunc(stream, function, argument));
}

#endif
