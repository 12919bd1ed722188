/* SPDX-License-Identifier: Apache-2.0 */
/* Which call fails: the n-th of a vtable entry, of all entries together, or of the library's host allocations. */
#ifndef WARMPOOL_TESTS_SWEEP_FAILING_H
#define WARMPOOL_TESTS_SWEEP_FAILING_H

#include <stdbool.h>
#include <stddef.h>

#include "watched.h"

/* In the place of an entry. */
enum { TARGET_ANY = WATCHED_ENTRIES, TARGET_MEMORY };

enum failing_mode {
  FAILING_ONCE,
  FAILING_ON,   /* from there on, for the rest of the public call */
  FAILING_ODD,  /* once, with a status that the entry does not name: a driver's own errors come to such */
  FAILING_MIXED /* from there on, and from the second on with WP_ERROR_NO_DEVICE */
};

struct injection {
  unsigned target; /* an entry, or one of the above */
  unsigned nth;    /* from 1 */
  enum failing_mode mode;
  wp_status status; /* what the first one answers */
};

enum { INJECTION_TEXT = 128 };
/* "event_record 2 once WP_ERROR_DRIVER": the words that name it, and the way back. */
void injection_name(const struct injection *injection, char text[INJECTION_TEXT]);
bool injection_parse(const char *text, struct injection *out);
const char *injection_target(const struct injection *injection);
const char *injection_mode(const struct injection *injection);

/* How often a call reached what can fail. */
struct reached {
  unsigned of_entry[WATCHED_ENTRIES];
  unsigned in_all, allocations;
};
/* All injections for a call that reaches so much, numbered from 0. False: there is no i-th. */
bool injection_at(const struct reached *reached, unsigned i, struct injection *out);

/* What became of an injection. */
enum { REFUSALS_KEPT = 64 };
struct refusals {
  unsigned count; /* of driver calls; the first ones are kept */
  struct {
    watched_entry entry;
    wp_status status;
  } kept[REFUSALS_KEPT];
  unsigned allocations; /* of host memory */
  bool loses_device;    /* a device_set that would have restored the current device was among them */
  bool loses_mode;      /* so was a capture_restore */
  bool loses_memory;    /* so was a call that gives memory back */
};

extern const watched_hooks failing_hooks; /* of the watched backend */

/* From here to the end calls are counted, and fail as the injection says; with NULL none fails. */
void failing_begin(const struct injection *injection, int device);
void failing_end(void);
const struct reached *failing_reached(void);
const struct refusals *failing_refusals(void);

unsigned long long failing_driver_bytes(void); /* that the library has of the driver right now */
void failing_forget_bytes(void);

#endif
