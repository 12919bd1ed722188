/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay works on: devices, streams and delegates. */
#include <inttypes.h>
#include <stdlib.h>

#include "replay_state.h"

/* -- devices -- */

struct replay_device *replay_device_of(struct replay *replay, const trace_event *event, int *ordinal) {
  *ordinal = replay->options->device >= 0 ? replay->options->device : event->device >= 0 ? event->device : 0;
  if (*ordinal < replay->device_count) {
    replay->devices[*ordinal].is_used = true;
    return &replay->devices[*ordinal];
  }
  trace_fail(&replay->reader, "there is no device %d here: --device N runs everything on device N", *ordinal);
}

static void make_current(const struct replay *replay, int device) {
  BENCH(replay->backend->device_set(replay->backend->self, device));
}

/* -- streams -- */

static table_key stream_key(const trace_event *event, int device) {
  bool is_per_thread = event->stream == (uintptr_t)WP_STREAM_PER_THREAD;
  return (table_key){event->stream, (uint64_t)device + (is_per_thread ? (event->thread + 1) << 20 : 0)};
}

static bool is_taken(const struct replay *replay, wp_stream handle, int device) {
  for (size_t i = 0; i < replay->streams.capacity; i++) {
    const struct replay_stream *stream = replay->streams.slots[i].record;
    if (stream != NULL && stream->handle == handle && stream->device == device) return true;
  }
  return false;
}

/* Of the threads of the file one has the replaying thread's own stream, and the others one each that is made. */
static void make_stream(struct replay *replay, struct replay_stream *stream, uint64_t name) {
  wp_stream special = (wp_stream)(uintptr_t)name;
  bool is_special = special == WP_STREAM_LEGACY || special == WP_STREAM_PER_THREAD;
  stream->is_special = is_special && !is_taken(replay, special, stream->device);
  stream->handle = special;
  if (stream->is_special) return;
  make_current(replay, stream->device);
  BENCH(replay->backend->stream_create(replay->backend->self, &stream->handle));
}

wp_stream replay_stream_of(struct replay *replay, const trace_event *event, int device) {
  table_key key = stream_key(event, device);
  struct replay_stream *stream = table_get(&replay->streams, key);
  if (stream == NULL) {
    stream = table_record(sizeof *stream);
    stream->device = device;
    make_stream(replay, stream, event->stream);
    table_put(&replay->streams, key, stream);
  }
  return stream->handle;
}

static void end_stream(struct replay *replay, struct replay_stream *stream) {
  if (!stream->is_special) {
    make_current(replay, stream->device);
    BENCH(replay->backend->stream_destroy(replay->backend->self, stream->handle));
  }
  free(stream);
}

void replay_retire(struct replay *replay, const trace_event *event) {
  int device;
  (void)replay_device_of(replay, event, &device);
  struct replay_stream *stream = table_take(&replay->streams, stream_key(event, device));
  if (stream == NULL) return; /* nothing was done on it */
  (void)TIMED(replay, wp_stream_retire, NULL, replay->runtime, device, stream->handle);
  end_stream(replay, stream);
}

void replay_synchronize(struct replay *replay) {
  for (size_t i = 0; i < replay->streams.capacity; i++) {
    const struct replay_stream *stream = replay->streams.slots[i].record;
    if (stream == NULL) continue;
    make_current(replay, stream->device);
    BENCH(replay->backend->stream_synchronize(replay->backend->self, stream->handle));
  }
}

void replay_end_streams(struct replay *replay) {
  struct replay_stream *stream;
  while ((stream = table_take_any(&replay->streams)) != NULL) {
    BENCH(wp_stream_retire(replay->runtime, stream->device, stream->handle));
    end_stream(replay, stream);
  }
}

/* -- delegates -- */

static struct replay_delegate *open_delegate(struct replay *replay, bool is_lent, int ordinal) {
  struct replay_device *device = &replay->devices[ordinal];
  struct replay_delegate *delegate = table_record(sizeof *delegate);
  delegate->is_lent = is_lent;
  delegate->device = ordinal;
  (void)TIMED(replay, wp_delegate_open, NULL, replay->runtime, ordinal, NULL, &delegate->handle);
  if (delegate->handle == NULL) bench_fail("wp_delegate_open", "the device has not enough memory");
  delegate->below = device->newest;
  if (delegate->below != NULL) delegate->below->above = delegate;
  device->newest = delegate;
  return delegate;
}

static void close_delegate(struct replay *replay, struct replay_delegate *delegate) {
  if (delegate->below != NULL) delegate->below->above = delegate->above;
  if (delegate->above != NULL) {
    delegate->above->below = delegate->below;
  } else {
    replay->devices[delegate->device].newest = delegate->below;
  }
  (void)TIMED(replay, wp_delegate_close, NULL, delegate->handle, NULL);
  free(delegate);
}

static table_key serial_key(uint64_t serial) { return (table_key){serial, 0}; }

void replay_open(struct replay *replay, const trace_event *event) {
  int ordinal;
  struct replay_device *device = replay_device_of(replay, event, &ordinal);
  if (table_get(&replay->delegates, serial_key(event->size)) != NULL) {
    trace_fail(&replay->reader, "delegate %" PRIu64 " is open already", event->size);
  }
  device->is_told = true;
  table_put(&replay->delegates, serial_key(event->size), open_delegate(replay, false, ordinal));
}

void replay_close(struct replay *replay, const trace_event *event) {
  struct replay_delegate *delegate = table_take(&replay->delegates, serial_key(event->size));
  if (delegate != NULL) {
    close_delegate(replay, delegate);
  } else {
    trace_fail(&replay->reader, "delegate %" PRIu64 " is not open", event->size);
  }
}

struct replay_delegate *replay_borrow(struct replay *replay, const struct replay_device *device, int ordinal) {
  return device->newest != NULL ? device->newest : open_delegate(replay, true, ordinal);
}

void replay_give_back(struct replay *replay, const struct replay_device *device, struct replay_delegate *delegate) {
  if (device->is_told && delegate->is_lent) close_delegate(replay, delegate);
}

void replay_end_delegates(struct replay *replay) {
  for (int i = 0; i < replay->device_count; i++) {
    while (replay->devices[i].newest != NULL) close_delegate(replay, replay->devices[i].newest);
  }
}
