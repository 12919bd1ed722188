/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "soft.h"

static atomic_uint_least64_t counts[SOFTHSA_COUNTER_COUNT];

void soft_count(softhsa_counter counter) { (void)atomic_fetch_add(&counts[counter], 1); }

uint64_t softhsa_count(softhsa_counter counter) {
  return (unsigned)counter < SOFTHSA_COUNTER_COUNT ? atomic_load(&counts[counter]) : 0;
}

uint64_t softhsa_device_bytes(int gpu) { return soft_vram_used(gpu); }
