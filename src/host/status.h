/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine answers, as the library's callers are told. */
#ifndef WARMPOOL_HOST_STATUS_H
#define WARMPOOL_HOST_STATUS_H

#include "engine.h"
#include "warmpool/status.h"

wp_status wp__host_status(wp__host_result result);

#endif
