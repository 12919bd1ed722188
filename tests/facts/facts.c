/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include <criterion/criterion.h>
#include <sched.h>

const wp_backend *driver;
wp_pool pool;
wp_stream stream;

static void must(wp_status status, const char *entry) {
  if (status == WP_OK) return;
  wp_driver_error error;
  driver->last_error(driver->self, &error);
  cr_assert_fail("%s: status %d, %s: %s: %s", entry, (int)status, error.call, error.name, error.text);
}
#define MUST(entry, ...) must(driver->entry(driver->self, __VA_ARGS__), #entry)

void facts_init(void) {
  driver = wp_backend_builtin();
  rig_device_set(0);
  pool = make_pool(UINT64_MAX);
  stream = rig_stream_create(0);
}

void facts_fini(void) { rig_stream_destroy(stream); }

wp_pool make_pool(uint64_t threshold) {
  wp_pool made;
  MUST(pool_create, &made);
  MUST(pool_set_threshold, made, threshold);
  return made;
}

void *allocate(wp_pool from, size_t bytes, wp_stream order) {
  void *memory = NULL;
  MUST(memory_alloc, from, bytes, order, &memory);
  cr_assert_not_null(memory);
  return memory;
}

void release(void *memory, wp_stream order) { MUST(memory_free, memory, order); }

wp_event record(wp_stream order) {
  wp_event event;
  MUST(event_create, &event);
  MUST(event_record, event, order);
  return event;
}

void synchronize(wp_stream order) { MUST(stream_synchronize, order); }
void trim(wp_pool of) { MUST(pool_trim, of, 0); }

static wp_pool_usage usage(wp_pool of) {
  wp_pool_usage out;
  MUST(pool_usage, of, &out);
  return out;
}

uint64_t reserved(wp_pool of) { return usage(of).reserved; }
uint64_t used(wp_pool of) { return usage(of).used; }

void graph_trim(void) { MUST(graph_trim, 0); }

static wp_graph_usage graph_usage(void) {
  wp_graph_usage out;
  MUST(graph_usage, 0, &out);
  return out;
}

uint64_t graph_reserved(void) { return graph_usage().reserved; }
uint64_t graph_used(void) { return graph_usage().used; }

void wait_for(wp_stream order, wp_event event) { MUST(event_wait, order, event); }

void await_by_query(wp_event event) {
  bool complete = false;
  while (!complete) {
    MUST(event_query, event, &complete);
    (void)sched_yield();
  }
}
