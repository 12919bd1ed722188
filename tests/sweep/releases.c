/* SPDX-License-Identifier: Apache-2.0 */
/* Trims, ticks, and streams that are retired. */
#include "sweep.h"

/* -- before -- */

static void with_idle(struct scene *scene) {
  void *small = scene_alloc(scene, MIB, scene->s);
  void *large = scene_alloc(scene, 36 * MIB, scene->t);
  (void)scene_alloc(scene, MIB, scene->u);
  scene_free(scene, small, scene->s);
  scene_free(scene, large, scene->t);
  scene_synchronize(scene);
}
static void with_work(struct scene *scene) {
  void *idle = scene_alloc(scene, MIB, scene->s);
  void *busy = scene_alloc(scene, 3 * MIB, scene->t);
  void *parked = scene_alloc(scene, 2 * MIB, scene->s);
  scene_free(scene, idle, scene->s);
  rig_busy(scene->t, 1);
  scene_note(scene, parked, scene->t);
  scene_free(scene, parked, scene->s);
  scene_free(scene, busy, scene->t);
}
static void with_retired(struct scene *scene) {
  with_work(scene);
  scene_must(wp_stream_retire(scene->runtime, scene->device, scene->s), "a retire of the scenario");
}
static void with_finished(struct scene *scene) {
  with_work(scene);
  scene_synchronize(scene);
}
/* The close leaves something that a tick can finish. */
static void closed_too_early(struct scene *scene) {
  scene_hold(scene, scene->t);
  void *busy = scene_alloc(scene, 3 * MIB, scene->t);
  void *parked = scene_alloc(scene, 2 * MIB, scene->s);
  scene_note(scene, parked, scene->t);
  scene_free(scene, parked, scene->s);
  scene_free(scene, busy, scene->t);
  if (scene->options.release_wait == WP_WAIT) scene_release_holds(scene);
  wp_status status = wp_delegate_close(scene->delegate, NULL);
  scene_must(status == WP_PENDING ? WP_OK : status, "a close of the scenario");
  scene->delegate = NULL;
  scene_release_holds(scene);
  scene_synchronize(scene);
}
static void with_two_devices(struct scene *scene) {
  with_idle(scene);
  scene_must(wp_delegate_open(scene->runtime, 1 - scene->device, NULL, &scene->second), "a delegate elsewhere");
}

/* -- trims -- */

static wp_status trim(struct scene *scene, int device, uint64_t keep_bytes, wp_wait wait) {
  return wp_trim(scene->runtime, device, keep_bytes, wait, &scene->report);
}
static wp_status trim_waiting(struct scene *scene) { return trim(scene, scene->device, 0, WP_WAIT); }
static wp_status trim_at_once(struct scene *scene) { return trim(scene, scene->device, 0, WP_NO_WAIT); }
static wp_status trim_some(struct scene *scene) { return trim(scene, scene->device, 4 * MIB, WP_WAIT); }
static wp_status trim_nothing(struct scene *scene) { return trim(scene, scene->device, UINT64_MAX, WP_WAIT); }
static wp_status trim_all(struct scene *scene) { return trim(scene, WP_DEVICE_ALL, 0, WP_WAIT); }
static wp_status trim_current(struct scene *scene) { return trim(scene, WP_DEVICE_CURRENT, 0, WP_WAIT); }

/* -- ticks, and the end of streams -- */

static wp_status tick(struct scene *scene) { return wp_tick(scene->runtime); }
static wp_status retire(struct scene *scene) { return wp_stream_retire(scene->runtime, scene->device, scene->t); }
static wp_status retire_current(struct scene *scene) {
  return wp_stream_retire(scene->runtime, WP_DEVICE_CURRENT, scene->t);
}
static wp_status retire_own(struct scene *scene) {
  return wp_stream_retire(scene->runtime, scene->device, WP_STREAM_PER_THREAD);
}
static void with_own(struct scene *scene) {
  void *freed = scene_alloc(scene, MIB, WP_STREAM_PER_THREAD);
  scene_free(scene, freed, WP_STREAM_PER_THREAD);
}

const struct scenario release_scenarios[] = {
    {"trim/idle", LISTED_trim, 0, with_idle, trim_waiting},
    {"trim/idle_at_once", LISTED_trim, 0, with_idle, trim_at_once},
    {"trim/work", LISTED_trim, 0, with_work, trim_waiting},
    {"trim/work_at_once", LISTED_trim, 0, with_work, trim_at_once},
    {"trim/retired", LISTED_trim, 0, with_retired, trim_waiting},
    {"trim/some", LISTED_trim, 0, with_idle, trim_some},
    {"trim/nothing", LISTED_trim, 0, with_work, trim_nothing},
    {"trim/all", LISTED_trim, 0, with_two_devices, trim_all},
    {"trim/current", LISTED_trim, 0, with_finished, trim_current},
    {"trim/closed", LISTED_trim, 0, closed_too_early, trim_waiting},
    {"tick/open", LISTED_tick, 0, with_finished, tick},
    {"tick/closed", LISTED_tick, 0, closed_too_early, tick},
    {"stream_retire/freed", LISTED_stream_retire, 0, with_work, retire},
    {"stream_retire/current", LISTED_stream_retire, 0, with_work, retire_current},
    {"stream_retire/unknown", LISTED_stream_retire, 0, NULL, retire},
    {"stream_retire/per_thread", LISTED_stream_retire, 0, with_own, retire_own},
    {NULL, LISTED_COUNT, 0, NULL, NULL},
};
