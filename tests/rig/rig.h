/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test needs of a vendor besides the vtable: streams as a user makes them, work that stalls, and device bytes.
 * One source of tests runs over every vendor's rig (host.c, ...); the linked rig is the one of the linked backend.
 *
 * Rules for all of it:
 *   - A failure ends the test: a message on stderr, then abort(). Nothing here returns an error.
 *   - Streams may be a rig's or the vtable's, and the special handles. Bytes may be any device memory.
 *   - `device` in rig_stream_create is an ordinal; all else goes by the handle, and special handles by the calling
 *     thread's current device. A rig function leaves the current device as it was, except rig_device_set.
 *   - What is said to be submitted returns before it has run. Nothing waits on the host but rig_stream_synchronize and
 *     rig_read. Neither synchronises anything but the stream named.
 *   - Streams may be captured, which rig_fill, rig_copy, rig_upload, rig_download and rig_wait become part of.
 *   - Any thread may call any function.
 */
#ifndef WARMPOOL_TESTS_RIG_H
#define WARMPOOL_TESTS_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "warmpool/backend.h"

/* -- devices -- */

int rig_device_count(void); /* at least 1 */
int rig_device_current(void);
void rig_device_set(int device);

/* -- streams -- */

wp_stream rig_stream_create(int device);   /* one that does not synchronise with the legacy stream */
void rig_stream_destroy(wp_stream stream); /* at once, whatever it has still to do */
void rig_stream_synchronize(wp_stream stream);
void rig_wait(wp_stream stream, wp_stream other); /* submits: wait for all that was submitted to `other` so far */

/* -- work, submitted to a stream -- */

typedef struct rig_hold rig_hold;

/* Stalls the stream until the hold is released. Each hold is released exactly once, and is gone then; the stream may be
 * destroyed before. A test that ends must have released its holds. */
rig_hold *rig_hold_stream(wp_stream stream);
void rig_release(rig_hold *hold);

void rig_busy(wp_stream stream, unsigned milliseconds); /* keeps the stream busy for about that long */
void rig_fill(wp_stream stream, void *to, int byte, size_t bytes);
void rig_copy(wp_stream stream, void *to, const void *from, size_t bytes); /* within a device; no overlap */
/* Copies from or to memory of rig_host_alloc, which stays as it is until the copy has run, in a graph until the last
 * launch has. */
void rig_upload(wp_stream stream, void *to, const void *from, size_t bytes);
void rig_download(wp_stream stream, void *to, const void *from, size_t bytes);

/* -- capture: what is sent to a stream becomes part of a graph -- */

typedef enum rig_capture_mode { RIG_CAPTURE_GLOBAL, RIG_CAPTURE_THREAD_LOCAL, RIG_CAPTURE_RELAXED } rig_capture_mode;
typedef enum rig_capture_state { RIG_CAPTURE_NONE, RIG_CAPTURE_ACTIVE, RIG_CAPTURE_INVALIDATED } rig_capture_state;
typedef struct rig_graph rig_graph;

wp_stream rig_stream_create_blocking(int device); /* one that does synchronise with the legacy stream */
void rig_capture_begin(wp_stream stream, rig_capture_mode mode);
/* Ends the capture, in any case. The graph, ready to be launched; NULL if the capture was invalidated, or a stream that
 * was forked into it has not joined again. */
rig_graph *rig_capture_end(wp_stream stream);
rig_capture_state rig_capture_status(wp_stream stream); /* not of the legacy stream while a blocking one is captured */
bool rig_graph_launch(rig_graph *graph, wp_stream stream); /* submits; false where the vendor calls that invalid */
void rig_graph_destroy(rig_graph *graph);                  /* launches go on */

/* -- bytes on the host -- */

void *rig_host_alloc(size_t bytes); /* memory that copies in stream order reach; may wait for the device */
void rig_host_free(void *memory);

/* Waits for `stream`, then copies device bytes to host memory. Counts as a synchronisation of `stream`. */
void rig_read(wp_stream stream, void *to, const void *from, size_t bytes);

/* -- what a pool maps -- */

/* Bytes of the steps in which a pool is mapped, where its blocks share them; 0: each block has mappings of its own. */
size_t rig_shared_step(void);

/* -- the vendor's own error slot, and its own allocator -- */

int rig_last_error(void); /* the calling thread's; reads and clears it; 0: none */

/* Whether the vendor has an allocator outside pools. The two below are called only then. */
bool rig_has_plain_memory(void);
void *rig_plain_alloc(size_t bytes); /* on the current device; NULL when it has not enough (and the slot is clear) */
void rig_plain_free(void *memory);   /* may wait for the device */

#endif
