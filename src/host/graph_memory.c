/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include "capture.h"
#include "device.h"
#include "error.h"

#define REGION_STEP ((size_t)2 << 20)

struct wp__host_region {
  atomic_uint references;
  atomic_uint launches; /* that have not finished */
  int device;
  char *address;
  size_t bytes;
  /* The lock below guards the rest. */
  struct wp__host_region *next; /* of the device's; without references they stay until they are idle */
  bool is_captured;             /* allocated, and not freed, by its graph */
  bool is_mapped;
  bool is_live;                       /* allocated, and not freed, by launches */
  bool counts_as_used;                /* freed outside graphs: until a trim, or a launch that frees it */
  bool was_live, will_be_live;        /* a launch's account */
  struct wp__host_timeline *freed_on; /* where it was freed outside graphs, with a reference */
  uint64_t freed_at;
};

/* Of each device. `spare` is counted as mapped, and backs no region. */
struct graph_memory {
  struct wp__host_region *regions;
  uint64_t spare;
  uint64_t reserved_peak, used_peak;
};

/* Held while memory is mapped and unmapped, too; comes before the engine's lock. */
static wp__mutex lock = WP__MUTEX_INIT;
static struct graph_memory memories[WP__HOST_MAX_DEVICES];

/* -- regions; the lock is held -- */

static bool is_idle(struct wp__host_region *region) {
  if (region->is_live || atomic_load(&region->launches) != 0) return false;
  if (region->freed_on == NULL) return true;
  if (!wp__host_timeline_passed(region->freed_on, region->freed_at)) return false;
  wp__host_timeline_release(region->freed_on);
  region->freed_on = NULL;
  return true;
}

static void unmap(struct wp__host_region *region) {
  if (!region->is_mapped) return;
  wp__pages_decommit(region->address, region->bytes);
  region->is_mapped = false;
  region->counts_as_used = false;
  memories[region->device].spare += region->bytes;
}

/* Deletes what has neither references nor use. */
static void reap(struct graph_memory *memory) {
  struct wp__host_region **link = &memory->regions;
  while (*link != NULL) {
    struct wp__host_region *region = *link;
    if (atomic_load(&region->references) != 0 || !is_idle(region)) {
      link = &region->next;
      continue;
    }
    *link = region->next;
    unmap(region);
    wp__pages_release(region->address, region->bytes);
    wp__os_free(region);
  }
}

static struct wp__host_region *create_region(int device, size_t bytes) {
  struct wp__host_region *region = wp__os_calloc(1, sizeof *region);
  if (region == NULL) return NULL;
  region->address = wp__pages_reserve(bytes, REGION_STEP);
  if (region->address == NULL) {
    wp__os_free(region);
    return NULL;
  }
  region->device = device;
  region->bytes = bytes;
  region->next = memories[device].regions;
  memories[device].regions = region;
  return region;
}

static struct wp__host_region *find_region(int device, const void *address) {
  struct wp__host_region *region = memories[device].regions;
  while (region != NULL && region->address != address) region = region->next;
  return region;
}

void wp__host_region_release(struct wp__host_region *region) {
  if (region != NULL) (void)atomic_fetch_sub(&region->references, 1);
}

static bool map(struct wp__host_region *region) {
  struct graph_memory *memory = &memories[region->device];
  if (region->is_mapped) return true;
  for (struct wp__host_region *each = memory->regions; each != NULL; each = each->next) {
    if (memory->spare >= region->bytes) break;
    if (is_idle(each)) unmap(each);
  }
  if (memory->spare < region->bytes) {
    if (!wp__host_device_charge(region->device, region->bytes - memory->spare)) return false;
    memory->spare = region->bytes;
  }
  if (!wp__pages_commit(region->address, region->bytes)) return false;
  memory->spare -= region->bytes;
  region->is_mapped = true;
  return true;
}

static wp__host_graph_figures measure(const struct graph_memory *memory) {
  wp__host_graph_figures figures = {
      .reserved = memory->spare, .reserved_peak = memory->reserved_peak, .used_peak = memory->used_peak};
  for (const struct wp__host_region *region = memory->regions; region != NULL; region = region->next) {
    if (region->is_mapped) figures.reserved += region->bytes;
    if (region->is_live || region->counts_as_used || atomic_load(&region->launches) != 0) figures.used += region->bytes;
  }
  return figures;
}

static void raise_peaks(struct graph_memory *memory) {
  wp__host_graph_figures figures = measure(memory);
  if (memory->reserved_peak < figures.reserved) memory->reserved_peak = figures.reserved;
  if (memory->used_peak < figures.used) memory->used_peak = figures.used;
}

/* -- capturing; the lock is held -- */

/* One that the graph has freed again. */
static struct wp__host_region *find_freed(struct wp__host_timeline *timeline, size_t bytes) {
  struct wp__host_region *found = NULL;
  wp__mutex_lock(&wp__host_lock);
  const struct wp__host_graph *graph = timeline->place == NULL ? NULL : wp__host_capture_graph(timeline->place);
  for (size_t i = 0; graph != NULL && i < graph->count && found == NULL; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (graph->nodes[i].kind != WP__HOST_NODE_ALLOC || region->is_captured) continue;
    if (region->bytes == bytes && region->device == timeline->device) found = region;
  }
  wp__mutex_unlock(&wp__host_lock);
  return found;
}

static wp__host_result add_node(struct wp__host_timeline *timeline, enum wp__host_node_kind kind,
                                struct wp__host_region *region) {
  (void)atomic_fetch_add(&region->references, 1);
  wp__host_result result = wp__host_capture_add(timeline, &(struct wp__host_node){.kind = kind, .region = region});
  if (result == WP__HOST_SUCCESS) {
    region->is_captured = kind == WP__HOST_NODE_ALLOC;
  } else {
    wp__host_region_release(region);
  }
  return result;
}

