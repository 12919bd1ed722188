/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "sweep.h"

/* Every caching, contract and policy, beside each other; not each with each. */
const struct setting settings[] = {
    {"lanes-checked", WP_CACHING_LANES, WP_STREAMS_CHECKED, WP_WAIT, WP_OOM_RECLAIM_AND_WAIT, false, false},
    {"lanes-declared", WP_CACHING_LANES, WP_STREAMS_DECLARED, WP_WAIT, WP_OOM_RECLAIM, false, false},
    {"lanes-checked-limited", WP_CACHING_LANES, WP_STREAMS_CHECKED, WP_NO_WAIT, WP_OOM_RECLAIM, false, true},
    {"lanes-declared-limited", WP_CACHING_LANES, WP_STREAMS_DECLARED, WP_NO_WAIT, WP_OOM_FAIL, false, true},
    {"lanes-checked-away", WP_CACHING_LANES, WP_STREAMS_CHECKED, WP_NO_WAIT, WP_OOM_RECLAIM_AND_WAIT, true, false},
    {"driver-checked", WP_CACHING_DRIVER, WP_STREAMS_CHECKED, WP_WAIT, WP_OOM_RECLAIM_AND_WAIT, false, false},
    {"driver-declared", WP_CACHING_DRIVER, WP_STREAMS_DECLARED, WP_WAIT, WP_OOM_RECLAIM, false, false},
    {"driver-checked-limited", WP_CACHING_DRIVER, WP_STREAMS_CHECKED, WP_NO_WAIT, WP_OOM_FAIL, false, true},
    {"driver-declared-away", WP_CACHING_DRIVER, WP_STREAMS_DECLARED, WP_NO_WAIT, WP_OOM_RECLAIM_AND_WAIT, true, false},
};
const unsigned settings_count = sizeof settings / sizeof *settings;

enum { DEVICES = 2, STREAMS = 3 };
#define LIMIT (64 * MIB)

char scene_untouched;
static wp_stream streams[DEVICES][STREAMS], many[DEVICES][MANY];

bool scene_driver_is_counted(void) { return strcmp(wp_backend_builtin()->name, "host") == 0; }

void scene_prepare_process(void) {
  int count = rig_device_count();
  for (int device = count > DEVICES ? DEVICES - 1 : count - 1; device >= 0; device--) { /* 0 is current in the end */
    rig_device_set(device);
    rig_stream_synchronize(WP_STREAM_PER_THREAD);
    rig_stream_synchronize(WP_STREAM_LEGACY);
  }
  (void)wp__thread_self(); /* the thread's own, once; it is no runtime's */
}

static void make_streams(wp_stream *of, int count, int device) {
  for (int i = 0; i < count && of[count - 1] == NULL; i++) of[i] = rig_stream_create(device);
}

static void end_streams(wp_stream *of, int count) {
  for (int i = 0; i < count && of[0] != NULL; i++) rig_stream_destroy(of[i]);
  memset(of, 0, (size_t)count * sizeof *of);
}

void scene_end_streams(const struct scene *scene) {
  const wp_backend *driver = wp_backend_builtin();
  if (!scene_driver_is_counted()) return; /* streams keep memory for what they have waited for */
  rig_stream_synchronize(scene->s);
  rig_stream_synchronize(WP_STREAM_LEGACY);
  rig_stream_synchronize(WP_STREAM_PER_THREAD);
  rig_wait(scene->s, WP_STREAM_LEGACY); /* these two forget what they had waited for */
  rig_wait(scene->s, WP_STREAM_PER_THREAD);
  if (scene->has_foreign) (void)driver->graph_trim(driver->self, scene->device); /* it collects what graphs have left */
  end_streams(streams[scene->device], STREAMS);
  end_streams(many[scene->device], MANY);
}

void scene_many(struct scene *scene) {
  make_streams(many[scene->device], MANY, scene->device);
  scene->many = many[scene->device];
}

void scene_must(wp_status status, const char *what) {
  wp_error_info why = WP_ERROR_INFO_INIT;
  if (status == WP_OK) return;
  wp_last_error(&why);
  found_at_last("baseline", "%s: %s (%s)", what, wp_status_name(status), why.message);
}

void scene_clear_outputs(struct scene *scene) {
  void *untouched = &scene_untouched;
  scene->out = untouched;
  scene->made = untouched;
  scene->opened = untouched;
  scene->begun = untouched;
  scene->ended = untouched;
  memset(&scene->report, 0x77, sizeof scene->report); /* its padding is compared, too */
  memset(&scene->driver, 0x77, sizeof scene->driver);
  memset(&scene->stats, 0x77, sizeof scene->stats);
  memset(&scene->info, 0x77, sizeof scene->info);
  scene->report.size = sizeof scene->report;
  scene->driver.size = sizeof scene->driver;
  scene->stats.size = sizeof scene->stats;
  scene->info.size = sizeof scene->info;
}

