/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_BENCH_FOOTPRINT_TRACES_H
#define WARMPOOL_BENCH_FOOTPRINT_TRACES_H

#include "bench.h"

/* Replays every pattern, and the traces in the folder that the run names, in both cachings. */
void footprint_of_traces(const bench_run *run);

#endif
