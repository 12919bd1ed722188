/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "table.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { MOST_LIVE = 1024, STREAM = 0x55550010, STREAM_STEP = 0x10 };
static const uint64_t first_pointer = 0x7f0000000000, pointer_step = (uint64_t)1 << 32;

struct block {
  uint64_t pointer, size, stream;
};

struct pattern_writer {
  FILE *file;
  uint64_t left, time, state; /* lines to go; nanoseconds; of the random numbers */
  struct block live[MOST_LIVE];
  uint64_t idle[MOST_LIVE]; /* pointers that were freed, the latest last */
  unsigned live_count, idle_count, made, delegates;
};

/* -- random numbers: the same everywhere -- */

static uint64_t draw(struct pattern_writer *writer, uint64_t least, uint64_t below) {
  writer->state = writer->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return least + (writer->state >> 33) % (below - least);
}

/* As many between each power of two and the next, from `least` on. */
static uint64_t draw_size(struct pattern_writer *writer, uint64_t least, unsigned doublings) {
  uint64_t size = least << draw(writer, 0, doublings);
  return size + draw(writer, 0, size);
}

/* -- lines -- */

static void line(struct pattern_writer *writer, const char *action, uint64_t pointer, uint64_t size, uint64_t stream) {
  writer->time += draw(writer, 100, 5000);
  if (writer->left > 0) writer->left--;
  (void)fprintf(writer->file, "1,%" PRIu64 ",%s,0x%" PRIx64 ",%" PRIu64 ",0x%" PRIx64 ",0\n", writer->time, action,
                pointer, size, stream);
}

/* Whether there is room for lines beside those that end it. */
static bool more(const struct pattern_writer *writer) { return writer->left > writer->live_count + writer->delegates; }

static uint64_t stream_of(unsigned number) { return STREAM + (uint64_t)number * STREAM_STEP; }

static void open_delegate(struct pattern_writer *writer) { line(writer, "open", 0, ++writer->delegates, 0); }

/* The index of the block, which holds until the next free. */
static unsigned allocate(struct pattern_writer *writer, uint64_t size, uint64_t stream) {
  bool has_idle = writer->idle_count > 0;
  if (writer->live_count == MOST_LIVE) bench_fail("pattern", "more live blocks than a pattern may have");
  uint64_t pointer = has_idle ? writer->idle[--writer->idle_count] : first_pointer + writer->made++ * pointer_step;
  writer->live[writer->live_count] = (struct block){pointer, size, stream};
  line(writer, "allocate", pointer, size, stream);
  return writer->live_count++;
}

/* Those behind it move up. */
static struct block take(struct pattern_writer *writer, unsigned index) {
  struct block block = writer->live[index];
  size_t behind = --writer->live_count - index;
  memmove(&writer->live[index], &writer->live[index + 1], behind * sizeof block);
  writer->idle[writer->idle_count++] = block.pointer;
  return block;
}

static void free_on(struct pattern_writer *writer, unsigned index, uint64_t stream) {
  struct block block = take(writer, index);
  line(writer, "free", block.pointer, block.size, stream);
}

static void free_own(struct pattern_writer *writer, unsigned index) {
  free_on(writer, index, writer->live[index].stream);
}

static void free_all(struct pattern_writer *writer) {
  while (writer->live_count > 0) free_own(writer, 0);
}

/* -- patterns -- */

static void write_steady(struct pattern_writer *writer) {
  static const uint64_t sizes[] = {512, 3 * KIB, 20 * KIB, 100 * KIB, 256 * KIB, MIB, 3 * MIB, 5 * MIB + 12345};
  while (more(writer)) {
    for (size_t i = 0; i < BENCH_COUNT(sizes); i++) (void)allocate(writer, sizes[i], STREAM);
    free_all(writer);
  }
}

static void infer(struct pattern_writer *writer, unsigned streams) {
  enum { DELEGATES = 25 };
  while (writer->delegates < DELEGATES) open_delegate(writer);
  while (more(writer)) {
    for (unsigned i = 0; i < DELEGATES; i++) {
      const uint64_t sizes[] = {4 * KIB, 256 * KIB, MIB, (uint64_t)(i + 1) * 640 * KIB};
      for (size_t s = 0; s < BENCH_COUNT(sizes); s++) (void)allocate(writer, sizes[s], stream_of(i % streams));
      free_all(writer);
    }
  }
}

static void write_inference(struct pattern_writer *writer) { infer(writer, 1); }
static void write_streams(struct pattern_writer *writer) { infer(writer, 5); }

