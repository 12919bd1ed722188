/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's inside, shared by its files. */
#ifndef WARMPOOL_TESTS_UNIT_FAKE_STATE_H
#define WARMPOOL_TESTS_UNIT_FAKE_STATE_H

#include "fake.h"

#define STREAMS 256
#define EVENTS 1024
#define POOLS 64
#define PIECES 4096
#define CALLS 65536
#define DEVICES 8
#define FIRST_HANDLE 0x1000u

/* A stream; its handle is FIRST_HANDLE + 16 * slot, and a slot can serve again. */
struct stream {
  bool used, gone, busy, capturing, implicit, never, of_library, special;
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
  bool of_graph, freed_inside; /* captured: live from a launch to a free, unless the graph frees it itself */
  int pool, stream;
  uint64_t address, bytes, at;
};
struct call {
  const char *entry;
  wp_stream stream;
  bool names_stream;
};

struct fake_state {
  struct stream streams[STREAMS];
  struct event events[EVENTS];
  struct pool pools[POOLS];
  struct piece pieces[PIECES];
  struct call calls[CALLS];
  int call_count, waits, slots;
  const char *fail_entry;
  int fail_nth;
  wp_status fail_status;
  bool has_failed;
  uint64_t next_address;
  int legacy[DEVICES]; /* index of the legacy stream + 1 */
  uint64_t graph_reserved[DEVICES];
};
extern struct fake_state st;
extern _Thread_local int fake_device;              /* the thread's current one */
extern _Thread_local int fake_own_stream[DEVICES]; /* index of its default stream + 1 */
extern _Thread_local bool fake_relaxed;            /* its capture mode */

/* Stops the test: the library broke a rule. */
_Noreturn void fake_violation(const char *text);

/* Begins an entry, with the lock; false: it is to fail. */
bool fake_begin(const char *entry, wp_stream stream, bool names_stream);
wp_status fake_end(wp_status status);
wp_status fake_error(const char *entry, wp_status status);
#define BEGIN(entry, stream, names)                                                                                    \
  (void)self;                                                                                                          \
  if (!fake_begin(entry, stream, names)) return fake_end(fake_error(entry, st.fail_status))
#define BEGIN_ASK(entry) BEGIN(entry, NULL, false)
/* In an entry that could harm a capture. */
void fake_need_relaxed(void);

/* -- streams, by index -- */

int fake_new_stream(int device, bool of_library, int slot);
wp_stream fake_handle_of(int stream);
int fake_find_stream(wp_stream handle);
uint64_t fake_submit(int stream);
bool fake_is_done(int stream, uint64_t at);
void fake_wait_for(int stream, uint64_t at);

/* -- pools -- */

/* A synchronisation has seen the stream up to `at`. */
void fake_observe(int stream, uint64_t at);

wp_status fake_pool_create(void *self, wp_pool *out);
wp_status fake_pool_destroy(void *self, wp_pool handle);
wp_status fake_pool_set_threshold(void *self, wp_pool pool, uint64_t bytes);
wp_status fake_pool_trim(void *self, wp_pool pool, uint64_t keep_bytes);
wp_status fake_pool_usage(void *self, wp_pool pool, wp_pool_usage *out);
wp_status fake_pool_reset_peaks(void *self, wp_pool pool);
wp_status fake_memory_alloc(void *self, wp_pool handle, size_t bytes, wp_stream stream, void **out);
wp_status fake_memory_free(void *self, void *ptr, wp_stream stream);
wp_status fake_graph_trim(void *self, int device);
wp_status fake_graph_usage(void *self, int device, wp_graph_usage *out);

#endif
