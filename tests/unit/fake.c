/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"
#include "os.h"

struct fake_state st = {.next_address = 0x100000000u};
_Thread_local int fake_device;
_Thread_local int fake_own_stream[DEVICES];
_Thread_local bool fake_relaxed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local wp_driver_error last_error;

_Noreturn void fake_violation(const char *text) {
  (void)fprintf(stderr, "fake driver: %s\n", text);
  abort();
}

wp_status fake_error(const char *entry, wp_status status) {
  last_error = (wp_driver_error){700 + (int)status, entry, "FAKE_ERROR", "the script says so"};
  return status;
}

/* Begins an entry, with the lock; false: it is to fail. */
bool fake_begin(const char *entry, wp_stream stream, bool names_stream) {
  (void)pthread_mutex_lock(&lock);
  if (wp__test_locks_held() != 0) fake_violation("a lock of the library's is held across a call");
  if (st.call_count < CALLS) st.calls[st.call_count] = (struct call){entry, stream, names_stream};
  st.call_count++;
  bool counts = st.fail_nth > 0 && (st.fail_entry == NULL || strcmp(st.fail_entry, entry) == 0);
  if (!counts || --st.fail_nth > 0) return true;
  st.has_failed = true;
  return false;
}
wp_status fake_end(wp_status status) {
  (void)pthread_mutex_unlock(&lock);
  return status;
}

void fake_need_relaxed(void) {
  if (!fake_relaxed) fake_violation("a call that could harm a capture is made outside relaxed mode");
}

/* -- streams -- */

int fake_new_stream(int device, bool of_library, int slot) {
  int i = 0;
  while (i < STREAMS && st.streams[i].used) i++;
  if (i == STREAMS) fake_violation("the test makes too many streams");
  st.streams[i].used = true;
  st.streams[i].device = device;
  st.streams[i].of_library = of_library;
  st.streams[i].slot = slot >= 0 ? slot : st.slots++;
  return i;
}

wp_stream fake_handle_of(int i) { return (wp_stream)(uintptr_t)(FIRST_HANDLE + 16u * (unsigned)st.streams[i].slot); }

static int special_stream(wp_stream handle) {
  int *index = handle == WP_STREAM_PER_THREAD ? &fake_own_stream[fake_device] : &st.legacy[fake_device];
  if (*index == 0) {
    *index = fake_new_stream(fake_device, false, -1) + 1;
    st.streams[*index - 1].special = true;
  }
  return *index - 1;
}

int fake_find_stream(wp_stream handle) {
  if ((uintptr_t)handle <= 2) return special_stream(handle);
  for (int i = 0; i < STREAMS; i++) {
    if (st.streams[i].used && !st.streams[i].gone && fake_handle_of(i) == handle) return i;
  }
  fake_violation("a stream is named that does not exist any more");
}

uint64_t fake_submit(int i) {
  st.streams[i].submitted++;
  if (!st.streams[i].busy) st.streams[i].done = st.streams[i].submitted;
  return st.streams[i].submitted;
}

bool fake_is_done(int i, uint64_t at) { return st.streams[i].done >= at; }

void fake_wait_for(int i, uint64_t at) {
  if (fake_is_done(i, at)) return;
  if (st.streams[i].never) fake_violation("waits for a stream that it must not wait for");
  st.waits++;
  st.streams[i].done = at;
}

static void synchronize(int i, uint64_t at, const uint64_t *joined) {
  for (int other = 0; other < STREAMS; other++) {
    if (joined[other] == 0) continue;
    fake_wait_for(other, joined[other]);
    fake_observe(other, joined[other]);
  }
  fake_wait_for(i, at);
  fake_observe(i, at);
}

/* -- entries: devices -- */

