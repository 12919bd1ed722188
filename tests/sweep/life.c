/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes, delegates, and what is asked of them. */
#include "sweep.h"

/* -- runtimes -- */

static wp_status create(struct scene *scene) { return wp_runtime_create(&scene->options, &scene->made); }
static wp_status create_traced(struct scene *scene) {
  wp_runtime_options options = scene->options;
  options.trace_path = "/dev/null";
  return wp_runtime_create(&options, &scene->made);
}
static wp_status create_default(struct scene *scene) { return wp_runtime_default(&scene->made); }

static void close_first(struct scene *scene) {
  wp_status status = wp_delegate_close(scene->delegate, NULL);
  scene_must(status == WP_PENDING ? WP_OK : status, "a close of the scenario");
  scene->delegate = NULL;
}
/* Freed and finished, on two streams; and parked. */
static void use_some(struct scene *scene) {
  void *finished = scene_alloc(scene, MIB, scene->s);
  void *other = scene_alloc(scene, 3 * MIB, scene->t);
  void *parked = scene_alloc(scene, 2 * MIB, scene->s);
  scene_note(scene, parked, scene->u);
  scene_free(scene, finished, scene->s);
  scene_free(scene, other, scene->t);
  scene_free(scene, parked, scene->s);
}
static void use_and_close(struct scene *scene) {
  use_some(scene);
  close_first(scene);
}
/* The close meets work that has not finished, and without waiting leaves it. */
static void close_busy(struct scene *scene) {
  use_some(scene);
  void *busy = scene_alloc(scene, MIB, scene->t);
  rig_busy(scene->t, 1);
  scene_free(scene, busy, scene->t);
  close_first(scene);
}
static wp_status destroy(struct scene *scene) { return wp_runtime_destroy(scene->runtime); }

/* -- delegates -- */

static void make_runtime(struct scene *scene) {
  scene_must(wp_runtime_create(&scene->options, &scene->runtime), "the runtime of the scenario");
}
static wp_status open_delegate(struct scene *scene) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  options.name = "opened";
  options.limit_bytes = scene->options.limit_bytes;
  return wp_delegate_open(scene->runtime, scene->device, &options, &scene->opened);
}
static wp_status open_current(struct scene *scene) {
  return wp_delegate_open(scene->runtime, WP_DEVICE_CURRENT, NULL, &scene->opened);
}
static wp_status open_elsewhere(struct scene *scene) {
  return wp_delegate_open(scene->runtime, 1 - scene->device, NULL, &scene->opened);
}
static void with_second(struct scene *scene) {
  use_some(scene);
  scene_must(wp_delegate_open(scene->runtime, scene->device, NULL, &scene->second), "a second delegate");
}
static wp_status close_one(struct scene *scene) {
  return wp_delegate_close(scene->second != NULL ? scene->second : scene->delegate, &scene->report);
}
static void with_live(struct scene *scene) {
  use_some(scene);
  (void)scene_alloc(scene, MIB, scene->s);
}
static void with_work(struct scene *scene) {
  void *parked = scene_alloc(scene, MIB, scene->s);
  void *busy = scene_alloc(scene, 2 * MIB, scene->t);
  void *retired = scene_alloc(scene, MIB, scene->u);
  rig_busy(scene->t, 1);
  scene_note(scene, parked, scene->t);
  scene_free(scene, parked, scene->s);
  scene_free(scene, busy, scene->t);
  scene_free(scene, retired, scene->u);
  scene_must(wp_stream_retire(scene->runtime, scene->device, scene->u), "a retire of the scenario");
}

/* -- questions -- */

static wp_status ask_device(struct scene *scene) {
  return wp_device_stats(scene->runtime, WP_DEVICE_CURRENT, &scene->stats);
}
static wp_status ask_delegate(struct scene *scene) { return wp_delegate_stats(scene->delegate, &scene->stats); }
static void with_block(struct scene *scene) { scene->target = scene_alloc(scene, MIB, scene->s); }
static wp_status ask_pointer(struct scene *scene) {
  return wp_pointer_info(scene->runtime, scene->target, &scene->info);
}
static wp_status query(struct scene *scene) {
  return wp_query_driver(scene->runtime, scene->setting->is_away ? scene->device : WP_DEVICE_CURRENT, &scene->driver);
}
static wp_status reset_all(struct scene *scene) { return wp_reset_peaks(scene->runtime, WP_DEVICE_ALL); }
static wp_status reset_current(struct scene *scene) { return wp_reset_peaks(scene->runtime, WP_DEVICE_CURRENT); }
static wp_status lose_unused(struct scene *scene) { return wp_device_lost(scene->runtime, 1 - scene->device); }

const struct scenario life_scenarios[] = {
    {"runtime_create/plain", LISTED_runtime_create, SCENARIO_BARE, NULL, create},
    {"runtime_create/traced", LISTED_runtime_create, SCENARIO_BARE, NULL, create_traced},
    {"runtime_default/first", LISTED_runtime_default, SCENARIO_BARE | SCENARIO_LAST, NULL, create_default},
    {"runtime_destroy/unused", LISTED_runtime_destroy, SCENARIO_BARE, make_runtime, destroy},
    {"runtime_destroy/closed", LISTED_runtime_destroy, 0, use_and_close, destroy},
    {"runtime_destroy/busy", LISTED_runtime_destroy, 0, close_busy, destroy},
    {"runtime_destroy/kept", LISTED_runtime_destroy, SCENARIO_KEEPS, use_and_close, destroy},
    {"delegate_open/first", LISTED_delegate_open, SCENARIO_BARE, make_runtime, open_delegate},
    {"delegate_open/current", LISTED_delegate_open, SCENARIO_BARE | SCENARIO_HERE, make_runtime, open_current},
    {"delegate_open/second", LISTED_delegate_open, 0, NULL, open_delegate},
    {"delegate_open/elsewhere", LISTED_delegate_open, 0, NULL, open_elsewhere},
    {"delegate_open/again", LISTED_delegate_open, 0, use_and_close, open_delegate},
    {"delegate_close/one_of_two", LISTED_delegate_close, 0, with_second, close_one},
    {"delegate_close/last", LISTED_delegate_close, 0, use_some, close_one},
    {"delegate_close/last_with_live", LISTED_delegate_close, 0, with_live, close_one},
    {"delegate_close/last_with_work", LISTED_delegate_close, 0, with_work, close_one},
    {"delegate_close/last_that_keeps", LISTED_delegate_close, SCENARIO_KEEPS, use_some, close_one},
    {"device_stats/current", LISTED_device_stats, 0, NULL, ask_device},
    {"delegate_stats/plain", LISTED_delegate_stats, 0, NULL, ask_delegate},
    {"pointer_info/plain", LISTED_pointer_info, 0, with_block, ask_pointer},
    {"query_driver/plain", LISTED_query_driver, 0, use_some, query},
    {"query_driver/closed", LISTED_query_driver, 0, close_busy, query},
    {"reset_peaks/all", LISTED_reset_peaks, 0, use_some, reset_all},
    {"reset_peaks/current", LISTED_reset_peaks, 0, use_some, reset_current},
    {"device_lost/unused", LISTED_device_lost, 0, NULL, lose_unused},
    {NULL, LISTED_COUNT, 0, NULL, NULL},
};
