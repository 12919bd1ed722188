/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sequence, many times in a row in one process: what goes wrong seldom, or adds up, shows. Each round asserts all
 * that the sequence promises. The environment variable WARMPOOL_TEST_ROUNDS is how many rounds each test does, whatever
 * it does otherwise (ci/rounds-hip.sh sets it). What Criterion's --timeout says is the watchdog: it is given more where
 * there are more rounds.
 */
#ifndef WARMPOOL_TESTS_ROUNDS_H
#define WARMPOOL_TESTS_ROUNDS_H

#include "../softhsa/softhsa.h"
#include "conformance.h"

/* All tests of a suite. At the end of each a line "rounds: SUITE::TEST: N of M" says how far it came. */
#define ROUNDS_SUITE(suite) TestSuite(suite, .fini = end_rounds, .timeout = 3600)
void end_rounds(void); /* with what `end` does */

/* for (begin_rounds(1000); next_round();) */
void begin_rounds(unsigned otherwise);
bool next_round(void);
unsigned this_round(void); /* from 0 on */

/* The test's contract, in lanes. */
wp_runtime_options in_lanes_of(wp_wait release_wait);

const wp_backend *driver(void);
void synchronize(wp_stream stream); /* without the rig's pause: finished, if not yet seen to be (H23) */
void pause_for(long microseconds);

/* -- below the runtime: the stand-in's count; on a GPU nobody counts, and all is 0 -- */

uint64_t device_count_of(softhsa_counter counter);
uint64_t device_bytes(void); /* in use on device 0 */
/* No more are in use than these; the runtime may take a moment. As every figure, it is read when the streams that used
 * the memory have been synchronised (rocm-systems#2628, H26). */
#define expect_device_bytes(most) expect_device_bytes_at((most), __FILE__, __LINE__)
void expect_device_bytes_at(uint64_t most, const char *file, int line);
/* The next device allocation fails. Skips the test where that cannot be had. */
void need_device_refusals(void);
void refuse_next_device_allocation(bool refused);

#endif
