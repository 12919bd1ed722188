/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include "capture.h"
#include "pool.h"

/* A queued launch (`function`) or a wait (`point`). */
struct wp__host_work {
  struct wp__host_work *next;
  uint64_t sequence;
  void (*function)(void *argument);
  void (*release)(void *argument);
  void *argument;
  struct wp__host_point *point;
};

wp__mutex wp__host_lock = WP__MUTEX_INIT;

void wp__host_timeline_init(struct wp__host_timeline *timeline, int device, enum wp__host_manner manner, uint64_t id) {
  atomic_init(&timeline->references, 1);
  timeline->device = device;
  timeline->manner = manner;
  timeline->id = id;
  wp__cond_init(&timeline->work);
  wp__cond_init(&timeline->progress);
}

struct wp__host_timeline *wp__host_timeline_create(int device, enum wp__host_manner manner) {
  /* The ids up to the number of devices are those of their legacy streams. */
  static atomic_uint_least64_t last_id = WP__HOST_MAX_DEVICES;
  struct wp__host_timeline *timeline = wp__os_calloc(1, sizeof *timeline);
  if (timeline == NULL) return NULL;
  wp__host_timeline_init(timeline, device, manner, atomic_fetch_add(&last_id, 1) + 1);
  wp__mutex_lock(&wp__host_lock);
  wp__host_order_enlist(timeline);
  wp__mutex_unlock(&wp__host_lock);
  return timeline;
}

void wp__host_timeline_retain(struct wp__host_timeline *timeline) { (void)atomic_fetch_add(&timeline->references, 1); }

void wp__host_timeline_release(struct wp__host_timeline *timeline) {
  if (timeline == NULL || atomic_fetch_sub(&timeline->references, 1) != 1) return;
  wp__cond_destroy(&timeline->work);
  wp__cond_destroy(&timeline->progress);
  wp__os_free(timeline);
}

bool wp__host_timeline_passed(struct wp__host_timeline *timeline, uint64_t sequence) {
  return atomic_load(&timeline->completed) >= sequence;
}

/* -- progress; the lock is held -- */

static void advance(struct wp__host_timeline *timeline) {
  uint64_t completed = timeline->first == NULL ? timeline->submitted : timeline->first->sequence - 1;
  atomic_store(&timeline->completed, completed);
}

static void await(struct wp__host_timeline *timeline, uint64_t sequence) {
  while (!wp__host_timeline_passed(timeline, sequence)) wp__cond_wait(&timeline->progress, &wp__host_lock);
}

/* Nobody can ask a closed timeline for its clock, and clocks that refer to each other would never be freed. */
static void clear_if_ended(struct wp__host_timeline *timeline) {
  if (!atomic_load(&timeline->closed) || timeline->first != NULL) return;
  wp__host_clock_clear(&timeline->clock);
  wp__host_order_delist(timeline);
}

void wp__host_timeline_close(struct wp__host_timeline *timeline) {
  wp__mutex_lock(&wp__host_lock);
  atomic_store(&timeline->closed, true);
  wp__host_capture_abandon(timeline);
  clear_if_ended(timeline);
  wp__cond_broadcast(&timeline->work);
  wp__mutex_unlock(&wp__host_lock);
  wp__host_timeline_release(timeline);
}

/* -- the worker -- */

static void run_first(struct wp__host_timeline *timeline) {
  struct wp__host_work *work = timeline->first;
  if (work->function != NULL) {
    wp__mutex_unlock(&wp__host_lock);
    work->function(work->argument);
    if (work->release != NULL) work->release(work->argument);
    wp__mutex_lock(&wp__host_lock);
  } else {
    await(work->point->timeline, work->point->sequence);
  }
  timeline->first = work->next;
  advance(timeline);
  clear_if_ended(timeline);
  wp__cond_broadcast(&timeline->progress);
  wp__mutex_unlock(&wp__host_lock);
  wp__host_point_release(work->point);
  wp__os_free(work);
  wp__host_pools_reap();
  wp__mutex_lock(&wp__host_lock);
}

static void run_worker(void *argument) {
  struct wp__host_timeline *timeline = argument;
  wp__mutex_lock(&wp__host_lock);
  for (;;) {
    if (timeline->first != NULL) {
      run_first(timeline);
    } else if (atomic_load(&timeline->closed)) {
      break;
    } else {
      wp__cond_wait(&timeline->work, &wp__host_lock);
    }
  }
  wp__mutex_unlock(&wp__host_lock);
  wp__host_timeline_release(timeline);
}

