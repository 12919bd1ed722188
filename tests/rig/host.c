/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

#define REQUIRE(call) require((call), #call)

static void die(const char *what, const char *why) {
  fprintf(stderr, "rig: %s: %s\n", what, why);
  abort();
}

static void require(wp__host_result result, const char *call) {
  if (result != WP__HOST_SUCCESS) die(call, wp__host_result_text(result));
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) die("malloc", "out of host memory");
  return memory;
}

/* -- devices -- */

int rig_device_count(void) {
  int count;
  REQUIRE(wp__host_device_count(&count));
  return count;
}

int rig_device_current(void) {
  int device;
  REQUIRE(wp__host_device_current(&device));
  return device;
}

void rig_device_set(int device) { REQUIRE(wp__host_device_set(device)); }

/* -- streams -- */

wp_stream rig_stream_create(int device) {
  wp_stream stream;
  REQUIRE(wp__host_stream_create(device, &stream));
  return stream;
}

void rig_stream_destroy(wp_stream stream) { REQUIRE(wp__host_stream_destroy(stream)); }
void rig_stream_synchronize(wp_stream stream) { REQUIRE(wp__host_stream_synchronize(stream)); }
void rig_wait(wp_stream stream, wp_stream other) { REQUIRE(wp__host_stream_join(stream, other)); }

/* -- holds: the stream and the test each own half -- */

struct rig_hold {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_released;
  int owners;
};

/* The lock is held, and given up. */
static void disown(rig_hold *hold) {
  bool is_last = --hold->owners == 0;
  (void)pthread_mutex_unlock(&hold->lock);
  if (!is_last) return;
  (void)pthread_cond_destroy(&hold->changed);
  (void)pthread_mutex_destroy(&hold->lock);
  free(hold);
}

static void stall(void *argument) {
  rig_hold *hold = argument;
  (void)pthread_mutex_lock(&hold->lock);
  while (!hold->is_released) (void)pthread_cond_wait(&hold->changed, &hold->lock);
  disown(hold);
}

rig_hold *rig_hold_stream(wp_stream stream) {
  rig_hold *hold = allocate(sizeof *hold);
  (void)pthread_mutex_init(&hold->lock, NULL);
  (void)pthread_cond_init(&hold->changed, NULL);
  hold->is_released = false;
  hold->owners = 2;
  REQUIRE(wp__host_launch(stream, stall, hold));
  return hold;
}

void rig_release(rig_hold *hold) {
  (void)pthread_mutex_lock(&hold->lock);
  hold->is_released = true;
  (void)pthread_cond_broadcast(&hold->changed);
  disown(hold);
}

/* -- work -- */

struct work {
  void *to;
  const void *from; /* NULL: fill */
  int byte;
  size_t bytes;
  unsigned milliseconds;
};

static void submit(wp_stream stream, void (*function)(void *), struct work work) {
  struct work *argument = allocate(sizeof *argument);
  *argument = work;
  REQUIRE(wp__host_submit(stream, function, free, argument));
}

static void run_busy(void *argument) {
  const struct work *work = argument;
  struct timespec time = {work->milliseconds / 1000, (long)(work->milliseconds % 1000) * 1000000};
  (void)nanosleep(&time, NULL);
}

static void run_bytes(void *argument) {
  const struct work *work = argument;
  if (work->from == NULL) {
    memset(work->to, work->byte, work->bytes);
  } else {
    memcpy(work->to, work->from, work->bytes);
  }
}

void rig_busy(wp_stream stream, unsigned milliseconds) {
  submit(stream, run_busy, (struct work){.milliseconds = milliseconds});
}

void rig_fill(wp_stream stream, void *to, int byte, size_t bytes) {
  submit(stream, run_bytes, (struct work){.to = to, .byte = byte, .bytes = bytes});
}

void rig_copy(wp_stream stream, void *to, const void *from, size_t bytes) {
  submit(stream, run_bytes, (struct work){.to = to, .from = from, .bytes = bytes});
}

void rig_upload(wp_stream stream, void *to, const void *from, size_t bytes) { rig_copy(stream, to, from, bytes); }
void rig_download(wp_stream stream, void *to, const void *from, size_t bytes) { rig_copy(stream, to, from, bytes); }
void *rig_host_alloc(size_t bytes) { return allocate(bytes); }
void rig_host_free(void *memory) { free(memory); }

void rig_read(wp_stream stream, void *to, const void *from, size_t bytes) {
  rig_stream_synchronize(stream);
  memcpy(to, from, bytes);
}

/* -- capture -- */

struct rig_graph {
  void *graph, *executable;
};

wp_stream rig_stream_create_blocking(int device) {
  wp_stream stream;
  REQUIRE(wp__host_stream_create_blocking(device, &stream));
  return stream;
}

void rig_capture_begin(wp_stream stream, rig_capture_mode mode) {
  static const enum wp__host_capture_mode modes[] = {
      [RIG_CAPTURE_GLOBAL] = WP__HOST_CAPTURE_GLOBAL,
      [RIG_CAPTURE_THREAD_LOCAL] = WP__HOST_CAPTURE_THREAD_LOCAL,
      [RIG_CAPTURE_RELAXED] = WP__HOST_CAPTURE_RELAXED,
  };
  REQUIRE(wp__host_capture_begin(stream, modes[mode]));
}

rig_graph *rig_capture_end(wp_stream stream) {
  void *captured = NULL;
  wp__host_result result = wp__host_capture_end(stream, &captured);
  if (result == WP__HOST_CAPTURE_INVALIDATED || result == WP__HOST_CAPTURE_UNJOINED) {
    (void)wp__host_error_take();
    return NULL;
  }
  require(result, "wp__host_capture_end");
  rig_graph *graph = allocate(sizeof *graph);
  graph->graph = captured;
  REQUIRE(wp__host_graph_instantiate(captured, &graph->executable));
  return graph;
}

rig_capture_state rig_capture_status(wp_stream stream) {
  enum wp__host_capture_state state;
  REQUIRE(wp__host_capture_status(stream, &state));
  switch (state) {
  case WP__HOST_CAPTURE_NONE: return RIG_CAPTURE_NONE;
  case WP__HOST_CAPTURE_ACTIVE: return RIG_CAPTURE_ACTIVE;
  default: return RIG_CAPTURE_INVALIDATED;
  }
}

bool rig_graph_launch(rig_graph *graph, wp_stream stream) {
  wp__host_result result = wp__host_executable_launch(graph->executable, stream);
  if (result == WP__HOST_INVALID_VALUE) {
    (void)wp__host_error_take();
    return false;
  }
  require(result, "wp__host_executable_launch");
  return true;
}

void rig_graph_destroy(rig_graph *graph) {
  REQUIRE(wp__host_executable_destroy(graph->executable));
  REQUIRE(wp__host_graph_destroy(graph->graph));
  free(graph);
}

/* -- what a pool maps -- */

size_t rig_shared_step(void) { return 0; }

/* -- the vendor's own -- */

int rig_last_error(void) { return (int)wp__host_error_take(); }

bool rig_has_plain_memory(void) { return false; } /* the engine has pools only */

void *rig_plain_alloc(size_t bytes) {
  (void)bytes;
  die("rig_plain_alloc", "host devices have pools only");
  return NULL;
}

void rig_plain_free(void *memory) {
  (void)memory;
  die("rig_plain_free", "host devices have pools only");
}
