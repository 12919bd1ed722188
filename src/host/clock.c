/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

/* A clock with more marks than this also forgets finished frees of destroyed streams, which a trim gives back anyway.
 */
#define MARKS_KEPT_OF_ENDED 64

static bool is_observed(const struct wp__host_mark *mark) {
  return atomic_load_explicit(&mark->timeline->observed, memory_order_acquire) >= mark->sequence;
}

static bool has_ended(const struct wp__host_mark *mark) {
  return atomic_load(&mark->timeline->closed) && wp__host_timeline_passed(mark->timeline, mark->sequence);
}

void wp__host_clock_clear(struct wp__host_clock *clock) {
  for (size_t i = 0; i < clock->count; ++i) wp__host_timeline_release(clock->marks[i].timeline);
  wp__os_free(clock->marks);
  *clock = (struct wp__host_clock){NULL, 0, 0};
}

void wp__host_clock_prune(struct wp__host_clock *clock) {
  bool is_long = clock->count > MARKS_KEPT_OF_ENDED;
  size_t kept = 0;
  for (size_t i = 0; i < clock->count; ++i) {
    struct wp__host_mark mark = clock->marks[i];
    if (is_observed(&mark) || (is_long && has_ended(&mark))) {
      wp__host_timeline_release(mark.timeline);
    } else {
      clock->marks[kept++] = mark;
    }
  }
  clock->count = kept;
}

static bool make_room(struct wp__host_clock *clock, size_t more) {
  if (clock->capacity - clock->count >= more) return true;
  size_t capacity = (clock->count + more) * 2;
  struct wp__host_mark *marks = wp__os_calloc(capacity, sizeof *marks);
  if (marks == NULL) return false;
  for (size_t i = 0; i < clock->count; ++i) marks[i] = clock->marks[i];
  wp__os_free(clock->marks);
  clock->marks = marks;
  clock->capacity = capacity;
  return true;
}

/* There is room. */
static void add_mark(struct wp__host_timeline *owner, struct wp__host_mark mark) {
  struct wp__host_clock *clock = &owner->clock;
  if (mark.timeline == owner || is_observed(&mark)) return;
  for (size_t i = 0; i < clock->count; ++i) {
    if (clock->marks[i].timeline != mark.timeline) continue;
    if (clock->marks[i].sequence < mark.sequence) clock->marks[i].sequence = mark.sequence;
    return;
  }
  wp__host_timeline_retain(mark.timeline);
  clock->marks[clock->count++] = mark;
}

bool wp__host_clock_join(struct wp__host_timeline *owner, const struct wp__host_point *point) {
  wp__host_clock_prune(&owner->clock);
  if (!make_room(&owner->clock, point->count + 1)) return false;
  add_mark(owner, (struct wp__host_mark){point->timeline, point->last_free});
  for (size_t i = 0; i < point->count; ++i) add_mark(owner, point->marks[i]);
  return true;
}

struct wp__host_point *wp__host_point_take(struct wp__host_timeline *timeline) {
  struct wp__host_clock *clock = &timeline->clock;
  wp__host_clock_prune(clock);
  struct wp__host_point *point = wp__os_calloc(1, sizeof *point + clock->count * sizeof *point->marks);
  if (point == NULL) return NULL;
  atomic_init(&point->references, 1);
  wp__host_timeline_retain(timeline);
  point->timeline = timeline;
  point->sequence = timeline->submitted;
  point->last_free = timeline->last_free;
  point->count = clock->count;
  for (size_t i = 0; i < clock->count; ++i) {
    point->marks[i] = clock->marks[i];
    wp__host_timeline_retain(point->marks[i].timeline);
  }
  return point;
}

void wp__host_point_retain(struct wp__host_point *point) { (void)atomic_fetch_add(&point->references, 1); }

void wp__host_point_release(struct wp__host_point *point) {
  if (point == NULL || atomic_fetch_sub(&point->references, 1) != 1) return;
  for (size_t i = 0; i < point->count; ++i) wp__host_timeline_release(point->marks[i].timeline);
  wp__host_timeline_release(point->timeline);
  wp__os_free(point);
}

static bool observe(const struct wp__host_mark *mark) {
  if (is_observed(mark)) return false;
  atomic_store_explicit(&mark->timeline->observed, mark->sequence, memory_order_release);
  return true;
}

bool wp__host_point_observe(const struct wp__host_point *point) {
  bool is_new = observe(&(struct wp__host_mark){point->timeline, point->last_free});
  for (size_t i = 0; i < point->count; ++i) is_new = observe(&point->marks[i]) || is_new;
  return is_new;
}
