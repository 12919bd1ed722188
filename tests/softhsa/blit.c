/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtimes' own kernels do: fills, copies, and a stream's reading and writing of values. The runtimes carry
 * their source, so the arguments are known: each lies at its natural alignment, as in the structures below. Some
 * kernels have kept their name and changed their arguments from one version to the next; the number of them tells which
 * it is.
 */
#include <string.h>

#include "soft.h"

/* -- fills -- */

/* `width` bytes an element, `period` elements a pattern, `count` patterns with `stride` elements from one to the next.
 */
static void fill(char *to, const char *pattern, size_t width, size_t period, size_t count, size_t stride) {
  for (size_t i = 0; i < count; ++i) memcpy(to + i * stride * width, pattern, period * width);
}

struct fill_first { /* 8 arguments, 5.2: one of the four buffers is given, and says how wide an element is */
  char *bytes, *shorts, *ints, *longs;
  const char *pattern;
  uint32_t period;
  uint64_t offset, count;
};

static char *given(char *bytes, char *shorts, char *ints, char *longs, size_t *width) {
  *width = longs != NULL ? 8 : ints != NULL ? 4 : shorts != NULL ? 2 : 1;
  return longs != NULL ? longs : ints != NULL ? ints : shorts != NULL ? shorts : bytes;
}

static void fill_first(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct fill_first *with = arguments;
  size_t width;
  char *to = given(with->bytes, with->shorts, with->ints, with->longs, &width);
  fill(to + with->offset * width, with->pattern, width, with->period, with->count, with->period);
}

struct fill { /* 6 arguments and, from 7.2 on, one more; both end at an address */
  char *to;
  const char *pattern;
  uint32_t period, width;
  uint64_t end;
  uint32_t next, group;
};

static void fill_to_end(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct fill *with = arguments;
  size_t step = (size_t)with->period * with->width;
  size_t bytes = with->end > (uint64_t)with->to ? (size_t)(with->end - (uint64_t)with->to) : 0;
  if (step != 0) fill(with->to, with->pattern, with->width, with->period, (bytes + step - 1) / step, with->period);
}

struct fill_2d {
  char *bytes, *shorts, *ints, *longs;
  const char *pattern;
  uint32_t period;
  uint64_t offset, width, height, pitch;
};

static void fill_2d(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct fill_2d *with = arguments;
  size_t width;
  char *to = given(with->bytes, with->shorts, with->ints, with->longs, &width);
  for (size_t row = 0; row < with->height; ++row) {
    fill(to + (with->offset + row * with->pitch) * width, with->pattern, width, with->period, with->width, 1);
  }
}

/* -- copies -- */

struct copy_first { /* 6 arguments, 5.2: bytes if the remainder is 8, or else words with so many bytes of the last one
                     */
  const char *from;
  char *to;
  uint64_t from_offset, to_offset, count;
  uint32_t remainder;
};

static void copy_first(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct copy_first *with = arguments;
  if (with->count == 0) return;
  size_t bytes = with->remainder == 8 ? with->count : (with->count - 1) * sizeof(uint32_t) + with->remainder;
  memmove(with->to + with->to_offset, with->from + with->from_offset, bytes);
}

struct copy { /* 7 arguments, and 8 from 7.2 on; those after `bytes` are about how the work is shared out */
  const char *from;
  char *to;
  uint64_t bytes;
};

static void copy(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct copy *with = arguments;
  memmove(with->to, with->from, with->bytes);
}

struct copy_aligned {
  const char *from;
  char *to;
  uint64_t from_offset, to_offset, count; /* in elements */
  uint32_t alignment;
};

static size_t element(uint64_t alignment) { return alignment == 16 ? 16 : 4; }

static void copy_aligned(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct copy_aligned *with = arguments;
  size_t width = element(with->alignment);
  memmove(with->to + with->to_offset * width, with->from + with->from_offset * width, with->count * width);
}

struct rect {
  _Alignas(32) uint64_t pitch;
  uint64_t slice, offset, unused; /* in elements, as all of it */
};

struct copy_rect {
  const char *from;
  char *to;
  struct rect from_rect, to_rect;
  _Alignas(32) uint64_t width;
  uint64_t height, depth, alignment;
};

