/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of what is handed out, for a device and for each delegate. Any thread may change and read them. */
#ifndef WARMPOOL_COMMON_ACCOUNT_H
#define WARMPOOL_COMMON_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef atomic_uint_least64_t wp__counter;

static inline uint64_t wp__counter_get(const wp__counter *counter) {
  return atomic_load_explicit(counter, memory_order_acquire);
}
static inline uint64_t wp__counter_add(wp__counter *counter, uint64_t amount) {
  return atomic_fetch_add_explicit(counter, amount, memory_order_acq_rel) + amount;
}
static inline void wp__counter_sub(wp__counter *counter, uint64_t amount) {
  (void)atomic_fetch_sub_explicit(counter, amount, memory_order_acq_rel);
}
static inline void wp__counter_raise(wp__counter *counter, uint64_t to) {
  uint_least64_t seen = atomic_load_explicit(counter, memory_order_relaxed);
  while (seen < to && !atomic_compare_exchange_weak(counter, &seen, to)) {
  }
}

typedef struct wp__account {
  uint64_t limit;      /* 0: none */
  wp__counter claimed; /* towards the limit: live, and being asked of the driver */
  wp__counter live_peak;
  /* What the driver has served itself; the lanes count what they have. */
  wp__counter live;
  wp__counter allocs;
  wp__counter frees;
} wp__account;

/* Claims bytes before the driver is asked, so that no two threads pass a limit together. False: over the limit. */
static inline bool wp__account_claim(wp__account *account, uint64_t bytes) {
  if (account->limit == 0) return true;
  uint_least64_t seen = wp__counter_get(&account->claimed);
  do {
    if (seen >= account->limit || account->limit - seen < bytes) return false;
  } while (!atomic_compare_exchange_weak(&account->claimed, &seen, seen + bytes));
  return true;
}

static inline void wp__account_unclaim(wp__account *account, uint64_t bytes) {
  if (account->limit != 0) wp__counter_sub(&account->claimed, bytes);
}

static inline void wp__account_peak(wp__account *account) {
  if (account->limit != 0) wp__counter_raise(&account->live_peak, wp__counter_get(&account->claimed));
}

/* Counts a block as handed out. Returns the live bytes with it. */
static inline uint64_t wp__account_alloc(wp__account *account, uint64_t bytes) {
  uint64_t live = wp__counter_add(&account->live, bytes);
  wp__counter_raise(&account->live_peak, live);
  (void)wp__counter_add(&account->allocs, 1);
  return live;
}

/* Counts a block as taken back, and its claim as gone. */
static inline void wp__account_free(wp__account *account, uint64_t bytes) {
  wp__counter_sub(&account->live, bytes);
  (void)wp__counter_add(&account->frees, 1);
  wp__account_unclaim(account, bytes);
}

#endif
