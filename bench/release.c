/* SPDX-License-Identifier: Apache-2.0 */
/* What the last close finds and gives back: of idle memory in a few blocks and in many, of memory whose work is still
 * pending, and beside a stream of somebody else's that is busy. What is timed is the close of the library as it comes;
 * beside the idle ones, where the close is all there is, that with freed blocks at the driver already. */
#include "cases.h"
#include "vendor.h"

enum { FEW = 4, MANY = 1024, PENDING_MS = 20, BUSY_MS = 300 };
static const size_t all_bytes = 256 * BENCH_MIB;

struct scene {
  const char *mode;
  bench_mode way;
  unsigned blocks;
  unsigned own_ms;   /* work that the frees wait for */
  unsigned other_ms; /* work on a stream that is not ours */
  wp_wait wait;
  unsigned samples;
};

struct found {
  double waited_ns, pending, later;
  wp_release_report report;
};

static void fill_and_free(const bench_way *way, wp_stream stream, const struct scene *scene) {
  void *blocks[MANY];
  for (unsigned i = 0; i < scene->blocks; i++) blocks[i] = bench_take(way, all_bytes / scene->blocks, stream);
  bench_synchronize(stream);
  if (scene->own_ms > 0) vendor_busy(stream, scene->own_ms);
  for (unsigned i = 0; i < scene->blocks; i++) bench_give(way, blocks[i], stream);
  if (scene->own_ms == 0) bench_synchronize(stream);
}

static void open_scene(bench_way *way, const struct scene *scene, const bench_run *run) {
  wp_runtime_options options = bench_options(scene->way);
  const wp_backend *backend = wp_backend_builtin();
  options.release_wait = scene->wait;
  *way = (bench_way){.mode = scene->way, .backend = backend};
  BENCH(backend->device_set(backend->self, run->device));
  BENCH(wp_runtime_create(&options, &way->runtime));
  BENCH(wp_delegate_open(way->runtime, run->device, NULL, &way->delegate));
}

/* The close, and what is left once the work has finished and somebody has called again. */
static void play(bench_run *run, const struct scene *scene, bench_samples *samples, struct found *found) {
  bench_way way;
  wp_driver_stats later = WP_DRIVER_STATS_INIT;
  wp_stream own = bench_stream_create(run), other = bench_stream_create(run);
  open_scene(&way, scene, run);
  fill_and_free(&way, own, scene);
  if (scene->other_ms > 0) vendor_busy(other, scene->other_ms);
  found->report = (wp_release_report)WP_RELEASE_REPORT_INIT;
  uint64_t start = bench_now();
  BENCH(wp_delegate_close(way.delegate, &found->report));
  bench_add(samples, (double)(bench_now() - start));
  bench_synchronize(own);
  BENCH(wp_tick(way.runtime));
  BENCH(wp_query_driver(way.runtime, run->device, &later));
  found->later = (double)later.pool_reserved;
  if ((double)found->report.waited_ns > found->waited_ns) found->waited_ns = (double)found->report.waited_ns;
  bench_synchronize(other);
  BENCH(wp_runtime_destroy(way.runtime));
  bench_stream_destroy(own);
  bench_stream_destroy(other);
}

static void run_release(bench_run *run) {
  static const struct scene scenes[] = {{"idle", BENCH_LANES_CHECKED, FEW, 0, 0, WP_WAIT, 10},
                                        {"idle-driver", BENCH_DELEGATE_CHECKED, FEW, 0, 0, WP_WAIT, 10},
                                        {"idle-many", BENCH_LANES_CHECKED, MANY, 0, 0, WP_WAIT, 10},
                                        {"idle-many-driver", BENCH_DELEGATE_CHECKED, MANY, 0, 0, WP_WAIT, 10},
                                        {"pending", BENCH_LANES_CHECKED, FEW, PENDING_MS, 0, WP_WAIT, 5},
                                        {"pending-no-wait", BENCH_LANES_CHECKED, FEW, PENDING_MS, 0, WP_NO_WAIT, 5},
                                        {"beside-busy", BENCH_LANES_CHECKED, FEW, 0, BUSY_MS, WP_WAIT, 5}};
  for (size_t i = 0; i < BENCH_COUNT(scenes); i++) {
    bench_samples samples = {NULL, 0, 0};
    struct found found = {0};
    bench_result result = {.name = "release", .mode = scenes[i].mode, .bytes = all_bytes, .threads = 1};
    for (unsigned s = 0; s < scenes[i].samples; s++) {
      play(run, &scenes[i], &samples, &found);
      bench_progress(run, "release: sample", s + 1, scenes[i].samples);
    }
    bench_summarize(&result, &samples);
    result.extra[0] = (bench_extra){"reserved_before", (double)found.report.reserved_before};
    result.extra[1] = (bench_extra){"reserved_after", (double)found.report.reserved_after};
    result.extra[2] = (bench_extra){"pending_bytes", (double)found.report.pending_bytes};
    result.extra[3] = (bench_extra){"reserved_later", found.later};
    result.extra[4] = (bench_extra){"waited_ns", found.waited_ns}; /* the longest */
    bench_report(run, &result);
    bench_forget(&samples);
  }
}

const bench_case bench_release = {"release", "the last close, with 256 MiB in the pool", run_release};
