/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: allocated, used, noted and freed in all the ways there are. */
#include <string.h>

#include "random.h"

struct block *block_pick(unsigned nth, bool in_use) {
  unsigned first = pick(nth, BLOCKS);
  for (unsigned i = 0; i < BLOCKS; i++) {
    struct block *found = &self->blocks[(first + i) % BLOCKS];
    if ((found->address != NULL) == in_use) return found;
  }
  return NULL;
}

wp_caching caching_of(int runtime) { return shared.runtimes[runtime].options.caching; }
bool is_declared(int runtime) { return shared.runtimes[runtime].options.stream_contract == WP_STREAMS_DECLARED; }

/* -- allocation -- */

static size_t bytes_picked(unsigned nth) {
  unsigned shape = pick(nth, 32), number = self->now.with[nth] >> 5;
  if (shape < 20) return 1 + number % 9000;
  if (shape < 27) return 1 + number % (256 << 10);
  if (shape < 30) return 1 + number % (3 << 20);
  return 1 + number % (shape == 30 ? 12 << 20 : 40 << 20);
}

static uint64_t live_on(int runtime, int device) {
  uint64_t live = 0;
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    if (block->address != NULL && block->runtime == runtime && block->device == device) live += block->usable;
  }
  return live;
}

unsigned block_naturals(const struct delegate *delegate, size_t bytes) {
  uint64_t most = bytes + bytes / 16 + 512, limit = shared.runtimes[delegate->runtime].options.limit_bytes;
  unsigned natural = shared.memory < (uint64_t)4 << 30 ? S(ERROR_OUT_OF_MEMORY) : 0;
  if (delegate->limit != 0 && delegate->live + most > delegate->limit) natural |= S(ERROR_LIMIT);
  if (limit != 0 && (setup.threads > 1 || live_on(delegate->runtime, delegate->device) + most > limit)) {
    natural |= S(ERROR_LIMIT);
  }
  return natural;
}

static void check_apart(const struct block *fresh) {
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *other = &self->blocks[i];
    if (other == fresh || other->address == NULL) continue;
    REQUIRE_THAT(fresh->address + fresh->usable <= other->address || other->address + other->usable <= fresh->address,
                 "%p of %zu bytes lies in %p of %zu, which is live", (void *)fresh->address, fresh->usable,
                 (void *)other->address, other->usable);
  }
}

static void learn(struct block *fresh, const struct delegate *from, wp_stream handle) {
  pointer_facts facts = POINTER_FACTS_INIT;
  wp_status status = POINTER_QUERY(shared.runtimes[fresh->runtime].handle, fresh->address, &facts);
  REQUIRE_THAT(status == WP_OK && facts.base == (void *)fresh->address && facts.device == fresh->device &&
                   facts.delegate == from->handle && facts.bytes >= fresh->bytes &&
                   (facts.stream == handle || (uintptr_t)handle <= 1),
               "what is known of a new block is wrong (%s)", wp_status_name(status));
  fresh->usable = (size_t)facts.bytes;
  REQUIRE_THAT((uintptr_t)fresh->address % 256 == 0, "%p is not aligned", (void *)fresh->address);
}

static void keep(struct block *fresh, struct delegate *from, int index) {
  struct stream *stream = stream_of(index);
  char text[64];
  learn(fresh, from, stream->handle);
  if (setup.lines != NULL) tell("block %s %zu, stream %d", place_of(fresh->address, text), fresh->usable, index);
  check_apart(fresh);
  if (stream->capture == NULL) stream_catch_up(index);
  range_check(fresh, index, stream->capture, stream->capture != NULL ? stream->capture->family : 0);
  self->allocs[fresh->runtime][fresh->device]++;
  from->live += fresh->usable;
  REQUIRE_THAT(from->limit == 0 || from->live <= from->limit, "a delegate's limit was passed");
  fresh->capture = stream->capture;
  if (fresh->capture == NULL) return;
  struct range *range = range_add(fresh, CAPTURED);
  range->capture = fresh->capture;
  range->family = fresh->capture->family;
}

