/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two calls at once, with the second one forced into the middle of the first: it runs to its end on another thread
 * while the first is inside a named entry of the fake driver.
 */
#ifndef WARMPOOL_TESTS_UNIT_HOOKS_H
#define WARMPOOL_TESTS_UNIT_HOOKS_H

#include "warmpool/warmpool.h"

/* The fake driver, with hooks in stream_capturing, event_query, event_record and pool_usage, when the driver has
 * answered and the library does not know yet; and in stream_synchronize, memory_alloc, memory_free and
 * pool_set_threshold, when it has not been told. */
const wp_backend *hooks_backend(void);

/* `body` runs during the nth call of `entry` from now on. */
void hooks_arm(const char *entry, int nth, void (*body)(void));
bool hooks_ran(void); /* it has */

#endif
