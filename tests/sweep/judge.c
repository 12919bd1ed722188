/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <stdio.h>
#include <string.h>

/* -- the status -- */

static bool was_refused_with(wp_status status) {
  const struct refusals *refusals = failing_refusals();
  for (unsigned i = 0; i < refusals->count && i < REFUSALS_KEPT; i++) {
    if (refusals->kept[i].status == status) return true;
  }
  return refusals->allocations > 0 && status == WP_ERROR_OUT_OF_HOST_MEMORY;
}

/* Whether they are of a call that was refused with that status. */
static bool is_of_refusal(const wp_error_info *info, wp_status status) {
  const struct refusals *refusals = failing_refusals();
  if (info->code != 999 || strcmp(info->name, "refused") != 0) return false;
  for (unsigned i = 0; i < refusals->count && i < REFUSALS_KEPT; i++) {
    const char *name = watched_name(refusals->kept[i].entry);
    if (refusals->kept[i].status != status) continue;
    if (strncmp(info->message, name, strlen(name)) == 0 && info->message[strlen(name)] == ':') return true;
  }
  return false;
}

/* What the full device itself has answered in the end is as good. */
static bool is_exhausted(const struct scenario *scenario, wp_status status, const wp_error_info *info) {
  return status == WP_ERROR_OUT_OF_MEMORY && (scenario->flags & SCENARIO_FULL) != 0 &&
         strncmp(info->name, "WP_", 3) != 0;
}

static void judge_particulars(const struct scenario *scenario, wp_status status, const struct baseline *usual) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  const struct refusals *refusals = failing_refusals();
  wp_last_error(&info);
  if (info.call == NULL || strcmp(info.call, listed_name(scenario->call)) != 0) {
    found("particulars", "%s: the call is %s", wp_status_name(status), info.call == NULL ? "none" : info.call);
  } else if (info.message[0] == '\0' || info.name[0] == '\0' || info.code == 0) {
    found("particulars", "%s: code %d, name \"%s\", message \"%s\"", wp_status_name(status), info.code, info.name,
          info.message);
  } else {
    bool is_refused = was_refused_with(status), is_usual = status == usual->status;
    if (is_refused && (refusals->count == 0 || is_of_refusal(&info, status))) return;
    if (is_usual ? strcmp(info.name, usual->error.name) == 0 : !is_refused) return;
    if (is_exhausted(scenario, status, &info)) return;
    found("particulars", "%s, and of another failure: code %d, name \"%s\", message \"%s\"", wp_status_name(status),
          info.code, info.name, info.message);
  }
}

void judge_status(const struct scenario *scenario, wp_status status, const struct baseline *usual) {
  bool is_full = status == WP_ERROR_OUT_OF_MEMORY && (scenario->flags & SCENARIO_FULL) != 0;
  if (!is_listed(scenario->call, status)) {
    found("status", "answers %s, which the header does not list", wp_status_name(status));
  } else if (status > WP_PENDING && status != usual->status && !is_full && !was_refused_with(status)) {
    found("status", "answers %s, with which nothing was refused", wp_status_name(status));
  }
  if (status > WP_PENDING) judge_particulars(scenario, status, usual);
}

/* -- outputs -- */

/* A pointer that the call gives: it is there after a success, and untouched otherwise. */
static bool judge_pointer(const void *out, wp_status status, const char *what) {
  if (status <= WP_PENDING) {
    if (out == &scene_untouched || out == NULL) found_at_last("output", "%s is not given", what);
    return true;
  }
  if (out != &scene_untouched) found("output", "%s was touched, and the answer is an error", what);
  return false;
}

static void judge_free(struct scene *scene, wp_status status) {
  bool is_live = scene_is_live(scene, scene->target);
  if (status > WP_PENDING) {
    if (!is_live) found_at_last("block", "the free failed, and the block is not live");
    return;
  }
  if (is_live) found_at_last("block", "the block was freed, and is live");
  scene_lost(scene, scene->target);
}

static void judge_alloc(struct scene *scene, wp_status status) {
  if (judge_pointer(scene->out, status, "the block")) scene_has(scene, scene->out, scene->out_stream);
}

static void judge_delegate(struct scene *scene, wp_status status) {
  if (!judge_pointer(scene->opened, status, "the delegate")) return;
  if (scene->delegate == NULL) {
    scene->delegate = scene->opened;
  } else if (scene->second == NULL) {
    scene->second = scene->opened;
  } else {
    scene_must(wp_delegate_close(scene->opened, NULL), "the close of what was opened");
  }
}

static void judge_capture(struct scene *scene, const struct scenario *scenario, wp_status status) {
  if (scenario->call == LISTED_capture_begin && judge_pointer(scene->begun, status, "the capture")) {
    scene->capture = scene->begun;
  }
  if (scenario->call == LISTED_capture_end && judge_pointer(scene->ended, status, "the graph's memory")) {
    scene->memory = scene->ended;
    scene->capture = NULL;
  }
  if (scenario->call == LISTED_capture_abort && status <= WP_PENDING) scene->capture = NULL;
  if (scenario->call == LISTED_graph_memory_release && status <= WP_PENDING) scene->memory = NULL;
}

static void judge_figures(const struct scene *scene, const struct scenario *scenario, wp_status status) {
  struct scene untouched;
  if (status <= WP_PENDING) return;
  scene_clear_outputs(&untouched);
  bool is_same = memcmp(&untouched.report, &scene->report, sizeof scene->report) == 0 &&
                 memcmp(&untouched.driver, &scene->driver, sizeof scene->driver) == 0 &&
                 memcmp(&untouched.stats, &scene->stats, sizeof scene->stats) == 0 &&
                 memcmp(&untouched.info, &scene->info, sizeof scene->info) == 0;
  if (!is_same) found("output", "what %s fills was touched, and the answer is an error", listed_name(scenario->call));
}

