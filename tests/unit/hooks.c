/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "fake.h"

static wp_backend hooked;
static void (*hook)(void);
static const char *hook_at;
static int hook_in;
static bool hook_ran;

static void *run_hook(void *argument) {
  (void)argument;
  hook();
  return NULL;
}

void hooks_arm(const char *entry, int nth, void (*body)(void)) {
  hook_at = entry;
  hook_in = nth;
  hook = body;
  hook_ran = false;
}
bool hooks_ran(void) { return hook_ran; }

static void fire(const char *entry) {
  pthread_t thread;
  if (hook_at == NULL || strcmp(entry, hook_at) != 0 || --hook_in > 0) return;
  hook_at = NULL;
  cr_assert_eq(pthread_create(&thread, NULL, run_hook, NULL), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  hook_ran = true;
}

/* HOOKED_AFTER(entry, its parameters, their names) */
#define HOOKED_AFTER(entry, parameters, ...)                                                                           \
  static wp_status hooked_##entry parameters {                                                                         \
    wp_status status = fake_backend.entry(__VA_ARGS__);                                                                \
    fire(#entry);                                                                                                      \
    return status;                                                                                                     \
  }
#define HOOKED_BEFORE(entry, parameters, ...)                                                                          \
  static wp_status hooked_##entry parameters {                                                                         \
    fire(#entry);                                                                                                      \
    return fake_backend.entry(__VA_ARGS__);                                                                            \
  }
HOOKED_AFTER(stream_capturing, (void *self, wp_stream stream, wp_capture_state *out), self, stream, out)
HOOKED_AFTER(event_query, (void *self, wp_event event, bool *complete), self, event, complete)
HOOKED_AFTER(event_record, (void *self, wp_event event, wp_stream stream), self, event, stream)
HOOKED_AFTER(pool_usage, (void *self, wp_pool pool, wp_pool_usage *out), self, pool, out)
HOOKED_BEFORE(stream_synchronize, (void *self, wp_stream stream), self, stream)
HOOKED_BEFORE(memory_alloc, (void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out), self, pool, bytes,
              stream, out)
HOOKED_BEFORE(pool_set_threshold, (void *self, wp_pool pool, uint64_t bytes), self, pool, bytes)
HOOKED_BEFORE(memory_free, (void *self, void *ptr, wp_stream stream), self, ptr, stream)

const wp_backend *hooks_backend(void) {
  hooked = fake_backend;
  hooked.stream_capturing = hooked_stream_capturing;
  hooked.event_query = hooked_event_query;
  hooked.event_record = hooked_event_record;
  hooked.pool_usage = hooked_pool_usage;
  hooked.stream_synchronize = hooked_stream_synchronize;
  hooked.memory_alloc = hooked_memory_alloc;
  hooked.memory_free = hooked_memory_free;
  hooked.pool_set_threshold = hooked_pool_set_threshold;
  return &hooked;
}
