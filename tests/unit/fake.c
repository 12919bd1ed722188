/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

#define STREAMS 256
#define EVENTS 1024
#define POOLS 64
#define PIECES 4096
#define CALLS 65536
#define DEVICES 8
#define FIRST_HANDLE 0x1000u

#define INITIAL_SCRIPT                                                                                                 \
  {2, WP_CAP_POOLS | WP_CAP_STREAM_IDENTITY | WP_CAP_STREAM_DEVICE, (uint64_t)1 << 30, false, false, false, false}
fake_script fake = INITIAL_SCRIPT;

/* A stream; its handle is FIRST_HANDLE + 16 * slot, and a slot can serve again. */
struct stream {
  bool used, gone, busy, capturing, never, of_library, special;
  int device, slot;
  uint64_t submitted, done, observed;
  uint64_t joined[STREAMS]; /* by waiting for events: of each other stream, how far */
};
struct event {
  bool used, recorded;
  int device, stream;
  uint64_t at;
  uint64_t joined[STREAMS];
};
struct pool {
  bool used;
  int device;
  uint64_t threshold, reserved, in_use, peak;
};
/* A piece of a pool: handed out, or idle since its stream came to `at`. */
struct piece {
  bool used, live;
  int pool, stream;
  uint64_t address, bytes, at;
};
struct call {
  const char *entry;
  wp_stream stream;
  bool names_stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream streams[STREAMS];
static struct event events[EVENTS];
static struct pool pools[POOLS];
static struct piece pieces[PIECES];
static struct call calls[CALLS];
static int call_count, waits, slots;
static const char *fail_entry;
static int fail_nth;
static wp_status fail_status;
static bool has_failed;
static uint64_t next_address = 0x100000000u;
static _Thread_local int current;
static int legacy[DEVICES];                   /* index + 1 */
static _Thread_local int own_stream[DEVICES]; /* the same */
static _Thread_local wp_driver_error last_error;

static void violation(const char *text) {
  (void)fprintf(stderr, "fake driver: %s\n", text);
  abort();
}

static wp_status driver_error(const char *entry, wp_status status) {
  last_error = (wp_driver_error){700 + (int)status, entry, "FAKE_ERROR", "the script says so"};
  return status;
}

/* Begins an entry, with the lock; false: it is to fail. */
static bool begin(const char *entry, wp_stream stream, bool names_stream) {
  (void)pthread_mutex_lock(&lock);
  if (wp__test_locks_held() != 0) violation("a lock of the library's is held across a call");
  if (call_count < CALLS) calls[call_count] = (struct call){entry, stream, names_stream};
  call_count++;
  bool counts = fail_nth > 0 && (fail_entry == NULL || strcmp(fail_entry, entry) == 0);
  if (!counts || --fail_nth > 0) return true;
  has_failed = true;
  return false;
}
static wp_status end(wp_status status) {
  (void)pthread_mutex_unlock(&lock);
  return status;
}
#define BEGIN(entry, stream, names)                                                                                    \
  (void)self;                                                                                                          \
  if (!begin(entry, stream, names)) return end(driver_error(entry, fail_status))
#define BEGIN_ASK(entry) BEGIN(entry, NULL, false)

/* -- streams -- */

static int new_stream(int device, bool of_library, int slot) {
  int i = 0;
  while (i < STREAMS && streams[i].used) i++;
  if (i == STREAMS) violation("the test makes too many streams");
  streams[i].used = true;
  streams[i].device = device;
  streams[i].of_library = of_library;
  streams[i].slot = slot >= 0 ? slot : slots++;
  return i;
}

static wp_stream handle_of(int i) { return (wp_stream)(uintptr_t)(FIRST_HANDLE + 16u * (unsigned)streams[i].slot); }

static int special_stream(wp_stream handle) {
  int *index = handle == WP_STREAM_PER_THREAD ? &own_stream[current] : &legacy[current];
  if (*index == 0) {
    *index = new_stream(current, false, -1) + 1;
    streams[*index - 1].special = true;
  }
  return *index - 1;
}

static int find_stream(wp_stream handle) {
  if ((uintptr_t)handle <= 2) return special_stream(handle);
  for (int i = 0; i < STREAMS; i++) {
    if (streams[i].used && !streams[i].gone && handle_of(i) == handle) return i;
  }
  violation("a stream is named that does not exist any more");
  return -1;
}

static uint64_t submit(int i) {
  streams[i].submitted++;
  if (!streams[i].busy) streams[i].done = streams[i].submitted;
  return streams[i].submitted;
}

static bool is_done(int i, uint64_t at) { return streams[i].done >= at; }

static void wait_for(int i, uint64_t at) {
  if (is_done(i, at)) return;
  if (streams[i].never) violation("waits for a stream that it must not wait for");
  waits++;
  streams[i].done = at;
}

/* -- pools -- */

static void shrink(int pool, uint64_t keep) {
  for (int i = 0; i < PIECES && pools[pool].reserved > keep; i++) {
    struct piece *piece = &pieces[i];
    if (!piece->used || piece->live || piece->pool != pool || piece->at > streams[piece->stream].observed) continue;
    pools[pool].reserved -= piece->bytes;
    piece->used = false;
  }
}

/* A synchronisation has seen stream `i` up to `at`. */
static void observe(int i, uint64_t at) {
  if (streams[i].observed >= at) return;
  streams[i].observed = at;
  for (int pool = 0; pool < POOLS; pool++) {
    if (pools[pool].used && pools[pool].device == streams[i].device) shrink(pool, pools[pool].threshold);
  }
}

static void synchronize(int i, uint64_t at, const uint64_t *joined) {
  for (int other = 0; other < STREAMS; other++) {
    if (joined[other] == 0) continue;
    wait_for(other, joined[other]);
    observe(other, joined[other]);
  }
  wait_for(i, at);
  observe(i, at);
}

/* -- entries: devices -- */

static wp_status device_count(void *self, int *out) {
  BEGIN_ASK("device_count");
  if (fake.devices == 0) return end(driver_error("device_count", WP_ERROR_NO_DEVICE));
  *out = fake.devices;
  return end(WP_OK);
}
static wp_status device_current(void *self, int *out) {
  BEGIN_ASK("device_current");
  *out = current;
  return end(WP_OK);
}
static wp_status device_set(void *self, int device) {
  BEGIN_ASK("device_set");
  current = device;
  return end(WP_OK);
}
static wp_status device_capabilities(void *self, int device, uint32_t *out) {
  BEGIN_ASK("device_capabilities");
  if (device != current) violation("another device is current");
  *out = fake.capabilities;
  return end(WP_OK);
}
static uint64_t reserved_on(int device) {
  uint64_t reserved = 0;
  for (int i = 0; i < POOLS; i++) {
    if (pools[i].device == device) reserved += pools[i].reserved;
  }
  return reserved;
}
static wp_status device_memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes) {
  BEGIN_ASK("device_memory");
  *total_bytes = fake.device_memory;
  *free_bytes = fake.device_memory - reserved_on(current);
  return end(WP_OK);
}

