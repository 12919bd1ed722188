/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted vtable for the unit tests. It keeps just enough of a driver's state to answer sensibly, logs every call,
 * fails the call it is told to fail, and aborts where the library breaks a rule of backend.h: a lock held across a
 * call, an object of another device, an event recorded on a capturing stream (or asked for, without
 * WP_CAP_CAPTURES_END), a stream touched that is gone, an object used after its destruction. Nothing ever blocks: to
 * wait for busy work makes it finish, and is counted.
 *
 * One state per process: Criterion runs each test in a process of its own.
 */
#ifndef WARMPOOL_TESTS_UNIT_FAKE_H
#define WARMPOOL_TESTS_UNIT_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warmpool/warmpool.h"

/* Script; to be set before or between calls of the library. */
typedef struct fake_script {
  int devices;            /* 2 */
  uint32_t capabilities;  /* all */
  uint64_t device_memory; /* bytes each; 1 GiB */
  bool null_when_full;    /* exhaustion is success with NULL */
  bool refuse_pools;      /* pool_create answers WP_ERROR_NOT_SUPPORTED */
  bool odd_addresses;     /* memory_alloc answers addresses that no map can hold */
  bool captures_forbid;   /* memory_free answers WP_ERROR_CAPTURING */
} fake_script;
extern fake_script fake;

extern const wp_backend fake_backend;

void fake_reset(void); /* as at the start of the process */

/* -- user's streams -- */

wp_stream fake_stream(int device);
void fake_stream_die(wp_stream stream);           /* destroyed by the user; what is busy stays so */
wp_stream fake_stream_recycled(wp_stream stream); /* destroyed, and its handle given out for a new one */
void fake_stream_busy(wp_stream stream);          /* what is submitted from now on does not finish */
void fake_stream_idle(wp_stream stream);          /* all of it has finished */
void fake_all_idle(void);                         /* that of streams that are gone, too */
void fake_stream_capture(wp_stream stream, bool capturing);
void fake_legacy_implicit(int device, bool implicit); /* a blocking stream of the device is being captured */
void fake_next_address(void *ptr);                    /* of what is mapped next */
void fake_graph_launch(int device);                   /* all that was captured there runs */
void fake_graph_destroy(int device);                  /* what is live stays so */
void fake_stream_never(wp_stream stream);             /* to wait for it is a violation */

/* -- failures -- */

/* The nth call of `entry` (NULL: of any) from now on answers `status` and does nothing. */
void fake_fail(const char *entry, int nth, wp_status status);
bool fake_failed(void); /* it has happened */

/* -- what the library did -- */

int fake_count(const char *entry); /* since fake_forget; NULL: all */
void fake_forget(void);
/* The calls since fake_forget as "a b c", those that only ask (device_current, ...usage, ...query and the like) left
 * out where `quiet`. A static buffer. */
const char *fake_log(bool quiet);
/* The same without those, each call that names a stream as "entry:NAME": "home" for one of the library's, otherwise a
 * letter, 's' for the first of the user's streams, 't' for the second, and so on; 0, 1 and 2 for the special ones. */
const char *fake_steps(void);
int fake_waits(void);                /* how often it waited for busy work */
int fake_objects(void);              /* streams, events and pools of the library's that exist */
int fake_blocks(void);               /* driver blocks that are not freed */
uint64_t fake_reserved(int device);  /* bytes, all pools */
uint64_t fake_threshold(int device); /* of the newest pool */
int fake_current(void);              /* the thread's current device */
void fake_set_current(int device);
bool fake_named(wp_stream stream); /* whether any call since fake_forget named it */

#endif
