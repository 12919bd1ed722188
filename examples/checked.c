/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that come and go freely, with the library as it comes (WP_STREAMS_CHECKED): each of them is destroyed while
 * the memory that was freed on it is still being written. Nobody tells the library so, and yet it hands that memory to
 * no other stream before the work has finished, and waits for the work when the last delegate closes.
 *
 * It runs on the host backend, whose streams execute functions on the CPU (host.h); on a GPU "launch" is a kernel
 * launch and everything else stays as it is.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warmpool/host.h"
#include "warmpool/warmpool.h"

enum { BYTES = 4 << 20 };

/* Ends the program with the reason where a call failed. */
static void check(wp_status status, const char *what) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  if (status == WP_OK) return;
  wp_last_error(&info);
  (void)fprintf(stderr, "%s: %s (%s)\n", what, wp_status_message(status), info.message);
  exit(1);
}

/* One line, and whether it is so. */
static int failures;
static void show(bool is_so, const char *what) {
  (void)printf("%s: %s\n", is_so ? "yes" : "NO", what);
  if (!is_so) failures++;
}

/* -- work: fills the memory, but not before it may -- */

struct fill {
  unsigned char *memory;
  unsigned char value;
  atomic_bool may_go;
};

static void fill_slowly(void *argument) {
  struct fill *fill = argument;
  while (!atomic_load(&fill->may_go)) {
  }
  (void)memset(fill->memory, fill->value, BYTES);
}

/* A stream for one request: memory, work on it, a free, and the end of the stream. Nothing here waits for the work. */
static void request(wp_runtime *runtime, wp_delegate *delegate, struct fill *fill) {
  wp_stream stream;
  void *memory;
  check(wp_host_stream_create(0, &stream), "stream");
  check(wp_alloc(delegate, BYTES, stream, &memory), "alloc");
  fill->memory = memory;
  check(wp_host_launch(stream, fill_slowly, fill), "launch");
  check(wp_free(runtime, memory, stream), "free");
  check(wp_host_stream_destroy(stream), "destroy");
}

static wp_stats stats_of(wp_runtime *runtime) {
  wp_stats stats = WP_STATS_INIT;
  check(wp_device_stats(runtime, 0, &stats), "stats");
  return stats;
}

int main(void) {
  wp_runtime *runtime;
  wp_delegate *delegate;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  struct fill first = {.value = 1}, second = {.value = 2}, third = {.value = 3}, last = {.value = 4};
  atomic_store(&second.may_go, true);
  check(wp_runtime_create(NULL, &runtime), "create");
  check(wp_delegate_open(runtime, 0, NULL, &delegate), "open");

  /* The first stream is gone, its work is not. The second may even have the first one's handle. */
  request(runtime, delegate, &first);
  request(runtime, delegate, &second);
  show(first.memory != second.memory, "memory that is still in use served no other stream");
  show(stats_of(runtime).driver_allocs == 2, "so the driver was asked for a second block");

  /* A trim that keeps everything gives nothing back; it waits for the work on what was freed, and for nothing else. */
  atomic_store(&first.may_go, true);
  check(wp_trim(runtime, 0, UINT64_MAX, WP_WAIT, &report), "trim");
  show(first.memory[0] == 1 && first.memory[BYTES - 1] == 1, "the work ended although its stream had been destroyed");

  /* Two streams more get those two blocks: they are known to be finished. */
  request(runtime, delegate, &third);
  request(runtime, delegate, &last);
  show(third.memory != last.memory, "two new streams have a block each");
  show(stats_of(runtime).driver_allocs == 2, "and the driver was asked for neither");

  /* The close waits for both. */
  atomic_store(&third.may_go, true);
  atomic_store(&last.may_go, true);
  check(wp_delegate_close(delegate, &report), "close");
  show(report.returned_bytes > 0 && report.reserved_after == 0, "after the last close the device has its memory back");
  check(wp_runtime_destroy(runtime), "destroy");
  return failures == 0 ? 0 : 1;
}