static wp_status device_count(void *self, int *out) {
  BEGIN_ASK("device_count");
  if (fake.devices == 0) return fake_end(fake_error("device_count", WP_ERROR_NO_DEVICE));
  *out = fake.devices;
  return fake_end(WP_OK);
}
static wp_status device_current(void *self, int *out) {
  BEGIN_ASK("device_current");
  *out = fake_device;
  return fake_end(WP_OK);
}
static wp_status device_set(void *self, int device) {
  BEGIN_ASK("device_set");
  fake_device = device;
  return fake_end(WP_OK);
}
static wp_status device_capabilities(void *self, int device, uint32_t *out) {
  BEGIN_ASK("device_capabilities");
  if (device != fake_device) fake_violation("another device is current");
  *out = fake.capabilities;
  return fake_end(WP_OK);
}
static wp_status device_memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes) {
  BEGIN_ASK("device_memory");
  *total_bytes = fake.device_memory;
  *free_bytes = fake.device_memory - fake_reserved(fake_device);
  return fake_end(WP_OK);
}

/* -- entries: streams -- */

static wp_status stream_create(void *self, wp_stream *out) {
  BEGIN_ASK("stream_create");
  fake_need_relaxed();
  *out = fake_handle_of(fake_new_stream(fake_device, true, -1));
  return fake_end(WP_OK);
}
static wp_status stream_destroy(void *self, wp_stream stream) {
  BEGIN("stream_destroy", stream, true);
  fake_need_relaxed();
  int i = fake_find_stream(stream);
  if (!st.streams[i].of_library) fake_violation("destroys a stream of the user's");
  st.streams[i].gone = true;
  return fake_end(WP_OK);
}
static wp_status stream_synchronize(void *self, wp_stream stream) {
  BEGIN("stream_synchronize", stream, true);
  fake_need_relaxed();
  int i = fake_find_stream(stream);
  if (!st.streams[i].of_library) fake_violation("synchronises a stream of the user's");
  synchronize(i, st.streams[i].submitted, st.streams[i].joined);
  return fake_end(WP_OK);
}
static wp_status stream_capturing(void *self, wp_stream stream, wp_capture_state *out) {
  BEGIN("stream_capturing", stream, true);
  const struct stream *found = &st.streams[fake_find_stream(stream)];
  *out = found->capturing ? WP_CAPTURE_ACTIVE : found->implicit ? WP_CAPTURE_IMPLICIT : WP_CAPTURE_NONE;
  return fake_end(WP_OK);
}
static wp_status stream_identity(void *self, wp_stream stream, uint64_t *out) {
  BEGIN("stream_identity", stream, true);
  if (st.streams[fake_find_stream(stream)].capturing) fake_violation("asks who a capturing stream is");
  if ((uintptr_t)stream <= 2 || (fake.capabilities & WP_CAP_STREAM_IDENTITY) == 0)
    fake_violation("asks for an identity");
  *out = (uint64_t)fake_find_stream(stream) + 100;
  return fake_end(WP_OK);
}
static wp_status stream_device(void *self, wp_stream stream, int *out) {
  BEGIN("stream_device", stream, true);
  if (st.streams[fake_find_stream(stream)].capturing) fake_violation("asks who a capturing stream is");
  if ((uintptr_t)stream <= 2 || (fake.capabilities & WP_CAP_STREAM_DEVICE) == 0) fake_violation("asks for a device");
  *out = st.streams[fake_find_stream(stream)].device;
  return fake_end(WP_OK);
}

/* -- entries: events -- */