static void count_line(void *user, const char *message) {
  struct scene *scene = user;
  (void)message;
  scene->log_lines++;
}

void scene_start(struct scene *scene, const struct setting *setting, const wp_runtime_options *options) {
  *scene = (struct scene){.setting = setting};
  scene->current = rig_device_current();
  scene->device = setting->is_away ? 1 : 0;
  scene->options = *options;
  scene->options.caching = setting->caching;
  scene->options.stream_contract = setting->contract;
  scene->options.release_wait = setting->release_wait;
  scene->options.oom_policy = setting->oom;
  if (setting->is_limited) scene->options.limit_bytes = LIMIT;
  if (setting->is_limited) scene->options.release_threshold = MIB;
  scene->options.log = count_line;
  scene->options.user = scene;
  make_streams(streams[scene->device], STREAMS, scene->device);
  scene->s = streams[scene->device][0];
  scene->t = streams[scene->device][1];
  scene->u = streams[scene->device][2];
}

/* -- the model -- */

static struct block *find(const struct scene *scene, const void *ptr) {
  for (unsigned i = 0; i < scene->live; i++) {
    if (scene->blocks[i].ptr == ptr) return (struct block *)&scene->blocks[i];
  }
  return NULL;
}

bool scene_is_live(const struct scene *scene, const void *ptr) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  return wp_pointer_info(scene->runtime, ptr, &info) == WP_OK && info.base == ptr;
}

void scene_has(struct scene *scene, void *ptr, wp_stream stream) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  if (wp_pointer_info(scene->runtime, ptr, &info) != WP_OK || scene->live == BLOCKS) {
    found_at_last("block", "%p was handed out, and is not live", ptr);
  }
  scene->blocks[scene->live++] = (struct block){ptr, info.bytes, stream};
  scene->live_bytes += info.bytes;
  scene->allocs++;
}

void scene_lost(struct scene *scene, const void *ptr) {
  struct block *block = find(scene, ptr);
  if (block == NULL) return;
  scene->live_bytes -= block->bytes;
  scene->frees++;
  *block = scene->blocks[--scene->live];
}

/* -- what scenarios are made of -- */

void *scene_alloc(struct scene *scene, size_t bytes, wp_stream stream) {
  void *ptr = NULL;
  scene_must(wp_alloc(scene->delegate, bytes, stream, &ptr), "an allocation of the scenario");
  scene_has(scene, ptr, stream);
  return ptr;
}

void scene_free(struct scene *scene, void *ptr, wp_stream stream) {
  scene_must(wp_free(scene->runtime, ptr, stream), "a free of the scenario");
  scene_lost(scene, ptr);
}

void scene_note(struct scene *scene, void *ptr, wp_stream stream) {
  scene_must(wp_note_use(scene->runtime, ptr, stream), "a note of the scenario");
}

void scene_hold(struct scene *scene, wp_stream stream) {
  unsigned i = 0;
  while (scene->holds[i] != NULL) i++;
  rig_device_set(scene->device); /* some drivers cannot tell which device a stream is of */
  scene->holds[i] = rig_hold_stream(stream);
  rig_device_set(scene->current);
}

void scene_release_holds(struct scene *scene) {
  for (unsigned i = 0; i < HOLDS; i++) {
    if (scene->holds[i] != NULL) rig_release(scene->holds[i]);
    scene->holds[i] = NULL;
  }
}

/* The rig's way, which takes milliseconds on some vendors until events are seen to be complete, once for all. */
void scene_synchronize(struct scene *scene) {
  const wp_backend *driver = wp_backend_builtin();
  scene_must(driver->stream_synchronize(driver->self, scene->s), "the driver's stream_synchronize");
  scene_must(driver->stream_synchronize(driver->self, scene->t), "the driver's stream_synchronize");
  rig_stream_synchronize(scene->u);
}

uint64_t scene_device_bytes(const struct scene *scene) {
  const wp_backend *driver = wp_backend_builtin();
  uint64_t free_bytes = 0, total_bytes = 0;
  rig_device_set(scene->device);
  wp_status status = driver->device_memory(driver->self, &free_bytes, &total_bytes);
  rig_device_set(scene->current);
  scene_must(status, "the driver's device_memory");
  return free_bytes;
}

void scene_wait(struct scene *scene, wp_stream stream, wp_stream other) {
  rig_device_set(scene->device);
  rig_wait(stream, other);
  rig_device_set(scene->current);
}

void scene_capture(struct scene *scene, wp_stream stream) {
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  scene->capturing = stream;
}

void scene_end_capture(struct scene *scene) {
  if (scene->capturing == NULL) return;
  rig_graph *graph = rig_capture_end(scene->capturing);
  scene->capturing = NULL;
  if (graph == NULL) {
    found("after", "the vendor's capture is broken");
  } else {
    rig_graph_destroy(graph);
  }
}