void judge_outputs(struct scene *scene, const struct scenario *scenario, wp_status status) {
  judge_figures(scene, scenario, status);
  switch (scenario->call) {
  case LISTED_runtime_create:
    if (judge_pointer(scene->made, status, "the runtime")) scene->runtime = scene->made;
    break;
  case LISTED_runtime_default: (void)judge_pointer(scene->made, status, "the runtime"); break;
  case LISTED_runtime_destroy: scene->runtime = NULL; break; /* whatever was refused */
  case LISTED_delegate_open: judge_delegate(scene, status); break;
  case LISTED_delegate_close:
    if (scene->second != NULL) {
      scene->second = NULL;
    } else {
      scene->delegate = NULL;
    }
    break;
  case LISTED_alloc: judge_alloc(scene, status); break;
  case LISTED_free:
  case LISTED_free_after: judge_free(scene, status); break;
  default: judge_capture(scene, scenario, status); break;
  }
}

/* -- counters -- */

void judge_counters(const struct scene *scene) {
  wp_stats now = WP_STATS_INIT;
  if (scene->runtime == NULL) return;
  wp_status status = wp_device_stats(scene->runtime, scene->device, &now);
  if (status == WP_ERROR_NO_DEVICE && scene->delegate == NULL) return;
  if (status != WP_OK) found_at_last("after", "wp_device_stats answers %s", wp_status_name(status));
  if (now.live_blocks != scene->live || now.live_bytes != scene->live_bytes || now.allocs != scene->allocs ||
      now.frees != scene->frees) {
    found("counters", "live %llu blocks, %llu bytes, %llu allocs, %llu frees, and not %u, %llu, %llu, %llu",
          (unsigned long long)now.live_blocks, (unsigned long long)now.live_bytes, (unsigned long long)now.allocs,
          (unsigned long long)now.frees, scene->live, (unsigned long long)scene->live_bytes,
          (unsigned long long)scene->allocs, (unsigned long long)scene->frees);
  }
  uint64_t sum = now.live_bytes + now.cached_bytes + now.parked_bytes + now.capture_bytes;
  if (now.reserved_bytes != sum) {
    found("counters", "%llu bytes are reserved: %llu live, %llu cached, %llu parked, %llu held for graphs",
          (unsigned long long)now.reserved_bytes, (unsigned long long)now.live_bytes,
          (unsigned long long)now.cached_bytes, (unsigned long long)now.parked_bytes,
          (unsigned long long)now.capture_bytes);
  }
  if (now.reserved_bytes != failing_driver_bytes() && !scene->has_foreign) {
    found("counters", "%llu bytes are reserved, and the driver has given %llu", (unsigned long long)now.reserved_bytes,
          failing_driver_bytes());
  }
}

/* What the driver's pool has mapped; with WP_CACHING_DRIVER that is idle there, and warm. */
static uint64_t ask_mapped(const struct scene *scene) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  if (scene->delegate == NULL || scene->setting->caching != WP_CACHING_LANES) return 0;
  return wp_query_driver(scene->runtime, scene->device, &driver) == WP_OK ? driver.pool_reserved : 0;
}

void judge_kept(const struct scene *scene, const struct before *before) {
  wp_stats now = WP_STATS_INIT;
  if (!before->has || scene->runtime == NULL || failing_refusals()->loses_memory) return;
  uint64_t mapped = ask_mapped(scene);
  if (wp_device_stats(scene->runtime, scene->device, &now) != WP_OK) return;
  if (now.reserved_bytes > before->stats.reserved_bytes) {
    found("kept", "an error, and %llu bytes are reserved more than before",
          (unsigned long long)(now.reserved_bytes - before->stats.reserved_bytes));
  } else if (mapped > before->mapped) {
    found("kept", "an error, and %llu bytes are mapped more than before",
          (unsigned long long)(mapped - before->mapped));
  }
  if (now.parked_bytes > before->stats.parked_bytes || now.capture_bytes > before->stats.capture_bytes) {
    found("kept", "an error, and more is parked, or held for graphs, than before");
  }
}

/* -- the thread -- */

static int ask_mode(void) {
  const wp_backend *driver = wp_backend_builtin();
  int mode = 0;
  if (driver->capture_relax(driver->self, &mode) == WP_OK) (void)driver->capture_restore(driver->self, mode);
  return mode;
}

void judge_before(const struct scene *scene, struct before *out) {
  *out = (struct before){.stats = WP_STATS_INIT, .mode = ask_mode()};
  out->has = scene->runtime != NULL && wp_device_stats(scene->runtime, scene->device, &out->stats) == WP_OK;
  if (out->has) out->mapped = ask_mapped(scene);
}

void judge_thread(const struct scene *scene, const struct before *before) {
  const wp_backend *driver = wp_backend_builtin();
  int device = rig_device_current(), mode = ask_mode();
  if (device != scene->current) {
    if (!failing_refusals()->loses_device) found("device", "device %d is current, not %d", device, scene->current);
    rig_device_set(scene->current);
  }
  if (mode != before->mode) {
    if (!failing_refusals()->loses_mode) found("mode", "the thread's capture mode is %d, not %d", mode, before->mode);
    (void)driver->capture_restore(driver->self, before->mode);
  }
}
