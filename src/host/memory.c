/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "error.h"
#include "pool.h"
#include "stream.h"

/* False when that is more than there can be. */
static bool round_up(size_t bytes, size_t step, size_t *out) {
  if (bytes > SIZE_MAX - (step - 1)) return false;
  *out = (bytes + step - 1) / step * step;
  return true;
}

/* -- the pool's lock is held -- */

static wp__host_result hand_out(struct wp__host_block *block, size_t bytes) {
  wp__host_pool_figures *figures = &block->segment->pool->figures;
  if (!wp__host_block_carve(block, bytes)) return WP__HOST_OUT_OF_HOST_MEMORY;
  figures->used += bytes;
  if (figures->used_peak < figures->used) figures->used_peak = figures->used;
  return WP__HOST_SUCCESS;
}

static struct wp__host_block *find(struct wp__host_pool *pool, size_t bytes, struct wp__host_timeline *timeline) {
  struct wp__host_block *block = wp__host_block_find(pool, bytes, timeline);
  if (block != NULL || atomic_load(&pool->unobserved) == 0) return block;
  wp__host_blocks_merge(pool); /* work has finished since they were freed */
  return wp__host_block_find(pool, bytes, timeline);
}

/* -- no lock is held -- */

/* A segment for `bytes`, if need be in place of all that the pool can spare. */
static wp__host_result map_segment(struct wp__host_pool *pool, size_t bytes, struct wp__host_segment **out) {
  size_t size;
  if (!round_up(bytes, WP__HOST_SEGMENT_STEP, &size)) return WP__HOST_OUT_OF_MEMORY;
  wp__host_result result = wp__host_segment_create(pool, size, out);
  if (result != WP__HOST_OUT_OF_MEMORY) return result;
  wp__mutex_lock(&pool->lock);
  struct wp__host_segment *spare = wp__host_segments_take_finished(pool);
  wp__mutex_unlock(&pool->lock);
  if (spare == NULL) return result;
  wp__host_segments_destroy(spare);
  return wp__host_segment_create(pool, size, out);
}

static wp__host_result allocate_anew(struct wp__host_pool *pool, size_t bytes, struct wp__host_block **out) {
  struct wp__host_segment *segment;
  wp__host_result result = map_segment(pool, bytes, &segment);
  if (result != WP__HOST_SUCCESS) return result;
  wp__mutex_lock(&pool->lock);
  bool is_late = pool->is_destroyed;
  if (!is_late) {
    struct wp__host_block *block = segment->first;
    wp__host_segment_insert(segment);
    result = hand_out(block, bytes);
    if (result == WP__HOST_SUCCESS) *out = block;
  }
  wp__mutex_unlock(&pool->lock);
  if (!is_late) return result;
  wp__host_segments_destroy(segment);
  return WP__HOST_INVALID_VALUE;
}

static wp__host_result allocate(struct wp__host_pool *pool, size_t bytes, struct wp__host_timeline *timeline,
                                struct wp__host_block **out) {
  size_t size;
  if (pool->device != timeline->device) return WP__HOST_INVALID_VALUE;
  if (!round_up(bytes, WP__HOST_ALLOCATION_STEP, &size)) return WP__HOST_OUT_OF_MEMORY;
  wp__mutex_lock(&pool->lock);
  struct wp__host_block *block = find(pool, size, timeline);
  wp__host_result result = block == NULL ? WP__HOST_SUCCESS : hand_out(block, size);
  wp__mutex_unlock(&pool->lock);
  if (block == NULL) return allocate_anew(pool, size, out);
  if (result == WP__HOST_SUCCESS) *out = block;
  return result;
}

static wp__host_result allocate_now(struct wp__host_pool *pool, size_t bytes, struct wp__host_timeline *timeline,
                                    void **out) {
  struct wp__host_block *block = NULL;
  wp__host_result result = wp__host_capture_guard();
  if (result == WP__HOST_SUCCESS) result = allocate(pool, bytes, timeline, &block);
  if (result != WP__HOST_SUCCESS) return result;
  *out = block->address;
  wp__host_block_map_add(block);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_memory_alloc(void *pool, size_t bytes, void *stream, void **out) {
  struct wp__host_timeline *timeline;
  struct wp__host_pool *from;
  bool is_captured;
  if (out == NULL) return wp__host_finish(WP__HOST_INVALID_VALUE);
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = wp__host_pool_acquire(pool, &from);
  if (result == WP__HOST_SUCCESS) {
    result = wp__host_capture_enter(timeline, &is_captured);
    if (result == WP__HOST_SUCCESS && bytes == 0) {
      *out = NULL;
    } else if (result == WP__HOST_SUCCESS) {
      result =
          is_captured ? wp__host_graph_capture_alloc(timeline, bytes, out) : allocate_now(from, bytes, timeline, out);
    }
    wp__host_pool_release(from);
  }
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}

/* The block is nobody's but the caller's; its memory holds the pool until it is free. */
static void give_back(struct wp__host_block *block, struct wp__host_timeline *timeline) {
  struct wp__host_pool *pool = block->segment->pool;
  wp__host_pool_retain(pool);
  wp__mutex_lock(&pool->lock);
  pool->figures.used -= block->bytes;
  wp__host_block_free(block, timeline, wp__host_timeline_submit_free(timeline));
  wp__mutex_unlock(&pool->lock);
  wp__host_pools_reap();
  wp__host_pool_release(pool);
}

static wp__host_result free_now(void *memory, struct wp__host_timeline *timeline) {
  wp__host_result result = wp__host_capture_guard();
  if (result != WP__HOST_SUCCESS) return result;
  struct wp__host_block *block = wp__host_block_map_take(memory, timeline->device);
  if (block == NULL) return wp__host_graph_memory_free(timeline, memory) ? WP__HOST_SUCCESS : WP__HOST_INVALID_VALUE;
  give_back(block, timeline);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_memory_free(void *memory, void *stream) {
  struct wp__host_timeline *timeline;
  bool is_captured;
  wp__host_result result = wp__host_stream_acquire(stream, &timeline);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  result = wp__host_capture_enter_leniently(timeline, &is_captured);
  if (result == WP__HOST_SUCCESS && memory != NULL) {
    result = is_captured ? wp__host_graph_capture_free(timeline, memory) : free_now(memory, timeline);
  }
  wp__host_timeline_release(timeline);
  return wp__host_finish(result);
}
