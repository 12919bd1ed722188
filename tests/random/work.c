/* SPDX-License-Identifier: Apache-2.0 */
/* Work that writes blocks and reads them back: a few bytes at the begin, the middle and the end of each. */
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { CELLS = 512, CELL_BYTES = 64 };

static struct cell *cell_take(void) {
  if (self->vacant == NULL) holds_open(); /* the driver may wait for the whole device when it gives such memory */
  if (self->vacant == NULL) {
    unsigned char *bytes = rig_host_alloc((size_t)CELLS * CELL_BYTES);
    struct cell *cells = calloc(CELLS, sizeof *cells);
    if (cells == NULL) violation("out of host memory");
    for (int i = 0; i < CELLS; i++) {
      cells[i] = (struct cell){.next = self->vacant, .bytes = bytes + (size_t)i * CELL_BYTES};
      self->vacant = &cells[i];
    }
  }
  struct cell *taken = self->vacant;
  self->vacant = taken->next;
  taken->uses = 1;
  return taken;
}

static void cell_put(struct cell **list, struct cell *cell) {
  cell->next = *list;
  *list = cell;
}

static void cell_drop(struct cell *cell) {
  if (--cell->uses == 0) cell_put(&self->vacant, cell);
}

/* With a cell that is there already. */
void work_start(void) { cell_drop(cell_take()); }

/* Cells are kept for the next program. */
void work_end(void) {
  for (int i = 0; i < STREAMS; i++) {
    REQUIRE_THAT(self->streams[i].readings == NULL && self->streams[i].used == NULL,
                 "work is left that was not checked");
  }
}

static struct reading *reading_take(void) {
  struct reading *taken = self->spare;
  if (taken != NULL) {
    self->spare = taken->next;
  } else {
    taken = malloc(sizeof *taken);
    if (taken == NULL) violation("out of host memory");
  }
  return taken;
}

static void reading_put(struct reading *reading) {
  reading->next = self->spare;
  self->spare = reading;
}

/* -- what is in a block -- */

static void stamp_bytes(unsigned char *bytes, uint64_t stamp) {
  for (size_t i = 0; i < CELL_BYTES; i += sizeof stamp) memcpy(bytes + i, &stamp, sizeof stamp);
}

static size_t span_of(const struct block *block) { return block->bytes < CELL_BYTES ? block->bytes : CELL_BYTES; }

/* Where the bytes are that are written. Three of them, which may be one. */
static unsigned char *spot(const struct block *block, unsigned which) {
  size_t last = (block->bytes - span_of(block)) & ~(size_t)7; /* stamps are 8 bytes */
  return block->address + (which == 0 ? 0 : which == 1 ? last : (last / 2 & ~(size_t)7));
}

/* In one program of eight work is always sent, in the others seldom: what takes the time is the threads that do it.
 * Order is checked in all of them. */
bool work_is_sent(unsigned nth) { return shared.seed % 8 == 0 || (self->now.with[nth] >> 8 & 7) == 0; }

/* In a capture what is sent stays the graph's. */
void block_write(struct block *block, int index) {
  struct stream *stream = stream_of(index);
  struct cell *source = cell_take();
  block->stamp = ++self->stamps << 8 | self->index;
  stamp_bytes(source->bytes, block->stamp);
  use_device_of(stream);
  if (stream->capture == NULL) stream_submit(index);
  for (unsigned which = 0; which < 3; which++)
    rig_upload(stream->handle, spot(block, which), source->bytes, span_of(block));
  cell_put(stream->capture != NULL ? &stream->capture->cells : &stream->used, source);
}

void block_read(struct block *block, int index) {
  struct stream *stream = stream_of(index);
  if (block->stamp == 0) return;
  struct reading *reading = reading_take();
  reading->cell = cell_take();
  reading->stamp = block->stamp;
  reading->bytes = span_of(block);
  use_device_of(stream);
  if (stream->capture == NULL) stream_submit(index);
  rig_download(stream->handle, reading->cell->bytes, spot(block, self->now.with[3] % 3), reading->bytes);
  struct reading **list = stream->capture != NULL ? &stream->capture->readings : &stream->readings;
  reading->next = *list;
  *list = reading;
}

/* -- what came of it -- */

static void check(const struct reading *reading) {
  unsigned char wanted[CELL_BYTES];
  stamp_bytes(wanted, reading->stamp);
  if (memcmp(wanted, reading->cell->bytes, reading->bytes) == 0 || self->order_lost) return;
  uint64_t found = 0;
  memcpy(&found, reading->cell->bytes, reading->bytes < sizeof found ? reading->bytes : sizeof found);
  violation("work read %#llx where %#llx was written last", (unsigned long long)found,
            (unsigned long long)reading->stamp);
}

void readings_check(struct stream *stream) {
  while (stream->readings != NULL) {
    struct reading *reading = stream->readings;
    stream->readings = reading->next;
    check(reading);
    cell_drop(reading->cell);
    reading_put(reading);
  }
  while (stream->used != NULL) {
    struct cell *used = stream->used;
    stream->used = used->next;
    cell_drop(used);
  }
}

/* The launch reads anew. */
void readings_follow(struct graph *graph, int index) {
  struct stream *stream = stream_of(index);
  for (const struct reading *reading = graph->readings; reading != NULL; reading = reading->next) {
    struct reading *again = reading_take();
    *again = *reading;
    again->cell->uses++;
    again->next = stream->readings;
    stream->readings = again;
  }
}

/* Of a capture, or of a graph whose launches have all been waited for. */
void readings_drop(struct reading **readings, struct cell **cells) {
  while (*readings != NULL) {
    struct reading *reading = *readings;
    *readings = reading->next;
    cell_drop(reading->cell);
    reading_put(reading);
  }
  while (*cells != NULL) {
    struct cell *used = *cells;
    *cells = used->next;
    cell_drop(used);
  }
}

/* The graph is gone, and its launches may not have run. */
void readings_hand_over(struct graph *graph, struct stream *stream) {
  while (graph->readings != NULL) {
    struct reading *reading = graph->readings;
    graph->readings = reading->next;
    cell_drop(reading->cell); /* each launch has it, too */
    reading_put(reading);
  }
  while (graph->cells != NULL) {
    struct cell *used = graph->cells;
    graph->cells = used->next;
    cell_put(&stream->used, used);
  }
}