/* -- entries: streams -- */

static wp_status stream_create(void *self, wp_stream *out) {
  BEGIN_ASK("stream_create");
  *out = handle_of(new_stream(current, true, -1));
  return end(WP_OK);
}
static wp_status stream_destroy(void *self, wp_stream stream) {
  BEGIN("stream_destroy", stream, true);
  int i = find_stream(stream);
  if (!streams[i].of_library) violation("destroys a stream of the user's");
  streams[i].gone = true;
  return end(WP_OK);
}
static wp_status stream_synchronize(void *self, wp_stream stream) {
  BEGIN("stream_synchronize", stream, true);
  int i = find_stream(stream);
  if (!streams[i].of_library) violation("synchronises a stream of the user's");
  synchronize(i, streams[i].submitted, streams[i].joined);
  return end(WP_OK);
}
static wp_status stream_capturing(void *self, wp_stream stream, bool *out) {
  BEGIN("stream_capturing", stream, true);
  *out = streams[find_stream(stream)].capturing;
  return end(WP_OK);
}
static wp_status stream_identity(void *self, wp_stream stream, uint64_t *out) {
  BEGIN("stream_identity", stream, true);
  if ((uintptr_t)stream <= 2 || (fake.capabilities & WP_CAP_STREAM_IDENTITY) == 0) violation("asks for an identity");
  *out = (uint64_t)find_stream(stream) + 100;
  return end(WP_OK);
}
static wp_status stream_device(void *self, wp_stream stream, int *out) {
  BEGIN("stream_device", stream, true);
  if ((uintptr_t)stream <= 2 || (fake.capabilities & WP_CAP_STREAM_DEVICE) == 0) violation("asks for a device");
  *out = streams[find_stream(stream)].device;
  return end(WP_OK);
}

