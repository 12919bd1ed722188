/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include "lanes.h"

wp__arena *wp__arena_create(wp__device *device) {
  wp__arena *arena = wp__os_calloc(1, sizeof *arena);
  if (arena == NULL) return NULL;
  arena->device = device;
  arena->users = arena->holders = 1;
  return arena;
}

void wp__arena_share(wp__arena *arena) {
  wp__mutex_lock(&arena->device->lock);
  arena->users++;
  arena->holders++;
  wp__mutex_unlock(&arena->device->lock);
}

/* -- bays -- */

static void seal(wp__stream *bay) {
  wp__spin_lock(&bay->lane.lock);
  bay->lane.seal = WP__LANE_SEALED;
  wp__spin_unlock(&bay->lane.lock);
}

/* Idle bytes leave what graphs hold, and are parked. */
static void begin_leaving(wp__device *device, wp__stream *bay) {
  wp__counts counts;
  wp__lane *lane = &bay->lane;
  wp__spin_lock(&lane->lock);
  wp__lane_sum(lane, &counts);
  lane->leaving_bytes = wp__lane_idle(lane, &counts);
  lane->seal = WP__LANE_LEAVING;
  (void)wp__counter_add(&device->parked_bytes, lane->leaving_bytes);
  wp__spin_unlock(&lane->lock);
}

static void open_bay(wp__device *device, wp__stream *bay) {
  wp__lane *lane = &bay->lane;
  wp__spin_lock(&lane->lock);
  wp__counter_raise(&bay->recorded, wp__counter_get(&bay->freed));
  wp__counter_raise(&bay->observed, wp__counter_get(&bay->freed));
  lane->seal = WP__LANE_OPEN;
  wp__counter_sub(&device->parked_bytes, lane->leaving_bytes);
  lane->leaving_bytes = 0;
  wp__spin_unlock(&lane->lock);
}

void wp__arena_release(wp__arena *arena) {
  wp__device *device = arena->device;
  wp__mutex_lock(&device->lock);
  bool is_last = --arena->users == 0;
  for (wp__stream *bay = arena->bays; is_last && bay != NULL; bay = bay->next_bay) begin_leaving(device, bay);
  wp__mutex_unlock(&device->lock);
}

void wp__arena_leave(wp__arena *arena) {
  wp__device *device = arena->device;
  wp__mutex_lock(&device->lock);
  bool is_last = --arena->holders == 0;
  while (is_last && arena->bays != NULL) {
    wp__stream *bay = arena->bays;
    arena->bays = bay->next_bay;
    open_bay(device, bay);
    bay->next_bay = device->spare_bays;
    device->spare_bays = bay;
  }
  wp__mutex_unlock(&device->lock);
  if (!is_last) return;
  wp__os_free(arena);
  if (atomic_load(&device->lost)) return;
  if (device->bounded) atomic_store(&device->excess_due, true);
  wp__lanes_empty(device);
}

/* With the device's lock. One of the arena's own that is free, or one that has served an arena before. */
static wp__stream *find_bay(wp__arena *arena) {
  wp__device *device = arena->device;
  wp__stream *bay = arena->bays;
  while (bay != NULL && bay->is_taken) bay = bay->next_bay;
  if (bay != NULL || device->spare_bays == NULL) return bay;
  bay = device->spare_bays;
  device->spare_bays = bay->next_bay;
  bay->next_bay = arena->bays;
  arena->bays = bay;
  return bay;
}

wp__stream *wp__arena_take_bay(wp__arena *arena, wp_stream name) {
  wp__device *device = arena->device;
  wp__mutex_lock(&device->lock);
  wp__stream *bay = find_bay(arena);
  if (bay == NULL && (bay = wp__stream_make_bay(device)) != NULL) {
    bay->next_bay = arena->bays;
    arena->bays = bay;
  }
  if (bay != NULL) {
    bay->is_taken = true;
    (void)wp__counter_add(&bay->epoch, 1); /* blocks that are live there from before are from outside */
    bay->name = name;
    seal(bay);
  }
  wp__mutex_unlock(&device->lock);
  return bay;
}

void wp__arena_give_bay(wp__arena *arena, wp__stream *bay) {
  wp__mutex_lock(&arena->device->lock);
  bay->is_taken = false;
  wp__mutex_unlock(&arena->device->lock);
}
