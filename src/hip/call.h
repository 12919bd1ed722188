/* SPDX-License-Identifier: Apache-2.0 */
/* What every call of the HIP runtime goes through: its error becomes a status and is kept for the thread. */
#ifndef WARMPOOL_HIP_CALL_H
#define WARMPOOL_HIP_CALL_H

#include "platform.h" /* H24: the runtime */
#include "warmpool/backend.h"

/* Calls `function` and turns its answer into a status. */
#define CALL(function, ...) wp__hip_finish(function(__VA_ARGS__), #function)

/* The status of what `call` has answered; an error is kept, and leaves the driver's own slot. */
wp_status wp__hip_finish(hipError_t error, const char *call);

/* The thread's last error in this backend. */
void wp__hip_last_error(void *self, wp_driver_error *out);

#endif
