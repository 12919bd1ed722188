/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_BENCH_CASES_H
#define WARMPOOL_BENCH_CASES_H

#include "bench.h"

extern const bench_case bench_per_alloc, bench_delegates, bench_release, bench_cotenant, bench_threads, bench_footprint,
    bench_graph, bench_capture;

#endif
