/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "judge.h"
#include "os.h"

/* -- the start -- */

static bool opens_no_delegate(const struct scenario *scenario) { return (scenario->flags & SCENARIO_BARE) != 0; }

static void start(struct scene *scene, const struct case_ *of) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.backend = watched_backend(wp_backend_builtin(), &failing_hooks);
  if ((of->scenario->flags & SCENARIO_KEEPS) != 0) options.keep_bytes = 64 * MIB;
  scene_start(scene, of->setting, &options);
  if ((of->scenario->flags & SCENARIO_UNLIMITED) != 0) scene->options.limit_bytes = 0;
  if (opens_no_delegate(of->scenario)) return;
  scene_must(wp_runtime_create(&scene->options, &scene->runtime), "the runtime of the scenario");
  scene_must(wp_delegate_open(scene->runtime, scene->device, NULL, &scene->delegate), "the delegate of the scenario");
}

/* -- the call -- */

static wp_status call(struct scene *scene, const struct scenario *scenario, const struct injection *injection) {
  scene_clear_outputs(scene);
  failing_begin(injection, scene->current);
  wp_status status = scenario->act(scene);
  failing_end();
  return status;
}

/* Whether the call can be made once more when it has succeeded. */
static bool can_repeat(listed_call call) {
  switch (call) {
  case LISTED_alloc:
  case LISTED_prime:
  case LISTED_note_use:
  case LISTED_trim:
  case LISTED_tick:
  case LISTED_stream_retire:
  case LISTED_query_driver:
  case LISTED_reset_peaks:
  case LISTED_device_stats: return true;
  default: return false;
  }
}

/* The same call works when nothing fails. A close has closed, and a destruction destroyed, whatever was refused. */
static void call_again(struct scene *scene, const struct scenario *scenario, wp_status status, wp_status usual) {
  if (scenario->call == LISTED_delegate_close || scenario->call == LISTED_runtime_destroy) return;
  if (status <= WP_PENDING && !can_repeat(scenario->call)) return;
  const struct refusals *refusals = failing_refusals();
  bool is_without_pools = status == WP_ERROR_NOT_SUPPORTED && refusals->count > 0 &&
                          refusals->kept[0].entry == WATCHED_pool_create; /* which is remembered */
  wp_status again = call(scene, scenario, NULL);
  if (again == WP_ERROR_NOT_SUPPORTED) scene->is_without_pools = scene->delegate == NULL;
  if (is_without_pools && again == WP_ERROR_NOT_SUPPORTED) return;
  bool is_full = again == WP_ERROR_OUT_OF_MEMORY && (scenario->flags & SCENARIO_FULL) != 0;
  if (again > WP_PENDING && again != usual && !is_full) {
    wp_error_info why = WP_ERROR_INFO_INIT;
    wp_last_error(&why);
    found("again", "the next call answers %s (%s)", wp_status_name(again), why.message);
  }
  judge_outputs(scene, scenario, again);
  judge_counters(scene);
}

/* Errors that leave everything as it was; the others have done the rest. */
static bool is_undone(listed_call call) {
  return call != LISTED_delegate_close && call != LISTED_runtime_destroy && call != LISTED_trim && call != LISTED_tick;
}

/* -- what is left -- */

struct left {
  watched_objects objects;
  long allocations;
};

static struct left ask_left(void) { return (struct left){watched_left(), wp__test_allocations()}; }

static bool is_same(const watched_objects *a, const watched_objects *b) {
  return a->streams == b->streams && a->events == b->events && a->pools == b->pools && a->blocks == b->blocks;
}

/* A destruction leaves the driver memory that it refuses to take, and the pool with it; and has that logged. */
static bool may_leave(const struct scene *scene, const struct scenario *scenario, const watched_objects *before,
                      const watched_objects *now) {
  return scenario->call == LISTED_runtime_destroy && scene->log_lines > 0 && before->streams == now->streams &&
         before->events == now->events && now->blocks > before->blocks;
}

static void judge_left(const struct scene *scene, const struct scenario *scenario, const struct left *before) {
  if (process_warms_up) return;
  struct left now = ask_left();
  if (scene->has_foreign) now.objects.blocks = before->objects.blocks; /* what a graph frees is not seen here */
  if (may_leave(scene, scenario, &before->objects, &now.objects)) {
    process_is_spoilt = true;
    return;
  }
  if (!is_same(&now.objects, &before->objects)) {
    found("objects", "the driver has left %ld streams, %ld events, %ld pools, %ld blocks",
          now.objects.streams - before->objects.streams, now.objects.events - before->objects.events,
          now.objects.pools - before->objects.pools, now.objects.blocks - before->objects.blocks);
    if (scene_driver_is_counted()) return; /* with the library's memory */
  }
  for (int look = 0; look < 200 && now.allocations > before->allocations; look++) { /* a simulated driver's threads */
    (void)usleep(look < 50 ? 20 : 500);
    now = ask_left();
  }
  if (now.allocations > before->allocations) {
    found("host-memory", "%ld host allocations are left", now.allocations - before->allocations);
  }
}

bool trial_run(const struct case_ *of, const struct injection *injection, struct baseline *baseline) {
  static struct scene scene;
  const struct scenario *scenario = of->scenario;
  struct before before;
  failing_forget_bytes();
  struct left left = ask_left();
  start(&scene, of);
  if (scenario->prepare != NULL) scenario->prepare(&scene);
  judge_before(&scene, &before);
  wp_status status = call(&scene, scenario, injection);
  if (injection == NULL) {
    *baseline = (struct baseline){.is_known = true, .status = status, .error = WP_ERROR_INFO_INIT};
    baseline->reached = *failing_reached();
    wp_last_error(&baseline->error);
  }
  bool has_failed = failing_refusals()->count > 0 || failing_refusals()->allocations > 0;
  judge_status(scenario, status, baseline);
  judge_thread(&scene, &before);
  judge_outputs(&scene, scenario, status);
  judge_counters(&scene);
  if (status > WP_PENDING && is_undone(scenario->call)) judge_kept(&scene, &before);
  call_again(&scene, scenario, status, baseline->status);
  judge_thread(&scene, &before);
  scene_end(&scene);
  scene_end_streams(&scene);
  if ((scenario->flags & SCENARIO_LAST) == 0) {
    judge_left(&scene, scenario, &left);
  } else {
    process_is_spoilt = true;
  }
  return has_failed;
}
