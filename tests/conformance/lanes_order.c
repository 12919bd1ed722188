/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes between lanes, and when: a lane's memory serves its own stream at once, and another one when its work has
 * finished. Where a stream is held, nothing ends the test before it is released.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "in_lanes.h"

/* -- from one stream to another -- */

BOTH_CONTRACTS(lanes, pass_on_what_has_finished_and_nothing_else) {
  wp_delegate *delegate = start_in_lanes();
  wp_stream s1 = rig_stream_create(0), s2 = rig_stream_create(0);
  void *copy = take(delegate, whole(), s1), *memory = take(delegate, whole(), s1);
  rig_fill(s1, memory, 0x42, MIB);
  rig_hold *hold = rig_hold_stream(s1);
  rig_copy(s1, copy, memory, MIB);
  give(memory, s1);
  wp_stats before = stats(0);
  void *other = take(delegate, whole(), s2);
  cr_expect(!overlap(memory, other, whole()));
  rig_fill(s2, other, 0xee, MIB);
  rig_stream_synchronize(s2);
  cr_expect_eq(stats(0).steals, 0);
  expect_driver_calls_since(&before, 1, 0);
  rig_release(hold);
  expect_bytes(s1, copy, 0x42, MIB);
  void *next = take(delegate, whole(), s2);
  cr_expect_eq(next, memory);
  cr_expect_eq(stats(0).steals, 1);
  cr_expect_eq(stats_of(delegate).steals, 1);
  expect_driver_calls_since(&before, 1, 0);
  give(copy, s1);
  give(other, s2);
  give(next, s2);
  (void)last_close(delegate, WP_OK);
  end_stream(0, s1);
  end_stream(0, s2);
}

BOTH_CONTRACTS(lanes, get_back_what_was_freed_on_another_stream_once_that_has_finished) {
  wp_delegate *delegate = start_in_lanes();
  wp_stream s1 = rig_stream_create(0), s2 = rig_stream_create(0);
  void *copy = take(delegate, whole(), s2), *memory = take(delegate, whole(), s1);
  rig_fill(s1, memory, 0x42, MIB);
  rig_wait(s2, s1);
  rig_hold *hold = rig_hold_stream(s2);
  rig_copy(s2, copy, memory, MIB);
  give(memory, s2);
  cr_expect_eq(stats(0).parked_bytes, whole());
  cr_expect_eq(stats(0).live_bytes, whole());
  rig_stream_synchronize(s1);
  OK(wp_tick(runtime));
  cr_expect_eq(stats(0).parked_bytes, whole());
  void *other = take(delegate, whole(), s1);
  cr_expect(!overlap(memory, other, whole()));
  rig_fill(s1, other, 0xee, MIB);
  rig_release(hold);
  expect_bytes(s2, copy, 0x42, MIB);
  OK(wp_tick(runtime));
  wp_stats before = stats(0);
  cr_expect_eq(before.parked_bytes, 0);
  cr_expect_eq(before.cached_bytes, whole());
  void *next = take(delegate, whole(), s1); /* of its own stream, for whom it is a hit */
  cr_expect_eq(next, memory);
  cr_expect_eq(stats(0).lane_hits, before.lane_hits + 1);
  cr_expect_eq(stats(0).steals, 0);
  expect_driver_calls_since(&before, 0, 0);
  give(next, s1);
  give(other, s1);
  give(copy, s2);
  (void)last_close(delegate, WP_OK);
  end_stream(0, s1);
  end_stream(0, s2);
}

/* -- streams that end -- */

