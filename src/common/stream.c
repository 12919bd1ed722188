/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include "device.h"
#include "home.h"
#include "runtime.h"

struct key {
  wp_stream handle;
  uint64_t identity;
  wp__thread_token *thread; /* of WP_STREAM_PER_THREAD */
};

bool wp__stream_is_per_thread(const wp__stream *stream) { return stream->handle == WP_STREAM_PER_THREAD; }

static wp_status make_key(wp__device *device, wp_stream handle, struct key *key) {
  *key = (struct key){handle == (wp_stream)1 ? WP_STREAM_LEGACY : handle, 0, NULL};
  if (key->handle == WP_STREAM_PER_THREAD) {
    key->thread = wp__thread_self();
    if (key->thread == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory for a thread");
    key->identity = key->thread->serial;
  } else if (key->handle != WP_STREAM_LEGACY && device->checked &&
             (device->capabilities & WP_CAP_STREAM_IDENTITY) != 0) {
    uint64_t identity = 0;
    wp_status status = WP__CALL(device->runtime, device->ordinal, stream_identity, key->handle, &identity);
    if (status != WP_OK) return status;
    key->identity = identity;
  }
  return WP_OK;
}

static _Atomic(wp__stream *) *bucket_of(wp__device *device, wp_stream handle) {
  return &device->streams.buckets[wp__stream_bucket(handle)];
}

wp__stream *wp__stream_next(wp__device *device, const wp__stream *stream) {
  wp__stream *next = stream == NULL ? NULL : stream->next;
  for (unsigned i = stream == NULL ? 0 : wp__stream_bucket(stream->handle) + 1; next == NULL && i < WP__STREAM_BUCKETS;
       i++) {
    next = atomic_load_explicit(&device->streams.buckets[i], memory_order_acquire);
  }
  return next;
}

static wp__stream *search(wp__device *device, const struct key *key) {
  return wp__streams_find(&device->streams, key->handle, key->identity);
}

static bool has_ended(const wp__thread_token *thread) {
  return thread != NULL && atomic_load_explicit(&thread->ended, memory_order_acquire);
}

/* Whether the stream that the record stands for cannot be named any more, given that `key` has just been named. */
static bool is_gone(wp__stream *stream, const struct key *key) {
  if (has_ended(atomic_load(&stream->thread))) return true;
  if (atomic_load(&stream->retired)) return true;
  return key->thread == NULL && wp__counter_get(&stream->identity) != key->identity;
}

bool wp__stream_has_drained(wp__device *device, wp__stream *stream, uint64_t epoch) {
  if ((device->capabilities & WP_CAP_STREAMS_DRAIN) == 0 || !wp__stream_is_per_thread(stream)) return false;
  wp__mutex_lock(&device->lock); /* or the record may come to serve another thread */
  bool is_past = wp__counter_get(&stream->epoch) != epoch;
  bool has = is_past ? stream->drained == epoch : has_ended(atomic_load(&stream->thread));
  wp__mutex_unlock(&device->lock);
  return has;
}

/* If the frees on a stream that is gone have finished, lets home vouch for them: a synchronisation of home then shows
 * them to the driver, and no host synchronisation is needed here. */
static void hand_to_home(wp__device *device, wp__stream *stream) {
  wp_runtime *runtime = device->runtime;
  wp_event event;
  uint64_t recorded;
  bool complete = false;
  if (wp__counter_get(&stream->recorded) != wp__counter_get(&stream->freed)) return;
  if (!wp__stream_take_event(stream, WP_NO_WAIT, &event, &recorded)) return;
  if (wp__stream_has_drained(device, stream, wp__counter_get(&stream->epoch))) {
    wp__counter_raise(&stream->observed, recorded);
  } else if (WP__VENDOR(runtime, event_query, event, &complete) == WP_OK && complete &&
             (!wp__device_shows_frees(device) || WP__VENDOR(runtime, event_wait, device->home, event) == WP_OK)) {
    if (wp__device_shows_frees(device)) wp__home_mark(device);
    wp__counter_raise(&stream->observed, recorded);
  }
  wp__stream_give_event(device, stream, event);
}

static void settle_gone(wp__device *device, const struct key *key) {
  wp__stream *stream = atomic_load_explicit(bucket_of(device, key->handle), memory_order_acquire);
  for (; stream != NULL; stream = stream->next) {
    if (stream->handle != key->handle || !is_gone(stream, key)) continue;
    if (!wp__stream_is_captured(stream)) hand_to_home(device, stream); /* asked last: a capture retires it, too */
  }
}

/* With the device's lock. A record of the same handle that nobody needs any more, or NULL; those that `key` has
 * replaced are retired on the way. */
static wp__stream *reusable(wp__device *device, const struct key *key) {
  wp__stream *found = NULL;
  wp__stream *stream = atomic_load_explicit(bucket_of(device, key->handle), memory_order_acquire);
  for (; stream != NULL; stream = stream->next) {
    if (stream->handle != key->handle || wp__stream_is_captured(stream) || !is_gone(stream, key)) continue;
    atomic_store(&stream->retired, true);
    if (wp__counter_get(&stream->freed) == wp__counter_get(&stream->observed)) found = stream;
  }
  return found;
}

/* Makes the record stand for another stream. */
static void start_life(wp__stream *stream, const struct key *key) {
  if (has_ended(atomic_load(&stream->thread))) stream->drained = wp__counter_get(&stream->epoch);
  if (key->thread != NULL) wp__thread_retain(key->thread);
  wp__thread_release(atomic_exchange(&stream->thread, key->thread));
  (void)wp__counter_add(&stream->epoch, 1);
  atomic_store(&stream->unrecorded, 0);
  atomic_store_explicit(&stream->identity, key->identity, memory_order_release);
  atomic_store_explicit(&stream->retired, false, memory_order_release);
}

/* With the device's lock. A record that nobody has found yet. */
static wp__stream *make(wp__device *device, wp_stream handle) {
  wp__stream *stream = wp__os_calloc_lines(1, sizeof *stream);
  if (stream == NULL) return NULL;
  wp__mutex_init(&stream->lock);
  wp__cond_init(&stream->returned);
  stream->handle = handle;
  stream->next = atomic_load(bucket_of(device, handle));
  return stream;
}

static void publish_record(wp__device *device, wp__stream *stream) {
  atomic_store_explicit(bucket_of(device, stream->handle), stream, memory_order_release);
}

wp__stream *wp__stream_make_bay(wp__device *device) {
  wp__stream *stream = make(device, NULL);
  if (stream == NULL) return NULL;
  stream->handle = (wp_stream)stream; /* no stream's, and spread over the buckets */
  stream->next = atomic_load(bucket_of(device, stream->handle));
  stream->is_bay = true;
  atomic_store(&stream->retired, true);
  publish_record(device, stream);
  return stream;
}

static wp__stream *create(wp__device *device, const struct key *key) {
  settle_gone(device, key);
  wp__mutex_lock(&device->lock);
  wp__stream *stream = search(device, key);
  if (stream == NULL) {
    stream = reusable(device, key);
    if (stream != NULL) {
      start_life(stream, key);
    } else if ((stream = make(device, key->handle)) != NULL) {
      start_life(stream, key);
      publish_record(device, stream);
    }
  }
  wp__mutex_unlock(&device->lock);
  return stream;
}

static wp_status check_device(wp__device *device, wp_stream handle) {
  int owner = device->ordinal;
  if (wp__stream_is_special(handle) || (device->capabilities & WP_CAP_STREAM_DEVICE) == 0) return WP_OK;
  wp_status status = WP__CALL(device->runtime, device->ordinal, stream_device, handle, &owner);
  if (status != WP_OK || owner == device->ordinal) return status;
  return wp__refuse(WP_ERROR_WRONG_DEVICE, device->ordinal, "the stream belongs to device %d, the memory to device %d",
                    owner, device->ordinal);
}

/* The record of `key`, made if need be. */
static wp_status find_or_create(wp__device *device, const struct key *key, wp__stream **out) {
  *out = search(device, key);
  if (*out != NULL) return WP_OK;
  wp_status status = check_device(device, key->handle);
  if (status != WP_OK) return status;
  *out = create(device, key);
  if (*out != NULL) return WP_OK;
  return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, device->ordinal, "no memory to remember a stream");
}

