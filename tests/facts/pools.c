/* SPDX-License-Identifier: Apache-2.0 */
/* What a pool takes from the device, whom it gives a block to, and how long it lives. */
#include <criterion/criterion.h>

#include "facts.h"

/* Fills what the pool maps for it, so that only this memory can serve the next of its size. */
#define BYTES (32 * MIB)

TestSuite(pools, .init = facts_init, .fini = facts_fini, .timeout = 20);

/* C11 */
Test(pools, one_byte_reserves_32_mib) {
  (void)allocate(pool, 1, stream);
  cr_expect_eq(reserved(pool), 32 * MIB);
}

/* C11 */
Test(pools, thirty_three_mib_reserve_64) {
  (void)allocate(pool, 33 * MIB, stream);
  cr_expect_eq(reserved(pool), 64 * MIB);
}

/* C12 */
Test(pools, destroying_one_leaves_a_live_block_usable) {
  unsigned char byte = 0;
  unsigned char *memory = allocate(pool, BYTES, stream);
  cr_assert_eq(driver->pool_destroy(driver->self, pool), WP_OK);
  rig_fill(stream, memory, 0x5a, BYTES);
  rig_read(stream, &byte, memory + BYTES - 1, 1);
  cr_expect_eq(byte, 0x5a);
  release(memory, stream);
  synchronize(stream);
}

/* C13 */
Test(pools, a_block_freed_on_a_busy_stream_is_not_given_to_another) {
  wp_stream other = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  cr_expect_neq(allocate(pool, BYTES, other), memory);
  rig_release(hold);
  rig_stream_destroy(other);
}

/* C13 */
Test(pools, a_block_freed_on_a_busy_stream_is_given_to_the_same_stream) {
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  cr_expect_eq(allocate(pool, BYTES, stream), memory);
  rig_release(hold);
}

/* C13 */
Test(pools, a_block_freed_on_a_stream_that_is_idle_now_is_given_to_another) {
  wp_stream other = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, stream);
  rig_busy(stream, 20);
  release(memory, stream);
  synchronize(stream);
  cr_expect_eq(allocate(pool, BYTES, other), memory);
  rig_stream_destroy(other);
}
