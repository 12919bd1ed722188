/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host engine under threads: each allocates, fills, hands from stream to stream, checks and frees on streams that
 * come and go, in pools that all threads share. A block that overlaps another live one is found by its bounds; one that
 * is handed out too early in stream order is found by its bytes. The last blocks are freed after their pools have been
 * destroyed. Exits with 0 where all is well.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/host/engine.h"

#define THREADS 8
#define POOLS 2
#define STREAMS 3
#define BLOCKS 12
#define STEPS 4000

static atomic_int failures;
static void *pools[POOLS];

static void fail(const char *what) {
  fprintf(stderr, "host_engine: %s\n", what);
  (void)atomic_fetch_add(&failures, 1);
}

static void must(wp__host_result result, const char *call) {
  if (result != WP__HOST_SUCCESS) fail(call);
}
#define MUST(call) must((call), #call)

/* -- bounds of all live blocks -- */

static pthread_mutex_t bounds_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bounds { uintptr_t begin, end; /* 0, 0: vacant */ } bounds[THREADS * BLOCKS];

static void add_bounds(size_t slot, const void *memory, size_t bytes) {
  uintptr_t begin = (uintptr_t)memory, end = begin + bytes;
  (void)pthread_mutex_lock(&bounds_lock);
  for (size_t i = 0; i < THREADS * BLOCKS; ++i) {
    if (begin < bounds[i].end && bounds[i].begin < end) fail("two live blocks overlap");
  }
  bounds[slot] = (struct bounds){begin, end};
  (void)pthread_mutex_unlock(&bounds_lock);
}

static void remove_bounds(size_t slot) {
  (void)pthread_mutex_lock(&bounds_lock);
  bounds[slot] = (struct bounds){0, 0};
  (void)pthread_mutex_unlock(&bounds_lock);
}

/* -- work for streams -- */

struct work {
  unsigned char *memory;
  size_t bytes;
  unsigned char tag;
};

static void run_fill(void *argument) {
  struct work *work = argument;
  memset(work->memory, work->tag, work->bytes);
  free(work);
}

static void run_check(void *argument) {
  struct work *work = argument;
  for (size_t i = 0; i < work->bytes; ++i) {
    if (work->memory[i] == work->tag) continue;
    fail("a block's bytes changed while it was live in stream order");
    break;
  }
  free(work);
}

static void submit(void *stream, void (*function)(void *), struct work work) {
  struct work *argument = malloc(sizeof *argument);
  if (argument == NULL) abort();
  *argument = work;
  MUST(wp__host_launch(stream, function, argument));
}

/* -- a thread -- */

struct actor {
  size_t index;
  uint64_t random;
  void *streams[STREAMS]; /* the first one is the thread's own */
  void *event;
  struct block {
    struct work work; /* memory NULL: vacant */
    void *stream;
  } blocks[BLOCKS];
};

static size_t draw(struct actor *actor, size_t below) {
  actor->random = actor->random * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(actor->random >> 33) % below;
}

static void *any_stream(struct actor *actor) { return actor->streams[draw(actor, STREAMS)]; }

static void allocate(struct actor *actor, size_t slot) {
  struct block *block = &actor->blocks[slot];
  size_t bytes = draw(actor, 20) == 0 ? (size_t)8 << 20 : 1 + draw(actor, 20000);
  void *memory = NULL, *stream = any_stream(actor);
  wp__host_result result = wp__host_memory_alloc(pools[draw(actor, POOLS)], bytes, stream, &memory);
  if (result == WP__HOST_OUT_OF_MEMORY) return;
  MUST(result);
  if (memory == NULL) return;
  add_bounds(actor->index * BLOCKS + slot, memory, bytes);
  block->work = (struct work){memory, bytes < 20000 ? bytes : 20000, (unsigned char)draw(actor, 256)};
  block->stream = stream;
  submit(stream, run_fill, block->work);
}

static void release(struct actor *actor, size_t slot) {
  struct block *block = &actor->blocks[slot];
  void *stream = any_stream(actor);
  if (stream != block->stream) MUST(wp__host_stream_join(stream, block->stream));
  submit(stream, run_check, block->work);
  remove_bounds(actor->index * BLOCKS + slot);
  MUST(wp__host_memory_free(block->work.memory, stream));
  block->work.memory = NULL;
}

