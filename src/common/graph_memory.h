/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one graph: from the beginning of its capture until its last launches have finished. */
#ifndef WARMPOOL_COMMON_GRAPH_MEMORY_H
#define WARMPOOL_COMMON_GRAPH_MEMORY_H

#include "arena.h"
#include "block.h"
#include "warmpool/capture.h"

struct wp_graph_memory {
  wp__device *device;
  wp__arena *arena;  /* NULL: it has been left already, and only what was freed in the capture waits */
  wp__block *record; /* TAKEN; parked from the release on, and waits for the last launches, and for what the capture's
                        streams had been sent until its end */
  wp__block *kept;   /* freed in the capture, one behind the other; with the device's lock */
  uint64_t kept_bytes;
};

/* `share` or NULL, as in wp_capture_begin. */
wp_status wp__graph_memory_make(wp__device *device, const wp_graph_memory *share, wp_graph_memory **out);
/* Of a capture that did not begin. */
void wp__graph_memory_drop(wp_graph_memory *memory);

/* Lets go of it, once all that the record waits for has finished: the device is current, and nothing can fail. The same
 * for a lost device, without the driver. */
void wp__graph_memory_park(wp_graph_memory *memory);
/* The same of a capture none of whose streams can have run anything: what it allocated is open to all at once. */
void wp__graph_memory_abandon(wp_graph_memory *memory);
void wp__graph_memory_lose(wp_graph_memory *memory);

/* Of a record that stays parked for ever: gives back the events of what it keeps. */
void wp__graph_uses_drop(wp__device *device, wp__block *record);

/* The last launches have finished, or the device is lost: the graph's memory is open to all, and the record is gone. */
void wp__graph_finished(wp__device *device, wp__block *record);

#endif
