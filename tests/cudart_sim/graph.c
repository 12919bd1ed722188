/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and their memory. */
#include "sim.h"

#include "../../src/host/capture.h"

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  if (flags != 0) return sim_fail(cudaErrorNotSupported);
  /* Driver 580.159 refuses it while a capture of the thread, or another's in global mode, is open. */
  if (wp__host_capture_guard() != WP__HOST_SUCCESS) return sim_fail(cudaErrorStreamCaptureUnsupported);
  return sim_finish(wp__host_graph_instantiate(graph, (void **)out));
}

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(out, graph, flags);
}
#endif

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return sim_finish(wp__host_graph_destroy(graph)); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return sim_finish(wp__host_executable_destroy(exec)); }

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return sim_finish(wp__host_executable_launch(exec, stream));
}

/* -- memory -- */

cudaError_t cudaDeviceGraphMemTrim(int device) { return sim_finish(wp__host_graph_memory_trim(device)); }

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value) {
  wp__host_graph_figures figures;
  if (value == NULL) return sim_fail(cudaErrorInvalidValue);
  wp__host_result result = wp__host_graph_memory_measure(device, &figures);
  if (result != WP__HOST_SUCCESS) return sim_finish(result);
  uint64_t *out = value;
  switch (attribute) {
  case cudaGraphMemAttrUsedMemCurrent: *out = figures.used; break;
  case cudaGraphMemAttrUsedMemHigh: *out = figures.used_peak; break;
  case cudaGraphMemAttrReservedMemCurrent: *out = figures.reserved; break;
  case cudaGraphMemAttrReservedMemHigh: *out = figures.reserved_peak; break;
  default: return sim_fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value) {
  bool is_reserved = attribute == cudaGraphMemAttrReservedMemHigh;
  if (value == NULL || *(const uint64_t *)value != 0) return sim_fail(cudaErrorInvalidValue);
  if (!is_reserved && attribute != cudaGraphMemAttrUsedMemHigh) return sim_fail(cudaErrorInvalidValue);
  return sim_finish(wp__host_graph_memory_reset_peaks(device, is_reserved, !is_reserved));
}
