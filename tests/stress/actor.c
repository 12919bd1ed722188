/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread does: anything, at random, but nothing that the headers forbid. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "stress.h"

enum { SHELVES = 16 };

/* -- shelves: where a thread leaves a block for another one to check and free -- */

struct parcel {
  struct block block;
  bool is_checked; /* by the giver, who has noted the use: only the free is left to do */
};

static _Atomic(struct parcel *) shelves[SHELVES];

/* -- what an actor does -- */

uint64_t next_random(struct actor *actor) {
  actor->random ^= actor->random << 13;
  actor->random ^= actor->random >> 7;
  actor->random ^= actor->random << 17;
  return actor->random >> 11;
}

bool one_in(struct actor *actor, unsigned n) { return next_random(actor) % n == 0; }

/* Some of the time a special one. */
static wp_stream any_stream(struct actor *actor) {
  uint64_t pick = next_random(actor) % (STREAMS * 4 + 2);
  if (pick == 0) return WP_STREAM_LEGACY;
  if (pick == 1) return WP_STREAM_PER_THREAD;
  return actor->streams[pick % STREAMS];
}

void free_block(struct actor *actor, struct block *block, wp_stream stream, wp_stream reader) {
  wp_status status;
  if (reader != stream && one_in(actor, 2)) {
    status = wp_free_after(actor->epoch->runtime, block->words, (wp_stream[]){stream, reader}, 2);
  } else {
    if (reader != stream) {
      OK(wp_note_use(actor->epoch->runtime, block->words, reader));
      count(&totals.notes);
    }
    status = wp_free(actor->epoch->runtime, block->words, stream);
  }
  if (expect(status, WP_OK, "a free")) count(&totals.frees);
  block->words = NULL;
}

bool make_block(struct actor *actor, struct block *block, wp_stream stream) {
  static atomic_ullong stamps;
  void *memory = NULL;
  size_t words = 1 + next_random(actor) % (one_in(actor, 32) ? 1 << 20 : one_in(actor, 8) ? 1 << 17 : 1 << 10);
  wp_status status = wp_alloc(actor->delegate, words * sizeof(uint64_t), stream, &memory);
  if (status == WP_ERROR_OUT_OF_MEMORY || status == WP_ERROR_LIMIT) {
    count(&totals.refused);
    return false;
  }
  if (!expect(status, WP_OK, "wp_alloc")) return false;
  count(&totals.allocs);
  *block = (struct block){memory, words, (atomic_fetch_add(&stamps, 1) + 1) << 20, actor->device, NULL};
  return true;
}

/* Fills, checks on the same stream and, it may be, on a second one that comes after; and frees. */
static void use_alone(struct actor *actor) {
  struct block block;
  wp_stream stream = any_stream(actor), reader = any_stream(actor);
  if (!make_block(actor, &block, stream)) return;
  if (one_in(actor, 4)) launch_nap(stream, (unsigned)(next_random(actor) % 300));
  launch_fill(stream, &block);
  launch_check(stream, &block);
  if (reader != stream && one_in(actor, 2)) {
    vendor_stream_wait(reader, stream);
    launch_check(reader, &block);
  } else {
    reader = stream;
  }
  free_block(actor, &block, stream, reader);
}

/* Keeps a block over other calls, so that it outlives streams and delegates. */
static void use_later(struct actor *actor) {
  struct block *block = &actor->blocks[next_random(actor) % BLOCKS];
  wp_stream stream = any_stream(actor);
  if (block->words == NULL) {
    if (!make_block(actor, block, stream)) return;
    launch_fill(stream, block);
    vendor_stream_synchronize(stream); /* from here on any stream may use it */
    return;
  }
  if (block->device != actor->device) return;
  launch_check(stream, block);
  free_block(actor, block, stream, stream);
}

/* Frees what another thread has left, on `stream` of the block's device, after a check there that comes after the fill;
 * `device` is current again afterwards. */
