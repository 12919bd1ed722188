/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method that is captured once and launched as a graph. It needs scratch memory while it runs, and its result stays
 * behind in an output. Because the capture is declared, both come from the private pool: the driver keeps no graph
 * memory, which would belong to the whole device; what the graph uses is nobody else's between its launches; and once
 * the graph is released, the memory is warm for everybody, and goes back with the last close.
 *
 * It runs on the host backend, whose streams execute functions on the CPU (host.h); on a GPU the calls of
 * wp_host_capture and wp_host_graph are the vendor's own, and everything else stays as it is.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "warmpool/host.h"
#include "warmpool/warmpool.h"

enum { COUNT = 1 << 18, LAUNCHES = 3 };
static const size_t bytes = COUNT * sizeof(int);

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

/* -- the method: two kernels -- */

struct method {
  int input; /* may change from launch to launch; the addresses are the graph's */
  int *scratch, *output;
};

static void fill_scratch(void *argument) {
  const struct method *method = argument;
  for (int i = 0; i < COUNT; i++) method->scratch[i] = method->input + i;
}

static void write_output(void *argument) {
  const struct method *method = argument;
  for (int i = 0; i < COUNT; i++) method->output[i] = 2 * method->scratch[i];
}

/* What runs where nothing is captured is the same code: allocations, kernels and a free, in the order of the stream. */
static void run_method(wp_runtime *runtime, wp_delegate *delegate, wp_stream stream, struct method *method) {
  void *scratch, *output;
  check(wp_alloc(delegate, bytes, stream, &scratch), "alloc");
  check(wp_alloc(delegate, bytes, stream, &output), "alloc");
  method->scratch = scratch;
  method->output = output;
  check(wp_host_launch(stream, fill_scratch, method), "launch");
  check(wp_host_launch(stream, write_output, method), "launch");
  check(wp_free(runtime, scratch, stream), "free"); /* the output stays */
}

static wp_stats stats_of(wp_runtime *runtime) {
  wp_stats stats = WP_STATS_INIT;
  check(wp_device_stats(runtime, 0, &stats), "stats");
  return stats;
}

static uint64_t graph_memory_of_driver(wp_runtime *runtime) {
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  check(wp_query_driver(runtime, 0, &driver), "driver");
  return driver.graph_reserved;
}

int main(void) {
  wp_runtime *runtime;
  wp_delegate *delegate;
  wp_stream stream;
  wp_capture *capture;
  wp_graph_memory *memory;
  wp_host_graph graph;
  wp_host_executable executable;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  struct method method = {0};
  check(wp_runtime_create(NULL, &runtime), "create");
  check(wp_delegate_open(runtime, 0, NULL, &delegate), "open");
  check(wp_host_stream_create(0, &stream), "stream");

  /* Declared before the vendor's begin, and ended after the vendor's end. Nothing runs yet. */
  check(wp_capture_begin(delegate, stream, NULL, &capture), "begin");
  check(wp_host_capture_begin(stream, WP_HOST_CAPTURE_GLOBAL), "begin");
  run_method(runtime, delegate, stream, &method);
  check(wp_host_capture_end(stream, &graph), "end");
  check(wp_capture_end(capture, &memory), "end");
  check(wp_host_graph_instantiate(graph, &executable), "instantiate");

  for (int launch = 1; launch <= LAUNCHES; launch++) {
    method.input = launch;
    check(wp_host_graph_launch(executable, stream), "launch");
    check(wp_host_stream_synchronize(stream), "synchronize");
    show(method.output[COUNT - 1] == 2 * (launch + COUNT - 1), "a launch wrote its result to the same output");
  }
  show(stats_of(runtime).capture_bytes >= bytes, "the scratch memory is kept for the graph");
  show(stats_of(runtime).live_bytes == bytes, "the output is live, and the caller's");
  show(graph_memory_of_driver(runtime) == 0, "the driver has no graph memory");

  /* One launch more, behind which everything is given up. Nobody waits: the memory is free when the launch is done. */
  check(wp_host_graph_launch(executable, stream), "launch");
  check(wp_graph_memory_release(memory, &stream, 1), "release");
  check(wp_host_executable_destroy(executable), "destroy");
  check(wp_host_graph_destroy(graph), "destroy");
  check(wp_free(runtime, method.output, stream), "free");
  show(stats_of(runtime).capture_bytes == 0, "after the release nothing is kept for the graph");

  check(wp_delegate_close(delegate, &report), "close");
  show(report.returned_bytes > 0 && report.reserved_after == 0, "after the last close the device has its memory back");
  check(wp_host_stream_destroy(stream), "destroy");
  check(wp_runtime_destroy(runtime), "destroy");
  return failures == 0 ? 0 : 1;
}