/* -- entries: events -- */

static struct event *event_of(wp_event handle) {
  struct event *event = handle;
  if (!event->used) violation("an event is used that does not exist any more");
  if (event->device != current) violation("an event of another device is used");
  return event;
}
static wp_status event_create(void *self, wp_event *out) {
  BEGIN_ASK("event_create");
  int i = 0;
  while (i < EVENTS && events[i].used) i++;
  if (i == EVENTS) violation("there are too many events");
  events[i] = (struct event){.used = true, .device = current};
  *out = &events[i];
  return end(WP_OK);
}
static wp_status event_destroy(void *self, wp_event event) {
  BEGIN_ASK("event_destroy");
  event_of(event)->used = false;
  return end(WP_OK);
}
static wp_status event_record(void *self, wp_event handle, wp_stream stream) {
  BEGIN("event_record", stream, true);
  struct event *event = event_of(handle);
  int i = find_stream(stream);
  if (streams[i].capturing) violation("records on a stream that is being captured");
  if (streams[i].device != event->device) violation("records on a stream of another device");
  event->recorded = true;
  event->stream = i;
  event->at = submit(i);
  (void)memcpy(event->joined, streams[i].joined, sizeof event->joined);
  return end(WP_OK);
}
static wp_status event_wait(void *self, wp_stream stream, wp_event handle) {
  BEGIN("event_wait", stream, true);
  struct event *event = event_of(handle);
  int i = find_stream(stream);
  for (int other = 0; other < STREAMS; other++) {
    if (event->joined[other] > streams[i].joined[other]) streams[i].joined[other] = event->joined[other];
  }
  if (event->at > streams[i].joined[event->stream]) streams[i].joined[event->stream] = event->at;
  (void)submit(i);
  return end(WP_OK);
}
static wp_status event_query(void *self, wp_event handle, bool *complete) {
  BEGIN_ASK("event_query");
  struct event *event = event_of(handle);
  *complete = !event->recorded || is_done(event->stream, event->at);
  return end(WP_OK);
}
static wp_status event_synchronize(void *self, wp_event handle) {
  BEGIN_ASK("event_synchronize");
  struct event *event = event_of(handle);
  if (event->recorded) synchronize(event->stream, event->at, event->joined);
  return end(WP_OK);
}

/* -- entries: pools -- */