static struct event *used_event(wp_event handle) {
  struct event *event = handle;
  if (!event->used) fake_violation("an event is used that does not exist any more");
  return event;
}
static struct event *event_of(wp_event handle) {
  struct event *event = used_event(handle);
  if (event->device != fake_device) fake_violation("an event of another device is used");
  return event;
}
static wp_status event_create(void *self, wp_event *out) {
  BEGIN_ASK("event_create");
  int i = 0;
  while (i < EVENTS && st.events[i].used) i++;
  if (i == EVENTS) fake_violation("there are too many events");
  st.events[i] = (struct event){.used = true, .device = fake_device};
  *out = &st.events[i];
  return fake_end(WP_OK);
}
static wp_status event_destroy(void *self, wp_event event) {
  BEGIN_ASK("event_destroy");
  event_of(event)->used = false;
  return fake_end(WP_OK);
}
static wp_status event_record(void *self, wp_event handle, wp_stream stream) {
  BEGIN("event_record", stream, true);
  struct event *event = used_event(handle); /* a free that is a hit records in no scope */
  int i = fake_find_stream(stream);
  if (st.streams[i].capturing) fake_violation("records on a stream that is being captured");
  if (st.streams[i].implicit) fake_violation("records on the legacy stream and breaks a capture");
  if (st.streams[i].device != event->device) fake_violation("records on a stream of another device");
  event->recorded = true;
  event->stream = i;
  event->at = fake_submit(i);
  (void)memcpy(event->joined, st.streams[i].joined, sizeof event->joined);
  return fake_end(WP_OK);
}
/* Such drivers answer with an error then, and may break the capture. */
static struct event *event_to_ask_for(wp_event handle) {
  struct event *event = event_of(handle);
  if ((fake.capabilities & WP_CAP_CAPTURES_END) == 0 && event->recorded && st.streams[event->stream].capturing) {
    fake_violation("asks for an event of a stream that is being captured");
  }
  return event;
}
static wp_status event_wait(void *self, wp_stream stream, wp_event handle) {
  BEGIN("event_wait", stream, true);
  fake_need_relaxed();
  struct event *event = event_to_ask_for(handle);
  int i = fake_find_stream(stream);
  for (int other = 0; other < STREAMS; other++) {
    if (event->joined[other] > st.streams[i].joined[other]) st.streams[i].joined[other] = event->joined[other];
  }
  if (event->at > st.streams[i].joined[event->stream]) st.streams[i].joined[event->stream] = event->at;
  (void)fake_submit(i);
  return fake_end(WP_OK);
}
static wp_status event_query(void *self, wp_event handle, bool *complete) {
  BEGIN_ASK("event_query");
  fake_need_relaxed();
  struct event *event = event_to_ask_for(handle);
  *complete = !event->recorded || fake_is_done(event->stream, event->at);
  return fake_end(WP_OK);
}
static wp_status event_synchronize(void *self, wp_event handle) {
  BEGIN_ASK("event_synchronize");
  fake_need_relaxed();
  struct event *event = event_to_ask_for(handle);
  if (event->recorded) synchronize(event->stream, event->at, event->joined);
  return fake_end(WP_OK);
}

static wp_status capture_relax(void *self, int *previous) {
  BEGIN_ASK("capture_relax");
  *previous = fake_relaxed ? 2 : 1;
  fake_relaxed = true;
  return fake_end(WP_OK);
}
static wp_status capture_restore(void *self, int previous) {
  BEGIN_ASK("capture_restore");
  if (previous != 1 && previous != 2) fake_violation("restores a capture mode that was never there");
  fake_relaxed = previous == 2;
  return fake_end(WP_OK);
}
static void get_last_error(void *self, wp_driver_error *out) {
  (void)self;
  *out = last_error;
}

const wp_backend fake_backend = {
    .size = sizeof(wp_backend),
    .name = "fake",
    .self = NULL,
    .device_count = device_count,
    .device_current = device_current,
    .device_set = device_set,
    .device_capabilities = device_capabilities,
    .device_memory = device_memory,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_capturing = stream_capturing,
    .stream_identity = stream_identity,
    .stream_device = stream_device,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .pool_create = fake_pool_create,
    .pool_destroy = fake_pool_destroy,
    .pool_set_threshold = fake_pool_set_threshold,
    .pool_trim = fake_pool_trim,
    .pool_usage = fake_pool_usage,
    .pool_reset_peaks = fake_pool_reset_peaks,
    .memory_alloc = fake_memory_alloc,
    .memory_free = fake_memory_free,
    .graph_trim = fake_graph_trim,
    .graph_usage = fake_graph_usage,
    .capture_relax = capture_relax,
    .capture_restore = capture_restore,
    .last_error = get_last_error,
};