static void write_sizes(struct pattern_writer *writer) {
  enum { MOST = 48 };
  while (more(writer)) {
    bool frees = writer->live_count == MOST || (writer->live_count > 0 && draw(writer, 0, 100) < 45);
    if (frees) {
      free_own(writer, (unsigned)draw(writer, 0, writer->live_count));
    } else {
      (void)allocate(writer, draw_size(writer, 256, 15), STREAM);
    }
  }
}

static void write_growing(struct pattern_writer *writer) {
  uint64_t size = MIB;
  while (more(writer)) {
    (void)allocate(writer, size, STREAM);
    (void)allocate(writer, size + 256, STREAM);
    free_all(writer);
    size = size < 16 * MIB ? size + size / 50 / 256 * 256 : MIB;
  }
}

static void small(struct pattern_writer *writer, uint64_t stream) {
  for (int i = 0; i < 8; i++) (void)allocate(writer, draw(writer, KIB, 64 * KIB), stream);
  free_all(writer);
}

static void burst(struct pattern_writer *writer, unsigned blocks, uint64_t stream) {
  for (unsigned i = 0; i < blocks; i++) (void)allocate(writer, draw(writer, MIB, 3 * MIB), stream);
  free_all(writer);
}

static void write_burst(struct pattern_writer *writer) {
  burst(writer, 128, STREAM);
  while (more(writer)) small(writer, STREAM);
}

static void write_turns(struct pattern_writer *writer) {
  enum { STREAMS = 8 };
  for (unsigned turn = 0; more(writer); turn++) {
    burst(writer, 48, stream_of(turn % STREAMS));
    for (unsigned i = 0; i < STREAMS; i++) small(writer, stream_of(i));
  }
}

/* Blocks of the first stream that live for six more; what becomes of one is `give`. */
static void produce(struct pattern_writer *writer, void (*give)(struct pattern_writer *writer)) {
  enum { QUEUE = 6 };
  while (more(writer)) {
    (void)allocate(writer, draw(writer, 64 * KIB, 4 * MIB), STREAM);
    if (writer->live_count > QUEUE) give(writer);
  }
}

static void give_noted(struct pattern_writer *writer) {
  line(writer, "note", writer->live[0].pointer, writer->live[0].size, stream_of(1));
  free_own(writer, 0);
}

static void give_after(struct pattern_writer *writer) {
  struct block block = take(writer, 0);
  for (unsigned i = 0; i < 2; i++) line(writer, "free after", block.pointer, block.size, stream_of(i));
}

static void give_over(struct pattern_writer *writer) {
  free_on(writer, 0, stream_of(1));
  free_own(writer, allocate(writer, draw(writer, 64 * KIB, 4 * MIB), stream_of(1)));
}

static void write_notes(struct pattern_writer *writer) { produce(writer, give_noted); }
static void write_after(struct pattern_writer *writer) { produce(writer, give_after); }
static void write_handover(struct pattern_writer *writer) { produce(writer, give_over); }

const pattern_kind patterns[] = {
    {"steady", "the same eight blocks again and again", write_steady},
    {"inference", "25 delegates in turn, four blocks each, the largest of another size in each", write_inference},
    {"streams", "the same on five streams, a delegate on one of them", write_streams},
    {"sizes", "random sizes of 256 B to 8 MiB, random lives, 48 blocks at the most", write_sizes},
    {"growing", "n and n + 256 bytes, a larger n each time, from 1 to 16 MiB", write_growing},
    {"burst", "128 blocks of 1 to 3 MiB at once, and then small ones only", write_burst},
    {"turns", "eight streams, of which one after the other has such a burst of 48, the others small ones", write_turns},
    {"notes", "blocks of one stream that another one uses, too, and that it notes", write_notes},
    {"after", "the same, freed after both streams", write_after},
    {"handover", "the same, freed on the other stream, which takes memory of its own as well", write_handover},
    {NULL, NULL, NULL}};

const pattern_kind *pattern_find(const char *name) {
  for (const pattern_kind *pattern = patterns; pattern->name != NULL; pattern++) {
    if (strcmp(pattern->name, name) == 0) return pattern;
  }
  return NULL;
}

void pattern_write(const pattern_kind *pattern, FILE *file, uint64_t events, uint64_t seed) {
  struct pattern_writer *writer = table_record(sizeof *writer);
  writer->file = file;
  writer->left = events;
  writer->state = seed;
  (void)draw(writer, 0, 2);
  (void)fprintf(file, "Thread,Time,Action,Pointer,Size,Stream,Device\n");
  open_delegate(writer);
  pattern->write(writer);
  free_all(writer);
  for (unsigned i = 1; i <= writer->delegates; i++) line(writer, "close", 0, i, 0);
  free(writer);
}