static void take_over(struct epoch *epoch, struct parcel *parcel, wp_stream stream, int device) {
  struct block *block = &parcel->block;
  wp_status status;
  if (parcel->is_checked) {
    status = wp_free_after(epoch->runtime, block->words, NULL, 0); /* the giver's stream is noted */
  } else {
    vendor_device_set(block->device);
    launch_check_of_other(stream, block);
    vendor_device_set(device);
    status = wp_free(epoch->runtime, block->words, stream);
  }
  if (expect(status, WP_OK, "a free of another thread's block")) count(&totals.frees);
  free(parcel);
}

static void hand_over(struct actor *actor) {
  struct parcel *parcel = host_memory(sizeof *parcel);
  wp_stream stream = any_stream(actor);
  if (!make_block(actor, &parcel->block, stream)) {
    free(parcel);
    return;
  }
  parcel->is_checked = one_in(actor, 2);
  if (!parcel->is_checked && vendor_runs_apart) {
    parcel->block.filled = host_memory(sizeof *parcel->block.filled);
    atomic_init(parcel->block.filled, false);
  }
  launch_fill(stream, &parcel->block);
  if (parcel->is_checked) {
    launch_check(stream, &parcel->block);
    OK(wp_note_use(actor->epoch->runtime, parcel->block.words, stream));
    count(&totals.notes);
  } else if (parcel->block.filled == NULL) {
    vendor_stream_synchronize(stream);
  }
  struct parcel *other = atomic_exchange(&shelves[next_random(actor) % SHELVES], parcel);
  count(&totals.handovers);
  if (other == NULL) return;
  take_over(actor->epoch, other, other->block.device == actor->device ? any_stream(actor) : WP_STREAM_LEGACY,
            actor->device);
}

static void renew_stream(struct actor *actor) {
  if (!vendor_ends_streams) return;
  wp_stream *stream = &actor->streams[next_random(actor) % STREAMS];
  if (actor->epoch->contract == WP_STREAMS_DECLARED || one_in(actor, 4)) {
    OK(wp_stream_retire(actor->epoch->runtime, actor->device, *stream));
  }
  vendor_stream_destroy(*stream);
  *stream = vendor_stream_create(actor->device);
  count(&totals.streams);
}

static void open_delegate(struct actor *actor) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  options.name = "stress";
  options.limit_bytes = one_in(actor, 4) ? 1 << 20 : 0;
  MUST(wp_delegate_open(actor->epoch->runtime, one_in(actor, 2) ? WP_DEVICE_CURRENT : actor->device, &options,
                        &actor->delegate));
  count(&totals.opens);
}

static void close_delegate(struct actor *actor) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_status status = wp_delegate_close(actor->delegate, one_in(actor, 2) ? &report : NULL);
  if (status != WP_PENDING) (void)expect(status, WP_OK, "wp_delegate_close");
  actor->delegate = NULL;
}

static void trim(struct actor *actor) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  int device = one_in(actor, 2) ? WP_DEVICE_ALL : actor->device;
  wp_wait wait = one_in(actor, 2) ? WP_WAIT : WP_NO_WAIT;
  wp_status status = wp_trim(actor->epoch->runtime, device, next_random(actor) % 3 << 25, wait, &report);
  if (status != WP_PENDING) (void)expect(status, WP_OK, "wp_trim");
  count(&totals.trims);
}

static void look(struct actor *actor) {
  wp_stats now = WP_STATS_INIT, own = WP_STATS_INIT;
  wp_driver_stats driver = WP_DRIVER_STATS_INIT;
  OK(wp_device_stats(actor->epoch->runtime, actor->device, &now));
  OK(wp_delegate_stats(actor->delegate, &own));
  OK(wp_query_driver(actor->epoch->runtime, WP_DEVICE_CURRENT, &driver));
  if (now.frees > now.allocs || now.live_bytes >> 40 || now.parked_bytes >> 40 || own.frees > own.allocs) {
    violation("counters: %" PRIu64 " frees of %" PRIu64 " allocs, live %" PRIu64 ", parked %" PRIu64, now.frees,
              now.allocs, now.live_bytes, now.parked_bytes);
  }
  /* Some drivers are asked for the two one after the other. */
  if (vendor_is_ours && driver.pool_used > driver.pool_reserved) violation("the driver uses more than it reserved");
  if (one_in(actor, 8) && wp_stats_json(actor->epoch->runtime, NULL, 0) < 2) violation("no JSON");
  if (one_in(actor, 8)) OK(wp_reset_peaks(actor->epoch->runtime, WP_DEVICE_ALL));
}