static wp__host_result provide_worker(struct wp__host_timeline *timeline) {
  /* The handle may have been destroyed since it was looked up. */
  if (atomic_load(&timeline->closed)) return WP__HOST_INVALID_VALUE;
  if (timeline->has_worker) return WP__HOST_SUCCESS;
  wp__host_timeline_retain(timeline);
  timeline->has_worker = wp__thread_start(run_worker, timeline);
  if (timeline->has_worker) return WP__HOST_SUCCESS;
  wp__host_timeline_release(timeline);
  return WP__HOST_OUT_OF_HOST_MEMORY;
}

/* -- submission -- */

static void enqueue(struct wp__host_timeline *timeline, struct wp__host_work *work) {
  work->sequence = ++timeline->submitted;
  if (timeline->first == NULL) {
    timeline->first = work;
  } else {
    timeline->last->next = work;
  }
  timeline->last = work;
  wp__cond_broadcast(&timeline->work);
}

uint64_t wp__host_timeline_submit_free(struct wp__host_timeline *timeline) {
  wp__mutex_lock(&wp__host_lock);
  uint64_t sequence = ++timeline->submitted;
  timeline->last_free = sequence;
  if (timeline->first == NULL) advance(timeline);
  wp__mutex_unlock(&wp__host_lock);
  return sequence;
}

wp__host_result wp__host_timeline_launch(struct wp__host_timeline *timeline, void (*function)(void *),
                                         void (*release)(void *), void *argument) {
  struct wp__host_work *work = wp__os_calloc(1, sizeof *work);
  if (work == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  work->function = function;
  work->release = release;
  work->argument = argument;
  wp__mutex_lock(&wp__host_lock);
  wp__host_result result = provide_worker(timeline);
  if (result == WP__HOST_SUCCESS) enqueue(timeline, work);
  wp__mutex_unlock(&wp__host_lock);
  if (result != WP__HOST_SUCCESS) wp__os_free(work);
  return result;
}

static wp__host_result enqueue_wait(struct wp__host_timeline *timeline, struct wp__host_point *point) {
  struct wp__host_work *work = wp__os_calloc(1, sizeof *work);
  if (work == NULL) return WP__HOST_OUT_OF_HOST_MEMORY;
  wp__host_result result = provide_worker(timeline);
  if (result == WP__HOST_SUCCESS && !wp__host_clock_join(timeline, point)) result = WP__HOST_OUT_OF_HOST_MEMORY;
  if (result != WP__HOST_SUCCESS) {
    wp__os_free(work);
    return result;
  }
  wp__host_point_retain(point);
  work->point = point;
  enqueue(timeline, work);
  return WP__HOST_SUCCESS;
}

wp__host_result wp__host_timeline_wait_locked(struct wp__host_timeline *timeline, struct wp__host_point *point) {
  if (atomic_load(&timeline->closed)) return WP__HOST_INVALID_VALUE;
  if (point->timeline != timeline && !wp__host_timeline_passed(point->timeline, point->sequence)) {
    return enqueue_wait(timeline, point);
  }
  return wp__host_clock_join(timeline, point) ? WP__HOST_SUCCESS : WP__HOST_OUT_OF_HOST_MEMORY;
}

/* -- synchronisation -- */

/* The lock is held, and given up. */
static void await_and_observe(struct wp__host_point *point) {
  await(point->timeline, point->sequence);
  bool is_new = wp__host_point_observe(point);
  wp__mutex_unlock(&wp__host_lock);
  if (is_new) wp__host_pools_observed();
}

void wp__host_point_synchronize(struct wp__host_point *point) {
  wp__mutex_lock(&wp__host_lock);
  await_and_observe(point);
}

wp__host_result wp__host_timeline_synchronize(struct wp__host_timeline *timeline) {
  wp__mutex_lock(&wp__host_lock);
  wp__host_clock_prune(&timeline->clock);
  if (timeline->clock.count == 0) { /* needs no host memory then, and so cannot fail */
    struct wp__host_point bare = {
        .timeline = timeline, .sequence = timeline->submitted, .last_free = timeline->last_free};
    await_and_observe(&bare);
    return WP__HOST_SUCCESS;
  }
  struct wp__host_point *point = wp__host_point_take(timeline);
  if (point == NULL) {
    wp__mutex_unlock(&wp__host_lock);
    return WP__HOST_OUT_OF_HOST_MEMORY;
  }
  await_and_observe(point);
  wp__host_point_release(point);
  return WP__HOST_SUCCESS;
}
