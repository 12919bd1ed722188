/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "timeline.h"

static struct wp__host_timeline *listed[WP__HOST_MAX_DEVICES]; /* all but the legacy streams' */

void wp__host_order_enlist(struct wp__host_timeline *timeline) {
  struct wp__host_timeline **list = &listed[timeline->device];
  timeline->is_listed = true;
  timeline->previous = NULL;
  timeline->next = *list;
  if (*list != NULL) (*list)->previous = timeline;
  *list = timeline;
}

void wp__host_order_delist(struct wp__host_timeline *timeline) {
  if (!timeline->is_listed) return;
  timeline->is_listed = false;
  if (timeline->previous == NULL) {
    listed[timeline->device] = timeline->next;
  } else {
    timeline->previous->next = timeline->next;
  }
  if (timeline->next != NULL) timeline->next->previous = timeline->previous;
}

struct wp__host_timeline *wp__host_order_first(int device) {
  return listed[device];
}

struct wp__host_timeline *wp__host_order_next(int device, uint64_t id) {
  struct wp__host_timeline *legacy = wp__host_device_legacy(device), *lowest = NULL;
  if (legacy->id > id) return legacy;
  for (struct wp__host_timeline *timeline = listed[device]; timeline != NULL; timeline = timeline->next) {
    if (timeline->id > id && (lowest == NULL || timeline->id < lowest->id)) lowest = timeline;
  }
  return lowest;
}

/* `reached` is how far the one waits for the other already. */
static wp__host_result wait_for(struct wp__host_timeline *timeline, struct wp__host_timeline *other, uint64_t *reached,
                                bool is_lenient) {
  if (*reached == other->submitted) return WP__HOST_SUCCESS;
  uint64_t submitted = other->submitted;
  struct wp__host_point *point = wp__host_point_take(other);
  wp__host_result result = WP__HOST_OUT_OF_HOST_MEMORY;
  if (point != NULL) result = wp__host_timeline_wait_locked(timeline, point);
  wp__host_point_release(point);
  if (result == WP__HOST_SUCCESS) *reached = submitted;
  bool has_finished = wp__host_timeline_passed(other, submitted);
  return result == WP__HOST_OUT_OF_HOST_MEMORY && is_lenient && has_finished ? WP__HOST_SUCCESS : result;
}

wp__host_result wp__host_order_join(struct wp__host_timeline *timeline, bool is_lenient) {
  if (timeline->manner == WP__HOST_NON_BLOCKING) return WP__HOST_SUCCESS;
  if (timeline->manner == WP__HOST_BLOCKING) {
    return wait_for(timeline, wp__host_device_legacy(timeline->device), &timeline->has_of_legacy, is_lenient);
  }
  for (struct wp__host_timeline *each = listed[timeline->device]; each != NULL; each = each->next) {
    if (each->manner != WP__HOST_BLOCKING) continue;
    wp__host_result result = wait_for(timeline, each, &each->legacy_has, is_lenient);
    if (result != WP__HOST_SUCCESS) return result;
  }
  return WP__HOST_SUCCESS;
}
