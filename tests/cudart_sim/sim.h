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

/* The driver's function of that name, or NULL. */
void *sim_driver_function(const char *name);

#endif
