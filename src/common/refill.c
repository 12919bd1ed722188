/* SPDX-License-Identifier: Apache-2.0 */
#include "refill.h"

#include "exhaustion.h"
#include "free.h"
#include "home.h"
#include "lanes.h"
#include "runtime.h"
#include "segment.h"
#include "stats.h"

struct request {
  wp__device *device;
  wp__stream *stream;
  wp_delegate *delegate; /* NULL: counts for nobody */
  uint64_t life;         /* of the delegate's */
  size_t bytes;          /* of a class */
  bool missed, grew;     /* the list was empty; the heap could not help either: each once at least */
  bool carved;           /* the block is out of the heap, and in no map */
  unsigned steals;
  uint64_t returned;              /* bytes that the driver has got for this, and not been told to unmap */
  bool wants_record, wants_tally; /* what serve() lacked */
  wp__block *segment;             /* on its way into the lane, or NULL; all work on it has finished */
  wp__tally *tally;               /* a record to spare, or NULL */
  wp__block *block;               /* what came of it */
};

/* -- from the lane itself -- */

/* With the lane's lock. Pops; or carves, where need be of the lists merged. */
static wp__block *pop_or_carve(struct request *request) {
  wp__lane *lane = &request->stream->lane;
  wp__block *block = wp__lane_pop(lane, wp__class_below(request->bytes));
  request->carved = block == NULL;
  if (block != NULL) return block;
  request->missed = true;
  bool merges = lane->listed_bytes > lane->held_bytes / WP__LISTED_SHARE;
  if (!merges) block = wp__lane_carve(lane, request->bytes);
  if (block != NULL) return block;
  wp__lane_merge(lane, &request->device->runtime->blocks);
  return wp__lane_carve(lane, request->bytes);
}

/* With the lane's lock. */
static void count(struct request *request, wp__tally *tally) {
  wp__tally_alloc(tally, request->block);
  tally->counts.misses += request->missed;
  tally->counts.steals += request->steals;
}

static bool is_closed(const struct request *request) {
  return request->delegate != NULL && atomic_load(&request->delegate->life) != request->life;
}

/* With the lane's lock. */
static void add_segment(struct request *request) {
  wp__block *segment = request->segment;
  if (segment != NULL) wp__lane_add(&request->stream->lane, segment, segment->range.address, segment->range.bytes, 0);
  request->segment = NULL;
}

/* False: records are missing. What the lane had is in request->block; a closed delegate gets nothing. */
static bool serve(struct request *request) {
  wp__lane *lane = &request->stream->lane;
  wp_delegate *delegate = request->delegate;
  wp__tally *tally = NULL;
  wp__spin_lock(&lane->lock);
  add_segment(request);
  bool closed = is_closed(request); /* under the lock, which a close takes before it asks what is live */
  if (delegate != NULL && !closed) tally = wp__tally_make(lane, delegate, request->life, &request->tally);
  request->wants_record = wp__lane_needs_record(lane);
  request->wants_tally = delegate != NULL && !closed && tally == NULL;
  bool can = closed || (!request->wants_record && !request->wants_tally);
  if (can && !closed) request->block = pop_or_carve(request);
  if (request->block != NULL && tally != NULL) count(request, tally);
  if (request->block != NULL && !request->grew) lane->records = false; /* what there is does */
  wp__spin_unlock(&lane->lock);
  return can;
}

/* Makes the records that serve() has missed. */
static wp_status provide(struct request *request) {
  wp__lane *lane = &request->stream->lane;
  wp__blocks *blocks = &request->device->runtime->blocks;
  bool has_all = true;
  if (request->wants_tally) has_all = (request->tally = wp__os_calloc(1, sizeof *request->tally)) != NULL;
  if (has_all && request->wants_record) {
    wp__block *record = wp__block_take(blocks);
    has_all = record != NULL;
    wp__spin_lock(&lane->lock);
    if (has_all) wp__lane_keep_record(lane, blocks, record);
    wp__spin_unlock(&lane->lock);
  }
  if (has_all) return WP_OK;
  return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, request->device->ordinal, "no memory for a block's record");
}

static wp_status ask_lane(struct request *request) {
  wp_status status = WP_OK;
  while (status == WP_OK && !serve(request)) status = provide(request);
  if (status != WP_OK || request->block != NULL || !is_closed(request)) return status;
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, request->device->ordinal, "the delegate is closed");
}

/* -- from elsewhere -- */

/* Whole free segments are of no use to the request, or they would have served it: back they go, where their work has
 * finished. That some cannot go is no failure of the request's. */
