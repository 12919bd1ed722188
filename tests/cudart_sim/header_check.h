/* SPDX-License-Identifier: Apache-2.0 */
/* What the header of this folder and NVIDIA's must agree in: included behind either, by header_check_own.c and
 * header_check.c. NVIDIA's may have more. */
#include <stddef.h>

#define VALUE(name, value) _Static_assert((name) == (value), #name)
#define SAME(a, b) _Static_assert((a) == (b), #a)
#define PROTOTYPE(name, result, ...)                                                                                   \
  _Static_assert(_Generic(&(name), result(*)(__VA_ARGS__) : 1, default : 0), #name " has another prototype")

VALUE(cudaSuccess, 0);
VALUE(cudaErrorInvalidValue, 1);
VALUE(cudaErrorMemoryAllocation, 2);
VALUE(cudaErrorInitializationError, 3);
VALUE(cudaErrorCudartUnloading, 4);
VALUE(cudaErrorInvalidMemcpyDirection, 21);
VALUE(cudaErrorInsufficientDriver, 35);
VALUE(cudaErrorNoDevice, 100);
VALUE(cudaErrorInvalidDevice, 101);
VALUE(cudaErrorInvalidResourceHandle, 400);
VALUE(cudaErrorIllegalState, 401);
VALUE(cudaErrorNotReady, 600);
VALUE(cudaErrorNotSupported, 801);
VALUE(cudaErrorStreamCaptureUnsupported, 900);
VALUE(cudaErrorStreamCaptureInvalidated, 901);
VALUE(cudaErrorStreamCaptureMerge, 902);
VALUE(cudaErrorStreamCaptureUnmatched, 903);
VALUE(cudaErrorStreamCaptureUnjoined, 904);
VALUE(cudaErrorStreamCaptureIsolation, 905);
VALUE(cudaErrorStreamCaptureImplicit, 906);
VALUE(cudaErrorCapturedEvent, 907);
VALUE(cudaErrorStreamCaptureWrongThread, 908);
VALUE(cudaErrorUnknown, 999);
VALUE(cudaMemcpyHostToHost, 0);
VALUE(cudaMemcpyHostToDevice, 1);
VALUE(cudaMemcpyDeviceToHost, 2);
VALUE(cudaMemcpyDeviceToDevice, 3);
VALUE(cudaMemcpyDefault, 4);
VALUE(cudaStreamCaptureStatusNone, 0);
VALUE(cudaStreamCaptureStatusActive, 1);
VALUE(cudaStreamCaptureStatusInvalidated, 2);
VALUE(cudaStreamCaptureModeGlobal, 0);
VALUE(cudaStreamCaptureModeThreadLocal, 1);
VALUE(cudaStreamCaptureModeRelaxed, 2);
VALUE(cudaMemPoolReuseFollowEventDependencies, 0x1);
VALUE(cudaMemPoolReuseAllowOpportunistic, 0x2);
VALUE(cudaMemPoolReuseAllowInternalDependencies, 0x3);
VALUE(cudaMemPoolAttrReleaseThreshold, 0x4);
VALUE(cudaMemPoolAttrReservedMemCurrent, 0x5);
VALUE(cudaMemPoolAttrReservedMemHigh, 0x6);
VALUE(cudaMemPoolAttrUsedMemCurrent, 0x7);
VALUE(cudaMemPoolAttrUsedMemHigh, 0x8);
VALUE(cudaGraphMemAttrUsedMemCurrent, 0x0);
VALUE(cudaGraphMemAttrUsedMemHigh, 0x1);
VALUE(cudaGraphMemAttrReservedMemCurrent, 0x2);
VALUE(cudaGraphMemAttrReservedMemHigh, 0x3);
VALUE(cudaMemLocationTypeInvalid, 0);
VALUE(cudaMemLocationTypeDevice, 1);
VALUE(cudaMemAllocationTypeInvalid, 0x0);
VALUE(cudaMemAllocationTypePinned, 0x1);
VALUE(cudaMemHandleTypeNone, 0x0);
VALUE(cudaMemHandleTypePosixFileDescriptor, 0x1);
VALUE(cudaMemAccessFlagsProtNone, 0);
VALUE(cudaMemAccessFlagsProtRead, 1);
VALUE(cudaMemAccessFlagsProtReadWrite, 3);
VALUE(cudaEnableDefault, 0x0);
VALUE(cudaDriverEntryPointSuccess, 0);
VALUE(cudaDriverEntryPointSymbolNotFound, 1);
VALUE(cudaDriverEntryPointVersionNotSufficent, 2);
VALUE(cudaStreamDefault, 0x00);
VALUE(cudaStreamNonBlocking, 0x01);
VALUE(cudaEventDefault, 0x00);
VALUE(cudaEventBlockingSync, 0x01);
VALUE(cudaEventDisableTiming, 0x02);
VALUE(cudaHostAllocDefault, 0x00);
VALUE(cudaHostAllocPortable, 0x01);
VALUE(cudaHostAllocMapped, 0x02);
VALUE(cudaHostAllocWriteCombined, 0x04);

SAME(sizeof(struct cudaMemLocation), 8);
SAME(offsetof(struct cudaMemLocation, id), 4);
SAME(sizeof(struct cudaMemAccessDesc), 12);
SAME(offsetof(struct cudaMemAccessDesc, flags), 8);
SAME(sizeof(struct cudaMemPoolProps), 88);
SAME(offsetof(struct cudaMemPoolProps, handleTypes), 4);
SAME(offsetof(struct cudaMemPoolProps, location), 8);
SAME(offsetof(struct cudaMemPoolProps, win32SecurityAttributes), 16);

PROTOTYPE(cudaGetLastError, cudaError_t, void);
PROTOTYPE(cudaPeekAtLastError, cudaError_t, void);
PROTOTYPE(cudaGetErrorName, const char *, cudaError_t);
PROTOTYPE(cudaGetErrorString, const char *, cudaError_t);
PROTOTYPE(cudaRuntimeGetVersion, cudaError_t, int *);
PROTOTYPE(cudaDriverGetVersion, cudaError_t, int *);
#if CUDART_VERSION >= 12050
PROTOTYPE(cudaGetDriverEntryPointByVersion, cudaError_t, const char *, void **, unsigned int, unsigned long long,
          enum cudaDriverEntryPointQueryResult *);
#endif
PROTOTYPE(cudaGetDeviceCount, cudaError_t, int *);
PROTOTYPE(cudaGetDevice, cudaError_t, int *);
PROTOTYPE(cudaGetDeviceProperties, cudaError_t, struct cudaDeviceProp *, int);
PROTOTYPE(cudaSetDevice, cudaError_t, int);
PROTOTYPE(cudaDeviceSynchronize, cudaError_t, void);
PROTOTYPE(cudaMemGetInfo, cudaError_t, size_t *, size_t *);
PROTOTYPE(cudaStreamCreate, cudaError_t, cudaStream_t *);
PROTOTYPE(cudaStreamCreateWithFlags, cudaError_t, cudaStream_t *, unsigned int);
PROTOTYPE(cudaStreamDestroy, cudaError_t, cudaStream_t);
PROTOTYPE(cudaStreamSynchronize, cudaError_t, cudaStream_t);
PROTOTYPE(cudaStreamQuery, cudaError_t, cudaStream_t);
#if CUDART_VERSION >= 12000
PROTOTYPE(cudaStreamGetId, cudaError_t, cudaStream_t, unsigned long long *);
#endif
#if CUDART_VERSION >= 12080
PROTOTYPE(cudaStreamGetDevice, cudaError_t, cudaStream_t, int *);
#endif
PROTOTYPE(cudaStreamWaitEvent, cudaError_t, cudaStream_t, cudaEvent_t, unsigned int);
PROTOTYPE(cudaStreamBeginCapture, cudaError_t, cudaStream_t, enum cudaStreamCaptureMode);
PROTOTYPE(cudaStreamEndCapture, cudaError_t, cudaStream_t, cudaGraph_t *);
PROTOTYPE(cudaStreamIsCapturing, cudaError_t, cudaStream_t, enum cudaStreamCaptureStatus *);
PROTOTYPE(cudaThreadExchangeStreamCaptureMode, cudaError_t, enum cudaStreamCaptureMode *);
PROTOTYPE(cudaEventCreate, cudaError_t, cudaEvent_t *);
PROTOTYPE(cudaEventCreateWithFlags, cudaError_t, cudaEvent_t *, unsigned int);
PROTOTYPE(cudaEventDestroy, cudaError_t, cudaEvent_t);
PROTOTYPE(cudaEventRecord, cudaError_t, cudaEvent_t, cudaStream_t);
PROTOTYPE(cudaEventQuery, cudaError_t, cudaEvent_t);
PROTOTYPE(cudaEventSynchronize, cudaError_t, cudaEvent_t);
PROTOTYPE(cudaMemPoolCreate, cudaError_t, cudaMemPool_t *, const struct cudaMemPoolProps *);
PROTOTYPE(cudaMemPoolDestroy, cudaError_t, cudaMemPool_t);
PROTOTYPE(cudaMemPoolTrimTo, cudaError_t, cudaMemPool_t, size_t);
PROTOTYPE(cudaMemPoolSetAccess, cudaError_t, cudaMemPool_t, const struct cudaMemAccessDesc *, size_t);
PROTOTYPE(cudaMemPoolSetAttribute, cudaError_t, cudaMemPool_t, enum cudaMemPoolAttr, void *);
PROTOTYPE(cudaMemPoolGetAttribute, cudaError_t, cudaMemPool_t, enum cudaMemPoolAttr, void *);
PROTOTYPE(cudaDeviceGetDefaultMemPool, cudaError_t, cudaMemPool_t *, int);
PROTOTYPE(cudaMalloc, cudaError_t, void **, size_t);
PROTOTYPE(cudaFree, cudaError_t, void *);
PROTOTYPE(cudaMallocAsync, cudaError_t, void **, size_t, cudaStream_t);
PROTOTYPE(cudaMallocFromPoolAsync, cudaError_t, void **, size_t, cudaMemPool_t, cudaStream_t);
PROTOTYPE(cudaFreeAsync, cudaError_t, void *, cudaStream_t);
PROTOTYPE(cudaHostAlloc, cudaError_t, void **, size_t, unsigned int);
PROTOTYPE(cudaFreeHost, cudaError_t, void *);
PROTOTYPE(cudaHostGetDevicePointer, cudaError_t, void **, void *, unsigned int);
PROTOTYPE(cudaMemsetAsync, cudaError_t, void *, int, size_t, cudaStream_t);
PROTOTYPE(cudaMemcpyAsync, cudaError_t, void *, const void *, size_t, enum cudaMemcpyKind, cudaStream_t);
PROTOTYPE(cudaLaunchHostFunc, cudaError_t, cudaStream_t, cudaHostFn_t, void *);
#if CUDART_VERSION >= 12000
PROTOTYPE(cudaGraphInstantiate, cudaError_t, cudaGraphExec_t *, cudaGraph_t, unsigned long long);
#endif
PROTOTYPE(cudaGraphInstantiateWithFlags, cudaError_t, cudaGraphExec_t *, cudaGraph_t, unsigned long long);
PROTOTYPE(cudaGraphLaunch, cudaError_t, cudaGraphExec_t, cudaStream_t);
PROTOTYPE(cudaGraphDestroy, cudaError_t, cudaGraph_t);
PROTOTYPE(cudaGraphExecDestroy, cudaError_t, cudaGraphExec_t);
PROTOTYPE(cudaDeviceGraphMemTrim, cudaError_t, int);
PROTOTYPE(cudaDeviceGetGraphMemAttribute, cudaError_t, int, enum cudaGraphMemAttributeType, void *);
PROTOTYPE(cudaDeviceSetGraphMemAttribute, cudaError_t, int, enum cudaGraphMemAttributeType, void *);

#undef VALUE
#undef SAME
#undef PROTOTYPE
