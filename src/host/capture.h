/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures: while a stream is in one, what is sent to it becomes a node of a graph. A place stands for a stream, or for
 * an event, in a capture: what comes after it depends on its nodes. A stream that waits for such an event takes part.
 * Whatever a capture cannot allow fails and leaves it invalidated: it still has to be ended, and gives no graph.
 */
#ifndef WARMPOOL_HOST_CAPTURE_H
#define WARMPOOL_HOST_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"
#include "graph.h"
#include "timeline.h"

struct wp__host_capture;

/* Never changes but for its references, which the engine's lock guards. */
struct wp__host_place {
  unsigned references;
  struct wp__host_capture *capture;
  size_t count;
  size_t nodes[]; /* ascending indices into the capture's graph */
};

/* -- no lock is held -- */

/* Comes before everything that is sent to a stream. *is_captured: it belongs into a graph. If not, it now has its place
 * behind what the stream owes others. CAPTURE_IMPLICIT, CAPTURE_INVALIDATED, OUT_OF_HOST_MEMORY. */
wp__host_result wp__host_capture_enter(struct wp__host_timeline *timeline, bool *is_captured);
/* The same before a free or a synchronisation, which need host memory only to wait for others. */
wp__host_result wp__host_capture_enter_leniently(struct wp__host_timeline *timeline, bool *is_captured);
/* Comes before every call that some captures forbid: fails, and invalidates those, if there are any. */
wp__host_result wp__host_capture_guard(void);
/* For what cannot be captured: fails with `result`, and invalidates the stream's capture. */
wp__host_result wp__host_capture_refuse(struct wp__host_timeline *timeline, wp__host_result result);
/* The node, whose references the graph takes over on success, comes after all that the stream has captured. */
wp__host_result wp__host_capture_add(struct wp__host_timeline *timeline, const struct wp__host_node *node);

/* -- the engine's lock is held -- */

struct wp__host_graph *wp__host_capture_graph(const struct wp__host_place *place);
void wp__host_place_retain(struct wp__host_place *place);
void wp__host_place_release(struct wp__host_place *place); /* NULL is fine */
/* What asking an event about this place answers: CAPTURED_EVENT; its capture, if it goes on, is invalidated. */
wp__host_result wp__host_place_ask(const struct wp__host_place *place);
/* The stream waits for an event: one of a capture, or (NULL) one of work that runs, which a capturing one may not. */
wp__host_result wp__host_capture_wait(struct wp__host_timeline *timeline, struct wp__host_place *place);
/* The stream is closed. */
void wp__host_capture_abandon(struct wp__host_timeline *timeline);

#endif