void op_allocate(void) {
  struct delegate *from = &self->delegates[pick(0, DELEGATES)];
  struct block *fresh = block_pick(4, false);
  if (from->handle == NULL || fresh == NULL) return;
  int index = stream_pick(1, from->device, true);
  if (index == NOWHERE) return;
  struct stream *stream = stream_of(index);
  if (stream->capture != NULL && stream->capture->runtime != from->runtime) return; /* not declared there */
  size_t bytes = bytes_picked(2);
  void *out = self;
  wp_oom_policy policy = shared.runtimes[from->runtime].options.oom_policy;
  call_begin(LISTED_alloc, policy == WP_OOM_RECLAIM_AND_WAIT && stream->capture == NULL);
  if (!call_end(wp_alloc(from->handle, bytes, stream->handle, &out), block_naturals(from, bytes))) {
    REQUIRE_THAT(out == (void *)self, "wp_alloc failed and changed its output");
    return;
  }
  *fresh = (struct block){.address = out, .bytes = bytes, .runtime = from->runtime, .device = from->device};
  fresh->delegate = (int)(from - self->delegates);
  fresh->origin = fresh->last = index;
  keep(fresh, from, index);
  if (work_is_sent(3)) block_write(fresh, index);
}

/* -- uses -- */

bool block_can_follow(const struct block *block, int index) {
  if (block->capture != NULL) return stream_is_mine(index) && stream_is_mine(block->last);
  if (!stream_can_wait(index, block->last)) return false;
  for (unsigned i = 0; i < block->reader_count; i++) {
    if (!stream_can_wait(index, block->readers[i].stream)) return false;
  }
  return true;
}

void block_follow(struct block *block, int index) {
  stream_wait(index, block->last);
  for (unsigned i = 0; i < block->reader_count; i++) stream_wait(index, block->readers[i].stream);
  block->last = index;
  block->reader_count = 0;
}

/* A stream that the block can be used on: one of its capture's, where it is of one. */
static int stream_for(const struct block *block, unsigned nth) {
  const struct capture *capture = block->capture;
  if (capture == NULL) return stream_pick(nth, block->device, false);
  return capture->streams[pick(nth, capture->stream_count)];
}

void op_use(void) {
  struct block *block = block_pick(0, true);
  if (block == NULL) return;
  int index = stream_for(block, 1);
  if (index == NOWHERE || !block_can_follow(block, index)) return;
  block_follow(block, index);
  char text[64];
  if (setup.lines != NULL) tell("block %s, stream %d", place_of(block->address, text), index);
  if (!work_is_sent(3)) return;
  if (pick(2, 2) == 0) {
    block_read(block, index);
  } else {
    block_write(block, index);
  }
}

/* On a stream that the others need not wait for. */
void op_read_beside(void) {
  struct block *block = block_pick(0, true);
  if (block == NULL || block->capture != NULL || block->stamp == 0) return;
  int index = stream_pick(1, block->device, false);
  if (index == NOWHERE || index == block->last) return;
  if (!stream_can_wait(index, block->last)) return;
  unsigned at = 0;
  while (at < block->reader_count && block->readers[at].stream != index) at++;
  if (at == READERS) return;
  stream_wait(index, block->last);
  block_read(block, index);
  block->readers[at] = now_on(index);
  block->is_noted[at] = false;
  if (at == block->reader_count) block->reader_count++;
}

void op_note(void) {
  struct block *block = block_pick(0, true);
  if (block == NULL || block->reader_count == 0) return;
  unsigned at = pick(1, block->reader_count);
  const struct stream *reader = stream_of(block->readers[at].stream);
  if (!stream_is_open(block->readers[at].stream)) return;
  use_device_of(reader);
  call_begin(LISTED_note_use, false);
  bool noted = call_end(wp_note_use(shared.runtimes[block->runtime].handle, block->address, reader->handle), 0);
  block_check_is_live(block);
  if (!noted) return;
  block->is_noted[at] = true;
  block->readers[at] = now_on(block->readers[at].stream);
}

