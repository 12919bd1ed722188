/* SPDX-License-Identifier: Apache-2.0 */
/* The replay's inside, shared by its files. */
#ifndef WARMPOOL_BENCH_REPLAY_STATE_H
#define WARMPOOL_BENCH_REPLAY_STATE_H

#include "replay.h"
#include "table.h"
#include "trace.h"

struct replay_block {
  void *memory; /* NULL: the device had none, or none was asked for */
  uint64_t bytes;
  int device;
};

struct replay_stream {
  wp_stream handle;
  int device;
  bool is_special; /* the legacy stream or the thread's own: not to be destroyed */
};

struct replay_delegate {
  int device;
  bool is_lent; /* not one of the file's */
  wp_delegate *handle;
  struct replay_delegate *above, *below; /* opened on the device later, and earlier */
};

struct replay_device {
  bool is_used;
  bool is_told;                   /* the file opens delegates there */
  struct replay_delegate *newest; /* that is open */
  uint64_t live, live_peak;
};

struct replay {
  const bench_run *run;
  const replay_options *options;
  replay_result *result;
  trace_reader reader;
  const wp_backend *backend;
  wp_runtime *runtime;
  struct replay_device *devices;
  int device_count;
  struct table blocks, streams, delegates;
  wp_stream *named; /* by the lines of one call */
  size_t named_capacity;
  uint64_t started, spent; /* of the call under way */
};

/* A call of the library's, timed; `sum` (or NULL) gets the time, too. Ends the program where it fails, but not where
 * the device is out of memory. */
void replay_begin(struct replay *replay);
wp_status replay_end(struct replay *replay, wp_status status, const char *call, uint64_t *sum);
#define TIMED(replay, function, sum, ...)                                                                              \
  (replay_begin(replay), replay_end(replay, function(__VA_ARGS__), #function, sum))

/* The device that the event is to happen on. */
struct replay_device *replay_device_of(struct replay *replay, const trace_event *event, int *ordinal);

/* The stream that stands for the event's, made where it is named for the first time. */
wp_stream replay_stream_of(struct replay *replay, const trace_event *event, int device);
void replay_retire(struct replay *replay, const trace_event *event);
void replay_synchronize(struct replay *replay);
void replay_end_streams(struct replay *replay);

void replay_open(struct replay *replay, const trace_event *event);
void replay_close(struct replay *replay, const trace_event *event);
/* The delegate to allocate from: the newest that is open, for a trace does not tell. Where the file opens none there is
 * one all the time; where it has closed them all, one for this call. */
struct replay_delegate *replay_borrow(struct replay *replay, const struct replay_device *device, int ordinal);
void replay_give_back(struct replay *replay, const struct replay_device *device, struct replay_delegate *delegate);
void replay_end_delegates(struct replay *replay);

#endif
