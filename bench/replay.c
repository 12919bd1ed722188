/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "replay_state.h"
#include "settled.h"

/* -- calls -- */

void replay_begin(struct replay *replay) {
  replay->spent = settled_spent();
  replay->started = bench_now();
}

wp_status replay_end(struct replay *replay, wp_status status, const char *call, uint64_t *sum) {
  uint64_t passed = bench_now() - replay->started, spent = settled_spent() - replay->spent;
  uint64_t time = passed > spent ? passed - spent : 0;
  replay->result->calls++;
  replay->result->ns_total += time;
  if (sum != NULL) *sum += time;
  if (status > WP_PENDING && status != WP_ERROR_OUT_OF_MEMORY) {
    char what[256];
    (void)snprintf(what, sizeof what, "%s:%" PRIu64 ": %s", replay->reader.path, replay->reader.line, call);
    bench_fail_with(status, what);
  }
  return status;
}

/* -- memory -- */

static table_key block_key(const trace_event *event) { return (table_key){event->pointer, 0}; }

static void allocate(struct replay *replay, const trace_event *event) {
  int ordinal;
  struct replay_device *device = replay_device_of(replay, event, &ordinal);
  if (event->pointer == 0) return;
  if (table_get(&replay->blocks, block_key(event)) != NULL) {
    trace_fail(&replay->reader, "0x%" PRIx64 " is allocated already", event->pointer);
  }
  struct replay_block *block = table_record(sizeof *block);
  struct replay_delegate *delegate = replay_borrow(replay, device, ordinal);
  block->device = ordinal;
  wp_stream stream = replay_stream_of(replay, event, ordinal);
  wp_status status =
      TIMED(replay, wp_alloc, &replay->result->ns_alloc, delegate->handle, (size_t)event->size, stream, &block->memory);
  if (status == WP_OK) {
    block->bytes = event->size;
    replay->result->allocations++;
  } else {
    replay->result->refused++;
  }
  device->live += block->bytes;
  if (device->live > device->live_peak) device->live_peak = device->live;
  table_put(&replay->blocks, block_key(event), block);
  replay_give_back(replay, device, delegate);
}

static struct replay_block *take_block(struct replay *replay, const trace_event *event) {
  struct replay_block *block = table_take(&replay->blocks, block_key(event));
  if (block != NULL) {
    replay->devices[block->device].live -= block->bytes;
    return block;
  }
  trace_fail(&replay->reader, "0x%" PRIx64 " is not allocated", event->pointer);
}

static void release(struct replay *replay, const trace_event *event) {
  if (event->pointer == 0) return;
  struct replay_block *block = take_block(replay, event);
  wp_stream stream = replay_stream_of(replay, event, block->device);
  if (block->memory != NULL) {
    (void)TIMED(replay, wp_free, &replay->result->ns_free, replay->runtime, block->memory, stream);
    replay->result->frees++;
  }
  free(block);
}

static void name_stream(struct replay *replay, size_t index, wp_stream stream) {
  if (index >= replay->named_capacity) {
    size_t capacity = 2 * index + 8;
    wp_stream *more = realloc((void *)replay->named, capacity * sizeof *more);
    if (more == NULL) bench_fail("realloc", "out of host memory");
    replay->named = more;
    replay->named_capacity = capacity;
  }
  replay->named[index] = stream;
}

static void release_after(struct replay *replay, const trace_event *event) {
  trace_event line = *event;
  struct replay_block *block = take_block(replay, event);
  size_t count = 0;
  if (event->has_stream) name_stream(replay, count++, replay_stream_of(replay, event, block->device));
  while (event->has_stream && trace_next_line(&replay->reader, event, &line)) {
    replay->result->events++;
    name_stream(replay, count++, replay_stream_of(replay, &line, block->device));
  }
  if (block->memory != NULL) {
    (void)TIMED(replay, wp_free_after, &replay->result->ns_free, replay->runtime, block->memory, replay->named, count);
    replay->result->frees++;
  }
  free(block);
}

static const struct replay_block *find_block(const struct replay *replay, const trace_event *event) {
  const struct replay_block *block = table_get(&replay->blocks, block_key(event));
  if (block != NULL) return block;
  trace_fail(&replay->reader, "0x%" PRIx64 " is not allocated", event->pointer);
}

static void note(struct replay *replay, const trace_event *event) {
  const struct replay_block *block = find_block(replay, event);
  wp_stream stream = replay_stream_of(replay, event, block->device);
  if (block->memory != NULL) (void)TIMED(replay, wp_note_use, NULL, replay->runtime, block->memory, stream);
}

