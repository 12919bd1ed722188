/* SPDX-License-Identifier: Apache-2.0 */
/* The hip backend where CUDA is below (fact H24). On AMD's runtimes there is nothing in here. */
#include <criterion/criterion.h>
#include <string.h>

#include "call.h"

#ifdef __HIP_PLATFORM_NVIDIA__

Test(on_nvidia, the_driver_promises_what_cuda_does) {
  const wp_backend *backend = wp_backend_builtin();
  const uint32_t always = WP_CAP_POOLS | WP_CAP_GRAPH_MEMORY | WP_CAP_CHECKED_FREE | WP_CAP_KEEPS_FREED |
                          WP_CAP_ORDERED_FREE | WP_CAP_CAPTURES_END;
  uint32_t found = 0;
  cr_assert_str_eq(backend->name, "hip");
  cr_assert_eq(backend->device_capabilities(backend->self, 0, &found), WP_OK);
  cr_expect_eq(found & always, always, "%x", found);
  cr_expect_eq((found & WP_CAP_STREAM_IDENTITY) != 0, CUDART_VERSION >= 12000);
  cr_expect_eq((found & WP_CAP_STREAM_DEVICE) != 0, CUDART_VERSION >= 12080);
}

/* Each error of CUDA's that the library tells apart comes through HIP's names as itself. */
Test(on_nvidia, errors_of_cuda_keep_their_meaning_and_text) {
  static const struct {
    cudaError_t error;
    wp_status status;
  } all[] = {
      {cudaErrorMemoryAllocation, WP_ERROR_OUT_OF_MEMORY},
      {cudaErrorNoDevice, WP_ERROR_NO_DEVICE},
      {cudaErrorInvalidDevice, WP_ERROR_NO_DEVICE},
      {cudaErrorInsufficientDriver, WP_ERROR_NO_DEVICE},
      {cudaErrorNotSupported, WP_ERROR_NOT_SUPPORTED},
      {cudaErrorStreamCaptureUnsupported, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureInvalidated, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureMerge, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureUnmatched, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureUnjoined, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureIsolation, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureImplicit, WP_ERROR_CAPTURING},
      {cudaErrorStreamCaptureWrongThread, WP_ERROR_CAPTURING},
      {cudaErrorInvalidValue, WP_ERROR_DRIVER},
      {cudaErrorInvalidResourceHandle, WP_ERROR_DRIVER},
      {cudaErrorIllegalAddress, WP_ERROR_DRIVER},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    wp_driver_error kept;
    cudaError_t error = all[i].error;
    cr_expect_eq(wp__hip_finish(hipCUDAErrorTohipError(error), "call"), all[i].status, "%d", (int)error);
    wp__hip_last_error(NULL, &kept);
    cr_expect_eq(kept.code, (int)error);
    cr_expect_str_eq(kept.name, cudaGetErrorName(error));
    cr_expect_str_eq(kept.text, cudaGetErrorString(error));
  }
  cr_expect_eq(wp__hip_finish(hipCUDAErrorTohipError(cudaErrorCudartUnloading), "call"), WP_OK);
}

Test(on_nvidia, a_refused_call_leaves_cudas_own_slot_clear) {
  const wp_backend *backend = wp_backend_builtin();
  cr_assert_eq(backend->device_set(backend->self, 1000), WP_ERROR_NO_DEVICE);
  cr_expect_eq(cudaPeekAtLastError(), cudaSuccess);
}

#endif
