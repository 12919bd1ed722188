/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device remembers of a stream it has seen: who it is, how many bytes were freed on it, and an event that
 * vouches for those frees when the stream itself may be gone.
 *
 * Three sums of bytes, which only grow, tell where it stands: observed <= recorded <= freed. Frees up to `recorded` lie
 * before the place that `event` stands for; those up to `observed` have been seen to finish, where it matters by a
 * synchronisation, so that the driver's trim can give them back.
 *
 * An event that stands for something is never recorded anew: a record takes a spare one and then puts it in place of
 * the old. Whoever asks or waits for an event takes it out meanwhile, and so knows what it stands for.
 *
 * Records are type-stable until the device is destroyed. One whose stream is gone and whose frees are all observed
 * serves the next stream with the same handle.
 */
#ifndef WARMPOOL_COMMON_STREAM_H
#define WARMPOOL_COMMON_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "account.h"
#include "lane.h"
#include "os.h"
#include "warmpool/runtime.h"

typedef struct wp__device wp__device;
typedef struct wp_capture wp_capture;

struct wp__stream {
  struct wp__stream *next; /* in its bucket; never changes once the record is there */
  wp_stream handle;        /* never changes either */
  /* Who it is: the driver's id, or the serial of the thread whose default stream it is; 0 where the handle tells all.
   */
  wp__counter identity;
  wp__counter epoch;                  /* grows each time the record serves another stream, or a bay another capture */
  atomic_bool retired;                /* will not be named again: by wp_stream_retire, or found replaced */
  _Atomic(wp__thread_token *) thread; /* of WP_STREAM_PER_THREAD; NULL for others */
  uint64_t drained;                   /* the last epoch that its thread's end has ended; with the device's lock */
  wp__counter freed, recorded, observed;
  atomic_uint unrecorded; /* frees since the last record */
  atomic_uint recorders;  /* threads that may be recording on the stream, or asking for an event of its, right now */

  _Atomic(wp_event) spare; /* stands for nothing; who takes it out has it alone */

  wp__mutex lock; /* what follows, and changes of `recorded` */
  wp__cond returned;
  bool observing; /* a thread has taken the event out */
  wp_event event; /* stands for the frees up to `recorded`; NULL: nothing is recorded, or it is taken out */

  /* What the stream has warm; outlives the stream, and serves the record's next one. In WP_CACHING_LANES `freed` is
   * changed under the lane's lock. */
  wp__lane lane;

  /* In a declared capture, and `retired` meanwhile, so that only those find it who look for such; with the device's
   * lock, `capture` also without. */
  _Atomic(wp_capture *) capture;
  struct wp__stream *bay; /* whose lane serves it then */
  /* One of WP__LEFT_..., for ever: the driver never let go of it when a capture failed. `retired`, too. */
  atomic_uint left;

  /* Of a bay (arena.h): no handle leads to it, and nothing is ever recorded for it. */
  bool is_bay, is_taken;
  wp_stream name;              /* the stream that it serves, or served last */
  struct wp__stream *next_bay; /* of its arena's, or of the device's spare ones */
};
typedef struct wp__stream wp__stream;

/* Of a stream that a capture has left behind: whether what was sent to it before has finished, or nobody can know. */
enum { WP__LEFT_NOT, WP__LEFT_FINISHED, WP__LEFT_UNKNOWN };

#define WP__STREAM_BUCKETS 64u
typedef struct wp__streams {
  _Atomic(wp__stream *) buckets[WP__STREAM_BUCKETS];
} wp__streams;

