/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_memory.h"

#include "home.h"
#include "lanes.h"
#include "release.h"
#include "runtime.h"
#include "uses.h"

static void drop(wp_graph_memory *memory) {
  if (memory->record != NULL) wp__block_drop(&memory->device->runtime->blocks, memory->record);
  wp__os_free(memory);
}

wp_status wp__graph_memory_make(wp__device *device, const wp_graph_memory *share, wp_graph_memory **out) {
  wp_graph_memory *memory = wp__os_calloc(1, sizeof *memory);
  wp__arena *arena = share != NULL ? share->arena : wp__arena_create(device);
  wp__block *record = wp__block_take(&device->runtime->blocks);
  if (memory != NULL && arena != NULL && record != NULL) {
    if (share != NULL) wp__arena_share(arena);
    record->range.address = (char *)memory;
    record->class = WP__CLASS_OF_GRAPH;
    *memory = (wp_graph_memory){.device = device, .arena = arena, .record = record};
    (void)atomic_fetch_add(&device->runtime->graphs, 1);
    *out = memory;
    return WP_OK;
  }
  if (record != NULL) wp__block_drop(&device->runtime->blocks, record);
  if (share == NULL) wp__os_free(arena);
  wp__os_free(memory);
  return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a capture");
}

void wp__graph_memory_drop(wp_graph_memory *memory) {
  wp__arena_release(memory->arena);
  wp__arena_leave(memory->arena);
  (void)atomic_fetch_sub(&memory->device->runtime->graphs, 1);
  memory->record->class = 0;
  drop(memory);
}

/* -- after the last launch -- */

/* It counts as freed from here on. */
static void let_go(wp_graph_memory *memory) {
  wp__device *device = memory->device;
  (void)wp__counter_add(&device->parked_bytes, memory->kept_bytes);
  wp__counter_sub(&device->kept_bytes, memory->kept_bytes);
  wp__arena_release(memory->arena);
  (void)atomic_fetch_sub(&device->runtime->graphs, 1);
}

/* The memory is gone then, or is when the record's uses have finished; what has become idle may be more than may be. */
static void park_record(wp__device *device, wp__block *record) {
  wp__home_park(device, record);
  if (wp__lanes_bound(device) != WP_OK) wp__log_fault(device->runtime, "idle memory could not go back yet");
}

void wp__graph_memory_park(wp_graph_memory *memory) {
  let_go(memory);
  park_record(memory->device, memory->record);
}

void wp__graph_memory_abandon(wp_graph_memory *memory) {
  let_go(memory);
  wp__arena_leave(memory->arena);
  memory->arena = NULL;
  park_record(memory->device, memory->record);
}

void wp__graph_uses_drop(wp__device *device, wp__block *record) {
  const wp_graph_memory *memory = (const wp_graph_memory *)(void *)record->range.address;
  for (wp__block *block = memory->kept; block != NULL; block = block->queue) wp__uses_drop(device, block);
}

static void return_kept(wp__device *device, wp__block *kept) {
  while (kept != NULL) {
    wp__block *block = kept;
    kept = block->queue;
    wp__home_park(device, block);
  }
}

/* Another device may have the addresses by now. */
static void forget_kept(wp__device *device, wp__block *kept) {
  wp__blocks *blocks = &device->runtime->blocks;
  while (kept != NULL) {
    wp__block *block = kept;
    kept = block->queue;
    void *ptr = atomic_load(&block->ptr);
    if (!wp__block_is_of_lane(block)) wp__counter_sub(&device->held_bytes, atomic_load(&block->bytes));
    wp__uses_forget(block);
    if (wp__map_get(&blocks->map, ptr) == block) (void)wp__map_set(&blocks->map, ptr, NULL);
    wp__block_drop(blocks, block);
  }
}

void wp__graph_finished(wp__device *device, wp__block *record) {
  wp_graph_memory *memory = (wp_graph_memory *)(void *)record->range.address;
  if (atomic_load(&device->lost)) {
    wp__counter_sub(&device->parked_bytes, memory->kept_bytes);
    forget_kept(device, memory->kept);
  } else {
    return_kept(device, memory->kept);
  }
  if (memory->arena != NULL) wp__arena_leave(memory->arena);
  if (atomic_load(&device->open_delegates) == 0) atomic_store(&device->release_due, true);
  record->class = 0;
  drop(memory);
}

static wp_status let_go_on(wp_graph_memory *memory, const wp_stream *streams, size_t count) {
  wp__device *device = memory->device;
  wp__scope scope;
  wp_status status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = wp__uses_add(device, memory->record, streams, count);
  if (status == WP_OK) wp__graph_memory_park(memory);
  wp__scope_leave(&scope);
  if (status == WP_OK) wp__release_if_closed(device);
  return status;
}

void wp__graph_memory_lose(wp_graph_memory *memory) {
  wp__device *device = memory->device;
  wp__block *record = memory->record;
  let_go(memory);
  wp__uses_forget(record);
  wp__graph_finished(device, record);
}

static wp_status release(wp_graph_memory *memory, const wp_stream *streams, size_t count) {
  if (memory == NULL) return WP_OK;
  wp__device *device = memory->device;
  wp_status status = wp__runtime_check(device->runtime);
  if (status != WP_OK) return status;
  if (count > 0 && streams == NULL) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, device->ordinal, "last_launches is NULL");
  }
  if (!atomic_load(&device->lost)) return let_go_on(memory, streams, count);
  wp__graph_memory_lose(memory);
  return WP_OK;
}

wp_status wp_graph_memory_release(wp_graph_memory *memory, const wp_stream *last_launches, size_t count) {
  return wp__result("wp_graph_memory_release", release(memory, last_launches, count));
}
