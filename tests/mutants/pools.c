/* SPDX-License-Identifier: Apache-2.0 */
/* Mutants that have to remember something about a pool. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "mutants.h"

enum { DEVICES = 64, POOLS = 256, BLOCKS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void full(const char *what) {
  (void)fprintf(stderr, "mutant: too many %s\n", what);
  abort();
}

/* A pool of the current device that belongs to this file, made when it is first asked for. */
static wp_status own_pool(void *self, wp_pool *out) {
  static wp_pool pools[DEVICES];
  int device;
  wp_status status = mutant_inner->device_current(self, &device);
  if (status != WP_OK) return status;
  (void)pthread_mutex_lock(&lock);
  if (pools[device] == NULL) status = mutant_inner->pool_create(self, &pools[device]);
  *out = pools[device];
  (void)pthread_mutex_unlock(&lock);
  return status;
}

static wp_status keep_pool(void *self, wp_pool pool) {
  (void)self, (void)pool;
  return WP_OK;
}

/* -- the pool is made and not used: memory comes from elsewhere -- */

static wp_status alloc_elsewhere(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = own_pool(self, &pool);
  return status == WP_OK ? mutant_inner->memory_alloc(self, pool, bytes, stream, out) : status;
}

void mutant_pool_not_made(wp_backend *backend) { backend->memory_alloc = alloc_elsewhere; }

/* -- whoever wants a pool gets the same one -- */

void mutant_pool_shared(wp_backend *backend) {
  backend->pool_create = own_pool;
  backend->pool_destroy = keep_pool;
}

/* -- a threshold set before the first allocation does not hold (H4) -- */

static wp_pool used_pools[POOLS]; /* something was allocated from them */
static unsigned used_count;

static bool is_used(wp_pool pool) {
  for (unsigned i = 0; i < used_count; i++) {
    if (used_pools[i] == pool) return true;
  }
  return false;
}

static wp_status early_threshold(void *self, wp_pool pool, uint64_t bytes) {
  (void)pthread_mutex_lock(&lock);
  bool holds = is_used(pool);
  (void)pthread_mutex_unlock(&lock);
  return holds ? mutant_inner->pool_set_threshold(self, pool, bytes) : WP_OK;
}

static wp_status first_alloc(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = mutant_inner->memory_alloc(self, pool, bytes, stream, out);
  (void)pthread_mutex_lock(&lock);
  if (status == WP_OK && !is_used(pool)) {
    if (used_count == POOLS) full("pools");
    used_pools[used_count++] = pool;
  }
  (void)pthread_mutex_unlock(&lock);
  return status;
}

static wp_status forget_used(void *self, wp_pool pool) {
  (void)pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < used_count; i++) {
    if (used_pools[i] == pool) used_pools[i] = used_pools[--used_count];
  }
  (void)pthread_mutex_unlock(&lock);
  return mutant_inner->pool_destroy(self, pool);
}

void mutant_threshold_forgotten(wp_backend *backend) {
  backend->pool_set_threshold = early_threshold;
  backend->memory_alloc = first_alloc;
  backend->pool_destroy = forget_used;
}

/* -- a trim takes live memory along -- */

static struct {
  wp_pool pool;
  void *ptr;
} live[BLOCKS];
static unsigned live_count;

static wp_status alloc_and_enter(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = mutant_inner->memory_alloc(self, pool, bytes, stream, out);
  if (status != WP_OK) return status;
  (void)pthread_mutex_lock(&lock);
  if (live_count == BLOCKS) full("blocks");
  live[live_count].pool = pool;
  live[live_count++].ptr = *out;
  (void)pthread_mutex_unlock(&lock);
  return WP_OK;
}

/* What a trim has freed is not freed again. */
static wp_status free_if_entered(void *self, void *ptr, wp_stream stream) {
  bool found = false;
  (void)pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < live_count && !found; i++) {
    found = live[i].ptr == ptr;
    if (found) live[i] = live[--live_count];
  }
  (void)pthread_mutex_unlock(&lock);
  return found ? mutant_inner->memory_free(self, ptr, stream) : WP_OK;
}

static wp_status trim_live(void *self, wp_pool pool, uint64_t keep_bytes) {
  wp_status status = WP_OK;
  (void)pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < live_count;) {
    if (live[i].pool != pool) {
      i++;
      continue;
    }
    if (status == WP_OK) status = mutant_inner->memory_free(self, live[i].ptr, WP_STREAM_LEGACY);
    live[i] = live[--live_count];
  }
  (void)pthread_mutex_unlock(&lock);
  if (status == WP_OK) status = mutant_inner->stream_synchronize(self, WP_STREAM_LEGACY);
  return status == WP_OK ? mutant_inner->pool_trim(self, pool, keep_bytes) : status;
}

void mutant_trim_frees_live(wp_backend *backend) {
  backend->memory_alloc = alloc_and_enter;
  backend->memory_free = free_if_entered;
  backend->pool_trim = trim_live;
}

/* -- what was mapped once stays: no threshold is low, and a trim does nothing -- */

static wp_status greedy_pool(void *self, wp_pool *out) {
  wp_status status = mutant_inner->pool_create(self, out);
  return status == WP_OK ? mutant_inner->pool_set_threshold(self, *out, UINT64_MAX) : status;
}

static wp_status same_threshold(void *self, wp_pool pool, uint64_t bytes) {
  (void)self, (void)pool, (void)bytes;
  return WP_OK;
}

static wp_status trim_nothing(void *self, wp_pool pool, uint64_t keep_bytes) {
  (void)self, (void)pool, (void)keep_bytes;
  return WP_OK;
}

void mutant_gives_nothing_back(wp_backend *backend) {
  backend->pool_create = greedy_pool;
  backend->pool_set_threshold = same_threshold;
  backend->pool_trim = trim_nothing;
}