/* The last free before it is one that DECLARED had not recorded. */
BOTH_CONTRACTS(lanes, of_retired_streams_serve_others_once_their_work_has_finished) {
  wp_delegate *delegate = start_in_lanes();
  wp_stream s1 = rig_stream_create(0), s2 = rig_stream_create(0);
  give(take(delegate, whole(), s1), s1);
  void *memory = take(delegate, whole(), s1);
  rig_hold *hold = rig_hold_stream(s1);
  give(memory, s1);
  OK(wp_stream_retire(runtime, 0, s1));
  void *other = take(delegate, whole(), s2);
  cr_expect(!overlap(memory, other, whole()));
  rig_release(hold);
  rig_stream_synchronize(s1);
  rig_stream_destroy(s1);
  wp_stats before = stats(0);
  void *next = take(delegate, whole(), s2);
  cr_expect_eq(next, memory);
  cr_expect_eq(stats(0).steals, 1);
  expect_driver_calls_since(&before, 0, 0);
  give(other, s2);
  give(next, s2);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  cr_expect_eq(stats(0).reserved_bytes, 0);
  end_stream(0, s2);
}

/* Nobody asks for it before the close. */
BOTH_CONTRACTS(lanes, of_retired_streams_go_back_with_the_last_close) {
  wp_delegate *delegate = start_in_lanes();
  wp_stream stream = rig_stream_create(0);
  for (int i = 0; i < 3; i++) give(take(delegate, whole(), stream), stream);
  OK(wp_stream_retire(runtime, 0, stream));
  rig_stream_destroy(stream);
  cr_expect_eq(stats(0).cached_bytes, whole());
  wp_release_report report = last_close(delegate, WP_OK);
  cr_expect_geq(report.returned_bytes, whole());
  cr_expect_eq(report.reserved_after, 0);
  cr_expect_eq(stats(0).reserved_bytes, 0);
}

/* Memory of the stream that is gone serves neither its namesake nor another one before its work has finished, and both
 * of them after that. */
BOTH_CONTRACTS(lanes, tell_a_stream_from_an_earlier_one_of_the_same_handle) {
  wp_stream spares[8] = {NULL};
  void *blocks[2], *nexts[2] = {NULL, NULL};
  wp_delegate *delegate = start_in_lanes();
  wp_stream gone = rig_stream_create(0), reader = rig_stream_create(0);
  for (unsigned i = 0; i < 2; i++) blocks[i] = take(delegate, whole(), gone);
  rig_hold *hold = rig_hold_stream(gone);
  for (unsigned i = 0; i < 2; i++) give(blocks[i], gone);
  rig_wait(reader, gone);
  end_stream(0, gone);
  wp_stream stream = reincarnate(gone, spares, COUNT_OF(spares));
  wp_stream askers[2] = {stream, spares[0] == stream ? rig_stream_create(0) : spares[0]};
  for (unsigned i = 0; stream != NULL && i < 2; i++) {
    void *early = take(delegate, whole(), askers[i]);
    cr_expect(!overlap(early, blocks[0], whole()) && !overlap(early, blocks[1], whole()));
    nexts[i] = early;
  }
  rig_release(hold);
  rig_stream_synchronize(reader);
  wp_stats before = stats(0);
  for (unsigned i = 0; stream != NULL && i < 2; i++) {
    void *late = take(delegate, whole(), askers[i]);
    cr_expect(late == blocks[0] || late == blocks[1]);
    give(late, askers[i]);
    give(nexts[i], askers[i]);
  }
  expect_driver_calls_since(&before, 0, 0);
  cr_expect_eq(last_close(delegate, WP_OK).reserved_after, 0);
  end_stream(0, reader);
  if (spares[0] == stream && stream != NULL) end_stream(0, askers[1]);
  for (size_t i = 0; i < COUNT_OF(spares) && spares[i] != NULL; i++) end_stream(0, spares[i]);
  if (stream == NULL) cr_skip_test("the driver did not hand the handle out again");
}

/* -- threads -- */

struct owner {
  wp_delegate *delegate;
  wp_stream gate; /* the thread's own stream waits for it */
  void *memory;   /* freed behind that */
  bool kept;      /* its bytes were there when the thread's stream got to them */
  pthread_barrier_t step;
};

static void next_step(struct owner *owner) { (void)pthread_barrier_wait(&owner->step); }

static bool is_filled(wp_stream stream, const void *memory, int byte) {
  static unsigned char bytes[4096];
  size_t same = 0;
  rig_read(stream, bytes, memory, sizeof bytes);
  while (same < sizeof bytes && bytes[same] == (unsigned char)byte) same++;
  return same == sizeof bytes;
}

