/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: what the public headers promise, seen through the public API and the rig alone, so that the same source
 * holds every backend to account. Nothing here knows how large a driver's mapping granule is, or how long it takes.
 *
 * Each test runs in a process of its own. `runtime` is the test's runtime once it has called `start`; the fixture `end`
 * checks afterwards that the test left nothing behind, and destroys it. The names in comments such as rmm#2510 are the
 * public reports of the behaviour tested.
 */
#ifndef WARMPOOL_TESTS_CONFORMANCE_H
#define WARMPOOL_TESTS_CONFORMANCE_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../rig/rig.h"
#include "warmpool/warmpool.h"

#define MIB ((size_t)1 << 20)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

extern wp_runtime *runtime;
extern wp_stream_contract contract; /* of the test, for `start` */

/* All tests of a suite, with the time that none of them needs. */
#define SUITE(suite) TestSuite(suite, .fini = end, .timeout = 90)

/* A test that runs once in each stream contract. */
#define BOTH_CONTRACTS(suite, name)                                                                                    \
  static void suite##_##name(void);                                                                                    \
  Test(suite, name##__checked) {                                                                                       \
    contract = WP_STREAMS_CHECKED;                                                                                     \
    suite##_##name();                                                                                                  \
  }                                                                                                                    \
  Test(suite, name##__declared) {                                                                                      \
    contract = WP_STREAMS_DECLARED;                                                                                    \
    suite##_##name();                                                                                                  \
  }                                                                                                                    \
  static void suite##_##name(void)

/* -- calls, and what they must answer; a mismatch ends the test with the text of wp_last_error -- */

#define ANSWERS(expected, call) expect_status((call), (expected), #call, __FILE__, __LINE__)
#define OK(call) ANSWERS(WP_OK, call)
/* And also: wp_last_error tells about this call, and neither counters nor the driver's used bytes have changed. */
#define REFUSES(expected, call) (look(), expect_refused((call), (expected), #call, __FILE__, __LINE__))

void expect_status(wp_status got, wp_status expected, const char *call, const char *file, int line);
void look(void);
void expect_refused(wp_status got, wp_status expected, const char *call, const char *file, int line);

/* -- the runtime -- */

wp_caching caching(void);          /* WARMPOOL_TEST_CACHING=lanes|driver; the suite is run once with each */
wp_runtime_options defaults(void); /* in the test's contract, and that caching */
void start(const wp_runtime_options *options /* NULL: defaults() */);
void end(void);

wp_delegate *open_on(int device);
wp_release_report last_close(wp_delegate *delegate, wp_status expected);
void *take(wp_delegate *delegate, size_t bytes, wp_stream stream);
void give(void *memory, wp_stream stream);
wp_stats stats(int device);
wp_stats stats_of(wp_delegate *delegate);
uint64_t reserved(int device); /* by the driver's pool */
wp_error_info last_error(void);

/* Bytes that the driver maps at least, and 1 MiB or more: blocks of that size share no mapping. Where blocks share
 * mappings whatever their size is, most of such a mapping. */
size_t granule(void);
/* The most that may be mapped for `count` granules, in blocks that are multiples of one: themselves where blocks share
 * no mapping; otherwise each may begin in one mapping and end in the next. */
uint64_t most_mapped(unsigned count);
/* `bytes` are mapped for so many. */
#define expect_mapped(bytes, count) expect_granules((bytes), (count), #bytes, __FILE__, __LINE__)
void expect_granules(uint64_t bytes, unsigned count, const char *what, const char *file, int line);
/* So it is with what is mapped on the device now. Where that leaves room and no other blocks are in the pool, as in
 * lanes, the blocks are so large. */
#define expect_reserved(device, count) expect_granules_on((device), (count), __FILE__, __LINE__)
void expect_granules_on(int device, unsigned count, const char *file, int line);
uint64_t device_total(int device);

/* Calls wp_tick until the driver's pool has `bytes` reserved. */
void tick_until_reserved(int device, uint64_t bytes);

/* -- devices and streams -- */

bool driver_can(uint32_t capability);
void need_devices(int count);                  /* skips the test where there are fewer */
void end_stream(int device, wp_stream stream); /* destroys it as the contract wants it */
/* A stream with the handle that `gone` had, whose work still runs; NULL where the driver does not hand it out. The
 * streams made are in `spares`. */
wp_stream reincarnate(wp_stream gone, wp_stream *spares, size_t count);

/* -- bytes -- */

bool overlap(const void *one, const void *other, size_t bytes);
/* Waits for `stream`. */
void expect_bytes(wp_stream stream, const void *memory, int byte, size_t bytes);

/* -- other threads -- */

/* Releases the hold from another thread when the caller has got stuck, which it is expected to; after a while at the
 * earliest. From the thread that is to get stuck. */
void release_later(rig_hold *hold);
void release_is_over(void); /* fails unless the release came before this call; joins the thread */

/* Runs `body` on `count` threads, which start together, and waits for all. They end one after the other. */
void run_threads(unsigned count, void (*body)(unsigned index, void *argument), void *argument);

#endif
