/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block that one stream writes and another one reads, and the three ways to free it. In each round the reader is held
 * up, so that one can see what the free does to the writer's stream, and to the block:
 *
 *   order    the writer's stream waits for the reader's, and then the block is freed there. The library has nothing to
 *            wait for, and the block serves the writer at once; but the writer's next work waits.
 *   note     wp_note_use says that the reader uses the block, and wp_free names the writer alone. The writer goes on,
 *            and the block is parked until the reader is there.
 *   after    wp_free_after names both streams. The same, told in one call.
 *
 * It runs on the host backend, whose streams execute functions on the CPU (host.h).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "warmpool/host.h"
#include "warmpool/warmpool.h"

enum { COUNT = 1 << 18 };
enum way { ORDER, NOTE, AFTER };

/* Ends the program with the reason where a call failed. */
static void check(wp_status status, const char *what) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  if (status == WP_OK) return;
  wp_last_error(&info);
  (void)fprintf(stderr, "%s: %s (%s)\n", what, wp_status_message(status), info.message);
  exit(1);
}

/* -- work -- */

struct job {
  int *data;
  int value;
  long sum;
  atomic_bool may_go, is_done;
};

static void write_data(void *argument) {
  struct job *job = argument;
  for (int i = 0; i < COUNT; i++) job->data[i] = job->value;
  atomic_store(&job->is_done, true);
}

static void sum_up(void *argument) {
  struct job *job = argument;
  while (!atomic_load(&job->may_go)) {
  }
  for (int i = 0; i < COUNT; i++) job->sum += job->data[i];
}

/* -- a round -- */

struct example {
  wp_runtime *runtime;
  wp_delegate *delegate;
  wp_stream writer, reader;
};

static void free_block(const struct example *example, enum way way, void *block) {
  const wp_stream both[] = {example->writer, example->reader};
  switch (way) {
  case ORDER:
    check(wp_host_stream_wait(example->writer, example->reader), "order");
    check(wp_free(example->runtime, block, example->writer), "free");
    break;
  case NOTE:
    check(wp_note_use(example->runtime, block, example->reader), "note");
    check(wp_free(example->runtime, block, example->writer), "free");
    break;
  case AFTER: check(wp_free_after(example->runtime, block, both, 2), "free"); break;
  }
}

static uint64_t parked(const struct example *example) {
  wp_stats stats = WP_STATS_INIT;
  check(wp_device_stats(example->runtime, 0, &stats), "stats");
  return stats.parked_bytes;
}

/* Whether it all went as it should. */
static bool run(const struct example *example, enum way way, const char *name) {
  void *block, *next;
  check(wp_alloc(example->delegate, COUNT * sizeof(int), example->writer, &block), "alloc");
  struct job one = {.data = block, .value = 1}, sum = {.data = block};
  check(wp_host_launch(example->writer, write_data, &one), "launch");
  check(wp_host_stream_wait(example->reader, example->writer), "order"); /* reads after the write */
  check(wp_host_launch(example->reader, sum_up, &sum), "launch");
  free_block(example, way, block);
  uint64_t waiting = parked(example);

  /* The writer's next block, while the reader is still at the first. */
  check(wp_alloc(example->delegate, COUNT * sizeof(int), example->writer, &next), "alloc");
  struct job two = {.data = next, .value = 2};
  check(wp_host_launch(example->writer, write_data, &two), "launch");
  if (way != ORDER) check(wp_host_stream_synchronize(example->writer), "synchronize");
  bool went_on = atomic_load(&two.is_done);
  check(wp_free(example->runtime, next, example->writer), "free");

  atomic_store(&sum.may_go, true);
  check(wp_host_stream_synchronize(example->reader), "synchronize");
  check(wp_host_stream_synchronize(example->writer), "synchronize");
  check(wp_tick(example->runtime), "tick"); /* looks whether parked memory can go on */
  (void)printf("%-6s parked %7llu bytes, then %llu; next block %-9s the writer %-8s the sum is %ld\n", name,
               (unsigned long long)waiting, (unsigned long long)parked(example),
               next == block ? "the same;" : "another;", went_on ? "went on;" : "waited;", sum.sum);
  if (sum.sum != COUNT || parked(example) != 0) return false; /* somebody wrote too early, or something was lost */
  return way == ORDER ? waiting == 0 && next == block && !went_on : waiting > 0 && next != block && went_on;
}

int main(void) {
  struct example example;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  check(wp_runtime_create(NULL, &example.runtime), "create");
  check(wp_delegate_open(example.runtime, 0, NULL, &example.delegate), "open");
  check(wp_host_stream_create(0, &example.writer), "stream");
  check(wp_host_stream_create(0, &example.reader), "stream");

  bool is_so = run(&example, ORDER, "order");
  is_so = run(&example, NOTE, "note") && is_so;
  is_so = run(&example, AFTER, "after") && is_so;

  check(wp_host_stream_destroy(example.writer), "destroy");
  check(wp_host_stream_destroy(example.reader), "destroy");
  check(wp_delegate_close(example.delegate, &report), "close");
  (void)printf("closed: %llu bytes are left\n", (unsigned long long)report.reserved_after);
  check(wp_runtime_destroy(example.runtime), "destroy");
  return is_so && report.reserved_after == 0 ? 0 : 1;
}