static void return_unfit(struct request *request) {
  wp__device *device = request->device;
  wp__stream *stream = request->stream;
  uint64_t waited_ns = 0;
  if (stream->is_bay) return; /* a graph's */
  if (wp__counter_get(&stream->freed) != wp__counter_get(&stream->recorded)) wp__stream_vouch(device, stream);
  if (wp__stream_observe(device, stream, WP_NO_WAIT, &waited_ns) != WP_OK) (void)wp__fault_absorb();
  request->returned += wp__lane_give_way(device, stream, request->bytes, UINT64_MAX);
}

/* From another lane. */
static wp_status steal(struct request *request) {
  wp__device *device = request->device;
  wp__block *segment = wp__lanes_steal(device, request->stream, request->bytes);
  if (segment == NULL) return WP_OK;
  /* What has been used came after home in its stream, and that use has been seen to finish. */
  bool is_used = segment->range.position > 0;
  segment->range.position = 0; /* it had a place in another stream's order, and has none in this one's */
  wp_status status = is_used ? WP_OK : wp__segment_order(device, request->stream);
  if (status != WP_OK) {
    wp__fault_keep();
    wp__segment_discard(device, segment);
    wp__fault_restore();
    return status;
  }
  request->segment = segment;
  request->steals++;
  return WP_OK;
}

static size_t in_steps(size_t bytes, uint64_t step) { return (size_t)((bytes + step - 1) & ~(step - 1)); }

/* What the request's lane is to get: blocks fit better into few large segments than into many small ones, and these
 * better into what the driver maps where they are powers of two. */
static size_t generous(struct request *request) {
  wp__lane *lane = &request->stream->lane;
  wp__spin_lock(&lane->lock);
  uint64_t share = lane->held_bytes / WP__SEGMENT_SHARE;
  wp__spin_unlock(&lane->lock);
  if (request->delegate == NULL || share < WP__SEGMENT_STEP) share = WP__SEGMENT_STEP;
  if (share > WP__SEGMENT_LARGE) share = WP__SEGMENT_LARGE;
  return in_steps(request->bytes, UINT64_C(1) << wp__log2(share));
}

/* That it cannot be is no failure of the request's. */
static void flush(struct request *request) {
  if (request->returned > 0 && wp__segments_flush(request->device) != WP_OK) (void)wp__fault_absorb();
  request->returned = 0;
}

/* Lets the driver unmap what it got back and did not use; with WP_CACHING_DRIVER it keeps what its threshold says. */
static void settle(struct request *request) {
  if (!request->device->lanes) request->returned = 0;
  if (request->returned == 0) return;
  wp__fault_keep();
  flush(request);
  wp__fault_restore();
}

/* What was returned is still mapped, so that the driver may use it for this; where that does not help, it must go. */
static wp_status ask_driver(struct request *request, size_t bytes, void **out) {
  wp_status status = wp__segment_obtain(request->device, request->stream, bytes, out);
  if (status != WP_ERROR_OUT_OF_MEMORY || request->returned == 0) return status;
  (void)wp__fault_absorb();
  flush(request);
  return wp__segment_obtain(request->device, request->stream, bytes, out);
}

/* From the driver. */
static wp_status obtain(struct request *request) {
  size_t least = in_steps(request->bytes, WP__SEGMENT_STEP), bytes = generous(request);
  wp__blocks *blocks = &request->device->runtime->blocks;
  void *address = NULL;
  wp__block *record = wp__block_take(blocks);
  if (record == NULL) {
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, request->device->ordinal, "no memory for a segment's record");
  }
  wp_status status = ask_driver(request, bytes, &address);
  if (status == WP_ERROR_OUT_OF_MEMORY && bytes > least) {
    (void)wp__fault_absorb();
    bytes = least;
    status = ask_driver(request, bytes, &address);
  }
  if (status != WP_OK) {
    wp__block_drop(blocks, record);
    return status;
  }
  record->range.address = address;
  record->range.bytes = bytes;
  request->segment = record;
  return WP_OK;
}

/* A segment for the lane, in request->segment. */
static wp_status grow(struct request *request) {
  wp__device *device = request->device;
  wp__lane *lane = &request->stream->lane;
  bool is_prime = request->delegate == NULL; /* new memory, or a second stream would be primed with the first one's */
  request->grew = true;
  wp__spin_lock(&lane->lock);
  lane->records = true;
  wp__spin_unlock(&lane->lock);
  return_unfit(request);
  wp_status status = is_prime ? WP_OK : steal(request);
  bool obtains = status == WP_OK && request->segment == NULL;
  if (obtains && !is_prime) request->returned += wp__lanes_give_way(device, request->stream, request->bytes);
  if (obtains) status = obtain(request);
  settle(request);
  return status;
}