static void hand_over(struct actor *actor, void *from, void *to) {
  MUST(wp__host_stream_join(to, from));
  for (size_t i = 0; i < BLOCKS; ++i) {
    if (actor->blocks[i].stream == from) actor->blocks[i].stream = to;
  }
}

/* Another stream in place of one whose work may go on; its blocks are another one's from now on. */
static void replace_stream(struct actor *actor) {
  size_t index = 1 + draw(actor, STREAMS - 1);
  hand_over(actor, actor->streams[index], actor->streams[(index + 1) % STREAMS]);
  MUST(wp__host_stream_destroy(actor->streams[index]));
  MUST(wp__host_stream_create(0, &actor->streams[index]));
}

static void disturb(struct actor *actor) {
  wp__host_pool_figures figures;
  bool complete;
  void *pool = pools[draw(actor, POOLS)];
  switch (draw(actor, 7)) {
  case 0: MUST(wp__host_stream_synchronize(any_stream(actor))); break;
  case 1: MUST(wp__host_event_record(actor->event, any_stream(actor))); break;
  case 2: MUST(wp__host_event_synchronize(actor->event)); break;
  case 3: MUST(wp__host_stream_wait(any_stream(actor), actor->event)); break;
  case 4: MUST(wp__host_pool_trim(pool, (uint64_t)draw(actor, 3) << 25)); break;
  case 5:
    MUST(wp__host_event_query(actor->event, &complete));
    MUST(wp__host_pool_measure(pool, &figures));
    if (figures.used > figures.reserved) fail("more is used than reserved");
    break;
  default: replace_stream(actor); break;
  }
}

static void *act(void *argument) {
  struct actor *actor = argument;
  actor->streams[0] = WP__HOST_STREAM_PER_THREAD;
  for (int i = 1; i < STREAMS; ++i) MUST(wp__host_stream_create(0, &actor->streams[i]));
  MUST(wp__host_event_create(0, &actor->event));
  for (int step = 0; step < STEPS; ++step) {
    size_t slot = draw(actor, BLOCKS);
    if (draw(actor, 8) == 0) {
      disturb(actor);
    } else if (actor->blocks[slot].work.memory == NULL) {
      allocate(actor, slot);
    } else {
      release(actor, slot);
    }
  }
  hand_over(actor, actor->streams[0], actor->streams[1]);
  return NULL;
}

static void *end(void *argument) {
  struct actor *actor = argument;
  for (size_t slot = 0; slot < BLOCKS; ++slot) {
    if (actor->blocks[slot].work.memory != NULL) release(actor, slot);
  }
  MUST(wp__host_event_destroy(actor->event));
  for (int i = 1; i < STREAMS; ++i) MUST(wp__host_stream_destroy(actor->streams[i]));
  return NULL;
}

/* -- all of it -- */

static uint64_t missing(void) {
  uint64_t free_bytes = 0, total_bytes = 0;
  MUST(wp__host_device_memory(0, &free_bytes, &total_bytes));
  return total_bytes - free_bytes;
}

static struct actor actors[THREADS];

static void run_all(void *(*part)(void *)) {
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, part, &actors[i]) != 0) abort();
  }
  for (int i = 0; i < THREADS; ++i) (void)pthread_join(threads[i], NULL);
}

int main(void) {
  (void)setenv("WARMPOOL_HOST_MEMORY", "256M", 1);
  for (int i = 0; i < POOLS; ++i) MUST(wp__host_pool_create(0, &pools[i]));
  MUST(wp__host_pool_set_threshold(pools[0], UINT64_MAX));
  for (size_t i = 0; i < THREADS; ++i) {
    actors[i].index = i;
    actors[i].random = i + 1;
  }
  run_all(act);
  for (int i = 0; i < POOLS; ++i) MUST(wp__host_pool_destroy(pools[i]));
  run_all(end);
  while (missing() != 0 && atomic_load(&failures) == 0) (void)sched_yield(); /* the destroyed streams' last work */
  return atomic_load(&failures) == 0 ? 0 : 1;
}
