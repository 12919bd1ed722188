/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver answers to calls that cannot succeed, and to those that have nothing to do. */
#include <criterion/criterion.h>

#include "facts.h"

TestSuite(errors, .init = facts_init, .fini = facts_fini, .timeout = 20);

static int last_code(void) {
  wp_driver_error error;
  driver->last_error(driver->self, &error);
  return error.code;
}

static wp_status exhaust(void) {
  uint64_t free_bytes, total_bytes;
  void *memory = NULL;
  cr_assert_eq(driver->device_memory(driver->self, &free_bytes, &total_bytes), WP_OK);
  wp_status status = driver->memory_alloc(driver->self, pool, (size_t)total_bytes / 512 * 512 + 512, stream, &memory);
  cr_expect_null(memory);
  return status;
}

/* C10 */
Test(errors, zero_bytes_are_a_success_and_null) {
  void *memory = &pool;
  cr_expect_eq(driver->memory_alloc(driver->self, pool, 0, stream, &memory), WP_OK);
  cr_expect_null(memory);
}

/* C10 */
Test(errors, freeing_null_is_a_success) { cr_expect_eq(driver->memory_free(driver->self, NULL, stream), WP_OK); }

/* C10 */
Test(errors, freeing_twice_is_refused_and_harms_nothing) {
  void *memory = allocate(pool, MIB, stream), *other = allocate(pool, MIB, stream);
  release(memory, stream);
  cr_expect_eq(driver->memory_free(driver->self, memory, stream), WP_ERROR_INVALID_POINTER);
  cr_expect_neq(last_code(), 0);
  cr_expect_eq(used(pool), MIB);
  release(other, stream);
  cr_expect_eq(used(pool), 0);
}

/* C10: in the vtable's account, and no longer in the vendor's. */
Test(errors, a_failed_allocation_is_told_and_does_not_stay_in_the_vendors_slot) {
  (void)rig_last_error();
  cr_expect_eq(last_code(), 0);
  cr_expect_eq(exhaust(), WP_ERROR_OUT_OF_MEMORY);
  cr_expect_neq(last_code(), 0);
  cr_expect_eq(rig_last_error(), 0);
}

/* C10 */
Test(errors, exhaustion_harms_nothing) {
  cr_expect_eq(exhaust(), WP_ERROR_OUT_OF_MEMORY);
  release(allocate(pool, MIB, stream), stream);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C10 */
Test(errors, a_device_that_does_not_exist_cannot_be_chosen) {
  cr_expect_eq(driver->device_set(driver->self, rig_device_count()), WP_ERROR_NO_DEVICE);
  cr_expect_eq(driver->device_set(driver->self, -1), WP_ERROR_NO_DEVICE);
  cr_expect_eq(rig_last_error(), 0);
  cr_expect_eq(rig_device_current(), 0);
}
