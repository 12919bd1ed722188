/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AMD's runtimes do, one test for each of the facts H1 to H27, where versions differ with a table. These tests are
 * built for the hip backend over such a runtime alone and may call the runtime itself, beside the vtable and the rig.
 */
#ifndef WARMPOOL_TESTS_FACTS_HIP_H
#define WARMPOOL_TESTS_FACTS_HIP_H

#include <hip/hip_runtime_api.h>

#include "facts.h"

/* The entry of a table that is for the runtime below: those seen were 5.2.3, 6.4.3 and 7.2.4. */
#define BY_VERSION(v5, v6, v7) ((const int[]){(v5), (v6), (v7)}[hip_generation() - 5])

int hip_generation(void); /* 5, 6 or 7; a newer one is taken for a 7 until a test says otherwise */
uint32_t hip_capabilities(void);

/* Starts a thread that releases the hold after a while if the caller is expected to get stuck meanwhile; where it is
 * not, when that is back, or seconds have passed. */
void hip_release_later(rig_hold *hold, bool waits);
/* Whether that release came before this call. Waits for it in any case. */
bool hip_has_waited(void);

#endif
