/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vtable in front of another one: it counts the driver's objects that the library owns, and asks a hook before each
 * call whether that call fails. For tests that let the driver fail (tests/random, tests/sweep). Any thread may call it.
 */
#ifndef WARMPOOL_TESTS_WATCHED_H
#define WARMPOOL_TESTS_WATCHED_H

#include "warmpool/backend.h"

#define WATCHED_ENTRY(entry) WATCHED_##entry,
typedef enum watched_entry { WP_BACKEND_LIST(WATCHED_ENTRY) WATCHED_ENTRIES } watched_entry;
#undef WATCHED_ENTRY
const char *watched_name(watched_entry entry);

typedef struct watched_hooks {
  /* Runs before each entry on the calling thread. WP_OK lets the call through; another status is the entry's answer.
   * A destruction is done in either case, for the library does not try twice. Not asked for last_error. */
  wp_status (*before)(watched_entry entry);
  /* Runs for each driver allocation; with 0 bytes, before its free. May be NULL. */
  void (*memory)(void *address, size_t bytes);
  /* Runs after each stream_create, event_record and event_wait that succeeded, and before each stream_destroy, with
   * their arguments. May be NULL. */
  void (*order)(watched_entry entry, wp_stream stream, wp_event event);
} watched_hooks;

/* Of the hook's thread: what the entry is about; only during event_query and event_synchronize. */
wp_event watched_event(void);

/* The vtable in front of `inner`. There is one in a process; both arguments stay valid. */
const wp_backend *watched_backend(const wp_backend *inner, const watched_hooks *hooks);

/* What the library has made through it and not given back. */
typedef struct watched_objects {
  long streams, events, pools, blocks;
} watched_objects;
watched_objects watched_left(void);

/* The statuses that the entry may fail with at any time, at most WATCHED_STATUSES; how many there are. */
enum { WATCHED_STATUSES = 5 };
unsigned watched_statuses(watched_entry entry, wp_status out[WATCHED_STATUSES]);

#endif
