/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of streams: after what each comes, and what of it waits for a hold. Where two actors share a stream
 * (the legacy one), each knows what it has sent there itself.
 */
#include <string.h>

#include "random.h"

struct stream *stream_of(int index) {
  return &self->streams[index];
}

int stream_slot(void) {
  for (int i = 0; i < STREAMS; i++) {
    if (self->streams[i].kind == VACANT) return i;
  }
  return NOWHERE;
}

int stream_add(stream_kind kind, int device, wp_stream handle) {
  int index = stream_slot();
  if (index == NOWHERE) return NOWHERE;
  struct stream *fresh = stream_of(index);
  *fresh = (struct stream){.kind = kind, .device = device, .handle = handle, .thread = self->thread};
  for (int hold = 0; hold < HOLDS; hold++) fresh->held_from[hold] = fresh->maybe_from[hold] = NEVER;
  for (int i = 0; i < STREAMS; i++) self->streams[i].after[index] = 0;
  return index;
}

void streams_start(void) {
  for (int device = 0; device < shared.devices; device++) {
    (void)stream_add(LEGACY, device, WP_STREAM_LEGACY);
    (void)stream_add(CREATED, device, rig_stream_create(device));
  }
}

void use_device_of(const struct stream *stream) {
  if ((uintptr_t)stream->handle > 2) return;
  rig_device_set(stream->device);
}

/* -- picking -- */

static bool is_mine(const struct stream *stream) { return stream->kind != OWN || stream->thread == self->thread; }

bool stream_is_mine(int index) { return is_mine(stream_of(index)); }

static bool is_named_by_anyone(const struct stream *stream) { return stream->kind != VACANT && stream->kind != DEAD; }

/* The running thread's own default stream, where it is picked for the first time. */
static int own_stream(int device) {
  for (int i = 0; i < STREAMS; i++) {
    const struct stream *stream = stream_of(i);
    if (stream->kind == OWN && stream->device == device && stream->thread == self->thread) return i;
  }
  return stream_add(OWN, device, WP_STREAM_PER_THREAD);
}

static int legacy_of(int device) {
  for (int i = 0; i < STREAMS; i++) {
    if (self->streams[i].kind == LEGACY && self->streams[i].device == device) return i;
  }
  violation("there is no legacy stream of device %d", device);
}

static bool can_pick(const struct stream *stream, int device, bool captured_too) {
  return is_named_by_anyone(stream) && stream->device == device && is_mine(stream) &&
         (captured_too || stream->capture == NULL) && !(stream->kind == LEGACY && legacy_is_implicit(device));
}

int stream_pick(unsigned nth, int device, bool captured_too) {
  if (pick(nth, 12) == 7) {
    int own = own_stream(device);
    if (own != NOWHERE && can_pick(stream_of(own), device, captured_too)) return own;
  }
  int first = (int)(self->now.with[nth] / 12 % STREAMS);
  for (int i = 0; i < STREAMS; i++) {
    int index = (first + i) % STREAMS;
    if (can_pick(stream_of(index), device, captured_too)) {
      struct stream *found = stream_of(index);
      /* Both handles of the legacy stream. */
      if (found->kind == LEGACY) found->handle = self->now.with[nth] & 64 ? (wp_stream)1 : WP_STREAM_LEGACY;
      return index;
    }
  }
  /* All are captured, and the legacy stream cannot be named meanwhile. */
  return NOWHERE;
}

int stream_successor(int device, int except) {
  for (int i = 0; i < STREAMS; i++) {
    const struct stream *stream = stream_of(i);
    if (i != except && stream->kind == CREATED && stream->device == device && stream->capture == NULL) return i;
  }
  if (legacy_is_implicit(device)) return NOWHERE;
  int legacy = legacy_of(device);
  return legacy == except ? NOWHERE : legacy;
}

bool legacy_is_implicit(int device) {
  for (int i = 0; i < STREAMS; i++) {
    const struct stream *stream = stream_of(i);
    if ((stream->kind == BLOCKING || stream->kind == OWN) && stream->device == device && stream->capture != NULL)
      return true;
  }
  return false;
}

/* -- order -- */

/* What was sent to it so far. */
place now_on(int index) { return (place){index, stream_of(index)->sent}; }

static void inherit(uint32_t *own, const uint32_t *others, place other, uint32_t position) {
  for (int hold = 0; hold < HOLDS; hold++) {
    if (others[hold] <= other.position && own[hold] > position) own[hold] = position;
  }
}

static void come_after(int index, place other, bool is_sent) {
  struct stream *later = stream_of(index);
  const struct stream *earlier = stream_of(other.stream);
  uint32_t position = later->position + 1;
  if (index == other.stream) return;
  later->position = position;
  for (int i = 0; i < STREAMS; i++) {
    if (later->after[i] < earlier->after[i]) later->after[i] = earlier->after[i];
  }
  if (later->after[other.stream] < other.position) later->after[other.stream] = other.position;
  inherit(later->maybe_from, earlier->maybe_from, (place){other.stream, earlier->position}, position);
  if (!is_sent) return;
  inherit(later->held_from, earlier->held_from, other, position);
  later->sent = position;
}

/* The legacy stream and the blocking ones of its device come after one another, those of ended threads, too. */
static void catch_up(int index, bool is_sent) {
  const struct stream *late = stream_of(index);
  if (late->kind != LEGACY && late->kind != BLOCKING && late->kind != OWN) return;
  for (int i = 0; i < STREAMS; i++) {
    const struct stream *other = stream_of(i);
    bool is_blocking = other->kind == BLOCKING || other->kind == OWN || (other->kind == DEAD && other->thread != 0);
    if (i == index || other->device != late->device) continue;
    if (late->kind == LEGACY ? is_blocking : other->kind == LEGACY) {
      if (late->kind != LEGACY) catch_up(i, false);
      come_after(index, (place){i, is_sent ? other->sent : other->position}, is_sent);
    }
  }
}

