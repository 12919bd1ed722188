/* SPDX-License-Identifier: Apache-2.0 */
/* Where the memory of captured allocations comes from, and when it goes back. */
#include <criterion/criterion.h>

#include "facts.h"

#define BYTES (64 * MIB)

TestSuite(graph_memory, .init = facts_init, .fini = facts_fini, .timeout = 20);

/* Allocates and fills, and frees if told to. */
static rig_graph *capture(int byte, bool frees, unsigned char **memory) {
  rig_capture_begin(stream, RIG_CAPTURE_GLOBAL);
  *memory = allocate(pool, BYTES, stream);
  rig_fill(stream, *memory, byte, BYTES);
  if (frees) release(*memory, stream);
  rig_graph *graph = rig_capture_end(stream);
  cr_assert_not_null(graph);
  return graph;
}

static void run(rig_graph *graph) {
  cr_assert(rig_graph_launch(graph, stream));
  synchronize(stream);
}

static void expect_byte(int byte, const unsigned char *memory) {
  unsigned char found = (unsigned char)~byte;
  rig_read(stream, &found, memory + BYTES - 1, 1);
  cr_expect_eq(found, byte);
}

/* C5 */
Test(graph_memory, is_not_the_pools) {
  unsigned char *memory;
  rig_graph *graph = capture(1, true, &memory);
  run(graph);
  cr_expect_eq(reserved(pool), 0);
  cr_expect_eq(used(pool), 0);
  cr_expect_geq(graph_reserved(), BYTES);
  rig_graph_destroy(graph);
}

/* C5 */
Test(graph_memory, stays_when_the_pool_is_trimmed) {
  unsigned char *memory;
  rig_graph *graph = capture(1, true, &memory);
  run(graph);
  uint64_t before = graph_reserved();
  trim(pool);
  cr_expect_eq(graph_reserved(), before);
  rig_graph_destroy(graph);
}

/* C5 */
Test(graph_memory, of_an_idle_executable_goes_back_at_a_graph_trim) {
  unsigned char *memory;
  rig_graph *graph = capture(1, true, &memory);
  run(graph);
  graph_trim();
  cr_expect_eq(graph_reserved(), 0);
  rig_graph_destroy(graph);
}

/* C5 */
Test(graph_memory, that_went_back_is_mapped_again_by_the_next_launch) {
  unsigned char *memory;
  rig_graph *graph = capture(0x5a, false, &memory);
  run(graph);
  uint64_t once = graph_reserved();
  release(memory, stream);
  synchronize(stream);
  graph_trim();
  cr_assert_eq(graph_reserved(), 0);
  run(graph);
  cr_expect_eq(graph_reserved(), once);
  expect_byte(0x5a, memory);
  release(memory, stream);
  rig_graph_destroy(graph);
}

/* C5 */
Test(graph_memory, is_shared_by_two_executables) {
  unsigned char *memory;
  rig_graph *one = capture(1, true, &memory), *other = capture(2, true, &memory);
  run(one);
  uint64_t once = graph_reserved();
  run(other);
  cr_expect_eq(graph_reserved(), once);
  run(one);
  cr_expect_eq(graph_reserved(), once);
  rig_graph_destroy(one);
  rig_graph_destroy(other);
}

/* C6 */
Test(graph_memory, outlives_the_executable_until_a_graph_trim) {
  unsigned char *memory;
  rig_graph *graph = capture(1, true, &memory);
  run(graph);
  rig_graph_destroy(graph);
  cr_expect_geq(graph_reserved(), BYTES);
  graph_trim();
  cr_expect_eq(graph_reserved(), 0);
}

/* C6 */
Test(graph_memory, that_is_not_freed_stays_live) {
  unsigned char *memory;
  rig_graph *graph = capture(0x5a, false, &memory);
  run(graph);
  cr_expect_geq(graph_used(), BYTES);
  graph_trim();
  cr_expect_geq(graph_reserved(), BYTES);
  expect_byte(0x5a, memory);
  release(memory, stream);
  rig_graph_destroy(graph);
}

/* C6 */
Test(graph_memory, that_is_live_keeps_the_graph_from_another_launch) {
  unsigned char *memory;
  rig_graph *graph = capture(1, false, &memory);
  run(graph);
  cr_expect_not(rig_graph_launch(graph, stream));
  release(memory, stream);
  cr_expect(rig_graph_launch(graph, stream));
  release(memory, stream);
  rig_graph_destroy(graph);
}

/* C6 */
Test(graph_memory, that_is_live_can_be_freed_outside_and_trimmed) {
  unsigned char *memory;
  rig_graph *graph = capture(1, false, &memory);
  run(graph);
  release(memory, stream);
  synchronize(stream);
  graph_trim(); /* until then it counts as used */
  cr_expect_eq(graph_used(), 0);
  cr_expect_eq(graph_reserved(), 0);
  rig_graph_destroy(graph);
}

/* C6 */
Test(graph_memory, that_is_live_outlives_the_executable) {
  unsigned char *memory;
  rig_graph *graph = capture(0x5a, false, &memory);
  run(graph);
  rig_graph_destroy(graph);
  graph_trim();
  expect_byte(0x5a, memory);
  release(memory, stream);
  synchronize(stream);
  graph_trim();
  cr_expect_eq(graph_reserved(), 0);
}