static inline unsigned wp__stream_bucket(wp_stream handle) {
  uint64_t hash = ((uint64_t)(uintptr_t)handle >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  return (unsigned)(hash >> 58);
}

/* Whether the record stands for the stream that the handle names; its identity is 0 where that is not asked. */
static inline bool wp__stream_is(const wp__stream *stream, wp_stream handle, uint64_t identity) {
  return stream->handle == handle && wp__counter_get(&stream->identity) == identity &&
         !atomic_load_explicit(&stream->retired, memory_order_acquire);
}

static inline wp__stream *wp__streams_find(const wp__streams *streams, wp_stream handle, uint64_t identity) {
  wp__stream *stream = atomic_load_explicit(&streams->buckets[wp__stream_bucket(handle)], memory_order_acquire);
  while (stream != NULL && !wp__stream_is(stream, handle, identity)) stream = stream->next;
  return stream;
}

/* Under WP_STREAMS_DECLARED a record is made after so many frees or bytes. It costs half of what an allocation and its
 * free do, and is seldom missed: a release records the rest itself where the stream can still be named. */
#define WP__RECORD_FREES 64u
#define WP__RECORD_BYTES ((uint64_t)1 << 30)

/*
 * All functions want the device to be current.
 */

/* Of a stream that nobody could tell about. */
#define WP__CAPTURE_UNKNOWN ((wp_capture_state)-1)

/* Who a stream named in a call is (its record, made at first sight), and what would become of work sent to it. The
 * latter is asked where `asks`, and always where the identity matters, for that cannot be asked of a capturing stream.
 * While the stream is being captured, *out is NULL: nothing is to be recorded there.
 * WP_ERROR_OUT_OF_HOST_MEMORY when the record cannot be made, WP_ERROR_WRONG_DEVICE, or what the driver answers; if
 * that was about the capture, *state is WP__CAPTURE_UNKNOWN. */
wp_status wp__stream_look(wp__device *device, wp_stream handle, bool asks, wp__stream **out, wp_capture_state *state);
/* The same for what cannot be done while the stream is being captured: WP_ERROR_CAPTURING, and `what` says so. */
wp_status wp__stream_find(wp__device *device, wp_stream handle, const char *what, wp__stream **out);
/* Whether the handle names a stream in a declared capture: its record, or NULL. All of the functions above and below
 * that are given such a handle take it for a stream that is being captured. */
wp__stream *wp__stream_captured(wp__device *device, wp_stream handle);

/* With the device's lock: the record of a bay. NULL: out of host memory. */
wp__stream *wp__stream_make_bay(wp__device *device);

/* The record of a stream seen before, or *out = NULL. */
wp_status wp__stream_find_known(wp__device *device, wp_stream handle, wp__stream **out);

/* Who a handle names that is a stream's own, if work sent to it runs; the device need not be current. False, without a
 * description: it is being captured, or the driver does not say; wp__stream_look tells. */
bool wp__stream_ask(wp__device *device, wp_stream handle, uint64_t *identity);

/* Whether the handle stands for a different stream on each device, or in each thread. */
static inline bool wp__stream_is_special(wp_stream handle) {
  return handle == WP_STREAM_LEGACY || handle == (wp_stream)1 || handle == WP_STREAM_PER_THREAD;
}

/* WP_ERROR_CAPTURING for a state other than WP_CAPTURE_NONE. */
wp_status wp__stream_refuse(const wp__device *device, wp_capture_state state, const char *what);
/* WP_ERROR_CAPTURING for a stream in a declared capture. */
wp_status wp__stream_refuse_declared(const wp__device *device, const char *what);

bool wp__stream_is_per_thread(const wp__stream *stream);

/* In the life that `epoch` names it was a thread's own, that thread has ended, and the driver has waited for its work.
 */
bool wp__stream_has_drained(wp__device *device, wp__stream *stream, uint64_t epoch);

/* Sees to it that there is a spare event, before the driver is given a free that must be recorded. */
wp_status wp__stream_prepare(wp__device *device, wp__stream *stream);

/* After the driver was given a free of `bytes` on the stream: counts it, and records it when that is due. The caller
 * may know that the stream is not being captured; otherwise the driver is asked. The free stands, so a record that
 * fails is only logged; the next one vouches for both. */
void wp__stream_freed(wp__device *device, wp__stream *stream, uint64_t bytes, bool not_capturing);

/* Records unless the stream is being captured (WP_ERROR_CAPTURING). The caller knows that the stream exists.
 * `is_named`: the call in hand names it, so that nobody begins a capture on it meanwhile. */
wp_status wp__stream_record(wp__device *device, wp__stream *stream, bool is_named);

/* The next position, behind all frees so far; with the lane's lock. */
static inline uint64_t wp__stream_advance(wp__stream *stream, uint64_t bytes) {
  uint64_t position = atomic_load_explicit(&stream->freed, memory_order_relaxed) + bytes;
  atomic_store_explicit(&stream->freed, position, memory_order_release);
  return position;
}
/* Records what was freed so far on a stream that is not being captured; a failure is logged. */
void wp__stream_vouch(wp__device *device, wp__stream *stream);
/* The same with an event of wp__stream_spare's. Neither needs the device to be current. */
void wp__stream_vouch_by(wp__device *device, wp__stream *stream, wp_event event);
wp_event wp__stream_spare(wp__stream *stream); /* NULL: there is none */
void wp__stream_keep_spare(wp__device *device, wp__stream *stream, wp_event event);

/* Under WP_STREAMS_DECLARED frees may lie behind the last record: records them. The stream exists as long as it is not
 * retired, and wp_stream_retire waits for `recorders`. A thread's own default stream cannot be named from here. */
wp_status wp__record_rest(wp__device *device, wp__stream *stream);

/* Looks whether recorded frees have finished, waiting for them or not, and moves `observed`. Adds the nanoseconds
 * waited. */
wp_status wp__stream_observe(wp__device *device, wp__stream *stream, wp_wait wait, uint64_t *waited_ns);

/* In a declared capture, or left by one: the driver must not be asked for its events. */
static inline bool wp__stream_is_captured(const wp__stream *stream) {
  return atomic_load(&stream->capture) != NULL || atomic_load(&stream->left) != WP__LEFT_NOT;
}

/* Whether what an event stands for, which was recorded on the stream, has finished. It has not as long as the stream is
 * in a declared capture: some drivers invalidate that when they are asked (H18). Of a stream that was left, `left`
 * tells. */
wp_status wp__stream_ask_event(wp__device *device, wp__stream *stream, wp_event event, bool *complete);
/* Waits until it has, or until such a capture begins. */
wp_status wp__stream_wait_event(wp__device *device, wp__stream *stream, wp_event event, bool *complete);

/* All records, one after the other: after NULL comes the first, after the last NULL. */
wp__stream *wp__stream_next(wp__device *device, const wp__stream *stream);

/* Takes the event out, to ask or wait for it: *event, which stands for the frees up to *recorded. False: there is
 * nothing to observe, or another thread has it; with WP_WAIT that thread is waited for. It must be given back. */
bool wp__stream_take_event(wp__stream *stream, wp_wait wait, wp_event *event, uint64_t *recorded);
void wp__stream_give_event(wp__device *device, wp__stream *stream, wp_event event);

void wp__streams_destroy(wp__streams *streams); /* the host's part; events are the device's affair */

#endif
