/* SPDX-License-Identifier: Apache-2.0 */
#include "home.h"

#include "free.h"
#include "graph_memory.h"
#include "lanes.h"
#include "runtime.h"
#include "segment.h"
#include "uses.h"

/* -- the queue -- */

static void push(wp__device *device, wp__block *block) {
  block->queue = NULL;
  wp__mutex_lock(&device->lock);
  if (device->parked_last != NULL) {
    device->parked_last->queue = block;
  } else {
    device->parked_first = block;
  }
  device->parked_last = block;
  (void)atomic_fetch_add(&device->parked_count, 1);
  wp__mutex_unlock(&device->lock);
}

static wp__block *pop(wp__device *device) {
  wp__mutex_lock(&device->lock);
  wp__block *block = device->parked_first;
  if (block != NULL) {
    device->parked_first = block->queue;
    if (block->queue == NULL) device->parked_last = NULL;
    (void)atomic_fetch_sub(&device->parked_count, 1);
  }
  wp__mutex_unlock(&device->lock);
  return block;
}

/* -- what becomes of a parked block -- */

/* Whether the use has finished, in the end. */
static wp_status see_use(wp__device *device, const wp__use *use, wp_wait wait, uint64_t *waited_ns, bool *complete) {
  wp_status status = wp__use_ask(device, use, complete);
  if (status != WP_OK || *complete || wait == WP_NO_WAIT || wp__use_is_mute(use)) return status;
  uint64_t start = wp__clock_ns();
  status = wp__use_wait(device, use, complete);
  *waited_ns += wp__clock_ns() - start;
  return status;
}

/* Drops the uses that have finished; WP_PENDING if one has not. */
static wp_status finish_uses(wp__device *device, wp__block *block, wp_wait wait, uint64_t *waited_ns) {
  while (block->uses != NULL) {
    bool complete = false;
    wp_status status = see_use(device, block->uses, wait, waited_ns, &complete);
    if (status != WP_OK) return status;
    if (!complete) return WP_PENDING;
    wp__use_drop(device, block, &block->uses);
  }
  return WP_OK;
}

void wp__home_mark(wp__device *device) {
  atomic_store(&device->home_dirty, true);
  if (atomic_load(&device->open_delegates) == 0) atomic_store(&device->release_due, true);
}

/* A block of a lane's is warm again, and as finished as the lane's memory was before it was handed out. */
static void return_to_lane(wp__device *device, wp__block *block) {
  wp__lane *lane = &atomic_load(&block->origin)->lane;
  uint64_t bytes = block->range.bytes;
  wp__spin_lock(&lane->lock);
  lane->parked_bytes -= bytes;
  wp__lane_push(lane, block);
  bool is_leaving = lane->seal == WP__LANE_LEAVING; /* it stays parked until its graph has left the lane */
  if (is_leaving) lane->leaving_bytes += bytes;
  wp__spin_unlock(&lane->lock);
  if (!is_leaving) wp__counter_sub(&device->parked_bytes, bytes);
  if (atomic_load(&device->open_delegates) == 0) atomic_store(&device->release_due, true);
  if (device->bounded) atomic_store(&device->excess_due, true);
}

static wp_status free_on_home(wp__device *device, wp__block *block) {
  wp_status status = wp__free_in_driver(device, block, device->home, false);
  if (status != WP_OK) return status;
  wp__home_mark(device); /* before the bytes leave `parked`: a release looks at both */
  wp__segments_empty_pool(device);
  uint64_t bytes = atomic_load(&block->bytes);
  wp__counter_sub(&device->parked_bytes, bytes);
  wp__counter_sub(&device->held_bytes, bytes);
  if (block->captured) {
    wp__block_rest(block); /* a launch of its graph may bring it back */
  } else {
    wp__block_drop(&device->runtime->blocks, block);
  }
  return WP_OK;
}

/* Nothing uses it any more. */
static wp_status go_on(wp__device *device, wp__block *block) {
  if (block->class == WP__CLASS_OF_GRAPH) {
    wp__graph_finished(device, block);
    return WP_OK;
  }
  if (!wp__block_is_of_lane(block)) return free_on_home(device, block);
  return_to_lane(device, block);
  wp__lanes_empty(device);
  return WP_OK;
}

/* Some drivers free nothing while a stream captures; later they do. */
static wp_status not_yet(wp_status status) {
  if (status != WP_ERROR_CAPTURING) return status;
  (void)wp__fault_absorb();
  return WP_PENDING;
}

