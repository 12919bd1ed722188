/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timelines: what a stream is behind its handle.
 *
 * Every launch, wait and free takes the next sequence number. Launches and waits for something unfinished are queued
 * for the timeline's worker thread; all else is finished as soon as what was queued before it is. So `completed` runs
 * up to `submitted` whenever the queue is empty, and a free on an idle stream is finished at once.
 *
 * What a synchronisation observes. A free at sequence n of a timeline is observed when `observed` >= n. A timeline
 * carries marks for the other timelines that it waited for: how much of their frees lies before it. Synchronising
 * a point (a stream as it is now, an event) observes the frees of its timeline up to there and those it has marks for.
 */
#ifndef WARMPOOL_HOST_TIMELINE_H
#define WARMPOOL_HOST_TIMELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/os.h"
#include "engine.h"

struct wp__host_place;
struct wp__host_timeline;
struct wp__host_work;

/* What a stream and the legacy stream of its device owe each other. */
enum wp__host_manner { WP__HOST_NON_BLOCKING, WP__HOST_BLOCKING, WP__HOST_LEGACY };

/* "The frees of `timeline` up to `sequence`." Holds a reference. */
struct wp__host_mark {
  struct wp__host_timeline *timeline;
  uint64_t sequence;
};

/* At most one mark for a timeline, none for the owner. */
struct wp__host_clock {
  struct wp__host_mark *marks;
  size_t count, capacity;
};

struct wp__host_timeline {
  atomic_uint references;
  int device;
  enum wp__host_manner manner;
  uint64_t id;
  /* Written under the engine's lock, read anywhere. */
  atomic_uint_least64_t completed;
  atomic_uint_least64_t observed;
  atomic_bool closed; /* the handle is gone: nothing more is submitted */
  /* The engine's lock guards the rest. */
  uint64_t submitted;
  uint64_t last_free;
  bool has_worker;
  struct wp__host_work *first, *last; /* the first one is running */
  struct wp__host_clock clock;
  struct wp__host_place *place; /* in a capture; NULL: what is sent runs */
  /* Of a blocking one: how far the legacy stream waits for it, and how far it waits for the legacy stream. */
  uint64_t legacy_has, has_of_legacy;
  bool is_listed;
  struct wp__host_timeline *previous, *next; /* among the device's, until it has ended */
  wp__cond work;                             /* something was queued, or the timeline was closed */
  wp__cond progress;                         /* `completed` has moved */
};

/* A place in stream order and the marks there. Never changes. */
struct wp__host_point {
  atomic_uint references;
  struct wp__host_timeline *timeline;
  uint64_t sequence;
  uint64_t last_free; /* the last one at or before `sequence` */
  size_t count;
  struct wp__host_mark marks[];
};

/* The engine's lock: timelines, events, handle tables, the list of pools. */
extern wp__mutex wp__host_lock;

/* -- timeline.c -- */

/* With one reference. */
void wp__host_timeline_init(struct wp__host_timeline *timeline, int device, enum wp__host_manner manner, uint64_t id);
/* With the next id, and in its device's list; NULL when out of host memory. */
struct wp__host_timeline *wp__host_timeline_create(int device, enum wp__host_manner manner);
void wp__host_timeline_retain(struct wp__host_timeline *timeline);
void wp__host_timeline_release(struct wp__host_timeline *timeline); /* NULL is fine */
void wp__host_timeline_close(struct wp__host_timeline *timeline); /* and drops the handle's reference; takes the lock */
bool wp__host_timeline_passed(struct wp__host_timeline *timeline, uint64_t sequence);
uint64_t wp__host_timeline_submit_free(struct wp__host_timeline *timeline); /* its sequence; takes the lock */
/* `release` (NULL: nothing) gets the argument after the function; not when the launch fails. */
wp__host_result wp__host_timeline_launch(struct wp__host_timeline *timeline, void (*function)(void *),
                                         void (*release)(void *), void *argument);
/* Under the engine's lock. */
wp__host_result wp__host_timeline_wait_locked(struct wp__host_timeline *timeline, struct wp__host_point *point);
wp__host_result wp__host_timeline_synchronize(struct wp__host_timeline *timeline);
void wp__host_point_synchronize(struct wp__host_point *point);

/* -- order.c; the engine's lock is held -- */

void wp__host_order_enlist(struct wp__host_timeline *timeline);
void wp__host_order_delist(struct wp__host_timeline *timeline); /* if it is listed */
struct wp__host_timeline *wp__host_order_first(int device); /* then by `next`; the legacy stream's is none of them */
/* The device's timeline with the lowest id above `id`, NULL if there is none; the legacy stream's is the first. */
struct wp__host_timeline *wp__host_order_next(int device, uint64_t id);
/* Puts what is submitted next to the timeline behind all that it owes others: the legacy stream's behind the blocking
 * streams', and these behind the legacy stream's. OUT_OF_HOST_MEMORY, if lenient only where others have not finished:
 * their frees then stay for another synchronisation to observe. */
wp__host_result wp__host_order_join(struct wp__host_timeline *timeline, bool is_lenient);

/* -- clock.c; the engine's lock is held, except for point_release -- */

void wp__host_clock_clear(struct wp__host_clock *clock);
void wp__host_clock_prune(struct wp__host_clock *clock);
/* Adds what `point` has before it to the owner's clock; false, and nothing is changed, when out of host memory. */
bool wp__host_clock_join(struct wp__host_timeline *owner, const struct wp__host_point *point);
struct wp__host_point *wp__host_point_take(struct wp__host_timeline *timeline); /* now; NULL when out of host memory */
void wp__host_point_retain(struct wp__host_point *point);
void wp__host_point_release(struct wp__host_point *point);       /* NULL is fine */
bool wp__host_point_observe(const struct wp__host_point *point); /* whether frees were observed that had not been */

#endif
