/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a new block must not lie in: what graphs have, and what is freed and not finished with. */
#include "random.h"

/* What has been finished with is nothing to look after. */
static bool is_over(const struct range *range) {
  if (range->kind != LEFT) return false;
  for (unsigned i = 0; i < range->use_count; i++) {
    if (is_held(range->uses[i])) return false;
  }
  return true;
}

static void drop_what_is_over(void) {
  unsigned kept = 0;
  for (unsigned i = 0; i < self->range_count; i++) {
    if (!is_over(&self->ranges[i])) self->ranges[kept++] = self->ranges[i];
  }
  self->range_count = kept;
}

struct range *range_add(const struct block *block, range_kind kind) {
  if (self->range_count == RANGES) drop_what_is_over();
  if (self->range_count == RANGES) violation("the test has no room for another range");
  struct range *added = &self->ranges[self->range_count++];
  *added = (struct range){.from = (uintptr_t)block->address, .device = block->device, .kind = kind};
  added->to = added->from + block->usable;
  return added;
}

void range_of_use(struct range *range, place use) {
  if (range->use_count < sizeof range->uses / sizeof *range->uses) range->uses[range->use_count++] = use;
}

/* -- the question -- */

/* In a capture all of it must be over, for launches are on any stream. */
static const place *unfinished_for(const struct range *left, int stream, const struct capture *capture) {
  for (unsigned i = 0; i < left->use_count; i++) {
    if (is_held(left->uses[i]) && (capture != NULL || !is_after(stream, left->uses[i]))) return &left->uses[i];
  }
  return NULL;
}

static bool is_for_capture(const struct range *range, int stream, const struct capture *capture, unsigned family) {
  if (range->kind != REUSABLE || capture == NULL) return false;
  if (range->capture == capture) return range->uses[0].stream == stream;
  return range->graph != NULL && range->family == family;
}

void range_check(const struct block *fresh, int stream, const struct capture *capture, unsigned family) {
  uintptr_t from = (uintptr_t)fresh->address, to = from + fresh->usable;
  if (self->order_lost) return;
  for (unsigned i = 0; i < self->range_count; i++) {
    const struct range *range = &self->ranges[i];
    if (range->to <= from || to <= range->from) continue;
    /* Who shares a graph's memory sees to it that the two never run at once, the last launch included. */
    if (range->kind == LEFT && capture != NULL && range->family == family) continue;
    if (range->kind == LEFT) {
      const place *use = unfinished_for(range, stream, capture);
      REQUIRE_THAT(
          use == NULL,
          "%p of %zu bytes was handed out on stream %d (%d), and what stream %d (%d) does there up to %u is held",
          (void *)from, fresh->usable, stream, stream_of(stream)->kind, use->stream, stream_of(use->stream)->kind,
          use->position);
    } else {
      REQUIRE_THAT(is_for_capture(range, stream, capture, family),
                   "%p of %zu bytes was handed out, and belongs to a graph", (void *)from, fresh->usable);
    }
  }
}

/* -- changes -- */

/* All that was sent to the stream is done. */
void ranges_forget_stream(int stream) {
  for (unsigned i = 0; i < self->range_count; i++) {
    struct range *range = &self->ranges[i];
    unsigned kept = range->kind == REUSABLE && range->graph == NULL ? 1 : 0; /* that one is no use */
    for (unsigned u = kept; u < range->use_count; u++) {
      if (range->uses[u].stream != stream) range->uses[kept++] = range->uses[u];
    }
    range->use_count = kept < range->use_count ? kept : range->use_count;
  }
  drop_what_is_over();
}

static const struct block *live_at(uintptr_t address) {
  for (int i = 0; i < BLOCKS; i++) {
    if ((uintptr_t)self->blocks[i].address == address) return &self->blocks[i];
  }
  return NULL;
}

static void remove_range(unsigned index) { self->ranges[index] = self->ranges[--self->range_count]; }

void ranges_of_capture_end(const struct capture *capture, struct graph *graph) {
  for (unsigned i = self->range_count; i-- > 0;) {
    struct range *range = &self->ranges[i];
    if (range->capture != capture) continue;
    range->capture = NULL;
    range->graph = graph;
    if (range->kind == REUSABLE) range->use_count = 0;
    if (graph != NULL) continue;
    if (live_at(range->from) != NULL) {
      remove_range(i);
      continue;
    }
    range->kind = LEFT;
  }
}

void ranges_of_graph_release(struct graph *graph, place last, bool has_last) {
  for (unsigned i = self->range_count; i-- > 0;) {
    struct range *range = &self->ranges[i];
    if (range->graph != graph) continue;
    range->graph = NULL;
    if (range->kind == CAPTURED && live_at(range->from) != NULL) {
      remove_range(i);
      continue;
    }
    range->kind = LEFT;
    /* Work from before the capture knows nothing of the capture's own memory. */
    for (unsigned e = 0; e < graph->end_count && range->is_from_outside; e++) range_of_use(range, graph->ends[e]);
    if (has_last) range_of_use(range, last);
  }
}

/* It is the graph's until the release, and of those that share its memory. */
void range_of_freed_output(const struct block *block) {
  for (unsigned i = 0; i < self->range_count; i++) {
    struct range *range = &self->ranges[i];
    if (range->graph == block->graph && range->from == (uintptr_t)block->address && range->kind == CAPTURED) {
      range->kind = REUSABLE;
    }
  }
}

/* The number stands for another family now. */
void ranges_forget_family(unsigned family) {
  for (unsigned i = 0; i < self->range_count; i++) {
    if (self->ranges[i].family == family) self->ranges[i].family = 0;
  }
}
