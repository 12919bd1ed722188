/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the platform decides, for HIP has two: its own runtime on AMD's GPUs, and CUDA's under HIP's names on NVIDIA's
 * (H24). H9 and the like is the number of the fact (docs/facts.md) that is the reason.
 */
#ifndef WARMPOOL_HIP_PLATFORM_H
#define WARMPOOL_HIP_PLATFORM_H

#include <hip/hip_runtime_api.h>

#include "warmpool/backend.h"

#ifdef __HIP_PLATFORM_NVIDIA__

#include "../cuda/entry.h"

#define WP__HIP_ON_AMD false
#define WP__HIP_HAS_STREAM_IDS (CUDART_VERSION >= 12000)
#define WP__HIP_HAS_STREAM_DEVICES (CUDART_VERSION >= 12080)
#define WP__HIP_HAS_GRAPH_MEMORY true

/* The driver's promises besides those that are found out by doing; `version` is the runtime's, and CUDA's own here. */
static inline uint32_t wp__hip_promises(int version) {
  (void)version;
  return WP_CAP_CHECKED_FREE | WP_CAP_KEEPS_FREED | WP_CAP_ORDERED_FREE | WP_CAP_CAPTURES_END;
}

/* As the cuda backend asks them: of the driver itself. 5.7 has no ids, and finds a stream's device by making its
 * context the current one, which takes a library besides CUDA's runtime. */
#define hipGetDevice(device) hipCUDAErrorTohipError(wp__cuda_current_device(device))
#define hipThreadExchangeStreamCaptureMode(mode) hipCUDAErrorTohipError(wp__cuda_exchange_mode(mode))
#define hipStreamIsCapturing(stream, status) hipCUDAErrorTohipError(wp__cuda_is_capturing(stream, status))
#define hipStreamGetId(stream, id) hipCUDAErrorTohipError(wp__cuda_stream_id(stream, id))
#define hipStreamGetDevice(stream, device) hipCUDAErrorTohipError(cudaStreamGetDevice(stream, device))

#else

#define WP__HIP_ON_AMD true
#define WP__HIP_HAS_STREAM_IDS (HIP_VERSION >= 70100000)     /* H16 */
#define WP__HIP_HAS_STREAM_DEVICES (HIP_VERSION >= 60000000) /* H16 */
#define WP__HIP_HAS_GRAPH_MEMORY (HIP_VERSION >= 50700000)   /* H14 */

/* H8: freeing twice crashes, so no WP_CAP_CHECKED_FREE. H7: no WP_CAP_ORDERED_FREE. H9: on 5.2.3, a freed block in any
 * pool makes destroying any stream of the process run for ever; seen to be gone in 5.7.1. H16, H22:
 * WP_CAP_STREAMS_DRAIN. H21: no WP_CAP_CAPTURES_END. */
static inline uint32_t wp__hip_promises(int version) {
  return WP_CAP_STREAMS_DRAIN | (version >= 50700000 ? WP_CAP_KEEPS_FREED : 0);
}

#endif

#endif
