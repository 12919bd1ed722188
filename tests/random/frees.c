/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks are freed in all the ways there are. */
#include <string.h>

#include "random.h"

void block_check_is_live(const struct block *block) {
  pointer_facts facts = POINTER_FACTS_INIT;
  wp_status status = POINTER_QUERY(shared.runtimes[block->runtime].handle, block->address, &facts);
  REQUIRE_THAT(status == WP_OK && facts.base == (void *)block->address && facts.bytes == block->usable &&
                   facts.device == block->device,
               "a block is not live as before (%s)", wp_status_name(status));
}

void block_forget(struct block *block) {
  char text[64];
  if (setup.lines != NULL) tell("freed %s, stream %d", place_of(block->address, text), block->last);
  self->frees[block->runtime][block->device]++;
  if (block->delegate != NOWHERE) self->delegates[block->delegate].live -= block->usable;
  self->freed[self->freed_count++ % (sizeof self->freed / sizeof *self->freed)] = block->address;
  block->address = NULL;
}

/* The block was freed after what was sent to these streams so far. */
static void leave(struct block *block, const int *streams, unsigned count) {
  struct range *left = range_add(block, LEFT);
  for (unsigned i = 0; i < count; i++) range_of_use(left, now_on(streams[i]));
  for (unsigned i = 0; i < block->reader_count; i++) range_of_use(left, block->readers[i]);
  if (block->graph != NULL) {
    range_of_freed_output(block);
    for (unsigned i = 0; i < count; i++) self->family_used[block->graph->family][streams[i]] = true;
    for (unsigned i = 0; i < block->reader_count; i++) {
      self->family_used[block->graph->family][block->readers[i].stream] = true;
    }
  }
  block_forget(block);
}

static void free_twice(wp_runtime *runtime, void *address, wp_stream handle) {
  call_begin(LISTED_free, false);
  REQUIRE_THAT(!call_end(wp_free(runtime, address, handle), S(ERROR_INVALID_POINTER)), "a second free succeeded");
}

static void free_on(struct block *block, int index) {
  wp_runtime *runtime = shared.runtimes[block->runtime].handle;
  void *address = block->address;
  wp_stream handle = stream_of(index)->handle;
  use_device_of(stream_of(index));
  bool alone = pick(2, 4) == 0;
  call_begin(alone ? LISTED_free_after : LISTED_free, false);
  wp_status status = alone ? wp_free_after(runtime, address, &handle, 1) : wp_free(runtime, address, handle);
  if (!call_end(status, 0)) {
    block_check_is_live(block);
    return;
  }
  leave(block, &index, 1);
  if (setup.threads == 1 && pick(3, 16) == 0) free_twice(runtime, address, handle);
}

/* The caller's own order for what was not noted, and the library's for what was. */
static void free_in_order(struct block *block) {
  int index = pick(1, 3) == 0 ? stream_pick(4, block->device, false) : block->last;
  if (index == NOWHERE || !block_can_follow(block, index)) return;
  unsigned kept = 0;
  stream_wait(index, block->last);
  block->last = index;
  for (unsigned i = 0; i < block->reader_count; i++) {
    if (!block->is_noted[i]) {
      stream_wait(index, block->readers[i].stream);
      continue;
    }
    block->readers[kept] = block->readers[i];
    block->is_noted[kept++] = true;
  }
  block->reader_count = kept;
  free_on(block, index);
}

static void free_after_all(struct block *block) {
  wp_stream handles[READERS + 3];
  int streams[READERS + 3], extra = stream_pick(4, block->device, false);
  unsigned count = 0;
  streams[count++] = block->last;
  for (unsigned i = 0; i < block->reader_count; i++) {
    if (!block->is_noted[i] || pick(1, 2) == 0) streams[count++] = block->readers[i].stream;
  }
  if (extra != NOWHERE && pick(2, 3) == 0) streams[count++] = extra;
  if (pick(3, 3) == 0) streams[count++] = block->last;
  for (unsigned i = 0; i < count; i++) {
    use_device_of(stream_of(streams[i]));
    handles[i] = stream_of(streams[i])->handle;
  }
  call_begin(LISTED_free_after, false);
  wp_runtime *runtime = shared.runtimes[block->runtime].handle;
  if (call_end(wp_free_after(runtime, block->address, handles, count), 0)) {
    leave(block, streams, count);
  } else {
    block_check_is_live(block);
  }
}