static void misuse(struct actor *actor) {
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  struct block *block = &actor->blocks[0];
  (void)expect(wp_free(actor->epoch->runtime, actor, any_stream(actor)), WP_ERROR_INVALID_POINTER,
               "free of a foreign pointer");
  if (block->words == NULL) return;
  OK(wp_pointer_info(actor->epoch->runtime, block->words + block->count - 1, &info));
  if (info.base != (void *)block->words) violation("pointer info found another block");
}

static void act(struct actor *actor) {
  uint64_t pick = next_random(actor) % 1000;
  if (pick < 450) {
    use_alone(actor);
  } else if (pick < 650) {
    use_later(actor);
  } else if (pick < 830) {
    hand_over(actor);
  } else if (pick < 850) {
    use_graph(actor);
  } else if (pick < 890) {
    renew_stream(actor);
  } else if (pick < 920) {
    close_delegate(actor);
    open_delegate(actor);
  } else if (pick < 935) {
    trim(actor);
  } else if (pick < 945) {
    wp_status status = wp_prime(actor->delegate, next_random(actor) % (1 << 20), any_stream(actor));
    if (status != WP_ERROR_OUT_OF_MEMORY) (void)expect(status, WP_OK, "wp_prime");
  } else if (pick < 965) {
    OK(wp_tick(actor->epoch->runtime));
  } else if (pick < 990) {
    look(actor);
  } else {
    misuse(actor);
  }
  count(&progress);
}

static void start_actor(struct actor *actor) {
  actor->device = (int)(actor->index % (unsigned)actor->epoch->devices);
  vendor_device_set(actor->device);
  for (unsigned i = 0; i < STREAMS; i++) actor->streams[i] = vendor_stream_create(actor->device);
  open_delegate(actor);
}

static void end_actor(struct actor *actor) {
  bool close_first = one_in(actor, 2);
  if (close_first) close_delegate(actor);
  for (unsigned i = 0; i < BLOCKS; i++) {
    if (actor->blocks[i].words == NULL) continue;
    launch_check(actor->streams[0], &actor->blocks[i]);
    free_block(actor, &actor->blocks[i], actor->streams[0], actor->streams[0]);
  }
  if (!close_first) close_delegate(actor);
  end_graphs(actor);
  if (one_in(actor, 2)) OK(wp_stream_retire(actor->epoch->runtime, actor->device, WP_STREAM_PER_THREAD));
  for (unsigned i = 0; i < STREAMS; i++) {
    if (actor->epoch->contract == WP_STREAMS_DECLARED)
      OK(wp_stream_retire(actor->epoch->runtime, actor->device, actor->streams[i]));
    if (vendor_ends_streams) vendor_stream_destroy(actor->streams[i]);
  }
}

void destroy_streams(struct actor *actor) {
  for (unsigned i = 0; i < STREAMS && !vendor_ends_streams; i++) vendor_stream_destroy(actor->streams[i]);
}

void *run_actor(void *argument) {
  struct actor *actor = argument;
  start_actor(actor);
  while (!atomic_load_explicit(&actor->epoch->is_over, memory_order_relaxed)) {
    /* A bounded backlog: what a stream has still to do is memory that nobody else gets. */
    while (atomic_load(&submitted) - atomic_load(&completed) > 2000) (void)sched_yield();
    act(actor);
  }
  end_actor(actor);
  return NULL;
}
void clear_shelves(struct epoch *epoch) {
  for (unsigned i = 0; i < SHELVES; i++) {
    struct parcel *parcel = atomic_exchange(&shelves[i], NULL);
    if (parcel != NULL) take_over(epoch, parcel, WP_STREAM_LEGACY, 0);
  }
}
