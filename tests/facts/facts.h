/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: what the library leans on in a driver, one test for each, through the vtable and the rig alone, so that the
 * same source holds every vendor to account. "C7" and the like in a comment is the fact's number in docs/facts.md.
 *
 * Each test runs in a process of its own. `facts_init` gives it a pool with the highest threshold and one stream.
 */
#ifndef WARMPOOL_TESTS_FACTS_H
#define WARMPOOL_TESTS_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "../rig/rig.h"

#define MIB ((size_t)1 << 20)

extern const wp_backend *driver;
extern wp_pool pool;
extern wp_stream stream;

void facts_init(void);
void facts_fini(void);

/* The vtable's entries, where a failure fails the test. */
wp_pool make_pool(uint64_t threshold);
void *allocate(wp_pool from, size_t bytes, wp_stream order);
void release(void *memory, wp_stream order);
wp_event record(wp_stream order); /* a new event */
void synchronize(wp_stream order);
void trim(wp_pool of);
uint64_t reserved(wp_pool of);
uint64_t used(wp_pool of);
void graph_trim(void); /* of device 0, as the two below */
uint64_t graph_reserved(void);
uint64_t graph_used(void);
void wait_for(wp_stream order, wp_event event);

/* Returns once the event's work has finished, having made queries only. */
void await_by_query(wp_event event);

#endif