wp__host_result wp__host_graph_capture_alloc(struct wp__host_timeline *timeline, size_t bytes, void **out) {
  if (bytes > SIZE_MAX / 2) return WP__HOST_OUT_OF_MEMORY;
  size_t size = (bytes + REGION_STEP - 1) / REGION_STEP * REGION_STEP;
  wp__host_result result = WP__HOST_OUT_OF_HOST_MEMORY;
  wp__mutex_lock(&lock);
  struct wp__host_region *region = find_freed(timeline, size);
  if (region == NULL) region = create_region(timeline->device, size);
  if (region != NULL) result = add_node(timeline, WP__HOST_NODE_ALLOC, region);
  if (result == WP__HOST_SUCCESS) *out = region->address;
  wp__mutex_unlock(&lock);
  return result;
}

wp__host_result wp__host_graph_capture_free(struct wp__host_timeline *timeline, void *memory) {
  wp__host_result result = WP__HOST_INVALID_VALUE;
  wp__mutex_lock(&lock);
  struct wp__host_region *region = find_region(timeline->device, memory);
  if (region != NULL && region->is_captured) result = add_node(timeline, WP__HOST_NODE_FREE, region);
  wp__mutex_unlock(&lock);
  return result;
}

bool wp__host_graph_memory_free(struct wp__host_timeline *timeline, void *memory) {
  wp__mutex_lock(&lock);
  struct wp__host_region *region = find_region(timeline->device, memory);
  bool is_live = region != NULL && region->is_live;
  if (is_live) {
    wp__host_timeline_release(region->freed_on);
    wp__host_timeline_retain(timeline);
    region->freed_on = timeline;
    region->freed_at = wp__host_timeline_submit_free(timeline);
    region->is_live = false;
    region->counts_as_used = true;
  }
  wp__mutex_unlock(&lock);
  return is_live;
}

/* -- launching -- */

/* Whether the launch may allocate and free what it wants to. */
static bool may_launch(const struct wp__host_graph *graph) {
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (region != NULL) region->was_live = region->will_be_live = region->is_live;
  }
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (region == NULL) continue;
    if (region->will_be_live == (graph->nodes[i].kind == WP__HOST_NODE_ALLOC)) return false;
    region->will_be_live = !region->will_be_live;
  }
  return true;
}

static bool map_all(const struct wp__host_graph *graph) {
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (region == NULL) continue;
    reap(&memories[region->device]);
    if (!map(region)) return false;
    raise_peaks(&memories[region->device]);
  }
  return true;
}

static void begin_use(const struct wp__host_graph *graph) {
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (region != NULL) (void)atomic_fetch_add(&region->launches, 1);
  }
}

void wp__host_graph_memory_finish(struct wp__host_graph *graph) {
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (region != NULL) (void)atomic_fetch_sub(&region->launches, 1);
  }
}

static void settle(const struct wp__host_graph *graph, bool is_launched) {
  for (size_t i = 0; i < graph->count; ++i) {
    struct wp__host_region *region = graph->nodes[i].region;
    if (region == NULL) continue;
    region->is_live = is_launched ? region->will_be_live : region->was_live;
    if (is_launched) region->counts_as_used = false;
  }
}

wp__host_result wp__host_graph_memory_launch(struct wp__host_graph *graph) {
  wp__host_result result = WP__HOST_SUCCESS;
  wp__mutex_lock(&lock);
  if (!may_launch(graph)) {
    result = WP__HOST_INVALID_VALUE;
  } else {
    begin_use(graph); /* none of them serves another */
    if (map_all(graph)) {
      settle(graph, true);
    } else {
      wp__host_graph_memory_finish(graph);
      result = WP__HOST_OUT_OF_MEMORY;
    }
  }
  wp__mutex_unlock(&lock);
  return result;
}

void wp__host_graph_memory_cancel(struct wp__host_graph *graph) {
  wp__mutex_lock(&lock);
  settle(graph, false);
  wp__host_graph_memory_finish(graph);
  wp__mutex_unlock(&lock);
}

/* -- engine.h -- */

wp__host_result wp__host_graph_memory_trim(int device) {
  wp__host_result result = wp__host_device_check(device);
  if (result == WP__HOST_SUCCESS) result = wp__host_capture_guard();
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  struct graph_memory *memory = &memories[device];
  wp__mutex_lock(&lock);
  reap(memory);
  for (struct wp__host_region *region = memory->regions; region != NULL; region = region->next) {
    if (is_idle(region)) unmap(region);
  }
  wp__host_device_discharge(device, memory->spare);
  memory->spare = 0;
  wp__mutex_unlock(&lock);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_graph_memory_measure(int device, wp__host_graph_figures *out) {
  wp__host_result result = out == NULL ? WP__HOST_INVALID_VALUE : wp__host_device_check(device);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&lock);
  *out = measure(&memories[device]);
  wp__mutex_unlock(&lock);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_graph_memory_reset_peaks(int device, bool reserved, bool used) {
  wp__host_result result = wp__host_device_check(device);
  if (result != WP__HOST_SUCCESS) return wp__host_finish(result);
  wp__mutex_lock(&lock);
  wp__host_graph_figures figures = measure(&memories[device]);
  if (reserved) memories[device].reserved_peak = figures.reserved;
  if (used) memories[device].used_peak = figures.used;
  wp__mutex_unlock(&lock);
  return WP__HOST_SUCCESS;
}
