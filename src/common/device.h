/* SPDX-License-Identifier: Apache-2.0 */
/* A device that a runtime has used: its pool, its home stream, its streams, and what waits to go back. */
#ifndef WARMPOOL_COMMON_DEVICE_H
#define WARMPOOL_COMMON_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "account.h"
#include "block.h"
#include "fault.h"
#include "os.h"
#include "stream.h"
#include "warmpool/runtime.h"

/* Calls an entry of the runtime's backend. */
#define WP__VENDOR(runtime, entry, ...) ((runtime)->backend->entry((runtime)->backend->self, __VA_ARGS__))
/* The same, and describes a failure. */
#define WP__CALL(runtime, ordinal, entry, ...)                                                                         \
  wp__described((runtime)->backend, ordinal, WP__VENDOR(runtime, entry, __VA_ARGS__))

#define WP__EVENTS_CACHED 64u

struct wp__device {
  wp_runtime *runtime;
  int ordinal;
  uint32_t capabilities;
  bool checked; /* WP_STREAMS_CHECKED */
  bool lanes;   /* WP_CACHING_LANES */
  bool warm;    /* the runtime's */
  bool bounded; /* in lanes: the release threshold bounds what may stay idle */
  wp_pool pool;
  wp_stream home; /* the library's own stream */
  wp__device *next_lost;

  atomic_uint open_delegates; /* changed under the runtime's lock */
  atomic_bool lost;
  atomic_bool release_due; /* no delegate was open, and something was left that can still go back */
  atomic_bool home_dirty;  /* freed on home, and home not synchronised since */
  atomic_bool graph_used;  /* something was allocated on a capturing stream */
  atomic_bool excess_due;  /* more is idle than may be (bounded; what graphs left), and could not go back yet */

  wp__account account;
  wp__counter parked_bytes, reserved_peak;
  wp__counter held_bytes; /* all that is the driver's: segments of lanes, and blocks that are none's */
  /* Freed on users' streams, past the lanes, since the beginning; and so much of it was seen to finish. */
  wp__counter direct_bytes, direct_seen;
  wp__counter note_clock;
  wp__counter graph_live; /* of the account's live bytes: captured allocations */
  wp__counter driver_allocs, driver_frees, oom_retries, trims, trimmed_bytes;

  wp__mutex lock; /* what follows, and new records in `streams` */
  wp__streams streams;
  wp__block *parked_first, *parked_last;
  atomic_uint parked_count; /* read without the lock */
  wp__stream *spare_bays;
  atomic_uint captured_streams; /* in declared captures */
  wp__counter kept_bytes;       /* freed in captures, and kept for the graphs */
  wp_event events[WP__EVENTS_CACHED];
  unsigned events_cached;
  /* The threshold: one thread at a time tells the driver, until what was told last is what is wanted. */
  atomic_bool threshold_settled;
  bool threshold_changing;
  bool threshold_known;
  uint64_t threshold;
};

/* Whether frees reach the driver before they have finished, so that it has to be shown that they have: a query does not
 * do that, a synchronisation does. */
static inline bool wp__device_shows_frees(const wp__device *device) {
  return !device->lanes || (device->capabilities & WP_CAP_ORDERED_FREE) != 0;
}

/* -- entered before driver calls, left after them: the device is current, and the thread harms no capture -- */

typedef struct wp__scope {
  wp_runtime *runtime;
  int previous; /* device to go back to, or WP__NO_DEVICE */
  int mode;     /* capture mode to go back to */
} wp__scope;
wp_status wp__scope_enter(wp__scope *scope, wp_runtime *runtime, int ordinal);
void wp__scope_leave(wp__scope *scope);

/* -- life -- */

/* Turns what a caller named (WP_DEVICE_CURRENT or an ordinal) into an ordinal that exists; asks the driver how many
 * there are the first time. */
wp_status wp__device_resolve(wp_runtime *runtime, int device, int *ordinal);
/* The same for calls that leave an unused device alone: *out is its record, or NULL. Asks the driver nothing about an
 * ordinal. */
wp_status wp__device_lookup(wp_runtime *runtime, int device, wp__device **out);

/* Counts one more open delegate, making the device's pool if it has none. */
wp_status wp__device_open(wp_runtime *runtime, int ordinal, wp__device **out);
/* Counts one less; whether it was the last. */
bool wp__device_close(wp__device *device);

/* The devices in use: `i` from 0 to wp__device_limit. NULL where one is not in use. */
int wp__device_limit(wp_runtime *runtime);
wp__device *wp__device_at(wp_runtime *runtime, int i);
void wp__devices_free(wp_runtime *runtime); /* the array; the devices are gone already */

/* Destroys what the device has in the driver (best effort; the first failure is returned), then the record. */
wp_status wp__device_destroy(wp__device *device);
/* The record alone, for a lost device. */
void wp__device_free(wp__device *device);

/* Tells the driver the threshold that the number of open delegates asks for, if it does not know. */
wp_status wp__device_apply_threshold(wp__device *device);
/* After an allocation: tells it once more, for some drivers drop what was set before the pool's first (H4). */
void wp__device_settle_threshold(wp__device *device);

/* Counts bytes that the driver has given. */
void wp__device_hold(wp__device *device, uint64_t bytes);

/* Events without an owner, kept for the next user. */
wp_status wp__event_get(wp__device *device, wp_event *out);
void wp__event_put(wp__device *device, wp_event event);

#endif
