/* SPDX-License-Identifier: Apache-2.0 */
/* Frees, and frees after several streams. */
#include "sweep.h"

static wp_status free_on(struct scene *scene, wp_stream stream) {
  return wp_free(scene->runtime, scene->target, stream);
}

/* -- before -- */

static void with_block(struct scene *scene) { scene->target = scene_alloc(scene, MIB, scene->s); }
/* Its segment stays with the stream. */
static void with_neighbour(struct scene *scene) {
  with_block(scene);
  (void)scene_alloc(scene, MIB, scene->s);
}
static void with_warm_block(struct scene *scene) {
  with_neighbour(scene);
  scene_free(scene, scene->target, scene->s);
  scene->target = scene_alloc(scene, MIB, scene->s);
}
static void with_noted(struct scene *scene) {
  with_block(scene);
  rig_busy(scene->t, 1);
  scene_note(scene, scene->target, scene->t);
  scene_note(scene, scene->target, scene->u);
}
static void with_finished_note(struct scene *scene) {
  with_block(scene);
  scene_note(scene, scene->target, scene->t);
  scene_synchronize(scene);
}
static void with_many_notes(struct scene *scene) {
  scene_many(scene);
  with_block(scene);
  for (int i = 0; i < MANY; i++) scene_note(scene, scene->target, scene->many[i]);
}
static void close_last(struct scene *scene) {
  wp_status status = wp_delegate_close(scene->delegate, NULL);
  scene_must(status == WP_PENDING ? WP_OK : status, "a close of the scenario");
  scene->delegate = NULL;
}
static void with_closed(struct scene *scene) {
  with_neighbour(scene);
  close_last(scene);
}
static void with_closed_alone(struct scene *scene) {
  with_block(scene);
  close_last(scene);
}
static void with_legacy(struct scene *scene) { scene->target = scene_alloc(scene, MIB, WP_STREAM_LEGACY); }
static void with_own(struct scene *scene) { scene->target = scene_alloc(scene, MIB, WP_STREAM_PER_THREAD); }

/* -- in captures -- */

static void begin_capture(struct scene *scene) {
  scene_must(wp_capture_begin(scene->delegate, scene->s, NULL, &scene->capture), "a capture of the scenario");
  scene_capture(scene, scene->s);
}
static void with_captured(struct scene *scene) {
  begin_capture(scene);
  with_block(scene);
  scene->blocks[scene->live - 1].stream = scene->t; /* freed after the capture */
}
static void with_outsider(struct scene *scene) {
  with_neighbour(scene);
  scene->blocks[0].stream = scene->blocks[1].stream = scene->t;
  begin_capture(scene);
}

static void in_graph(struct scene *scene) {
  scene->has_foreign = true;
  scene_capture(scene, scene->s);
  with_block(scene);
  scene->blocks[scene->live - 1].stream = scene->t;
}
static void after_graph(struct scene *scene) {
  in_graph(scene);
  scene_end_capture(scene);
}
static void beside_undeclared(struct scene *scene) {
  with_neighbour(scene);
  scene_capture(scene, scene->s);
}

/* -- frees -- */

static wp_status free_here(struct scene *scene) { return free_on(scene, scene->s); }
static wp_status free_elsewhere(struct scene *scene) { return free_on(scene, scene->t); }
static wp_status free_on_legacy(struct scene *scene) { return free_on(scene, WP_STREAM_LEGACY); }
static wp_status free_on_own(struct scene *scene) { return free_on(scene, WP_STREAM_PER_THREAD); }

static wp_status free_after_none(struct scene *scene) { return wp_free_after(scene->runtime, scene->target, NULL, 0); }
static wp_status free_after_one(struct scene *scene) {
  return wp_free_after(scene->runtime, scene->target, &scene->s, 1);
}
static wp_status free_after_another(struct scene *scene) {
  return wp_free_after(scene->runtime, scene->target, &scene->t, 1);
}
static wp_status free_after_four(struct scene *scene) {
  const wp_stream streams[] = {scene->s, scene->t, scene->u, WP_STREAM_PER_THREAD};
  return wp_free_after(scene->runtime, scene->target, streams, 4);
}

const struct scenario free_scenarios[] = {
    {"free/cold", LISTED_free, 0, with_neighbour, free_here},
    {"free/warm", LISTED_free, 0, with_warm_block, free_here},
    {"free/elsewhere", LISTED_free, 0, with_neighbour, free_elsewhere},
    {"free/elsewhere_alone", LISTED_free, 0, with_block, free_elsewhere},
    {"free/noted", LISTED_free, 0, with_noted, free_here},
    {"free/noted_elsewhere", LISTED_free, 0, with_noted, free_elsewhere},
    {"free/noted_and_finished", LISTED_free, 0, with_finished_note, free_here},
    {"free/noted_on_many", LISTED_free, 0, with_many_notes, free_here},
    {"free/closed", LISTED_free, 0, with_closed, free_here},
    {"free/closed_alone", LISTED_free, 0, with_closed_alone, free_here},
    {"free/closed_elsewhere", LISTED_free, 0, with_closed_alone, free_elsewhere},
    {"free/legacy", LISTED_free, 0, with_legacy, free_on_legacy},
    {"free/per_thread", LISTED_free, 0, with_own, free_on_own},
    {"free/captured", LISTED_free, SCENARIO_CAPTURES, with_captured, free_here},
    {"free/captured_from_outside", LISTED_free, SCENARIO_CAPTURES, with_outsider, free_here},
    {"free/in_graph", LISTED_free, SCENARIO_DRIVER | SCENARIO_CAPTURES, in_graph, free_here},
    {"free/after_graph", LISTED_free, SCENARIO_DRIVER | SCENARIO_CAPTURES, after_graph, free_elsewhere},
    {"free/undeclared", LISTED_free, SCENARIO_LANES | SCENARIO_CAPTURES, beside_undeclared, free_here},
    {"free_after/none", LISTED_free_after, 0, with_neighbour, free_after_none},
    {"free_after/none_but_noted", LISTED_free_after, 0, with_noted, free_after_none},
    {"free_after/one", LISTED_free_after, 0, with_neighbour, free_after_one},
    {"free_after/another", LISTED_free_after, 0, with_neighbour, free_after_another},
    {"free_after/four", LISTED_free_after, 0, with_neighbour, free_after_four},
    {"free_after/four_and_noted", LISTED_free_after, 0, with_noted, free_after_four},
    {"free_after/closed", LISTED_free_after, 0, with_closed, free_after_four},
    {NULL, LISTED_COUNT, 0, NULL, NULL},
};
