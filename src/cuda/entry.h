/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nearly every call of the library asks, put to the driver itself. The runtime in front of it takes most of the
 * time: an exchange of the capture mode, of which an allocation and its free make four, 9 ns instead of 47;
 * is-capturing 24 instead of 64, the current device 15 instead of 37, the stream's id 26 instead of 61 (H200, driver
 * 580.159). With CUDA before 12.5, and where the driver has no such function or answers with an error, the runtime is
 * asked: it knows how to give a thread its context, and its errors are the ones that count.
 */
#ifndef WARMPOOL_CUDA_ENTRY_H
#define WARMPOOL_CUDA_ENTRY_H

#include <cuda_runtime_api.h>

cudaError_t wp__cuda_current_device(int *device);
cudaError_t wp__cuda_exchange_mode(enum cudaStreamCaptureMode *mode);
cudaError_t wp__cuda_is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
#if CUDART_VERSION >= 12000
cudaError_t wp__cuda_stream_id(cudaStream_t stream, unsigned long long *id);
#endif

#endif