static wp_status pool_create(void *self, wp_pool *out) {
  BEGIN_ASK("pool_create");
  if (fake.refuse_pools) return end(driver_error("pool_create", WP_ERROR_NOT_SUPPORTED));
  int i = 0;
  while (i < POOLS && (pools[i].used || pools[i].reserved > 0)) i++;
  if (i == POOLS) violation("there are too many pools");
  pools[i] = (struct pool){.used = true, .device = current};
  *out = &pools[i];
  return end(WP_OK);
}
static int pool_of(wp_pool handle) {
  struct pool *pool = handle;
  if (!pool->used) violation("a pool is used that does not exist any more");
  if (pool->device != current) violation("a pool of another device is used");
  return (int)(pool - pools);
}
static wp_status pool_destroy(void *self, wp_pool handle) {
  BEGIN_ASK("pool_destroy");
  int pool = pool_of(handle);
  pools[pool].used = false;
  for (int i = 0; i < PIECES; i++) {
    if (pieces[i].used && !pieces[i].live && pieces[i].pool == pool) pieces[i].used = false;
  }
  pools[pool].reserved = pools[pool].in_use;
  return end(WP_OK);
}
static wp_status pool_set_threshold(void *self, wp_pool pool, uint64_t bytes) {
  BEGIN_ASK("pool_set_threshold");
  pools[pool_of(pool)].threshold = bytes;
  return end(WP_OK);
}
static wp_status pool_trim(void *self, wp_pool pool, uint64_t keep_bytes) {
  BEGIN_ASK("pool_trim");
  shrink(pool_of(pool), keep_bytes);
  return end(WP_OK);
}
static wp_status pool_usage(void *self, wp_pool pool, wp_pool_usage *out) {
  BEGIN_ASK("pool_usage");
  int i = pool_of(pool);
  *out = (wp_pool_usage){pools[i].reserved, pools[i].in_use};
  return end(WP_OK);
}
static wp_status pool_reset_peaks(void *self, wp_pool pool) {
  BEGIN_ASK("pool_reset_peaks");
  int i = pool_of(pool);
  pools[i].peak = pools[i].reserved;
  return end(WP_OK);
}

/* -- entries: memory -- */

static struct piece *idle_piece(int pool, size_t bytes, int stream) {
  for (int i = 0; i < PIECES; i++) {
    struct piece *piece = &pieces[i];
    if (!piece->used || piece->live || piece->pool != pool || piece->bytes != bytes) continue;
    if (piece->stream == stream || is_done(piece->stream, piece->at)) return piece;
  }
  return NULL;
}
static struct piece *new_piece(int pool, size_t bytes) {
  if (bytes > fake.device_memory - reserved_on(pools[pool].device)) return NULL;
  int i = 0;
  while (i < PIECES && pieces[i].used) i++;
  if (i == PIECES) violation("there are too many blocks");
  pieces[i] = (struct piece){.used = true, .pool = pool, .bytes = bytes, .address = next_address};
  next_address += bytes;
  pools[pool].reserved += bytes;
  return &pieces[i];
}
static wp_status memory_alloc(void *self, wp_pool handle, size_t bytes, wp_stream stream, void **out) {
  BEGIN("memory_alloc", stream, true);
  int pool = pool_of(handle), i = find_stream(stream);
  if (bytes == 0 || bytes % 512 != 0) violation("asks for a size that is not a multiple of 512");
  struct piece *piece = idle_piece(pool, bytes, i);
  if (piece == NULL) piece = new_piece(pool, bytes);
  if (piece == NULL && fake.null_when_full) {
    *out = NULL;
    return end(WP_OK);
  }
  if (piece == NULL) return end(driver_error("memory_alloc", WP_ERROR_OUT_OF_MEMORY));
  piece->live = true;
  pools[pool].in_use += bytes;
  (void)submit(i);
  *out = (void *)(uintptr_t)(piece->address + (fake.odd_addresses ? 8 : 0));
  return end(WP_OK);
}
static wp_status memory_free(void *self, void *ptr, wp_stream stream) {
  BEGIN("memory_free", stream, true);
  int i = find_stream(stream);
  if (fake.captures_forbid) return end(driver_error("memory_free", WP_ERROR_CAPTURING));
  for (int k = 0; k < PIECES; k++) {
    struct piece *piece = &pieces[k];
    if (!piece->used || !piece->live || piece->address != ((uintptr_t)ptr & ~(uintptr_t)15)) continue;
    piece->live = false;
    piece->stream = i;
    piece->at = submit(i);
    pools[piece->pool].in_use -= piece->bytes;
    return end(WP_OK);
  }
  violation("frees what is not live");
  return end(WP_OK);
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
    .pool_create = pool_create,
    .pool_destroy = pool_destroy,
    .pool_set_threshold = pool_set_threshold,
    .pool_trim = pool_trim,
    .pool_usage = pool_usage,
    .pool_reset_peaks = pool_reset_peaks,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .last_error = get_last_error,
};

