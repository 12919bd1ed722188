/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "check.h"

TestSuite(signal, .init = begin, .fini = end);

Test(signal, a_wait_ends_by_time) {
  hsa_signal_t signal = signal_at(3);
  cr_assert_eq(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 3, 1000, HSA_WAIT_STATE_ACTIVE), 3);
  cr_assert_eq(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_GTE, 3, UINT64_MAX, HSA_WAIT_STATE_ACTIVE), 3);
  cr_assert_eq(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_NE, 4, UINT64_MAX, HSA_WAIT_STATE_ACTIVE), 3);
}

struct seen {
  atomic_int calls;
  int until;
  hsa_signal_t done;
};

static bool note(hsa_signal_value_t value, void *argument) {
  (void)value;
  struct seen *seen = argument;
  bool again = atomic_fetch_add(&seen->calls, 1) + 1 < seen->until;
  if (!again) hsa_signal_store_screlease(seen->done, 0);
  return again;
}

Test(signal, a_handler_is_called_until_it_has_enough) {
  hsa_signal_t signal = signal_at(2);
  struct seen seen = {.until = 3, .done = signal_at(1)};
  REQUIRE(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, note, &seen));
  hsa_signal_subtract_relaxed(signal, 1);
  cr_assert(stays_at(seen.done, 1));
  cr_assert_eq(atomic_load(&seen.calls), 0);
  hsa_signal_subtract_relaxed(signal, 1);
  cr_assert(comes_to(seen.done, 0));
  cr_assert_eq(atomic_load(&seen.calls), 3);
}

Test(signal, handlers_do_not_wait_for_each_other) {
  hsa_signal_t first = signal_at(1), second = signal_at(1);
  struct seen of_first = {.until = 1, .done = signal_at(1)}, of_second = {.until = 1, .done = signal_at(1)};
  REQUIRE(hsa_amd_signal_async_handler(first, HSA_SIGNAL_CONDITION_EQ, 0, note, &of_first));
  REQUIRE(hsa_amd_signal_async_handler(second, HSA_SIGNAL_CONDITION_EQ, 0, note, &of_second));
  hsa_signal_store_screlease(second, 0);
  cr_assert(comes_to(of_second.done, 0));
  cr_assert_eq(atomic_load(&of_first.calls), 0);
}

Test(signal, it_can_end_and_begin_again) {
  hsa_signal_t never = signal_at(1);
  struct seen seen = {.until = 1, .done = signal_at(1)};
  REQUIRE(hsa_amd_signal_async_handler(never, HSA_SIGNAL_CONDITION_EQ, 0, note, &seen));
  REQUIRE(hsa_init());
  REQUIRE(hsa_shut_down()); /* one user is left */
  REQUIRE(hsa_shut_down());
  cr_assert_neq(hsa_shut_down(), HSA_STATUS_SUCCESS);
  REQUIRE(hsa_init());
  hsa_signal_t signal = signal_at(0);
  REQUIRE(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, note, &seen));
  cr_assert(comes_to(seen.done, 0));
}
