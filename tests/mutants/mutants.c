/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite on a driver that breaks one promise: the environment's WARMPOOL_MUTANT names which. This file
 * is linked in front of wp_backend_builtin (the linker's --wrap), so that library and tests alike get a copy of the
 * built-in vtable in which some entries are replaced; the rig goes on using the real driver. The mutants of lanes.c are
 * made in the same way of functions of the library's own. mutants.txt says which tests notice which mutant, random.txt
 * which of them random programs find.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutants.h"

const wp_backend *mutant_inner;

/* The names are the linker's. */
const wp_backend *__real_wp_backend_builtin(void);
const wp_backend *__wrap_wp_backend_builtin(void);

/* -- the driver says yes and does nothing -- */

static wp_status no_threshold(void *self, wp_pool pool, uint64_t bytes) {
  (void)self, (void)pool, (void)bytes;
  return WP_OK;
}
static wp_status no_trim(void *self, wp_pool pool, uint64_t keep_bytes) {
  (void)self, (void)pool, (void)keep_bytes;
  return WP_OK;
}
static wp_status no_free(void *self, void *ptr, wp_stream stream) {
  (void)self, (void)ptr, (void)stream;
  return WP_OK;
}
static wp_status no_record(void *self, wp_event event, wp_stream stream) {
  (void)self, (void)event, (void)stream;
  return WP_OK;
}
static wp_status no_event_synchronize(void *self, wp_event event) {
  (void)self, (void)event;
  return WP_OK;
}
static wp_status no_stream_synchronize(void *self, wp_stream stream) {
  (void)self, (void)stream;
  return WP_OK;
}
static wp_status no_graph_trim(void *self, int device) {
  (void)self, (void)device;
  return WP_OK;
}
static wp_status no_relax(void *self, int *previous) {
  (void)self;
  *previous = 0;
  return WP_OK;
}
static wp_status no_restore(void *self, int previous) {
  (void)self, (void)previous;
  return WP_OK;
}

/* -- the driver does something else -- */

static wp_status trim_to_nothing(void *self, wp_pool pool, uint64_t keep_bytes) {
  (void)keep_bytes;
  return mutant_inner->pool_trim(self, pool, 0);
}
static wp_status free_on_legacy(void *self, void *ptr, wp_stream stream) {
  (void)stream;
  return mutant_inner->memory_free(self, ptr, WP_STREAM_LEGACY);
}
static wp_status alloc_on_legacy(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  (void)stream;
  return mutant_inner->memory_alloc(self, pool, bytes, WP_STREAM_LEGACY, out);
}
static wp_status exhaustion_is_a_fault(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = mutant_inner->memory_alloc(self, pool, bytes, stream, out);
  return status == WP_ERROR_OUT_OF_MEMORY ? WP_ERROR_DRIVER : status;
}
static wp_status exhaustion_is_null(void *self, wp_pool pool, size_t bytes, wp_stream stream, void **out) {
  wp_status status = mutant_inner->memory_alloc(self, pool, bytes, stream, out);
  if (status != WP_ERROR_OUT_OF_MEMORY) return status;
  *out = NULL;
  return WP_OK;
}

/* Within a call of the library a second change of the device is the way back. */
static wp_status device_stays(void *self, int device) {
  static _Thread_local bool is_away;
  is_away = !is_away;
  return is_away ? mutant_inner->device_set(self, device) : WP_OK;
}

/* -- the driver lies -- */

static wp_status always_complete(void *self, wp_event event, bool *complete) {
  (void)self, (void)event;
  *complete = true;
  return WP_OK;
}
static wp_status never_capturing(void *self, wp_stream stream, wp_capture_state *out) {
  (void)self, (void)stream;
  *out = WP_CAPTURE_NONE;
  return WP_OK;
}
static wp_status same_identity(void *self, wp_stream stream, uint64_t *out) {
  (void)self, (void)stream;
  *out = 1;
  return WP_OK;
}
static wp_status handle_as_identity(void *self, wp_stream stream, uint64_t *out) {
  (void)self;
  *out = (uintptr_t)stream;
  return WP_OK;
}
static wp_status stream_of_current_device(void *self, wp_stream stream, int *out) {
  (void)stream;
  return mutant_inner->device_current(self, out);
}
static wp_status first_device_is_current(void *self, int *out) {
  (void)self;
  *out = 0;
  return WP_OK;
}
static wp_status same_free_memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes) {
  wp_status status = mutant_inner->device_memory(self, free_bytes, total_bytes);
  if (status == WP_OK) *free_bytes = *total_bytes / 2;
  return status;
}