/* The runtime need not have aligned them as the structure is. */
static struct copy_rect read_rect(const void *arguments) {
  struct copy_rect with;
  memcpy(&with, arguments, sizeof with);
  return with;
}

static void copy_elements(const struct copy_rect *with, size_t bytes) {
  for (size_t z = 0; z < with->depth; ++z) {
    for (size_t y = 0; y < with->height; ++y) {
      size_t from = with->from_rect.offset + y * with->from_rect.pitch + z * with->from_rect.slice;
      size_t to = with->to_rect.offset + y * with->to_rect.pitch + z * with->to_rect.slice;
      memmove(with->to + to * bytes, with->from + from * bytes, with->width * bytes);
    }
  }
}

static void copy_rect(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct copy_rect with = read_rect(arguments);
  copy_elements(&with, 1);
}

static void copy_rect_aligned(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct copy_rect with = read_rect(arguments);
  copy_elements(&with, element(with.alignment));
}

/* -- values: of the two pointers one is given, and says how wide the value is -- */

struct write_value { /* 5.2 has one argument more, the width */
  uint32_t *narrow;
  uint64_t *wide;
  uint64_t value;
};

static void write_value(struct soft_queue *queue, const void *arguments) {
  (void)queue;
  const struct write_value *with = arguments;
  if (with->narrow != NULL) {
    __atomic_store_n(with->narrow, (uint32_t)with->value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(with->wide, with->value, __ATOMIC_RELEASE);
  }
  soft_tell();
}

struct await_value {
  const uint32_t *narrow;
  const uint64_t *wide;
  uint64_t value, condition, mask;
};

enum { AWAIT_AT_LEAST, AWAIT_EQUAL, AWAIT_AND, AWAIT_NOR };

static bool has_come(uint64_t now, uint64_t value, uint64_t condition, uint64_t mask) {
  switch (condition) {
  case AWAIT_AT_LEAST: return (now & mask) >= value;
  case AWAIT_EQUAL: return (now & mask) == value;
  case AWAIT_AND: return (now & mask & value) != 0;
  case AWAIT_NOR: return ((now | value) & mask) != mask;
  default: return true;
  }
}

static void await_value(struct soft_queue *queue, const void *arguments) {
  const struct await_value with = *(const struct await_value *)arguments;
  for (;;) {
    bool is_narrow = with.narrow != NULL;
    uint64_t now =
        is_narrow ? __atomic_load_n(with.narrow, __ATOMIC_ACQUIRE) : __atomic_load_n(with.wide, __ATOMIC_ACQUIRE);
    uint64_t mask = is_narrow ? (uint32_t)with.mask : with.mask;
    uint64_t value = is_narrow ? (uint32_t)with.value : with.value;
    if (has_come(now, value, with.condition, mask) || !soft_queue_rest(queue)) return;
  }
}

/* -- by name -- */

static const struct {
  const char *name; /* after __amd_rocclr_ */
  unsigned arguments;
  soft_blit *run;
} blits[] = {
    /* The first of a name is also the one of a code object that AMD's own comgr made: 5.2. */
    {"fillBufferAligned", 8, fill_first},
    {"fillBufferAligned", 6, fill_to_end},
    {"fillBufferAligned", 7, fill_to_end},
    {"fillBufferAligned2D", 10, fill_2d},
    {"copyBuffer", 6, copy_first},
    {"copyBuffer", 7, copy},
    {"copyBuffer", 8, copy},
    {"copyBufferAligned", 6, copy_aligned},
    {"copyBufferRect", 5, copy_rect},
    {"copyBufferRectAligned", 5, copy_rect_aligned},
    {"streamOpsWrite", 4, write_value},
    {"streamOpsWrite", 3, write_value},
    {"streamOpsWait", 5, await_value},
};

soft_blit *soft_blit_find(const char *name, unsigned arguments) {
  static const char prefix[] = "__amd_rocclr_";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return NULL;
  for (size_t i = 0; i < sizeof blits / sizeof *blits; ++i) {
    if (strcmp(name + sizeof prefix - 1, blits[i].name) == 0 && (arguments == 0 || arguments == blits[i].arguments)) {
      return blits[i].run;
    }
  }
  return NULL;
}
