/* SPDX-License-Identifier: Apache-2.0 */
#include "captured.h"

const bench_mode captured_modes[CAPTURED_WAYS] = {BENCH_DELEGATE_CHECKED, BENCH_LANES_CHECKED};
const char *const captured_names[CAPTURED_WAYS] = {"driver-memory", "capture-memory"};

void captured_begin(captured_graph *captured, const bench_way *way, wp_stream stream) {
  bool declares = way->mode == BENCH_LANES || way->mode == BENCH_LANES_CHECKED;
  captured->capture = NULL;
  if (declares) BENCH(wp_capture_begin(way->delegate, stream, NULL, &captured->capture));
  vendor_capture_begin(stream);
}

void captured_end(captured_graph *captured, wp_stream stream) {
  captured->memory = NULL;
  captured->graph = vendor_capture_end(stream);
  if (captured->capture != NULL) BENCH(wp_capture_end(captured->capture, &captured->memory));
}

void captured_release(captured_graph *captured) {
  vendor_graph_destroy(captured->graph);
  BENCH(wp_graph_memory_release(captured->memory, NULL, 0));
}