/* -- which is which -- */

#define SET(entry, function)                                                                                           \
  static void entry##_##function(wp_backend *backend) { backend->entry = function; }
SET(pool_set_threshold, no_threshold)
SET(pool_trim, no_trim)
SET(pool_trim, trim_to_nothing)
SET(memory_free, no_free)
SET(memory_free, free_on_legacy)
SET(memory_alloc, alloc_on_legacy)
SET(memory_alloc, exhaustion_is_a_fault)
SET(memory_alloc, exhaustion_is_null)
SET(event_record, no_record)
SET(event_synchronize, no_event_synchronize)
SET(event_query, always_complete)
SET(stream_synchronize, no_stream_synchronize)
SET(stream_capturing, never_capturing)
SET(stream_identity, same_identity)
SET(stream_identity, handle_as_identity)
SET(stream_device, stream_of_current_device)
SET(device_set, device_stays)
SET(device_current, first_device_is_current)
SET(device_memory, same_free_memory)
SET(graph_trim, no_graph_trim)
static void nothing(wp_backend *backend) { (void)backend; }
static void relax_nothing(wp_backend *backend) {
  backend->capture_relax = no_relax;
  backend->capture_restore = no_restore;
}

static const struct {
  const char *name;
  void (*mutate)(wp_backend *);
} mutants[] = {
    {"none", nothing},
    {"pool-not-made", mutant_pool_not_made},
    {"pool-shared", mutant_pool_shared},
    {"threshold-dropped", pool_set_threshold_no_threshold},
    {"threshold-forgotten", mutant_threshold_forgotten},
    {"trim-dropped", pool_trim_no_trim},
    {"trim-ignores-keep", pool_trim_trim_to_nothing},
    {"trim-frees-live", mutant_trim_frees_live},
    {"gives-nothing-back", mutant_gives_nothing_back},
    {"free-swallowed", memory_free_no_free},
    {"free-on-another-stream", memory_free_free_on_legacy},
    {"alloc-on-another-stream", memory_alloc_alloc_on_legacy},
    {"exhaustion-is-a-fault", memory_alloc_exhaustion_is_a_fault},
    {"exhaustion-is-null", memory_alloc_exhaustion_is_null},
    {"record-dropped", event_record_no_record},
    {"query-says-complete", event_query_always_complete},
    {"event-wait-dropped", event_synchronize_no_event_synchronize},
    {"home-wait-dropped", stream_synchronize_no_stream_synchronize},
    {"identity-constant", stream_identity_same_identity},
    {"stream-device-lies", stream_device_stream_of_current_device},
    {"device-not-restored", device_set_device_stays},
    {"device-current-lies", device_current_first_device_is_current},
    {"device-memory-constant", device_memory_same_free_memory},
    {"graph-trim-dropped", graph_trim_no_graph_trim},
    {"capture-relax-dropped", relax_nothing},
    {"capture-unseen", stream_capturing_never_capturing},
    {"lane-by-handle", stream_identity_handle_as_identity},
    {"steal-unfinished", mutant_steal_unfinished},
    {"nothing-gives-way", mutant_nothing_gives_way},
    {"own-streams-shared", mutant_own_streams_shared},
    {"retire-forgets", mutant_retire_forgets},
    {"merge-loses-bytes", mutant_merge_loses},
    {"split-overlaps", mutant_split_overlaps},
    {"parking-dropped", mutant_parking_dropped},
    {"threshold-set-once", mutant_threshold_set_once},
    {"lanes-off", mutant_lanes_off},
    {"seal-ignored", mutant_seal_ignored},
    {"outside-freed-at-once", mutant_outside_freed_at_once},
    {"other-stream-forgotten", mutant_other_stream_forgotten},
    {"abort-keeps", mutant_abort_keeps},
    {"launches-forgotten", mutant_launches_forgotten},
    {"note-dropped", mutant_note_dropped},
    {"event-kept", mutant_event_kept},
};

static wp_backend mutant;

static void make_mutant(void) {
  const char *name = getenv("WARMPOOL_MUTANT");
  mutant_inner = __real_wp_backend_builtin();
  mutant = *mutant_inner;
  if (name == NULL) return;
  for (size_t i = 0; i < sizeof mutants / sizeof mutants[0]; i++) {
    if (strcmp(mutants[i].name, name) != 0) continue;
    mutants[i].mutate(&mutant);
    return;
  }
  (void)fprintf(stderr, "WARMPOOL_MUTANT=%s: there is no such mutant\n", name);
  abort();
}

const wp_backend *__wrap_wp_backend_builtin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, make_mutant);
  return &mutant;
}