static wp_status ask_capturing(wp__device *device, wp_stream handle, wp_capture_state *state) {
  return WP__CALL(device->runtime, device->ordinal, stream_capturing, handle, state);
}

wp__stream *wp__stream_captured(wp__device *device, wp_stream handle) {
  uint64_t identity = 0;
  if (atomic_load_explicit(&device->captured_streams, memory_order_acquire) == 0) return NULL;
  if (handle == WP_STREAM_PER_THREAD) {
    const wp__thread_token *thread = wp__thread_self();
    if (thread == NULL) return NULL;
    identity = thread->serial;
  }
  wp__stream *stream = atomic_load_explicit(bucket_of(device, handle), memory_order_acquire);
  for (; stream != NULL; stream = stream->next) {
    if (stream->handle != handle || atomic_load(&stream->capture) == NULL) continue;
    if (identity == 0 || wp__counter_get(&stream->identity) == identity) return stream;
  }
  return NULL;
}

wp_status wp__stream_look(wp__device *device, wp_stream handle, bool asks, wp__stream **out, wp_capture_state *state) {
  struct key key;
  wp_status status = WP_OK;
  *out = NULL;
  *state = wp__stream_captured(device, handle) != NULL ? WP_CAPTURE_ACTIVE : WP_CAPTURE_NONE;
  if (*state == WP_CAPTURE_ACTIVE) return WP_OK;
  if (asks || device->checked) status = ask_capturing(device, handle, state);
  if (status != WP_OK) *state = WP__CAPTURE_UNKNOWN;
  if (status != WP_OK || *state == WP_CAPTURE_ACTIVE) return status;
  status = make_key(device, handle, &key);
  return status == WP_OK ? find_or_create(device, &key, out) : status;
}