/* Its stream waits for another one, for the thread's own cannot be held everywhere. */
static void *free_behind_the_gate(void *argument) {
  struct owner *owner = argument;
  void *copy = take(owner->delegate, whole(), WP_STREAM_PER_THREAD);
  owner->memory = take(owner->delegate, whole(), WP_STREAM_PER_THREAD);
  rig_fill(WP_STREAM_PER_THREAD, owner->memory, 0x21, MIB);
  rig_wait(WP_STREAM_PER_THREAD, owner->gate);
  rig_copy(WP_STREAM_PER_THREAD, copy, owner->memory, MIB);
  give(owner->memory, WP_STREAM_PER_THREAD);
  next_step(owner);
  next_step(owner); /* the gate is open */
  owner->kept = is_filled(WP_STREAM_PER_THREAD, copy, 0x21);
  give(copy, WP_STREAM_PER_THREAD);
  rig_stream_synchronize(WP_STREAM_PER_THREAD);
  next_step(owner);
  next_step(owner); /* the thread ends only when its memory has been asked for */
  return NULL;
}

BOTH_CONTRACTS(lanes, of_threads_own_streams_are_told_apart) {
  struct owner owner = {.delegate = start_in_lanes(), .gate = rig_stream_create(0)};
  pthread_t thread;
  cr_assert_eq(pthread_barrier_init(&owner.step, NULL, 2), 0);
  rig_hold *hold = rig_hold_stream(owner.gate);
  cr_assert_eq(pthread_create(&thread, NULL, free_behind_the_gate, &owner), 0);
  next_step(&owner);
  void *other = take(owner.delegate, whole(), WP_STREAM_PER_THREAD); /* this thread's: another stream */
  cr_expect(!overlap(owner.memory, other, whole()));
  rig_fill(WP_STREAM_PER_THREAD, other, 0xff, MIB);
  rig_stream_synchronize(WP_STREAM_PER_THREAD);
  cr_expect_eq(stats(0).steals, 0);
  rig_release(hold);
  next_step(&owner);
  next_step(&owner); /* its work has finished */
  wp_stats before = stats(0);
  void *next = take(owner.delegate, whole(), WP_STREAM_PER_THREAD);
  next_step(&owner);
  (void)pthread_join(thread, NULL);
  void *last = take(owner.delegate, whole(), WP_STREAM_PER_THREAD); /* of a thread that has ended */
  cr_expect(owner.kept);
  cr_expect_eq(stats(0).steals, 2);
  expect_driver_calls_since(&before, 0, 0);
  give(other, WP_STREAM_PER_THREAD);
  give(next, WP_STREAM_PER_THREAD);
  give(last, WP_STREAM_PER_THREAD);
  cr_expect_eq(last_close(owner.delegate, WP_OK).reserved_after, 0);
  (void)pthread_barrier_destroy(&owner.step);
}

/* -- two threads on one stream -- */

enum { SHARERS = 2, TURNS = 400, AT_ONCE = 3 };

static struct sharing {
  wp_delegate *delegate;
  wp_stream stream;
  pthread_mutex_t lock;
  struct {
    unsigned char *memory; /* NULL: none */
    size_t bytes;
  } live[SHARERS * AT_ONCE];
  atomic_uint collisions, overwrites;
} sharing = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void enter(unsigned place, unsigned char *memory, size_t bytes) {
  (void)pthread_mutex_lock(&sharing.lock);
  for (unsigned i = 0; i < SHARERS * AT_ONCE; i++) {
    unsigned char *theirs = sharing.live[i].memory;
    if (theirs == NULL || memory + bytes <= theirs || theirs + sharing.live[i].bytes <= memory) continue;
    (void)atomic_fetch_add(&sharing.collisions, 1);
  }
  sharing.live[place].memory = memory;
  sharing.live[place].bytes = bytes;
  (void)pthread_mutex_unlock(&sharing.lock);
}

