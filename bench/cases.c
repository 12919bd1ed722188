/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

const bench_case *const bench_cases[] = {&bench_per_alloc, &bench_delegates, &bench_release,
                                         &bench_cotenant,  &bench_threads,   &bench_footprint,
                                         &bench_graph,     &bench_capture,   NULL};
