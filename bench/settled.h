/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in backend, but what it answers does not depend on time or chance:
 *   - Whatever was sent to a stream has finished by the next question about it, and every free by the next allocation:
 *     the question and the free wait. (Not where `waits` is false.)
 *   - Streams are called by small numbers in the order in which they are made.
 * It also watches how much the driver has reserved for the pools. What that costs in time is told, to be taken off.
 */
#ifndef WARMPOOL_BENCH_SETTLED_H
#define WARMPOOL_BENCH_SETTLED_H

#include <stdbool.h>
#include <stdint.h>

#include "warmpool/backend.h"

/* Begins anew: nothing of what was made before by its calls is there any more. */
const wp_backend *settled_backend(bool waits);
uint64_t settled_spent(void); /* nanoseconds so far */
/* The most that was reserved for the pools of a device. */
uint64_t settled_reserved_peak(int device);

#endif