/* All its uses are done: the program has waited for them. */
static bool finish(const struct block *block) {
  if (!stream_drain(block->last)) return false;
  for (unsigned i = 0; i < block->reader_count; i++) {
    if (!stream_drain(block->readers[i].stream)) return false;
  }
  return true;
}

static void free_finished(struct block *block) {
  if (!finish(block)) return;
  call_begin(LISTED_free_after, false);
  if (call_end(wp_free_after(shared.runtimes[block->runtime].handle, block->address, NULL, 0), 0)) {
    leave(block, NULL, 0);
  } else {
    block_check_is_live(block);
  }
}

static const struct capture *capture_for(const struct block *block) {
  for (int i = 0; i < CAPTURES; i++) {
    const struct capture *capture = &self->captures[i];
    if (capture->handle != NULL && capture->runtime == block->runtime && capture->device == block->device &&
        stream_is_mine(capture->streams[0]))
      return capture;
  }
  return NULL;
}

/* Launches may use it, so the graph has it from now on. */
static void free_from_outside(struct block *block, const struct capture *capture) {
  int index = capture->streams[pick(1, capture->stream_count)];
  struct range *kept;
  if (!stream_is_mine(index) || !finish(block)) return;
  if (pick(2, 2) == 0 && block->graph == NULL) block_read(block, index); /* its launches write an output anew */
  struct block gone = *block;
  use_device_of(stream_of(index));
  call_begin(LISTED_free, false);
  tell("from outside the capture, stream %d of kind %d", index, stream_of(index)->kind);
  wp_status status = wp_free(shared.runtimes[block->runtime].handle, block->address, stream_of(index)->handle);
  if (!call_end(status, 0)) {
    block_check_is_live(block);
    return;
  }
  if (block->graph != NULL) range_of_freed_output(block);
  block_forget(block);
  kept = range_add(&gone, CAPTURED);
  kept->capture = stream_of(index)->capture;
  kept->family = capture->family;
  kept->is_from_outside = true;
  for (unsigned i = 0; i < gone.reader_count; i++) range_of_use(kept, gone.readers[i]);
}

static void free_in_capture(struct block *block) {
  const struct capture *capture = block->capture;
  int index = pick(1, 3) == 0 ? capture->streams[pick(4, capture->stream_count)] : block->last;
  wp_stream handle = stream_of(index)->handle;
  struct block gone = *block;
  if (!stream_is_mine(index) || !stream_is_mine(block->last)) return;
  stream_wait(index, block->last);
  block->last = index;
  use_device_of(stream_of(index));
  call_begin(LISTED_free, false);
  tell("in the capture, stream %d of kind %d", index, stream_of(index)->kind);
  if (!call_end(wp_free(shared.runtimes[block->runtime].handle, block->address, handle), 0)) {
    block_check_is_live(block);
    return;
  }
  block_forget(block);
  for (unsigned i = 0; i < self->range_count; i++) {
    struct range *range = &self->ranges[i];
    if (range->capture != capture || range->from != (uintptr_t)gone.address || range->kind != CAPTURED) continue;
    if (index != gone.origin) continue;
    range->kind = REUSABLE;
    range->use_count = 0;
    range_of_use(range, now_on(index));
  }
}

static bool can_be_named(const struct block *block) {
  if (!stream_is_open(block->last)) return false;
  for (unsigned i = 0; i < block->reader_count; i++) {
    if (!stream_is_open(block->readers[i].stream)) return false;
  }
  return true;
}

void op_give_back(void) {
  struct block *block = block_pick(0, true);
  if (block == NULL) return;
  if (block->capture != NULL) {
    free_in_capture(block);
    return;
  }
  const struct capture *capture = capture_for(block);
  unsigned way = self->now.with[0] >> 8 & 7;
  if (!can_be_named(block)) return;
  if (way == 7 && capture != NULL) {
    free_from_outside(block, capture);
  } else if (way == 6) {
    free_finished(block);
  } else if (way >= 4) {
    free_after_all(block);
  } else {
    free_in_order(block);
  }
}

/* In the end, when nothing is held and nothing is captured. */
bool block_free_now(struct block *block) {
  use_device_of(stream_of(block->last));
  for (unsigned i = 0; i < block->reader_count; i++) stream_wait(block->last, block->readers[i].stream);
  block->reader_count = 0;
  call_begin(LISTED_free, false);
  wp_status status = wp_free(shared.runtimes[block->runtime].handle, block->address, stream_of(block->last)->handle);
  if (!call_end(status, 0)) return false;
  leave(block, &block->last, 1);
  return true;
}
