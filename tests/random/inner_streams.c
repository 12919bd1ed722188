/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own streams, which only the driver's calls show: which holds they wait for, by the events that they
 * were made to wait for. One that waits for none is waited for, so that time decides nothing of what has finished
 * there.
 */
#include <string.h>

#include "random.h"

enum { INNER = 64, EVENTS = 4096 };

static struct inner {
  wp_stream handle;
  unsigned holds; /* a bit for each that it may wait for */
  bool is_behind; /* something was sent since it was waited for last */
} inner[INNER];
static unsigned inner_count;

static struct event {
  wp_event handle;
  unsigned holds;
} events[EVENTS];

void inner_streams_start(void) {
  inner_count = 0;
  memset(events, 0, sizeof events);
}

static struct event *event_of(wp_event handle) {
  size_t at = (size_t)(mix((uint64_t)(uintptr_t)handle) % EVENTS);
  for (unsigned tried = 0; events[at].handle != NULL && events[at].handle != handle; tried++) {
    REQUIRE_THAT(tried < EVENTS, "the library makes more events than the test has room for");
    at = (at + 1) % EVENTS;
  }
  events[at].handle = handle;
  return &events[at];
}

static struct inner *inner_of(wp_stream handle) {
  for (unsigned i = 0; i < inner_count; i++) {
    if (inner[i].handle == handle) return &inner[i];
  }
  return NULL;
}

/* What stream of the program's the driver is given; the special handles are of the current device. */
static int program_stream_of(wp_stream handle) {
  int device = (uintptr_t)handle <= 2 ? rig_device_current() : NOWHERE;
  for (int i = 0; i < STREAMS; i++) {
    const struct stream *stream = stream_of(i);
    bool is_it = stream->kind == LEGACY ? (uintptr_t)handle <= 1 : stream->handle == handle;
    if (stream->kind == VACANT || stream->kind == DEAD || !stream_is_mine(i) || !is_it) continue;
    if (device == NOWHERE || stream->device == device) return i;
  }
  return NOWHERE;
}

/* All that are closed, of a stream that is not known. */
static unsigned holds_of(wp_stream handle) {
  const struct inner *own = inner_of(handle);
  if (own != NULL) return own->holds;
  int index = program_stream_of(handle);
  unsigned holds = 0;
  if (index != NOWHERE) stream_catch_up(index);
  for (unsigned hold = 0; hold < HOLDS; hold++) {
    const struct stream *stream = index == NOWHERE ? NULL : stream_of(index);
    bool waits = stream == NULL || stream->held_from[hold] != NEVER || stream->maybe_from[hold] != NEVER;
    if (self->holds[hold] != NULL && waits) holds |= 1u << hold;
  }
  return holds;
}

void inner_streams_note(watched_entry entry, wp_stream stream, wp_event event) {
  if (self == NULL || !shared.is_exact) return;
  struct inner *own = inner_of(stream);
  switch (entry) {
  case WATCHED_stream_create:
    REQUIRE_THAT(inner_count < INNER, "the library makes more streams than the test has room for");
    inner[inner_count++] = (struct inner){.handle = stream};
    break;
  case WATCHED_stream_destroy:
    if (own != NULL) *own = inner[--inner_count];
    break;
  case WATCHED_event_record:
    event_of(event)->holds = holds_of(stream);
    if (own != NULL) own->is_behind = true;
    break;
  case WATCHED_event_wait:
    if (own == NULL) break;
    own->holds |= event_of(event)->holds;
    own->is_behind = true;
    break;
  default: break;
  }
}

void inner_streams_hold_opened(int hold) {
  if (!shared.is_exact) return;
  for (unsigned i = 0; i < inner_count; i++) inner[i].holds &= ~(1u << hold);
  for (unsigned i = 0; i < EVENTS; i++) events[i].holds &= ~(1u << hold);
}

void inner_streams_settle(void) {
  const wp_backend *real = wp_backend_builtin();
  if (!shared.is_exact) return;
  for (unsigned i = 0; i < inner_count; i++) {
    int mode;
    if (!inner[i].is_behind || inner[i].holds != 0) continue;
    (void)real->capture_relax(real->self, &mode);
    rig_stream_synchronize(inner[i].handle);
    (void)real->capture_restore(real->self, mode);
    inner[i].is_behind = false;
  }
}

void inner_event_settle(wp_event event) {
  const wp_backend *real = wp_backend_builtin();
  int mode;
  if (!shared.is_exact || event_of(event)->holds != 0) return;
  (void)real->capture_relax(real->self, &mode);
  REQUIRE_THAT(real->event_synchronize(real->self, event) == WP_OK, "an event cannot be waited for");
  (void)real->capture_restore(real->self, mode);
}