/* One step for one block; it is parked again unless it went to the driver (WP_OK). */
static wp_status advance(wp__device *device, wp__block *block, wp_wait wait, uint64_t *waited_ns) {
  wp_status status = finish_uses(device, block, wait, waited_ns);
  if (status == WP_OK) status = go_on(device, block);
  if (status != WP_OK) push(device, block);
  return not_yet(status);
}

/* In the background of a call that succeeds whatever comes of it. */
void wp__home_park(wp__device *device, wp__block *block) {
  uint64_t waited_ns = 0;
  wp_status status = advance(device, block, WP_NO_WAIT, &waited_ns);
  if (status > WP_PENDING) wp__log_fault(device->runtime, "a freed block could not go to the driver yet");
}

void wp__home_poll(wp__device *device) {
  if (atomic_load_explicit(&device->parked_count, memory_order_relaxed) == 0) return;
  wp__block *block = pop(device);
  if (block != NULL) wp__home_park(device, block);
}

void wp__home_look(wp__device *device) {
  enum { LOOKS = 64 };
  unsigned parked = atomic_load(&device->parked_count);
  for (unsigned look = 0; look < LOOKS && look < parked; look++) wp__home_poll(device);
}

/* Takes a step with as many blocks as there are now: one that stays goes to the end of the queue and is not met twice.
 * Whether a graph has finished. */
static bool collect(wp__device *device, wp_wait wait, uint64_t *waited_ns, wp_status *first) {
  bool has_graph = false;
  for (unsigned left = atomic_load(&device->parked_count); left > 0; left--) {
    wp__block *block = pop(device);
    if (block == NULL) break;
    bool is_graph = block->class == WP__CLASS_OF_GRAPH;
    wp_status status = advance(device, block, wait, waited_ns);
    has_graph = has_graph || (is_graph && status == WP_OK);
    *first = wp__both(*first, status);
  }
  return has_graph;
}

wp_status wp__home_collect(wp__device *device, wp_wait wait, uint64_t *waited_ns) {
  wp_status first = WP_OK;
  bool has_graph = collect(device, wait, waited_ns, &first);
  /* What graphs kept is parked now. Not again and again: others may go on releasing graphs. */
  if (has_graph && wait == WP_WAIT) (void)collect(device, wait, waited_ns, &first);
  return first > WP_PENDING ? first : WP_OK;
}

wp_status wp__home_synchronize(wp__device *device) {
  if (!atomic_exchange(&device->home_dirty, false)) return WP_OK;
  wp_status status = WP__CALL(device->runtime, device->ordinal, stream_synchronize, device->home);
  if (status != WP_OK) atomic_store(&device->home_dirty, true);
  return status;
}

/* A capture has left a stream that used it, and nobody can know whether that has finished. */
static bool is_left(const wp__block *block) {
  const wp__use *use = block->uses;
  while (use != NULL && !wp__use_is_left(use)) use = use->next;
  return use != NULL;
}

wp_status wp__home_abandon(wp__device *device) {
  wp_runtime *runtime = device->runtime;
  wp_status first = WP_OK;
  wp__block *block, *left = NULL;
  while ((block = pop(device)) != NULL) {
    wp_status status = WP_OK;
    if (is_left(block)) {
      wp__uses_drop(device, block);
      if (block->class == WP__CLASS_OF_GRAPH) wp__graph_uses_drop(device, block);
      block->queue = left;
      left = block;
      continue;
    }
    for (wp__use *use = block->uses; use != NULL; use = use->next) {
      if (wp__use_is_mute(use)) continue; /* and not left: it has finished */
      status = wp__both(status, WP__CALL(runtime, device->ordinal, event_wait, device->home, use->event));
    }
    wp__uses_drop(device, block);
    /* Freed without its order only if the driver refused the order; kept for ever otherwise. */
    status = wp__both(status, not_yet(go_on(device, block)));
    first = wp__both(first, status);
  }
  while ((block = left) != NULL) { /* their memory is left to the driver */
    left = block->queue;
    push(device, block);
  }
  return first;
}

void wp__home_forget(wp__device *device) {
  wp__block *block;
  while ((block = pop(device)) != NULL) {
    wp__uses_forget(block);
    if (block->class == WP__CLASS_OF_GRAPH) {
      wp__graph_finished(device, block);
      continue;
    }
    uint64_t bytes = atomic_load(&block->bytes);
    wp__counter_sub(&device->parked_bytes, bytes);
    if (!wp__block_is_of_lane(block)) wp__counter_sub(&device->held_bytes, bytes);
    if (block->captured || wp__block_is_of_lane(block)) {
      (void)wp__map_set(&device->runtime->blocks.map, atomic_load(&block->ptr), NULL);
    }
    wp__block_drop(&device->runtime->blocks, block);
  }
}
