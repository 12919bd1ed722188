/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For ThreadSanitizer: threads that capture, launch and destroy graphs with memory of their own, while another one
 * trims and uses the legacy stream and its own. What a graph writes is checked after each launch.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/host/engine.h"

#define THREADS 3
#define ROUNDS 60
#define BYTES ((size_t)4 << 20)

#define MUST(call) must((call), #call)

static void must(wp__host_result result, const char *call) {
  if (result == WP__HOST_SUCCESS) return;
  (void)fprintf(stderr, "%s: %s\n", call, wp__host_result_text(result));
  abort();
}

struct actor {
  int byte;
  unsigned char *memory;
  unsigned launches;
};

static void *pool;
static atomic_bool is_over;

static void fill(void *argument) {
  struct actor *actor = argument;
  (void)memset(actor->memory, actor->byte, BYTES);
}

static void check(void *argument) {
  struct actor *actor = argument;
  if (actor->memory[0] != actor->byte || memcmp(actor->memory, actor->memory + 1, BYTES - 1) != 0) abort();
  ++actor->launches;
}

static void relax(void) {
  enum wp__host_capture_mode mode = WP__HOST_CAPTURE_RELAXED;
  MUST(wp__host_capture_exchange_mode(&mode));
}

static void *capture(struct actor *actor, void *stream, void *side, void *event) {
  void *memory, *graph, *executable;
  MUST(wp__host_capture_begin(stream, WP__HOST_CAPTURE_GLOBAL));
  MUST(wp__host_memory_alloc(pool, BYTES, stream, &memory));
  actor->memory = memory;
  MUST(wp__host_event_record(event, stream));
  MUST(wp__host_stream_wait(side, event));
  MUST(wp__host_launch(side, fill, actor));
  MUST(wp__host_stream_join(stream, side));
  MUST(wp__host_launch(stream, check, actor));
  MUST(wp__host_memory_free(memory, stream));
  MUST(wp__host_capture_end(stream, &graph));
  MUST(wp__host_graph_instantiate(graph, &executable));
  MUST(wp__host_graph_destroy(graph));
  return executable;
}

static void *act(void *argument) {
  struct actor *actor = argument;
  void *stream, *side, *event;
  relax();
  MUST(wp__host_stream_create(0, &stream));
  MUST(wp__host_stream_create(0, &side));
  MUST(wp__host_event_create(0, &event));
  for (int round = 0; round < ROUNDS; ++round) {
    void *executable = capture(actor, stream, side, event);
    MUST(wp__host_executable_launch(executable, stream));
    MUST(wp__host_executable_launch(executable, side));
    MUST(wp__host_executable_destroy(executable));
    MUST(wp__host_stream_synchronize(side));
  }
  MUST(wp__host_stream_destroy(stream));
  MUST(wp__host_stream_destroy(side));
  return NULL;
}

static void *disturb(void *argument) {
  static struct actor nobody;
  (void)argument;
  relax();
  nobody.memory = calloc(1, BYTES);
  if (nobody.memory == NULL) abort();
  while (!atomic_load(&is_over)) {
    MUST(wp__host_launch(WP__HOST_STREAM_PER_THREAD, fill, &nobody));
    MUST(wp__host_launch(WP__HOST_STREAM_LEGACY, check, &nobody)); /* after that by itself */
    MUST(wp__host_graph_memory_trim(0));
    MUST(wp__host_stream_synchronize(WP__HOST_STREAM_LEGACY));
    ++nobody.byte;
    nobody.byte %= 100;
  }
  free(nobody.memory);
  return NULL;
}

int main(void) {
  static struct actor actors[THREADS];
  pthread_t threads[THREADS], disturber;
  MUST(wp__host_pool_create(0, &pool));
  if (pthread_create(&disturber, NULL, disturb, NULL) != 0) abort();
  for (size_t i = 0; i < THREADS; ++i) {
    actors[i].byte = (int)i + 1;
    if (pthread_create(&threads[i], NULL, act, &actors[i]) != 0) abort();
  }
  for (size_t i = 0; i < THREADS; ++i) (void)pthread_join(threads[i], NULL);
  atomic_store(&is_over, true);
  (void)pthread_join(disturber, NULL);
  for (size_t i = 0; i < THREADS; ++i) {
    if (actors[i].launches != 2 * ROUNDS) return 1;
  }
  return 0;
}
