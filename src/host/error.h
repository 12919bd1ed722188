/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_HOST_ERROR_H
#define WARMPOOL_HOST_ERROR_H

#include "engine.h"

/* Puts a failure into the thread's slot and returns `result`. Every function of engine.h that can fail ends with it. */
wp__host_result wp__host_finish(wp__host_result result);

#endif
