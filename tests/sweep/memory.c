/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations, primes, and notes of uses. */
#include "sweep.h"

static wp_status alloc_on(struct scene *scene, size_t bytes, wp_stream stream) {
  scene->out_stream = stream;
  return wp_alloc(scene->delegate, bytes, stream, &scene->out);
}

/* -- out of what there is, and of what there is not -- */

static wp_status alloc_first(struct scene *scene) { return alloc_on(scene, MIB, scene->t); }
/* What is kept of it makes the segment stay where it is. */
static void with_freed(struct scene *scene) {
  void *freed = scene_alloc(scene, MIB, scene->s);
  (void)scene_alloc(scene, 4096, scene->s);
  scene_free(scene, freed, scene->s);
}
static wp_status alloc_hit(struct scene *scene) { return alloc_on(scene, MIB, scene->s); }
static wp_status alloc_from_heap(struct scene *scene) { return alloc_on(scene, MIB / 4, scene->s); }
static wp_status alloc_miss(struct scene *scene) { return alloc_on(scene, 30 * MIB, scene->s); }
static void with_finished_elsewhere(struct scene *scene) {
  void *ptr = scene_alloc(scene, 4 * MIB, scene->s);
  scene_free(scene, ptr, scene->s);
  scene_synchronize(scene);
}
static wp_status alloc_elsewhere(struct scene *scene) { return alloc_on(scene, 4 * MIB, scene->t); }
static void with_parked(struct scene *scene) {
  void *ptr = scene_alloc(scene, 4 * MIB, scene->s);
  rig_busy(scene->u, 1);
  scene_note(scene, ptr, scene->u);
  scene_free(scene, ptr, scene->s);
  scene_synchronize(scene);
}

/* -- a full device -- */

enum { FULL_BLOCKS = 4 };

/* All of the device is idle on `s`, and the last of it unfinished. */
static void fill(struct scene *scene, bool stays_busy) {
  size_t quarter = (size_t)(scene_device_bytes(scene) / FULL_BLOCKS) / (32 * MIB) * (32 * MIB);
  void *filling[FULL_BLOCKS];
  int count = 0;
  for (void *ptr; count < FULL_BLOCKS; filling[count++] = ptr) {
    wp_status status = wp_alloc(scene->delegate, quarter, scene->s, &ptr);
    if (status == WP_ERROR_OUT_OF_MEMORY) break; /* some drivers need more than they are asked for */
    scene_must(status, "an allocation that fills the device");
    scene_has(scene, ptr, scene->s);
  }
  for (int i = 0; i < count; i++) {
    if (i == count - 1) rig_busy(scene->s, stays_busy ? 1 : 0);
    scene_free(scene, filling[i], scene->s);
  }
  if (!stays_busy) scene_synchronize(scene);
}
static void with_full_device(struct scene *scene) { fill(scene, false); }
static void with_busy_device(struct scene *scene) { fill(scene, true); }
static wp_status alloc_when_full(struct scene *scene) { return alloc_on(scene, 96 * MIB, scene->t); }
static wp_status alloc_beyond(struct scene *scene) { return alloc_on(scene, (size_t)1 << 40, scene->t); }
static wp_status prime_when_full(struct scene *scene) { return wp_prime(scene->delegate, 96 * MIB, scene->t); }

/* -- special streams -- */

static void with_legacy(struct scene *scene) {
  void *freed = scene_alloc(scene, MIB, WP_STREAM_LEGACY);
  scene_free(scene, freed, WP_STREAM_LEGACY);
}
static wp_status alloc_legacy(struct scene *scene) { return alloc_on(scene, MIB, WP_STREAM_LEGACY); }
static void with_own(struct scene *scene) {
  void *freed = scene_alloc(scene, MIB, WP_STREAM_PER_THREAD);
  scene_free(scene, freed, WP_STREAM_PER_THREAD);
}
static wp_status alloc_own(struct scene *scene) { return alloc_on(scene, MIB, WP_STREAM_PER_THREAD); }

/* -- in captures -- */

static void in_declared(struct scene *scene) {
  scene_must(wp_capture_begin(scene->delegate, scene->t, NULL, &scene->capture), "a capture of the scenario");
  scene_capture(scene, scene->t);
}
static wp_status alloc_in_capture(struct scene *scene) {
  wp_status status = alloc_on(scene, MIB, scene->t);
  scene->out_stream = scene->s; /* it is freed after the capture, on any stream */
  return status;
}

/* The memory is the graph's own, and the driver's. */
static void in_undeclared(struct scene *scene) {
  scene_capture(scene, scene->t);
  scene->has_foreign = true;
}

/* -- primes -- */

static wp_status prime(struct scene *scene) { return wp_prime(scene->delegate, 40 * MIB, scene->t); }
static wp_status prime_again(struct scene *scene) { return wp_prime(scene->delegate, MIB, scene->s); }

/* -- notes -- */

static void with_block(struct scene *scene) { scene->target = scene_alloc(scene, MIB, scene->s); }
static void with_noted(struct scene *scene) {
  with_block(scene);
  scene_note(scene, scene->target, scene->t);
}
static wp_status note(struct scene *scene) { return wp_note_use(scene->runtime, scene->target, scene->t); }
static wp_status note_own(struct scene *scene) {
  return wp_note_use(scene->runtime, scene->target, WP_STREAM_PER_THREAD);
}

const struct scenario memory_scenarios[] = {
    {"alloc/first", LISTED_alloc, 0, NULL, alloc_first},
    {"alloc/hit", LISTED_alloc, 0, with_freed, alloc_hit},
    {"alloc/heap", LISTED_alloc, 0, with_freed, alloc_from_heap},
    {"alloc/miss", LISTED_alloc, 0, with_freed, alloc_miss},
    {"alloc/from_another", LISTED_alloc, 0, with_finished_elsewhere, alloc_elsewhere},
    {"alloc/from_parked", LISTED_alloc, 0, with_parked, alloc_hit},
    {"alloc/full", LISTED_alloc, SCENARIO_FULL | SCENARIO_UNLIMITED, with_full_device, alloc_when_full},
    {"alloc/full_and_busy", LISTED_alloc, SCENARIO_FULL | SCENARIO_UNLIMITED, with_busy_device, alloc_when_full},
    {"alloc/beyond", LISTED_alloc, SCENARIO_FULL, with_freed, alloc_beyond},
    {"alloc/legacy", LISTED_alloc, 0, with_legacy, alloc_legacy},
    {"alloc/per_thread", LISTED_alloc, 0, with_own, alloc_own},
    {"alloc/captured", LISTED_alloc, SCENARIO_CAPTURES, in_declared, alloc_in_capture},
    {"alloc/in_graph", LISTED_alloc, SCENARIO_DRIVER | SCENARIO_CAPTURES, in_undeclared, alloc_in_capture},
    {"alloc/undeclared", LISTED_alloc, SCENARIO_LANES | SCENARIO_CAPTURES, in_undeclared, alloc_in_capture},
    {"prime/new", LISTED_prime, 0, NULL, prime},
    {"prime/warm", LISTED_prime, 0, with_freed, prime_again},
    {"prime/full", LISTED_prime, SCENARIO_FULL | SCENARIO_UNLIMITED, with_full_device, prime_when_full},
    {"note_use/first", LISTED_note_use, 0, with_block, note},
    {"note_use/again", LISTED_note_use, 0, with_noted, note},
    {"note_use/per_thread", LISTED_note_use, 0, with_block, note_own},
    {NULL, LISTED_COUNT, 0, NULL, NULL},
};
