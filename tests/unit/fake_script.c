/* SPDX-License-Identifier: Apache-2.0 */
/* The test's side of the fake driver: what it is told, and what it tells. */
#include <stdio.h>
#include <string.h>

#include "fake_state.h"

#define ALL_CAPABILITIES                                                                                               \
  (WP_CAP_POOLS | WP_CAP_STREAM_IDENTITY | WP_CAP_STREAM_DEVICE | WP_CAP_GRAPH_MEMORY | WP_CAP_CHECKED_FREE |          \
   WP_CAP_KEEPS_FREED | WP_CAP_ORDERED_FREE | WP_CAP_CAPTURES_END)
#define INITIAL_SCRIPT                                                                                                 \
  { 2, ALL_CAPABILITIES, (uint64_t)1 << 30, false, false, false, false }
fake_script fake = INITIAL_SCRIPT;

void fake_reset(void) {
  fake = (fake_script)INITIAL_SCRIPT;
  (void)memset(st.streams, 0, sizeof st.streams);
  (void)memset(st.events, 0, sizeof st.events);
  (void)memset(st.pools, 0, sizeof st.pools);
  (void)memset(st.pieces, 0, sizeof st.pieces);
  (void)memset(st.legacy, 0, sizeof st.legacy);
  (void)memset(st.graph_reserved, 0, sizeof st.graph_reserved);
  fake_relaxed = false;
  (void)memset(fake_own_stream, 0, sizeof fake_own_stream);
  st.call_count = st.waits = st.slots = st.fail_nth = fake_device = 0;
}

wp_stream fake_stream(int device) { return fake_handle_of(fake_new_stream(device, false, -1)); }
void fake_stream_die(wp_stream stream) { st.streams[fake_find_stream(stream)].gone = true; }
wp_stream fake_stream_recycled(wp_stream stream) {
  int old = fake_find_stream(stream);
  st.streams[old].gone = true;
  return fake_handle_of(fake_new_stream(st.streams[old].device, false, st.streams[old].slot));
}
void fake_stream_busy(wp_stream stream) { st.streams[fake_find_stream(stream)].busy = true; }
void fake_stream_idle(wp_stream stream) {
  int i = fake_find_stream(stream);
  st.streams[i].busy = false;
  st.streams[i].done = st.streams[i].submitted;
}
void fake_all_idle(void) {
  for (int i = 0; i < STREAMS; i++) {
    st.streams[i].busy = false;
    st.streams[i].done = st.streams[i].submitted;
  }
}
void fake_stream_capture(wp_stream stream, bool capturing) {
  st.streams[fake_find_stream(stream)].capturing = capturing;
}
void fake_legacy_implicit(int device, bool implicit) {
  int before = fake_device;
  fake_device = device;
  st.streams[fake_find_stream(WP_STREAM_LEGACY)].implicit = implicit;
  fake_device = before;
}
void fake_next_address(void *ptr) { st.next_address = (uintptr_t)ptr; }
void fake_stream_never(wp_stream stream) { st.streams[fake_find_stream(stream)].never = true; }

void fake_fail(const char *entry, int nth, wp_status status) {
  st.fail_entry = entry;
  st.fail_nth = nth;
  st.fail_status = status;
  st.has_failed = false;
}
bool fake_failed(void) { return st.has_failed; }

int fake_count(const char *entry) {
  int count = 0;
  for (int i = 0; i < st.call_count && i < CALLS; i++) count += entry == NULL || strcmp(st.calls[i].entry, entry) == 0;
  return count;
}
void fake_forget(void) { st.call_count = 0; }

static bool only_asks(const char *entry) {
  static const char *const asking[] = {"device_current", "device_count",     "stream_identity", "stream_device",
                                       "pool_usage",     "stream_capturing", "event_query",     "device_memory",
                                       "graph_usage",    "capture_relax",    "capture_restore"};
  for (size_t k = 0; k < sizeof asking / sizeof *asking; k++) {
    if (strcmp(asking[k], entry) == 0) return true;
  }
  return false;
}

/* ":home", ":s" and so on, or nothing. */
static void name_stream(const struct call *call, char *out, size_t size) {
  char letter = 's';
  out[0] = '\0';
  if (!call->names_stream) return;
  if ((uintptr_t)call->stream <= 2) {
    (void)snprintf(out, size, ":%u", (unsigned)(uintptr_t)call->stream);
    return;
  }
  for (int i = 0; i < STREAMS && st.streams[i].used; i++) {
    const struct stream *stream = &st.streams[i];
    if (fake_handle_of(i) == call->stream) {
      (void)snprintf(out, size, stream->of_library ? ":home" : ":%c", letter);
      return;
    }
    if (!stream->of_library && !stream->special && letter < 'z') letter++;
  }
}

static const char *write_log(bool quiet, bool names) {
  static char text[8192];
  size_t length = 0;
  text[0] = '\0';
  for (int i = 0; i < st.call_count && i < CALLS; i++) {
    char stream[8] = "";
    if (quiet && only_asks(st.calls[i].entry)) continue;
    if (names) name_stream(&st.calls[i], stream, sizeof stream);
    int n = snprintf(text + length, sizeof text - length, "%s%s%s", length > 0 ? " " : "", st.calls[i].entry, stream);
    if (n < 0 || (size_t)n >= sizeof text - length) break;
    length += (size_t)n;
  }
  return text;
}
const char *fake_log(bool quiet) { return write_log(quiet, false); }
const char *fake_steps(void) { return write_log(true, true); }

int fake_waits(void) { return st.waits; }
int fake_objects(void) {
  int objects = 0;
  for (int i = 0; i < STREAMS; i++) objects += st.streams[i].used && st.streams[i].of_library && !st.streams[i].gone;
  for (int i = 0; i < EVENTS; i++) objects += st.events[i].used;
  for (int i = 0; i < POOLS; i++) objects += st.pools[i].used;
  return objects;
}
int fake_blocks(void) {
  int blocks = 0;
  for (int i = 0; i < PIECES; i++) blocks += st.pieces[i].used && st.pieces[i].live;
  return blocks;
}
uint64_t fake_threshold(int device) {
  uint64_t threshold = 0;
  for (int i = 0; i < POOLS; i++) {
    if (st.pools[i].used && st.pools[i].device == device) threshold = st.pools[i].threshold;
  }
  return threshold;
}
int fake_current(void) { return fake_device; }
void fake_set_current(int device) { fake_device = device; }
bool fake_named(wp_stream stream) {
  for (int i = 0; i < st.call_count && i < CALLS; i++) {
    if (st.calls[i].names_stream && st.calls[i].stream == stream) return true;
  }
  return false;
}