bool wp__stream_ask(wp__device *device, wp_stream handle, uint64_t *identity) {
  wp_runtime *runtime = device->runtime;
  wp_capture_state state;
  *identity = 0;
  if (WP__VENDOR(runtime, stream_capturing, handle, &state) != WP_OK || state != WP_CAPTURE_NONE) return false;
  if ((device->capabilities & WP_CAP_STREAM_IDENTITY) == 0) return true;
  return WP__VENDOR(runtime, stream_identity, handle, identity) == WP_OK;
}

static wp_status refuse_captured(wp__device *device, wp_stream handle, wp_capture_state state, const char *what) {
  return wp__stream_captured(device, handle) != NULL ? wp__stream_refuse_declared(device, what)
                                                     : wp__stream_refuse(device, state, what);
}

wp_status wp__stream_find(wp__device *device, wp_stream handle, const char *what, wp__stream **out) {
  wp_capture_state state;
  wp_status status = wp__stream_look(device, handle, true, out, &state);
  if (state == WP_CAPTURE_NONE || state == WP__CAPTURE_UNKNOWN) return status;
  return refuse_captured(device, handle, state, what);
}

wp_status wp__stream_find_known(wp__device *device, wp_stream handle, wp__stream **out) {
  struct key key;
  wp_capture_state state = wp__stream_captured(device, handle) != NULL ? WP_CAPTURE_ACTIVE : WP_CAPTURE_NONE;
  wp_status status = WP_OK;
  if (state == WP_CAPTURE_NONE && device->checked) status = ask_capturing(device, handle, &state);
  if (status != WP_OK) return status;
  if (state == WP_CAPTURE_ACTIVE) {
    return refuse_captured(device, handle, state, "it cannot be told which stream this is");
  }
  status = make_key(device, handle, &key);
  if (status == WP_OK) *out = search(device, &key);
  return status;
}

wp_status wp__stream_refuse(const wp__device *device, wp_capture_state state, const char *what) {
  return wp__refuse(
      WP_ERROR_CAPTURING, device->ordinal,
      "%s while %s being captured: call after the capture, or declare it before it begins (wp_capture_begin)", what,
      state == WP_CAPTURE_ACTIVE ? "the stream is" : "a stream that the legacy stream waits for is");
}

wp_status wp__stream_refuse_declared(const wp__device *device, const char *what) {
  return wp__refuse(WP_ERROR_CAPTURING, device->ordinal,
                    "%s while the stream is in a declared capture: call after wp_capture_end or wp_capture_abort",
                    what);
}

/* -- events: each is out, in the place of `event`, or spare -- */

wp_event wp__stream_spare(wp__stream *stream) {
  if (atomic_load_explicit(&stream->spare, memory_order_relaxed) == NULL) return NULL;
  return atomic_exchange(&stream->spare, NULL);
}

void wp__stream_keep_spare(wp__device *device, wp__stream *stream, wp_event event) {
  wp_event none = NULL;
  if (event == NULL || atomic_compare_exchange_strong(&stream->spare, &none, event)) return;
  wp__event_put(device, event); /* it has one */
}

wp_status wp__stream_prepare(wp__device *device, wp__stream *stream) {
  wp_event event;
  if (atomic_load_explicit(&stream->spare, memory_order_relaxed) != NULL) return WP_OK;
  wp_status status = wp__event_get(device, &event);
  if (status == WP_OK) wp__stream_keep_spare(device, stream, event);
  return status;
}

/* `event` stands for the frees up to `freed` now. Of two threads that record at once the one that saw more wins. */
static void publish(wp__device *device, wp__stream *stream, wp_event event, uint64_t freed) {
  wp__mutex_lock(&stream->lock);
  if (freed >= wp__counter_get(&stream->recorded)) {
    wp_event old = stream->event;
    stream->event = event;
    event = old;
    wp__counter_raise(&stream->recorded, freed);
  }
  wp__mutex_unlock(&stream->lock);
  wp__stream_keep_spare(device, stream, event);
}

