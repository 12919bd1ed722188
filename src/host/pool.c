/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include "capture.h"
#include "device.h"
#include "error.h"
#include "slots.h"

/* Under the engine's lock. */
static struct wp__host_slots handles = WP__HOST_SLOTS_POOLS;
static struct wp__host_pool *all_pools; /* destroyed ones, too, until their last memory has gone */

static atomic_size_t destroyed_pools; /* of those in the list */

/* -- references -- */

static void retain_locked(struct wp__host_pool *pool) { ++pool->references; }

/* Whether the pool is to be deleted, outside the lock. */
static bool release_locked(struct wp__host_pool *pool) {
  if (--pool->references != 0) return false;
  if (pool->previous == NULL) {
    all_pools = pool->next;
  } else {
    pool->previous->next = pool->next;
  }
  if (pool->next != NULL) pool->next->previous = pool->previous;
  return true;
}

static void delete_pool(struct wp__host_pool *pool) {
  wp__mutex_destroy(&pool->lock);
  wp__os_free(pool);
}

void wp__host_pool_retain(struct wp__host_pool *pool) {
  wp__mutex_lock(&wp__host_lock);
  retain_locked(pool);
  wp__mutex_unlock(&wp__host_lock);
}

void wp__host_pool_release(struct wp__host_pool *pool) {
  wp__mutex_lock(&wp__host_lock);
  bool is_last = release_locked(pool);
  wp__mutex_unlock(&wp__host_lock);
  if (is_last) delete_pool(pool);
}

wp__host_result wp__host_pool_acquire(void *handle, struct wp__host_pool **out) {
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_pool *pool = wp__host_slots_get(&handles, handle);
  if (pool != NULL) retain_locked(pool);
  wp__mutex_unlock(&wp__host_lock);
  if (pool == NULL) return WP__HOST_INVALID_VALUE;
  *out = pool;
  return WP__HOST_SUCCESS;
}

/* The pool after `pool` (NULL: the first one), in exchange for the reference to `pool`. */
static struct wp__host_pool *step(struct wp__host_pool *pool) {
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_pool *next = pool == NULL ? all_pools : pool->next;
  if (next != NULL) retain_locked(next);
  bool is_last = pool != NULL && release_locked(pool);
  wp__mutex_unlock(&wp__host_lock);
  if (is_last) delete_pool(pool);
  return next;
}

/* -- giving memory back -- */

static void observed(struct wp__host_pool *pool) {
  struct wp__host_segment *segments = NULL;
  if (atomic_load(&pool->unobserved) == 0) return;
  wp__mutex_lock(&pool->lock);
  if (wp__host_blocks_settle(pool, WP__HOST_SETTLE_OBSERVED) != 0) {
    segments = wp__host_segments_take_observed(pool, pool->figures.threshold);
  }
  wp__mutex_unlock(&pool->lock);
  wp__host_segments_destroy(segments);
}

void wp__host_pools_observed(void) {
  for (struct wp__host_pool *pool = step(NULL); pool != NULL; pool = step(pool)) observed(pool);
}

static void reap(struct wp__host_pool *pool) {
  struct wp__host_segment *segments = NULL;
  bool is_emptied = false;
  wp__mutex_lock(&pool->lock);
  if (pool->is_destroyed && !pool->is_empty_for_good) {
    segments = wp__host_segments_take_finished(pool);
    pool->is_empty_for_good = is_emptied = pool->segments == NULL;
  }
  wp__mutex_unlock(&pool->lock);
  wp__host_segments_destroy(segments);
  if (!is_emptied) return;
  (void)atomic_fetch_sub(&destroyed_pools, 1);
  wp__host_pool_release(pool);
}

void wp__host_pools_reap(void) {
  if (atomic_load(&destroyed_pools) == 0) return;
  for (struct wp__host_pool *pool = step(NULL); pool != NULL; pool = step(pool)) reap(pool);
}

/* -- engine.h -- */

wp__host_result wp__host_pool_create(int device, void **out) {
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_device_check(device);
  if (result == WP__HOST_INVALID_DEVICE) result = WP__HOST_INVALID_VALUE;
  if (result == WP__HOST_SUCCESS) result = wp__host_capture_guard();
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  struct wp__host_pool *pool = wp__os_calloc(1, sizeof *pool);
  if (pool == NULL) return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  pool->device = device;
  pool->references = 2;
  wp__mutex_init(&pool->lock);
  wp__mutex_lock(&wp__host_lock);
  void *handle = wp__host_slots_put(&handles, pool);
  if (handle != NULL) {
    pool->next = all_pools;
    if (all_pools != NULL) all_pools->previous = pool;
    all_pools = pool;
  }
  wp__mutex_unlock(&wp__host_lock);
  if (handle == NULL) {
    delete_pool(pool);
    return wp__host_finish(WP__HOST_OUT_OF_HOST_MEMORY);
  }
  *out = handle;
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_pool_destroy(void *handle) {
  wp__host_result result = wp__host_capture_guard();
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&wp__host_lock);
  struct wp__host_pool *pool = wp__host_slots_remove(&handles, handle);
  wp__mutex_unlock(&wp__host_lock);
  if (pool == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__mutex_lock(&pool->lock);
  pool->is_destroyed = true;
  (void)atomic_fetch_add(&destroyed_pools, 1);
  wp__mutex_unlock(&pool->lock);
  reap(pool);
  wp__host_pool_release(pool);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_pool_set_threshold(void *handle, uint64_t bytes) {
  struct wp__host_pool *pool;
  wp__host_result result = wp__host_pool_acquire(handle, &pool);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&pool->lock);
  pool->figures.threshold = bytes;
  wp__mutex_unlock(&pool->lock);
  wp__host_pool_release(pool);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_pool_trim(void *handle, uint64_t keep_bytes) {
  struct wp__host_pool *pool;
  wp__host_result result = wp__host_capture_guard();
  if (result == WP__HOST_SUCCESS) result = wp__host_pool_acquire(handle, &pool);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&pool->lock);
  (void)wp__host_blocks_settle(pool, WP__HOST_SETTLE_ENDED);
  struct wp__host_segment *segments = wp__host_segments_take_observed(pool, keep_bytes);
  wp__mutex_unlock(&pool->lock);
  wp__host_segments_destroy(segments);
  wp__host_pool_release(pool);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_pool_measure(void *handle, wp__host_pool_figures *out) {
  struct wp__host_pool *pool;
  wp__host_result result = out == NULL ? WP__HOST_INVALID_VALUE : wp__host_pool_acquire(handle, &pool);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&pool->lock);
  *out = pool->figures;
  wp__mutex_unlock(&pool->lock);
  wp__host_pool_release(pool);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_pool_reset_peaks(void *handle, bool reserved, bool used) {
  struct wp__host_pool *pool;
  wp__host_result result = wp__host_pool_acquire(handle, &pool);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&pool->lock);
  if (reserved) pool->figures.reserved_peak = pool->figures.reserved;
  if (used) pool->figures.used_peak = pool->figures.used;
  wp__mutex_unlock(&pool->lock);
  wp__host_pool_release(pool);
  return WP__HOST_SUCCESS;
}
