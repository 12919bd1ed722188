/* SPDX-License-Identifier: Apache-2.0 */
/* wp_device_lost: a device was reset outside. Everything of it is forgotten, and the driver is told nothing. */
#include "delegate.h"
#include "free.h"
#include "home.h"
#include "lanes.h"
#include "runtime.h"
#include "uses.h"

static void forget_block(wp__device *device, wp__block *block, bool was_live) {
  wp__blocks *blocks = &device->runtime->blocks;
  wp_delegate *delegate = atomic_load(&block->delegate);
  uint64_t bytes = atomic_load(&block->bytes);
  (void)wp__map_set(&blocks->map, atomic_load(&block->ptr), NULL);
  wp__uses_forget(block);
  wp__block_drop(blocks, block);
  if (!was_live) return;
  wp__count_free(device, delegate, bytes, false);
  wp__counter_sub(&device->held_bytes, bytes);
}

/* A live block of a lane's. */
static void forget_block_of_lane(wp__device *device, wp__block *block) {
  wp__blocks *blocks = &device->runtime->blocks;
  wp__tally *tally = block->tally;
  wp_delegate *delegate = tally->delegate;
  wp__lane *lane = &atomic_load(&block->origin)->lane;
  wp__limits_unclaim(delegate, device, block->range.bytes);
  (void)wp__map_set(&blocks->map, block->range.address, NULL);
  wp__uses_forget(block);
  wp__spin_lock(&lane->lock);
  wp__tally_free(tally, block->range.bytes);
  wp__spin_unlock(&lane->lock);
  wp__block_drop(blocks, block);
  wp__delegate_settle(delegate);
}

/* The record leaves the devices in use; open delegates still point to it. */
static wp__device *take_out(wp_runtime *runtime, int ordinal) {
  wp__slots *slots = atomic_load(&runtime->slots);
  wp__mutex_lock(&runtime->lock);
  wp__device *device = atomic_exchange(&slots->slots[ordinal].device, NULL);
  if (device != NULL) {
    atomic_store(&device->lost, true);
    device->next_lost = runtime->lost;
    runtime->lost = device;
    for (wp_delegate *delegate = runtime->delegates; delegate != NULL; delegate = delegate->next) {
      if (delegate->device == device) atomic_store(&delegate->life, 0); /* no call takes the warm path */
    }
  }
  wp__mutex_unlock(&runtime->lock);
  return device;
}

static wp_status lose(wp_runtime *runtime, int ordinal) {
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (ordinal < 0) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "%d is not an ordinal", ordinal);
  }
  wp__device *device = ordinal < wp__device_limit(runtime) ? take_out(runtime, ordinal) : NULL;
  if (device == NULL) return WP_OK;
  wp__lanes_forget(device);
  wp__block *block;
  for (uint32_t i = 0; (block = wp__block_at(&runtime->blocks, i)) != NULL; i++) {
    bool was_live;
    if (!wp__block_claim_on(block, device, &was_live)) continue;
    if (was_live) wp__trace_gone(runtime->trace, block, device->ordinal);
    if (wp__block_is_of_lane(block)) {
      forget_block_of_lane(device, block);
    } else {
      forget_block(device, block, was_live);
    }
  }
  wp__home_forget(device);
  return WP_OK;
}

wp_status wp_device_lost(wp_runtime *runtime, int device) {
  return wp__result("wp_device_lost", lose(runtime, device));
}
