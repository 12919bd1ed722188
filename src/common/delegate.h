/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_DELEGATE_H
#define WARMPOOL_COMMON_DELEGATE_H

#include <stdatomic.h>

#include "account.h"
#include "device.h"
#include "warmpool/delegate.h"

enum { WP__DELEGATE_GONE = 0, WP__DELEGATE_OPEN = 1, WP__DELEGATE_CLOSED = 2 };

/* Type-stable until the runtime is destroyed, so that a stale handle is refused rather than followed. For the same
 * reason a record rests until so many others have closed after it. */
#define WP__DELEGATES_RESTING 32u

struct wp_delegate {
  wp_runtime *runtime;
  _Atomic(wp__device *) device;
  atomic_int state;
  uint64_t serial;            /* of this life of the record's; 0 is none */
  atomic_uint_least64_t life; /* the serial while the delegate is open, and 0 after that */
  atomic_uint references;     /* being open is one, and each call under way, and in WP_CACHING_DRIVER each live block */
  bool limited;               /* bytes are claimed: it has a limit, or its device does */
  wp__account account;
  char *name;
  wp_delegate *next, *previous; /* under the runtime's lock */
};

/* False: the delegate is closed. */
bool wp__delegate_retain(wp_delegate *delegate);
void wp__delegate_release(wp_delegate *delegate);
/* The same for a call that uses an open delegate, with the reason where it is none. */
wp_status wp__delegate_hold(wp_delegate *delegate);
/* A block of a closed delegate's has gone: its record is kept for another one, if that was the last. */
void wp__delegate_settle(wp_delegate *delegate);
/* After a block that was handed out in that life: settles the delegate if it is closed, and tells. */
static inline bool wp__delegate_freed(wp_delegate *delegate, uint64_t life) {
  if (atomic_load_explicit(&delegate->life, memory_order_acquire) == life) return false;
  wp__delegate_settle(delegate);
  return true;
}

/* WP_OK if the handle is that of an open or closed delegate whose record is still there. */
wp_status wp__delegate_check(const wp_delegate *delegate);

void wp__delegate_free(wp_delegate *delegate);

/* Claims bytes towards the limits of the delegate and of its device. False: over one of them. */
static inline bool wp__limits_claim(wp_delegate *delegate, wp__device *device, uint64_t bytes) {
  if (!delegate->limited) return true;
  if (!wp__account_claim(&delegate->account, bytes)) return false;
  if (wp__account_claim(&device->account, bytes)) return true;
  wp__account_unclaim(&delegate->account, bytes);
  return false;
}
static inline void wp__limits_unclaim(wp_delegate *delegate, wp__device *device, uint64_t bytes) {
  if (!delegate->limited) return;
  wp__account_unclaim(&delegate->account, bytes);
  wp__account_unclaim(&device->account, bytes);
}
/* The same where nothing has kept the delegate in its life meanwhile: in another one its account begins anew. */
static inline void wp__limits_withdraw(wp_delegate *delegate, uint64_t life, wp__device *device, uint64_t bytes) {
  if (!delegate->limited) return;
  if (atomic_load(&delegate->life) == life) wp__account_unclaim(&delegate->account, bytes);
  wp__account_unclaim(&device->account, bytes);
}
/* What is claimed was allocated: where there is a limit the peak is exact. */
static inline void wp__limits_peak(wp_delegate *delegate, wp__device *device) {
  if (!delegate->limited) return;
  wp__account_peak(&delegate->account);
  wp__account_peak(&device->account);
}

#endif
