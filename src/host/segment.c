/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "pool.h"

wp__host_result wp__host_segment_create(struct wp__host_pool *pool, size_t bytes, struct wp__host_segment **out) {
  struct wp__host_segment *segment = wp__os_calloc(1, sizeof *segment);
  struct wp__host_block *block = wp__os_calloc(1, sizeof *block);
  wp__host_result result = WP__HOST_OUT_OF_HOST_MEMORY;
  if (segment == NULL || block == NULL) goto out_of_host_memory;
  segment->address = wp__host_device_map(pool->device, bytes);
  result = WP__HOST_OUT_OF_MEMORY;
  if (segment->address == NULL) goto out_of_memory;
  segment->pool = pool;
  segment->bytes = bytes;
  segment->first = block;
  block->address = segment->address;
  block->bytes = bytes;
  block->segment = segment;
  *out = segment;
  return WP__HOST_SUCCESS;

out_of_memory:
out_of_host_memory:
  wp__os_free(block);
  wp__os_free(segment);
  return result;
}

void wp__host_segments_destroy(struct wp__host_segment *list) {
  for (struct wp__host_segment *segment = list, *next; segment != NULL; segment = next) {
    next = segment->next;
    wp__host_device_unmap(segment->pool->device, segment->address, segment->bytes);
    for (struct wp__host_block *block = segment->first, *after; block != NULL; block = after) {
      after = block->after;
      wp__os_free(block);
    }
    wp__os_free(segment);
  }
}

void wp__host_segment_insert(struct wp__host_segment *segment) {
  struct wp__host_pool *pool = segment->pool;
  segment->previous = NULL;
  segment->next = pool->segments;
  if (pool->segments != NULL) pool->segments->previous = segment;
  pool->segments = segment;
  wp__host_block_bin(segment->first);
  pool->figures.reserved += segment->bytes;
  if (pool->figures.reserved_peak < pool->figures.reserved) pool->figures.reserved_peak = pool->figures.reserved;
}

static void remove_segment(struct wp__host_segment *segment) {
  struct wp__host_pool *pool = segment->pool;
  if (segment->previous == NULL) {
    pool->segments = segment->next;
  } else {
    segment->previous->next = segment->next;
  }
  if (segment->next != NULL) segment->next->previous = segment->previous;
  for (struct wp__host_block *block = segment->first; block != NULL; block = block->after) {
    wp__host_block_unbin(block);
    wp__host_block_settle(block);
  }
  pool->figures.reserved -= segment->bytes;
}

static bool is_observed(const struct wp__host_segment *segment) {
  for (struct wp__host_block *block = segment->first; block != NULL; block = block->after) {
    if (block->timeline != NULL) return false;
  }
  return true;
}

static bool is_finished(const struct wp__host_segment *segment) {
  for (struct wp__host_block *block = segment->first; block != NULL; block = block->after) {
    if (!wp__host_block_serves(block, NULL)) return false;
  }
  return true;
}

static struct wp__host_segment *take(struct wp__host_pool *pool, uint64_t keep,
                                     bool (*may_go)(const struct wp__host_segment *)) {
  struct wp__host_segment *taken = NULL;
  for (struct wp__host_segment *segment = pool->segments, *next; segment != NULL; segment = next) {
    next = segment->next;
    if (pool->figures.reserved <= keep) break;
    if (segment->live_blocks != 0 || !may_go(segment)) continue;
    remove_segment(segment);
    segment->next = taken;
    taken = segment;
  }
  return taken;
}

struct wp__host_segment *wp__host_segments_take_observed(struct wp__host_pool *pool, uint64_t keep) {
  return take(pool, keep, is_observed);
}

struct wp__host_segment *wp__host_segments_take_finished(struct wp__host_pool *pool) {
  return take(pool, 0, is_finished);
}
