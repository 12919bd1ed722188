/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a scene: everything can be given back, and is. */
#include <stdio.h>
#include <unistd.h>

#include "scene.h"
#include "sweep.h"

static void must_end(wp_status status, const char *what) {
  wp_error_info why = WP_ERROR_INFO_INIT;
  if (status == WP_OK) return;
  wp_last_error(&why);
  found("after", "%s answers %s (%s)", what, wp_status_name(status), why.message);
}

/* -- what the scenario has left open -- */

static void end_captures(struct scene *scene) {
  scene_end_capture(scene);
  scene_synchronize(scene);
  if (scene->capture != NULL) must_end(wp_capture_abort(scene->capture), "the abort of the capture");
  if (scene->memory != NULL) {
    must_end(wp_graph_memory_release(scene->memory, NULL, 0), "the release of the graph's memory");
  }
  if (scene->share != NULL)
    must_end(wp_graph_memory_release(scene->share, NULL, 0), "the release of the other graph's");
  scene->capture = NULL;
  scene->memory = scene->share = NULL;
}

static void end_blocks(struct scene *scene) {
  while (scene->live > 0) {
    struct block block = scene->blocks[scene->live - 1];
    must_end(wp_free(scene->runtime, block.ptr, block.stream), "the free of a live block");
    scene_lost(scene, block.ptr);
  }
}

/* A free that stands although the driver refused its record is vouched for by the next one on its stream. */
static void vouch(struct scene *scene) {
  const wp_stream used[] = {scene->s, scene->t, scene->u, WP_STREAM_LEGACY, WP_STREAM_PER_THREAD};
  if (scene->log_lines == 0) return;
  for (unsigned i = 0; i < sizeof used / sizeof *used; i++) {
    void *ptr = NULL;
    must_end(wp_alloc(scene->delegate, 1, used[i], &ptr), "an allocation in the end");
    must_end(wp_free(scene->runtime, ptr, used[i]), "its free");
    scene_synchronize(scene); /* on a full device the next stream's has to come from there */
  }
}

/* What a failed call claimed of a limit and did not give back shows here. */
static void try_limit(struct scene *scene) {
  void *ptr = NULL;
  if (scene->options.limit_bytes == 0 || scene->options.keep_bytes != 0) return;
  wp_status status = wp_alloc(scene->delegate, (size_t)scene->options.limit_bytes, scene->s, &ptr);
  if (status == WP_ERROR_LIMIT) found("counters", "nothing is live, and the limit is reached");
  if (status != WP_OK) return;
  must_end(wp_free(scene->runtime, ptr, scene->s), "the free of what the limit allows");
  rig_stream_synchronize(scene->s);
}

/* -- afterwards -- */

/* Work that has finished may be seen to have only later. */
static void see_memory_go(struct scene *scene) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  wp_stats stats = WP_STATS_INIT;
  for (int look = 0; look < 100; look++) {
    must_end(wp_tick(scene->runtime), "a tick");
    must_end(wp_query_driver(scene->runtime, scene->device, &driver), "wp_query_driver");
    if (driver.pool_reserved == 0 || scene->options.keep_bytes != 0) break;
    (void)usleep(1000);
  }
  must_end(wp_device_stats(scene->runtime, scene->device, &stats), "wp_device_stats");
  if (driver.pool_reserved != 0 && scene->options.keep_bytes == 0) {
    found("mapped", "%llu bytes are mapped after the last close, %llu parked, %llu cached",
          (unsigned long long)driver.pool_reserved, (unsigned long long)stats.parked_bytes,
          (unsigned long long)stats.cached_bytes);
  }
  if (stats.live_blocks != 0 || stats.live_bytes != 0 || stats.parked_bytes != 0 || stats.capture_bytes != 0) {
    found("counters", "in the end %llu blocks and %llu bytes are live, %llu parked, %llu held for graphs",
          (unsigned long long)stats.live_blocks, (unsigned long long)stats.live_bytes,
          (unsigned long long)stats.parked_bytes, (unsigned long long)stats.capture_bytes);
  }
}

static void close_delegate(wp_delegate **delegate) {
  if (*delegate == NULL) return;
  wp_status status = wp_delegate_close(*delegate, NULL);
  if (status != WP_PENDING) must_end(status, "the close");
  *delegate = NULL;
}

void scene_end(struct scene *scene) {
  scene_release_holds(scene);
  if (scene->runtime == NULL) {
    scene_synchronize(scene);
    return;
  }
  end_captures(scene);
  if (scene->is_without_pools) {
    must_end(wp_runtime_destroy(scene->runtime), "the destruction");
    scene->runtime = NULL;
    return;
  }
  if (scene->delegate == NULL) {
    must_end(wp_delegate_open(scene->runtime, scene->device, NULL, &scene->delegate), "an open in the end");
  }
  end_blocks(scene);
  vouch(scene);
  try_limit(scene);
  close_delegate(&scene->second);
  close_delegate(&scene->delegate);
  see_memory_go(scene);
  wp_status status = wp_runtime_destroy(scene->runtime);
  if (status != WP_PENDING) must_end(status, "the destruction");
  scene->runtime = NULL;
}