/* -- mistakes -- */

static bool is_live(const void *address) {
  for (int i = 0; i < BLOCKS; i++) {
    const struct block *block = &self->blocks[i];
    if (block->address != NULL && (const unsigned char *)address >= block->address &&
        (const unsigned char *)address < block->address + block->usable)
      return true;
  }
  return false;
}

static void refuse(listed_call call, wp_status status, unsigned expected, const char *what) {
  self->call = call;
  REQUIRE_THAT(!call_end(status, expected), "%s succeeded with %s", listed_name(call), what);
}

static void free_inside(const struct block *block, wp_stream handle) {
  call_begin(LISTED_free, false);
  refuse(LISTED_free, wp_free(shared.runtimes[block->runtime].handle, block->address + 1 + pick(2, 255), handle),
         S(ERROR_INVALID_POINTER), "an address inside a block");
}

static void free_freed(wp_runtime *runtime, wp_stream handle) {
  void *address = self->freed[pick(2, sizeof self->freed / sizeof *self->freed)];
  if (address == NULL || is_live(address)) return;
  call_begin(LISTED_note_use, false);
  refuse(LISTED_note_use, wp_note_use(runtime, address, handle), S(ERROR_INVALID_POINTER), "what was freed");
  call_begin(LISTED_free, false);
  refuse(LISTED_free, wp_free(runtime, address, handle), S(ERROR_INVALID_POINTER), "what was freed");
}

static void free_elsewhere(const struct block *block) {
  int other = (block->device + 1) % shared.devices;
  int index = stream_successor(other, NOWHERE);
  if (other == block->device || (shared.capabilities & WP_CAP_STREAM_DEVICE) == 0 || index == NOWHERE) return;
  if (stream_of(index)->kind != CREATED) return;
  call_begin(LISTED_free, false);
  refuse(LISTED_free, wp_free(shared.runtimes[block->runtime].handle, block->address, stream_of(index)->handle),
         S(ERROR_WRONG_DEVICE), "a stream of another device");
  block_check_is_live(block);
}

static void ask_for_nothing_and_for_too_much(const struct delegate *from, wp_stream handle) {
  void *out = self;
  call_begin(LISTED_alloc, false);
  if (call_end(wp_alloc(from->handle, 0, handle, &out), 0)) REQUIRE_THAT(out == NULL, "no bytes are not NULL");
  wp_oom_policy policy = shared.runtimes[from->runtime].options.oom_policy;
  out = self;
  call_begin(LISTED_alloc, policy == WP_OOM_RECLAIM_AND_WAIT);
  refuse(LISTED_alloc, wp_alloc(from->handle, SIZE_MAX / 2, handle, &out), S(ERROR_OUT_OF_MEMORY) | S(ERROR_LIMIT),
         "more bytes than there are");
  REQUIRE_THAT(out == (void *)self, "wp_alloc failed and changed its output");
}

void op_misuse(void) {
  const struct block *block = block_pick(0, true);
  if (block == NULL) return;
  wp_runtime *runtime = shared.runtimes[block->runtime].handle;
  int index = stream_pick(1, block->device, false);
  if (index == NOWHERE) return;
  wp_stream handle = stream_of(index)->handle;
  use_device_of(stream_of(index));
  switch (pick(3, 5)) {
  case 0: free_inside(block, handle); break;
  case 1:
    if (setup.threads == 1) free_freed(runtime, handle);
    break;
  case 2: free_elsewhere(block); break;
  case 3:
    if (block->delegate != NOWHERE) ask_for_nothing_and_for_too_much(&self->delegates[block->delegate], handle);
    break;
  default: call_begin(LISTED_free, false); (void)call_end(wp_free(runtime, NULL, handle), 0);
  }
}
