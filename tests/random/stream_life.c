/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that are made, retired and destroyed. */
#include <string.h>

#include "random.h"

void op_make_stream(void) {
  int device = (int)pick(0, (unsigned)shared.devices), made = 0;
  for (int i = 0; i < STREAMS; i++) made += self->streams[i].kind == CREATED || self->streams[i].kind == BLOCKING;
  if (made >= 9 || stream_slot() == NOWHERE) return;
  bool blocks = setup.threads == 1 && pick(1, 4) == 0;
  (void)stream_add(blocks ? BLOCKING : CREATED, device,
                   blocks ? rig_stream_create_blocking(device) : rig_stream_create(device));
}

static void follow(int from, int to) {
  for (int i = 0; i < BLOCKS; i++) {
    struct block *block = &self->blocks[i];
    if (block->address == NULL) continue;
    if (block->origin == from) block->origin = NOWHERE;
    if (block->last == from) block->last = to;
    for (unsigned r = 0; r < block->reader_count; r++) {
      if (block->readers[r].stream != from) continue;
      block->readers[r] = now_on(to);
      block->is_noted[r] = false; /* not there: the caller orders it */
    }
  }
  for (unsigned i = 0; i < FAMILIES; i++) {
    if (self->family_last[i] == from) self->family_last[i] = to;
    if (self->family_used[i][from]) self->family_used[i][to] = true;
    self->family_used[i][from] = false;
  }
}

/* What is left of it is known by `successor`, which waits for it. */
void stream_close(int index, int successor) {
  struct stream *gone = stream_of(index), *heir = stream_of(successor);
  stream_wait(successor, index);
  follow(index, successor);
  while (gone->readings != NULL) {
    struct reading *reading = gone->readings;
    gone->readings = reading->next;
    reading->next = heir->readings;
    heir->readings = reading;
  }
  while (gone->used != NULL) {
    struct cell *used = gone->used;
    gone->used = used->next;
    used->next = heir->used;
    heir->used = used;
  }
  gone->thread = gone->kind == BLOCKING || gone->kind == OWN;
  gone->kind = DEAD;
  gone->handle = NULL;
}

static bool retire(int index) {
  struct stream *stream = stream_of(index);
  for (unsigned i = 0; i < shared.runtime_count; i++) {
    if (shared.runtimes[i].handle == NULL) continue;
    use_device_of(stream);
    call_begin(LISTED_stream_retire, false);
    if (call_end(wp_stream_retire(shared.runtimes[i].handle, stream->device, stream->handle), 0)) continue;
    /* Only a driver that failed is an excuse, and it does not go on. */
    wp_status again = wp_stream_retire(shared.runtimes[i].handle, stream->device, stream->handle);
    REQUIRE_THAT(again == WP_OK, "wp_stream_retire, once more: %s", wp_status_name(again));
  }
  return true;
}

static bool any_declared(void) {
  for (unsigned i = 0; i < shared.runtime_count; i++) {
    if (shared.runtimes[i].handle != NULL && is_declared((int)i)) return true;
  }
  return false;
}

void op_end_stream(void) {
  int device = (int)pick(0, (unsigned)shared.devices), index = stream_pick(1, device, false);
  if (index == NOWHERE) return;
  int successor = stream_successor(device, index);
  struct stream *gone = stream_of(index);
  if ((gone->kind != CREATED && gone->kind != BLOCKING) || successor == NOWHERE) return;
  /* What all actors name must not wait for what one of them holds. */
  if (!stream_may_be_held(stream_of(successor)) && !stream_is_unheld(gone)) return;
  if (any_declared() || pick(2, 3) == 0) (void)retire(index);
  wp_stream handle = gone->handle;
  stream_close(index, successor);
  rig_stream_destroy(handle);
  streams_forget_dead();
}

void op_retire(void) {
  int index = stream_pick(1, (int)pick(0, (unsigned)shared.devices), false);
  /* No other thread may name it meanwhile. */
  if (index == NOWHERE || (setup.threads > 1 && stream_of(index)->kind == LEGACY)) return;
  (void)retire(index);
}

/* The running thread is about to end, and its own default streams with it. */
void own_streams_end(void) {
  for (int i = 0; i < STREAMS; i++) {
    struct stream *own = stream_of(i);
    if (own->kind != OWN || own->thread != self->thread) continue;
    stream_catch_up(i); /* the library may have sent something there */
    if (!MAY_END_HELD && !stream_is_unheld(own)) holds_open();
    int successor = stream_successor(own->device, i);
    if (successor == NOWHERE || (!stream_may_be_held(stream_of(successor)) && !stream_is_unheld(own))) {
      holds_open();
      successor = stream_successor(own->device, i);
      if (successor == NOWHERE) successor = stream_add(CREATED, own->device, rig_stream_create(own->device));
      REQUIRE_THAT(successor != NOWHERE, "the test has no room for another stream");
    }
    if (self->now.with[4] & 1) (void)retire(i);
    if (!MAY_END_HELD) (void)stream_drain(i); /* it may have been held until a moment ago */
    stream_close(i, successor);
  }
  streams_forget_dead();
}
