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
  wp__device *device;
  atomic_int state;
  atomic_uint references; /* being open is one, and each live block */
  wp__account account;
  char *name;
  wp_delegate *next, *previous; /* under the runtime's lock */
};

/* False: the delegate is closed. */
bool wp__delegate_retain(wp_delegate *delegate);
void wp__delegate_release(wp_delegate *delegate);

/* WP_OK if the handle is that of an open or closed delegate whose record is still there. */
wp_status wp__delegate_check(const wp_delegate *delegate);

void wp__delegate_free(wp_delegate *delegate);

#endif