/* -- the script's side -- */

void fake_reset(void) {
  fake = (fake_script)INITIAL_SCRIPT;
  (void)memset(streams, 0, sizeof streams);
  (void)memset(events, 0, sizeof events);
  (void)memset(pools, 0, sizeof pools);
  (void)memset(pieces, 0, sizeof pieces);
  (void)memset(legacy, 0, sizeof legacy);
  (void)memset(own_stream, 0, sizeof own_stream);
  call_count = waits = slots = fail_nth = current = 0;
}

wp_stream fake_stream(int device) { return handle_of(new_stream(device, false, -1)); }
void fake_stream_die(wp_stream stream) { streams[find_stream(stream)].gone = true; }
wp_stream fake_stream_recycled(wp_stream stream) {
  int old = find_stream(stream);
  streams[old].gone = true;
  return handle_of(new_stream(streams[old].device, false, streams[old].slot));
}
void fake_stream_busy(wp_stream stream) { streams[find_stream(stream)].busy = true; }
void fake_stream_idle(wp_stream stream) {
  int i = find_stream(stream);
  streams[i].busy = false;
  streams[i].done = streams[i].submitted;
}
void fake_all_idle(void) {
  for (int i = 0; i < STREAMS; i++) {
    streams[i].busy = false;
    streams[i].done = streams[i].submitted;
  }
}
void fake_stream_capture(wp_stream stream, bool capturing) { streams[find_stream(stream)].capturing = capturing; }
void fake_stream_never(wp_stream stream) { streams[find_stream(stream)].never = true; }

void fake_fail(const char *entry, int nth, wp_status status) {
  fail_entry = entry;
  fail_nth = nth;
  fail_status = status;
  has_failed = false;
}
bool fake_failed(void) { return has_failed; }

int fake_count(const char *entry) {
  int count = 0;
  for (int i = 0; i < call_count && i < CALLS; i++) count += entry == NULL || strcmp(calls[i].entry, entry) == 0;
  return count;
}
void fake_forget(void) { call_count = 0; }

const char *fake_log(bool quiet) {
  static const char *const asking[] = {"device_current", "device_count",    "stream_identity", "stream_device",
                                       "pool_usage",     "stream_capturing", "event_query",     "device_memory"};
  static char text[8192];
  size_t length = 0;
  text[0] = '\0';
  for (int i = 0; i < call_count && i < CALLS; i++) {
    bool asks = false;
    for (size_t k = 0; k < sizeof asking / sizeof *asking; k++) asks = asks || strcmp(asking[k], calls[i].entry) == 0;
    if (quiet && asks) continue;
    int n = snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? " " : "", calls[i].entry);
    if (n < 0 || (size_t)n >= sizeof text - length) break;
    length += (size_t)n;
  }
  return text;
}

int fake_waits(void) { return waits; }
int fake_objects(void) {
  int objects = 0;
  for (int i = 0; i < STREAMS; i++) objects += streams[i].used && streams[i].of_library && !streams[i].gone;
  for (int i = 0; i < EVENTS; i++) objects += events[i].used;
  for (int i = 0; i < POOLS; i++) objects += pools[i].used;
  return objects;
}
int fake_blocks(void) {
  int blocks = 0;
  for (int i = 0; i < PIECES; i++) blocks += pieces[i].used && pieces[i].live;
  return blocks;
}
uint64_t fake_reserved(int device) { return reserved_on(device); }
uint64_t fake_threshold(int device) {
  uint64_t threshold = 0;
  for (int i = 0; i < POOLS; i++) {
    if (pools[i].used && pools[i].device == device) threshold = pools[i].threshold;
  }
  return threshold;
}
int fake_current(void) { return current; }
void fake_set_current(int device) { current = device; }
bool fake_named(wp_stream stream) {
  for (int i = 0; i < call_count && i < CALLS; i++) {
    if (calls[i].names_stream && calls[i].stream == stream) return true;
  }
  return false;
}
