/* SPDX-License-Identifier: Apache-2.0 */
/* Common to the stand-in's files. Every function of the CUDA runtime in here is a call of the engine and `finish`. */
#ifndef WARMPOOL_TESTS_CUDART_SIM_H
#define WARMPOOL_TESTS_CUDART_SIM_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/common/os.h"
#include "../../src/host/engine.h"

/* What the engine's answer is called in CUDA; a failure goes into the thread's slot, and stays there until read. */
cudaError_t sim_finish(wp__host_result result);
cudaError_t sim_fail(cudaError_t error);

/* Whether the runtime has given the calling thread a context: its first call that succeeds does. */
bool sim_has_context(void);

/* The driver's function of that name, or NULL. What it answers does not go into the runtime's slot. */
void *sim_driver_function(const char *name);
enum {
  SIM_DRIVER_SUCCESS = 0,
  SIM_DRIVER_INVALID_VALUE = 1,
  SIM_DRIVER_INVALID_CONTEXT = 201,
  SIM_DRIVER_UNKNOWN = 999
};
int sim_stream_wait_value_32(cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags);

#endif
