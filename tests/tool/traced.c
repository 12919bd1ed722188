/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced [FILE]: a small program with everything that a trace can tell, on four threads, for `warmpool replay` to
 * follow. With FILE on a runtime that writes its trace there; otherwise on the default one, for which WARMPOOL_TRACE
 * may name a file.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "warmpool/warmpool.h"

enum { THREADS = 4, ROUNDS = 150, BLOCKS = 6, SHARED = 2 };

static wp_runtime *runtime;
static wp_stream shared[SHARED];

#define NEED(call)                                                                                                     \
  do {                                                                                                                 \
    if ((call) > WP_PENDING) stop(#call);                                                                              \
  } while (0)

static void stop(const char *what) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  (void)fprintf(stderr, "traced: %s: %s\n", what, info.message);
  exit(1);
}

/* All threads free and allocate on the shared streams, so that a block goes from one to the other. */
static void *run(void *argument) {
  unsigned number = *(const unsigned *)argument;
  const wp_backend *driver = wp_backend_builtin();
  wp_delegate *delegate;
  wp_stream own = NULL, streams[BLOCKS / 2];
  void *blocks[BLOCKS];
  NEED(driver->device_set(driver->self, 0));
  NEED(driver->stream_create(driver->self, &own));
  NEED(wp_delegate_open(runtime, 0, NULL, &delegate));
  NEED(wp_prime(delegate, 100000, own));
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (unsigned i = 0; i < BLOCKS; i++) {
      streams[i / 2] = i / 2 == 0 ? own : i / 2 == 1 ? WP_STREAM_PER_THREAD : shared[round % SHARED];
      NEED(wp_alloc(delegate, 512 + (size_t)(round * 7919 + i * 104729 + number) % 300000, streams[i / 2], &blocks[i]));
    }
    NEED(wp_note_use(runtime, blocks[0], shared[0]));
    NEED(wp_free(runtime, blocks[0], own));
    NEED(wp_free_after(runtime, blocks[1], streams, BLOCKS / 2));
    NEED(wp_free(runtime, blocks[2], WP_STREAM_PER_THREAD));
    NEED(wp_free(runtime, blocks[3], WP_STREAM_LEGACY));
    NEED(wp_free(runtime, blocks[4], shared[round % SHARED]));
    NEED(wp_free_after(runtime, blocks[5], NULL, 0));
  }
  NEED(wp_stream_retire(runtime, 0, own));
  NEED(driver->stream_destroy(driver->self, own));
  NEED(wp_stream_retire(runtime, 0, WP_STREAM_PER_THREAD));
  NEED(wp_delegate_close(delegate, NULL));
  return NULL;
}

static void make_runtime(const char *path) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.trace_path = path;
  if (path == NULL) {
    NEED(wp_runtime_default(&runtime));
  } else {
    NEED(wp_runtime_create(&options, &runtime));
  }
}

int main(int argc, char **argv) {
  const wp_backend *driver = wp_backend_builtin();
  pthread_t threads[THREADS];
  unsigned numbers[THREADS];
  make_runtime(argc > 1 ? argv[1] : NULL);
  for (int i = 0; i < SHARED; i++) NEED(driver->stream_create(driver->self, &shared[i]));
  for (unsigned i = 0; i < THREADS; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0) stop("pthread_create");
  }
  for (int i = 0; i < THREADS; i++) (void)pthread_join(threads[i], NULL);
  NEED(wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, NULL));
  for (int i = 0; i < SHARED; i++) NEED(driver->stream_destroy(driver->self, shared[i]));
  if (argc > 1) NEED(wp_runtime_destroy(runtime));
  return 0;
}
