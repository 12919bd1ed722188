/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of graphs. A bay is a lane for one stream of a capture, in the record of a stream that nobody can name: its
 * memory has been finished with before it came here, and is sealed: nobody else takes it. An arena is the bays of
 * graphs that never run at the same time; when the last of those has been released and has finished, the bays are open
 * like the lane of a stream that is gone, and serve the next arenas.
 */
#ifndef WARMPOOL_COMMON_ARENA_H
#define WARMPOOL_COMMON_ARENA_H

#include "device.h"

typedef struct wp__arena {
  wp__device *device;
  /* With the device's lock. */
  wp__stream *bays;
  unsigned users;   /* captures, and graphs that are not released */
  unsigned holders; /* these, and graphs that are released and may still run */
} wp__arena;

wp__arena *wp__arena_create(wp__device *device); /* with one user; NULL: out of host memory */
/* One user and holder more. */
void wp__arena_share(wp__arena *arena);
/* A user less: with the last one what is idle in the bays counts as parked, until the arena is left. */
void wp__arena_release(wp__arena *arena);
/* A holder less, who was a user and is none any more; the last one opens the bays, and the arena is gone. With
 * WP_CACHING_DRIVER what is in them goes to the driver's pool; the device is current, or lost. */
void wp__arena_leave(wp__arena *arena);

/* A bay that no stream of a capture has, for one of the given name. NULL: out of host memory. */
wp__stream *wp__arena_take_bay(wp__arena *arena, wp_stream name);
void wp__arena_give_bay(wp__arena *arena, wp__stream *bay);

#endif