/* Once more around where another thread of the same stream has taken what was got for this one. */
static wp_status attempt(wp__device *device, void *argument) {
  struct request *request = argument;
  wp_status status = ask_lane(request);
  bool looks = !request->stream->is_bay && atomic_load(&device->parked_count) != 0;
  if (status == WP_OK && request->block == NULL && looks) {
    wp__home_look(device);
    status = ask_lane(request);
  }
  while (status == WP_OK && request->block == NULL) {
    status = grow(request);
    if (status == WP_OK) status = ask_lane(request);
  }
  return status;
}

/* -- whole requests -- */

static wp_status run(struct request *request) {
  wp__device *device = request->device;
  wp_oom_policy policy = device->runtime->options.oom_policy;
  if (request->stream->is_bay && policy != WP_OOM_FAIL) policy = WP_OOM_RECLAIM; /* a capture waits for nothing */
  wp_status status = wp__exhaust(device, policy, attempt, request);
  wp__os_free(request->tally);
  return status;
}

/* Takes back a block that nobody will get to know. */
static void undo(struct request *request) {
  wp__lane *lane = &request->stream->lane;
  wp__block *block = request->block;
  wp__spin_lock(&lane->lock);
  if (request->delegate != NULL) {
    block->tally->counts.allocs--;
    block->tally->counts.alloc_bytes -= block->range.bytes;
    block->tally->counts.misses -= request->missed;
    block->tally->counts.steals -= request->steals;
  }
  wp__lane_uncarve(lane, &request->device->runtime->blocks, block);
  wp__spin_unlock(&lane->lock);
  if (is_closed(request)) wp__delegate_settle(request->delegate); /* the close saw a live block */
}

/* A carved block gets its place in the map; one from a list has it. */
static wp_status enter(struct request *request) {
  wp__block *block = request->block;
  wp__map *map = &request->device->runtime->blocks.map;
  void *address = block->range.address;
  atomic_store_explicit(&block->bytes, block->range.bytes, memory_order_release);
  atomic_store_explicit(&block->device, request->device, memory_order_release);
  wp_stream name = request->stream->is_bay ? request->stream->name : request->stream->handle;
  atomic_store_explicit(&block->stream, name, memory_order_release);
  atomic_store_explicit(&block->ptr, address, memory_order_release);
  block->origin = request->stream;
  block->origin_epoch = wp__counter_get(&request->stream->epoch);
  atomic_store_explicit(&block->guard, &request->stream->lane.lock, memory_order_release);
  block->uses = NULL;
  block->captured = false;
  if (request->carved && !request->device->lanes) wp__forget_captured(request->device, address);
  if (!request->carved || wp__map_set(map, address, block)) return WP_OK;
  undo(request);
  return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, request->device->ordinal, "no memory to register a block");
}

static void raise_peaks(wp_delegate *delegate, wp__device *device) {
  wp__counter_raise(&device->account.live_peak, wp__device_live(device));
  wp__counter_raise(&delegate->account.live_peak, wp__delegate_live(delegate));
}

static wp_status hand_out(struct request *request, void **out) {
  wp_status status = enter(request);
  if (status != WP_OK) return status;
  if (request->grew) raise_peaks(request->delegate, request->device);
  wp__limits_peak(request->delegate, request->device);
  atomic_store_explicit(&request->block->delegate, request->delegate, memory_order_release);
  wp__block_renew(request->block);
  *out = request->block->range.address;
  return WP_OK;
}

bool wp__lane_serve(wp_delegate *delegate, uint64_t life, wp__stream *stream, unsigned class, void **out) {
  struct request request = {.device = delegate->device, .stream = stream, .delegate = delegate, .life = life};
  request.bytes = wp__class_bytes(class);
  wp_status status = ask_lane(&request);
  if (status == WP_OK && request.block != NULL) status = hand_out(&request, out);
  wp__os_free(request.tally);
  if (status == WP_OK) return request.block != NULL;
  (void)wp__fault_absorb();
  return false;
}

wp_status wp__lane_alloc(wp_delegate *delegate, wp__stream *stream, size_t bytes, void **out) {
  struct request request = {.device = delegate->device, .stream = stream, .delegate = delegate};
  request.life = delegate->serial;
  request.bytes = wp__class_bytes(wp__class_above(bytes));
  wp_status status = run(&request);
  return status == WP_OK ? hand_out(&request, out) : status;
}

wp_status wp__lane_prime(wp__device *device, wp__stream *stream, size_t bytes) {
  struct request request = {.device = device, .stream = stream};
  request.bytes = wp__class_bytes(wp__class_above(bytes));
  wp_status status = run(&request);
  if (status != WP_OK) return status;
  wp__lane *lane = &stream->lane;
  wp__spin_lock(&lane->lock);
  if (request.carved) {
    wp__lane_uncarve(lane, &device->runtime->blocks, request.block);
  } else {
    wp__lane_push(lane, request.block);
  }
  wp__spin_unlock(&lane->lock);
  return WP_OK;
}