static void leave(unsigned place) {
  (void)pthread_mutex_lock(&sharing.lock);
  sharing.live[place].memory = NULL;
  (void)pthread_mutex_unlock(&sharing.lock);
}

static void check_mark(const unsigned char *memory, unsigned place) {
  unsigned char first[8];
  rig_read(sharing.stream, first, memory, sizeof first);
  for (size_t i = 0; i < sizeof first; i++) {
    if (first[i] != place + 1) (void)atomic_fetch_add(&sharing.overwrites, 1);
  }
}

static void share_a_stream(unsigned index, void *argument) {
  uint32_t random = index + 1;
  (void)argument;
  for (int turn = 0; turn < TURNS; turn++) {
    unsigned char *blocks[AT_ONCE];
    for (unsigned i = 0; i < AT_ONCE; i++) {
      size_t bytes = 512 + next_random(&random) % 8 * 4096;
      blocks[i] = take(sharing.delegate, bytes, sharing.stream);
      enter(index * AT_ONCE + i, blocks[i], bytes);
      rig_fill(sharing.stream, blocks[i], (int)(index * AT_ONCE + i + 1), 8);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
      if (turn % 8 == 0) check_mark(blocks[i], index * AT_ONCE + i);
      leave(index * AT_ONCE + i);
      give(blocks[i], sharing.stream);
    }
  }
}

BOTH_CONTRACTS(lanes, may_be_used_by_two_threads_at_once) {
  sharing.delegate = start_in_lanes();
  sharing.stream = rig_stream_create(0);
  run_threads(SHARERS, share_a_stream, NULL);
  wp_stats all = stats(0), of_delegate = stats_of(sharing.delegate);
  cr_expect_eq(atomic_load(&sharing.collisions), 0, "a block was handed out twice");
  cr_expect_eq(atomic_load(&sharing.overwrites), 0, "a block was written by somebody else");
  cr_expect_eq(all.allocs, SHARERS * TURNS * AT_ONCE);
  cr_expect_eq(all.frees, all.allocs);
  cr_expect_eq(all.lane_hits + all.lane_misses, all.allocs);
  cr_expect_eq(all.live_bytes + all.live_blocks + all.parked_bytes + all.steals, 0);
  cr_expect_eq(all.cached_bytes, all.reserved_bytes);
  cr_expect_eq(of_delegate.allocs, all.allocs);
  cr_expect_eq(of_delegate.frees, all.frees);
  cr_expect_eq(of_delegate.lane_hits, all.lane_hits);
  cr_expect_eq(last_close(sharing.delegate, WP_OK).reserved_after, 0);
  end_stream(0, sharing.stream);
}

/* -- how much they hold -- */

/* In blocks of a size each, so that no stream's segments do for the next one's. */
static void use(wp_delegate *delegate, wp_stream stream, size_t bytes, size_t each) {
  void *blocks[64];
  size_t count = bytes / each;
  for (size_t i = 0; i < count; i++) blocks[i] = take(delegate, each, stream);
  for (size_t i = 0; i < count; i++) give(blocks[i], stream);
  void *last = take(delegate, each, stream); /* a hit: under WP_STREAMS_DECLARED its free is not recorded */
  give(last, stream);
  rig_stream_synchronize(stream);
}

BOTH_CONTRACTS(lanes, of_streams_that_take_turns_hold_what_one_of_them_needs) {
  enum { STREAMS = 6, ROUNDS = 3 };
  wp_stream streams[STREAMS];
  size_t step = 4 * MIB, most = 16 * step;
  wp_delegate *delegate = start_in_lanes();
  for (int i = 0; i < STREAMS; i++) streams[i] = rig_stream_create(0);
  for (int i = 0; i < ROUNDS * STREAMS; i++) use(delegate, streams[i % STREAMS], most, step << i % 3);
  cr_expect_leq(stats(0).reserved_peak, most + most / 8, "%llu bytes were held for %zu",
                (unsigned long long)stats(0).reserved_peak, most);
  (void)last_close(delegate, WP_OK);
  for (int i = 0; i < STREAMS; i++) end_stream(0, streams[i]);
}