void stream_catch_up(int index) { catch_up(index, false); }

void stream_submit(int index) {
  catch_up(index, true);
  stream_of(index)->sent = ++stream_of(index)->position;
}

void stream_wait(int index, int other) {
  if (index == other) return;
  bool is_captured = stream_of(index)->capture != NULL;
  rig_device_set(stream_of(index)->device); /* both are of one */
  rig_wait(stream_of(index)->handle, stream_of(other)->handle);
  if (is_captured) return; /* that is an edge of the graph */
  stream_catch_up(other);
  stream_catch_up(index);
  come_after(index, now_on(other), true);
}

bool is_after(int index, place use) {
  const struct stream *stream = stream_of(index);
  return index == use.stream || stream->after[use.stream] >= use.position;
}

bool is_held(place use) {
  const struct stream *stream = stream_of(use.stream);
  for (int hold = 0; hold < HOLDS; hold++) {
    if (stream->held_from[hold] <= use.position) return true;
  }
  return false;
}

/* -- holds -- */

bool stream_is_unheld(const struct stream *stream) {
  for (int hold = 0; hold < HOLDS; hold++) {
    if (stream->held_from[hold] != NEVER || stream->maybe_from[hold] != NEVER) return false;
  }
  return true;
}

bool legacy_is_unheld(int device) { return stream_is_unheld(stream_of(legacy_of(device))); }

/* A destroyed stream that nothing holds up any more is forgotten. */
void streams_forget_dead(void) {
  for (int i = 0; i < STREAMS; i++) {
    struct stream *dead = stream_of(i);
    if (dead->kind != DEAD || !stream_is_unheld(dead)) continue;
    ranges_forget_stream(i);
    graphs_forget_stream(i);
    *dead = (struct stream){.kind = VACANT};
  }
}

static void open_hold(int hold) {
  rig_release(self->holds[hold]);
  self->holds[hold] = NULL;
  for (int i = 0; i < STREAMS; i++) self->streams[i].held_from[hold] = self->streams[i].maybe_from[hold] = NEVER;
  inner_streams_hold_opened(hold);
}

/* Everything that waits for one of this actor's holds goes on. */
void holds_open(void) {
  bool any = false;
  for (int hold = 0; hold < HOLDS; hold++) {
    if (self->holds[hold] == NULL) continue;
    open_hold(hold);
    any = true;
  }
  if (any) streams_settle();
}

void op_let_go(void) {
  int hold = (int)pick(0, HOLDS);
  if (self->holds[hold] == NULL) return;
  open_hold(hold);
  streams_settle();
}

/* Actors that wait for one another's holds would wait for ever, so where there are several, only streams are held that
 * one alone names, and nothing that all name waits for them. */
bool stream_may_be_held(const struct stream *stream) { return setup.threads == 1 || stream->kind == CREATED; }

bool stream_is_open(int index) {
  const struct stream *stream = stream_of(index);
  return is_mine(stream) && stream->capture == NULL && !(stream->kind == LEGACY && legacy_is_implicit(stream->device));
}

bool stream_can_wait(int index, int for_other) {
  return stream_is_open(index) && stream_is_open(for_other) &&
         (stream_may_be_held(stream_of(index)) || stream_is_unheld(stream_of(for_other)));
}

void op_hold(void) {
  int hold = (int)pick(0, HOLDS), index = stream_pick(1, (int)pick(2, (unsigned)shared.devices), false);
  if (self->holds[hold] != NULL || index == NOWHERE || !stream_may_be_held(stream_of(index))) return;
  struct stream *held = stream_of(index);
  if (held->kind == OWN && !MAY_END_HELD) return;
  stream_submit(index);
  tell("stream %d of kind %d", index, held->kind);
  use_device_of(held);
  self->holds[hold] = rig_hold_stream(held->handle);
  held->held_from[hold] = held->maybe_from[hold] = held->position;
}

/* -- waiting -- */

static void synchronize(const struct stream *stream) {
  int previous;
  const wp_backend *real = wp_backend_builtin();
  int current = rig_device_current();
  if ((uintptr_t)stream->handle <= 2) rig_device_set(stream->device);
  (void)real->capture_relax(real->self, &previous);
  rig_stream_synchronize(stream->handle);
  (void)real->capture_restore(real->self, previous);
  if ((uintptr_t)stream->handle <= 2) rig_device_set(current);
}

static bool can_drain(const struct stream *stream) {
  if (is_named_by_anyone(stream) && stream->capture == NULL) stream_catch_up((int)(stream - self->streams));
  return is_named_by_anyone(stream) && is_mine(stream) && stream->capture == NULL && stream_is_unheld(stream) &&
         !(stream->kind == LEGACY && legacy_is_implicit(stream->device));
}

/* Waits for it if it is not held. Reading back is done then. */
bool stream_drain(int index) {
  struct stream *stream = stream_of(index);
  if (!can_drain(stream)) return false;
  synchronize(stream);
  readings_check(stream);
  return true;
}

void streams_settle(void) {
  if (shared.is_exact) {
    for (int i = 0; i < STREAMS; i++) (void)stream_drain(i);
    inner_streams_settle();
  }
  streams_forget_dead();
}

void op_drain(void) {
  int index = stream_pick(0, (int)pick(1, (unsigned)shared.devices), false);
  if (index != NOWHERE) (void)stream_drain(index);
}
