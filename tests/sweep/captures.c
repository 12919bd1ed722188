/* SPDX-License-Identifier: Apache-2.0 */
/* Declared captures, and their memory. */
#include "sweep.h"

/* -- before -- */

static void with_freed(struct scene *scene) {
  void *freed = scene_alloc(scene, MIB, scene->s);
  scene_free(scene, freed, scene->s);
}
static void begin_on(struct scene *scene, wp_graph_memory *share) {
  scene_must(wp_capture_begin(scene->delegate, scene->s, share, &scene->capture), "a capture of the scenario");
}
static void end_on(struct scene *scene, wp_graph_memory **out) {
  scene_must(wp_capture_end(scene->capture, out), "the end of a capture of the scenario");
  scene->capture = NULL;
}
/* What a capture allocates and frees, and an output. */
static void use_captured(struct scene *scene) {
  void *freed = scene_alloc(scene, MIB, scene->s);
  (void)scene_alloc(scene, MIB / 2, scene->s);
  scene->blocks[scene->live - 1].stream = scene->t;
  scene_free(scene, freed, scene->s);
}
static void with_shared(struct scene *scene) {
  begin_on(scene, NULL);
  scene_capture(scene, scene->s);
  use_captured(scene);
  scene_end_capture(scene);
  end_on(scene, &scene->share);
}
static void begun(struct scene *scene) {
  with_freed(scene);
  begin_on(scene, NULL);
}
static void captured(struct scene *scene) {
  void *outsider = scene_alloc(scene, MIB, scene->s);
  begin_on(scene, NULL);
  scene_capture(scene, scene->s);
  use_captured(scene);
  scene_free(scene, outsider, scene->s);
  scene_end_capture(scene);
}
static void captured_in_shared(struct scene *scene) {
  with_shared(scene);
  begin_on(scene, scene->share);
  scene_capture(scene, scene->s);
  use_captured(scene);
  scene_end_capture(scene);
}
static void captured_on_two(struct scene *scene) {
  begin_on(scene, NULL);
  scene_must(wp_capture_join(scene->capture, scene->t), "a join of the scenario");
  scene_capture(scene, scene->s);
  scene_wait(scene, scene->t, scene->s);
  void *freed = scene_alloc(scene, MIB, scene->t);
  scene_free(scene, freed, scene->t);
  scene_wait(scene, scene->s, scene->t);
  scene_end_capture(scene);
}
static void ended(struct scene *scene) {
  captured(scene);
  end_on(scene, &scene->memory);
}
static void ended_in_shared(struct scene *scene) {
  captured_in_shared(scene);
  end_on(scene, &scene->memory);
}
/* The capture's own work, and what it kept from outside, has not finished at the release. */
static void ended_and_busy(struct scene *scene) {
  captured(scene);
  rig_busy(scene->s, 1);
  end_on(scene, &scene->memory);
}
static void ended_and_closed(struct scene *scene) {
  ended(scene);
  wp_status status = wp_delegate_close(scene->delegate, NULL);
  scene_must(status == WP_PENDING ? WP_OK : status, "a close of the scenario");
  scene->delegate = NULL;
}

/* -- the calls -- */

static wp_status begin(struct scene *scene) {
  return wp_capture_begin(scene->delegate, scene->s, scene->share, &scene->begun);
}
static wp_status begin_own(struct scene *scene) {
  return wp_capture_begin(scene->delegate, WP_STREAM_PER_THREAD, NULL, &scene->begun);
}
static wp_status join(struct scene *scene) { return wp_capture_join(scene->capture, scene->t); }
static wp_status end(struct scene *scene) { return wp_capture_end(scene->capture, &scene->ended); }
static wp_status abort_it(struct scene *scene) { return wp_capture_abort(scene->capture); }
static wp_status release_after_none(struct scene *scene) { return wp_graph_memory_release(scene->memory, NULL, 0); }
static wp_status release_after_two(struct scene *scene) {
  const wp_stream streams[] = {scene->t, scene->u};
  return wp_graph_memory_release(scene->memory, streams, 2);
}

const struct scenario capture_scenarios[] = {
    {"capture_begin/new", LISTED_capture_begin, SCENARIO_CAPTURES, NULL, begin},
    {"capture_begin/freed", LISTED_capture_begin, SCENARIO_CAPTURES, with_freed, begin},
    {"capture_begin/shared", LISTED_capture_begin, SCENARIO_CAPTURES, with_shared, begin},
    {"capture_begin/per_thread", LISTED_capture_begin, SCENARIO_CAPTURES, NULL, begin_own},
    {"capture_join/new", LISTED_capture_join, SCENARIO_CAPTURES, begun, join},
    {"capture_end/one", LISTED_capture_end, SCENARIO_CAPTURES, captured, end},
    {"capture_end/two", LISTED_capture_end, SCENARIO_CAPTURES, captured_on_two, end},
    {"capture_end/shared", LISTED_capture_end, SCENARIO_CAPTURES, captured_in_shared, end},
    {"capture_abort/unused", LISTED_capture_abort, SCENARIO_CAPTURES, begun, abort_it},
    {"capture_abort/one", LISTED_capture_abort, SCENARIO_CAPTURES, captured, abort_it},
    {"capture_abort/two", LISTED_capture_abort, SCENARIO_CAPTURES, captured_on_two, abort_it},
    {"graph_memory_release/none", LISTED_graph_memory_release, SCENARIO_CAPTURES, ended, release_after_none},
    {"graph_memory_release/two", LISTED_graph_memory_release, SCENARIO_CAPTURES, ended, release_after_two},
    {"graph_memory_release/busy", LISTED_graph_memory_release, SCENARIO_CAPTURES, ended_and_busy, release_after_two},
    {"graph_memory_release/shared", LISTED_graph_memory_release, SCENARIO_CAPTURES, ended_in_shared,
     release_after_none},
    {"graph_memory_release/closed", LISTED_graph_memory_release, SCENARIO_CAPTURES, ended_and_closed,
     release_after_two},
    {NULL, LISTED_COUNT, 0, NULL, NULL},
};