bool wp__stream_take_event(wp__stream *stream, wp_wait wait, wp_event *event, uint64_t *recorded) {
  wp__mutex_lock(&stream->lock);
  while (stream->observing && wait == WP_WAIT) wp__cond_wait(&stream->returned, &stream->lock);
  *event = stream->event;
  *recorded = wp__counter_get(&stream->recorded);
  bool takes = !stream->observing && stream->event != NULL && *recorded > wp__counter_get(&stream->observed);
  if (takes) {
    stream->observing = true;
    stream->event = NULL;
  }
  wp__mutex_unlock(&stream->lock);
  return takes;
}

void wp__stream_give_event(wp__device *device, wp__stream *stream, wp_event event) {
  wp__mutex_lock(&stream->lock);
  stream->observing = false;
  if (stream->event == NULL) { /* nothing was recorded meanwhile */
    stream->event = event;
    event = NULL;
  }
  wp__cond_broadcast(&stream->returned);
  wp__mutex_unlock(&stream->lock);
  wp__stream_keep_spare(device, stream, event);
}

static wp_status refuse_captured_record(wp__device *device, const wp__stream *stream) {
  wp_capture_state state = WP_CAPTURE_NONE;
  wp_status status = ask_capturing(device, stream->handle, &state);
  if (status != WP_OK || state == WP_CAPTURE_NONE) return status;
  return wp__stream_refuse(device, state, "frees cannot be recorded");
}

/* Its owner, who does not know of a record by others, may begin a capture beside it without declaring it: `asks`
 * whether the event got into that, for then it stands for nothing, and must not be asked for. */
static wp_status record_by(wp__device *device, wp__stream *stream, wp_event event, bool asks) {
  /* Read first: a free that comes after this may or may not lie before the record, and is not claimed to. */
  uint64_t freed = wp__counter_get(&stream->freed);
  atomic_store_explicit(&stream->unrecorded, 0, memory_order_relaxed);
  wp_status status = WP__CALL(device->runtime, device->ordinal, event_record, event, stream->handle);
  if (status == WP_OK && asks) status = refuse_captured_record(device, stream);
  if (status == WP_OK) {
    publish(device, stream, event, freed);
  } else {
    wp__stream_keep_spare(device, stream, event);
  }
  return status;
}

static wp_status record_now(wp__device *device, wp__stream *stream, bool asks) {
  wp_event event = wp__stream_spare(stream);
  wp_status status = event != NULL ? WP_OK : wp__event_get(device, &event);
  return status == WP_OK ? record_by(device, stream, event, asks) : status;
}

wp_status wp__stream_record(wp__device *device, wp__stream *stream, bool is_named) {
  wp_status status = refuse_captured_record(device, stream);
  return status == WP_OK ? record_now(device, stream, !is_named) : status;
}

void wp__stream_vouch_by(wp__device *device, wp__stream *stream, wp_event event) {
  if (record_by(device, stream, event, false) != WP_OK) {
    wp__log_fault(device->runtime, "a freed block could not be recorded");
  }
}

void wp__stream_vouch(wp__device *device, wp__stream *stream) {
  if (record_now(device, stream, false) != WP_OK) wp__log_fault(device->runtime, "a freed block could not be recorded");
}

void wp__stream_freed(wp__device *device, wp__stream *stream, uint64_t bytes, bool not_capturing) {
  uint64_t freed = wp__counter_add(&stream->freed, bytes);
  unsigned frees = atomic_fetch_add_explicit(&stream->unrecorded, 1, memory_order_relaxed) + 1;
  wp_status status = WP_OK;
  if (device->checked || wp__stream_is_per_thread(stream) || frees >= WP__RECORD_FREES ||
      freed - wp__counter_get(&stream->recorded) >= WP__RECORD_BYTES) {
    status = not_capturing ? record_now(device, stream, false) : wp__stream_record(device, stream, true);
  }
  if (status == WP_ERROR_CAPTURING) {
    (void)wp__fault_absorb(); /* a later free records, or the close does */
  } else if (status != WP_OK) {
    wp__log_fault(device->runtime, "a freed block could not be recorded");
  }
}

void wp__streams_destroy(wp__streams *streams) {
  for (unsigned i = 0; i < WP__STREAM_BUCKETS; i++) {
    wp__stream *stream = atomic_load(&streams->buckets[i]);
    while (stream != NULL) {
      wp__stream *next = stream->next;
      wp__thread_release(atomic_load(&stream->thread));
      wp__lane_free_tallies(&stream->lane);
      wp__cond_destroy(&stream->returned);
      wp__mutex_destroy(&stream->lock);
      wp__os_free(stream);
      stream = next;
    }
  }
}