static void prime(struct replay *replay, const trace_event *event) {
  int ordinal;
  struct replay_device *device = replay_device_of(replay, event, &ordinal);
  struct replay_delegate *delegate = replay_borrow(replay, device, ordinal);
  wp_stream stream = replay_stream_of(replay, event, ordinal);
  wp_status status = TIMED(replay, wp_prime, NULL, delegate->handle, (size_t)event->size, stream);
  if (status != WP_OK) replay->result->refused++;
  replay_give_back(replay, device, delegate);
}

static void trim(struct replay *replay, const trace_event *event) {
  int ordinal;
  (void)replay_device_of(replay, event, &ordinal);
  (void)TIMED(replay, wp_trim, NULL, replay->runtime, ordinal, event->size, WP_WAIT, NULL);
}

/* -- the whole -- */

static void replay_event(struct replay *replay, const trace_event *event) {
  switch (event->action) {
  case TRACE_ALLOCATE: allocate(replay, event); break;
  case TRACE_FREE: release(replay, event); break;
  case TRACE_FREE_AFTER: release_after(replay, event); break;
  case TRACE_NOTE: note(replay, event); break;
  case TRACE_PRIME: prime(replay, event); break;
  case TRACE_RETIRE: replay_retire(replay, event); break;
  case TRACE_TRIM: trim(replay, event); break;
  case TRACE_OPEN: replay_open(replay, event); break;
  case TRACE_CLOSE: replay_close(replay, event); break;
  case TRACE_FAILURE:
  case TRACE_ACTION_COUNT: break;
  }
}

static void start(struct replay *replay) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.caching = replay->options->caching;
  options.stream_contract = replay->options->contract;
  options.backend = replay->backend = settled_backend(replay->options->sync == 0);
  BENCH(replay->backend->device_count(replay->backend->self, &replay->device_count));
  replay->devices = table_record((size_t)replay->device_count * sizeof *replay->devices);
  BENCH(wp_runtime_create(&options, &replay->runtime));
}

static void replay_events(struct replay *replay) {
  enum { EVENTS_A_LOOK = 4096 };
  replay_result *result = replay->result;
  const trace_reader *reader = &replay->reader;
  unsigned sync = replay->options->sync;
  trace_event event;
  while (trace_next(&replay->reader, &event)) {
    uint64_t before = result->events++;
    replay_event(replay, &event);
    if (sync > 0 && before / sync != result->events / sync) replay_synchronize(replay);
    if (before % EVENTS_A_LOOK != 0 || reader->all_bytes == 0) continue;
    bench_progress(replay->run, "replay: percent", (unsigned)(reader->read_bytes * 100 / reader->all_bytes), 100);
  }
  bench_progress(replay->run, NULL, 0, 0);
}

static void add_device(struct replay *replay, int ordinal) {
  wp_stats stats = WP_STATS_INIT;
  replay_result *result = replay->result;
  uint64_t driver_peak = settled_reserved_peak(ordinal);
  BENCH(wp_device_stats(replay->runtime, ordinal, &stats));
  result->live_peak += replay->devices[ordinal].live_peak;
  result->reserved_peak += replay->options->caching == WP_CACHING_LANES ? stats.reserved_peak : driver_peak;
  result->driver_reserved_peak += driver_peak;
  result->hits += stats.lane_hits;
  result->misses += stats.lane_misses;
  result->steals += stats.steals;
  result->driver_allocs += stats.driver_allocs;
  result->driver_frees += stats.driver_frees;
}

/* Ends what the file leaves; that is in no count. */
static void clean_up(struct replay *replay) {
  struct replay_block *block;
  while ((block = table_take_any(&replay->blocks)) != NULL) {
    BENCH(wp_free_after(replay->runtime, block->memory, NULL, 0));
    free(block);
  }
  replay_end_delegates(replay);
  replay_end_streams(replay);
  BENCH(wp_runtime_destroy(replay->runtime));
  table_forget(&replay->blocks);
  table_forget(&replay->streams);
  table_forget(&replay->delegates);
  trace_close(&replay->reader);
  free(replay->devices);
  free((void *)replay->named);
}

void replay_run(const bench_run *run, const replay_options *options, replay_result *result) {
  replay_result ignored;
  struct replay replay = {.run = run, .options = options, .result = result};
  *result = (replay_result){0};
  trace_open(&replay.reader, options->path);
  start(&replay);
  replay_events(&replay);
  result->left_live = replay.blocks.count;
  for (int i = 0; i < replay.device_count; i++) {
    if (replay.devices[i].is_used) add_device(&replay, i);
  }
  replay.result = &ignored;
  ignored = *result;
  clean_up(&replay);
}
