/* SPDX-License-Identifier: Apache-2.0 */
/* One program from its begin to its end, in this process. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"
#ifdef WARMPOOL_TESTING
#include "os.h"
#endif

world shared;
static struct actor *actors[ACTORS];

/* -- operations -- */

static void run_operation(unsigned index) {
  self->at = index;
  rig_device_set((int)(mix(index) % (unsigned)shared.devices)); /* which one is current must not matter */
  operation_at(shared.seed, self->index, index, &self->now);
  now_doing(operation_name(self->now.kind), index);
  switch (self->now.kind) {
#define RUN(name, weight)                                                                                              \
  case OP_##name: op_##name(); break;
    OPERATIONS(RUN)
#undef RUN
  case OP_COUNT: break;
  }
  if (setup.threads == 1 && (index & 3) == 0) counters_check();
}

/* Up to `end`; a thread of its own takes some of them. */
static void run_operations(unsigned first, unsigned end) {
  for (unsigned i = first; i < end; i += 1 + self->inner) {
    self->inner = 0;
    if (self->skipped == NULL || !self->skipped[i]) run_operation(i);
  }
}

static void *run_thread(void *argument) {
  self = argument;
  unsigned first = self->at + 1, count = self->inner, last = self->thread;
  self->thread = ++self->threads;
  run_operations(first, first + count);
  capture_end_all(true);
  own_streams_end();
  now_doing("the end of a thread", self->at);
  self->thread = last;
  self->inner = count;
  return NULL;
}

/* The operations that follow run on a new thread, which ends then. */
void op_thread(void) {
  pthread_t thread;
  if (self->thread != 0) return;
  /* What only this thread can wait for must not wait for a hold that the other one opens. */
  if (shared.is_exact) holds_open();
  self->inner = 1 + pick(0, 12);
  if (self->at + self->inner >= setup.operations) self->inner = setup.operations - 1 - self->at;
  rig_device_set(0);
  if (pthread_create(&thread, NULL, run_thread, self) != 0) violation("no thread can be made");
  (void)pthread_join(thread, NULL);
}

/* -- actors -- */

static void end_streams(void) {
  for (int i = 0; i < STREAMS; i++) {
    struct stream *stream = stream_of(i);
    if (stream->kind == VACANT || stream->kind == DEAD) continue;
    for (unsigned r = 0; r < shared.runtime_count; r++) {
      if (shared.runtimes[r].handle == NULL || (stream->kind == LEGACY && setup.threads > 1)) continue;
      use_device_of(stream);
      call_begin(LISTED_stream_retire, false);
      (void)call_end(wp_stream_retire(shared.runtimes[r].handle, stream->device, stream->handle), 0);
    }
    if (stream->kind == CREATED || stream->kind == BLOCKING) rig_stream_destroy(stream->handle);
    stream->kind = VACANT;
  }
}

static void end_actor(void) {
  self->is_ending = true;
  self->now = (op){.kind = OP_COUNT};
  now_doing("the end", self->at);
  holds_open();
  capture_end_all(false);
  for (int i = 0; i < STREAMS; i++) (void)stream_drain(i);
  graphs_end();
  for (int i = 0; i < BLOCKS; i++) {
    if (self->blocks[i].address != NULL && !block_free_now(&self->blocks[i])) violation("a free fails in the end");
  }
  for (int i = 0; i < STREAMS; i++) (void)stream_drain(i);
  delegates_end();
  end_streams();
  work_end();
}

static void *run_actor(void *argument) {
  self = argument;
  rig_device_set((int)(self->index % (unsigned)shared.devices));
  streams_start();
  work_start();
  run_operations(0, setup.operations);
  end_actor();
  rig_device_set(0);
  return NULL;
}

static struct actor *make_actor(unsigned index, const bool *skipped) {
  if (actors[index] == NULL) actors[index] = calloc(1, sizeof *actors[index]);
  struct actor *made = actors[index];
  if (made == NULL) violation("out of host memory");
  struct cell *vacant = made->vacant;
  struct reading *spare = made->spare;
  *made = (struct actor){.index = index, .skipped = skipped, .vacant = vacant, .spare = spare};
  made->random = mix(shared.seed * 31 + index);
  made->now.kind = OP_COUNT;
  for (int i = 0; i < BLOCKS; i++) made->blocks[i].delegate = NOWHERE;
  return made;
}

static void run_actors(const bool *skipped) {
  pthread_t threads[ACTORS];
  if (setup.threads == 1) {
    (void)run_actor(self);
    return;
  }
  for (unsigned i = 0; i < setup.threads; i++) {
    if (pthread_create(&threads[i], NULL, run_actor, make_actor(i, skipped)) != 0) violation("no thread can be made");
  }
  for (unsigned i = 0; i < setup.threads; i++) (void)pthread_join(threads[i], NULL);
}

/* -- what is left -- */

static watched_objects left_before; /* by programs in which the driver's failures excused it */

static void check_driver_s(const struct actor *what) {
  watched_objects left = watched_left();
  REQUIRE_THAT(what->scope_failed || (left.streams == left_before.streams && left.events == left_before.events),
               "in the end %ld streams and %ld events of the driver's are left", left.streams - left_before.streams,
               left.events - left_before.events);
  REQUIRE_THAT(what->scope_failed || what->record_failed ||
                   (left.pools == left_before.pools && left.blocks == left_before.blocks),
               "in the end %ld pools and %ld blocks are left", left.pools - left_before.pools,
               left.blocks - left_before.blocks);
  left_before = left;
}

#ifdef WARMPOOL_TESTING
/* Whether more of the host's memory is allocated than after the programs before. Threads of the host backend's streams
 * give theirs back a little later. */
static bool holds_more(unsigned milliseconds) {
  static long usual;
  const struct timespec pause = {0, 1000000};
  for (unsigned i = 0; i < milliseconds && wp__test_allocations() > usual; i++) (void)nanosleep(&pause, NULL);
  bool is_more = wp__test_allocations() > usual;
  usual = wp__test_allocations();
  return is_more;
}

/* Tables that grow are kept, a leak is one each time. */
static void check_host_memory(void) {
  static bool is_repeated;
  if (is_repeated) return;
  is_repeated = true;
  unsigned grew = 0;
  while (grew < 6 && holds_more(grew < 2 ? 10 : 100)) {
    grew++;
    run_program(shared.seed, self->skipped);
  }
  REQUIRE_THAT(grew < 6, "in the end some of the library's memory of the host is left");
  is_repeated = false;
}
#endif

static void start_world(uint64_t seed) {
  static const wp_backend *watched;
  static uint32_t capabilities; /* to find out makes objects, which costs time */
  if (watched == NULL) {
    watched = watched_backend(wp_backend_builtin(), &hooks);
    if (watched->device_capabilities(watched->self, 0, &capabilities) != WP_OK) violation("there is no device");
  }
  shared = (world){.seed = seed, .driver = watched, .capabilities = capabilities};
  /* The fourth part leaves it to the streams' own threads when work ends. */
  shared.is_exact = setup.threads == 1 && (setup.exact || seed % 4 != 3);
  int devices = rig_device_count();
  shared.devices = devices > DEVICES ? DEVICES : devices;
  uint64_t free_bytes;
  rig_device_set(0);
  if (watched->device_memory(watched->self, &free_bytes, &shared.memory) != WP_OK) violation("no device memory");
}

/* What outlives a program: streams, which forget what they know of others when they are waited for and used again, and
 * the driver's memory of graphs that are gone. */
static void settle_the_driver(void) {
  const wp_backend *real = wp_backend_builtin();
  now_doing("the wait for the driver", setup.operations);
  for (int device = 0; device < shared.devices; device++) {
    rig_device_set(device);
    for (int twice = 0; twice < 2; twice++) {
      rig_stream_synchronize(WP_STREAM_LEGACY);
      rig_stream_synchronize(WP_STREAM_PER_THREAD);
    }
    (void)real->graph_trim(real->self, device);
  }
  rig_device_set(0);
}

void run_program(uint64_t seed, const bool *skipped) {
  self = NULL;
  start_world(seed);
  self = make_actor(setup.threads == 1 ? 0 : ACTORS - 1, skipped);
  inner_streams_start();
  given_start();
  runtimes_start();
  run_actors(skipped);
  for (unsigned i = 0; i < setup.threads; i++) {
    self->record_failed = self->record_failed || actors[i]->record_failed;
    self->scope_failed = self->scope_failed || actors[i]->scope_failed;
  }
  self->is_ending = true;
  runtimes_end();
  settle_the_driver();
  check_driver_s(self);
#ifdef WARMPOOL_TESTING
  if (!self->record_failed && !self->scope_failed) check_host_memory();
#endif
}
