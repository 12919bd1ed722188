/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graph capture with memory of the private pool. What a method allocates while its graph is captured would otherwise be
 * the driver's graph memory, which belongs to the whole device. Declared here, it comes from finished memory of the
 * pool, at addresses that nobody else gets until the graph's owner says that the graph will not run any more.
 *
 *   wp_capture_begin(delegate, stream, NULL, &capture);
 *   the vendor's begin-capture, kernels, wp_alloc and wp_free on the stream, the vendor's end-capture
 *   wp_capture_end(capture, &memory);
 *   launches
 *   wp_graph_memory_release(memory, &last, 1);      the stream of the last launch, which may still run
 *
 * In between, on the streams of a capture:
 *   wp_alloc    serves from the capture's memory; nothing is waited for, and no node is made
 *   wp_free     of what was allocated on the same stream of the capture: it serves later allocations there, whose work
 *               comes after it in the graph as well. Of anything else, from inside or from outside: freed for the
 *               caller, and kept for the graph until its memory is released. (Not of a block that was allocated in a
 *               capture which nobody declared, and is another graph's own: WP_ERROR_CAPTURING)
 *   wp_free_after with one stream is wp_free; with more, and for wp_note_use, wp_prime and wp_stream_retire, the answer
 *               is WP_ERROR_CAPTURING
 * Elsewhere everything goes on as without a capture. A block that is live at the end (an output) stays the caller's; it
 * may be freed on any stream at any time, and its memory is the graph's until the release.
 *
 * It is so in either caching. What is free after the release stays warm in WP_CACHING_LANES; in WP_CACHING_DRIVER it
 * goes to the driver's pool, but for what shares a segment with an output. Functions may run on any thread; calls for
 * one capture, and for one graph's memory, come one after the other, and while one of them begins, joins, ends or
 * aborts no other call names a stream of the capture. Its streams are not destroyed before wp_capture_end or
 * wp_capture_abort has returned WP_OK, in either stream contract. None of the functions launches, waits for the device,
 * or changes the current device. (Without WP_CAP_CAPTURES_END begin and join look for up to 0.2 ms whether the stream
 * is idle.)
 */
#ifndef WARMPOOL_CAPTURE_H
#define WARMPOOL_CAPTURE_H

#include <stddef.h>

#include "warmpool/backend.h"
#include "warmpool/delegate.h"
#include "warmpool/export.h"
#include "warmpool/status.h"

WP_BEGIN_DECLS

typedef struct wp_capture wp_capture;           /* from begin to end or abort */
typedef struct wp_graph_memory wp_graph_memory; /* from end to release */

/*
 * Declares that a capture is about to begin on `stream`, of the delegate's device. Call it before the vendor's
 * begin-capture. With `share`, the memory of another graph of the device that is not released yet, the capture uses
 * what that one does not hold at its end as well: for graphs of which never two run at the same time, nor beside a last
 * launch of one that was released. Records frees that were put off. Nothing else is sent to the stream before the
 * vendor's begin-capture. *out is the caller's until wp_capture_end or wp_capture_abort. Statuses: WP_OK;
 * WP_ERROR_INVALID_ARGUMENT (NULL, a closed delegate, the legacy stream, which no vendor captures, `share` of another
 * device); WP_ERROR_CAPTURING (the stream is being captured, or is in a declared capture, already);
 * WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_OUT_OF_MEMORY (the driver has none for an event); WP_ERROR_WRONG_DEVICE;
 * WP_ERROR_NO_DEVICE (the device was lost); WP_ERROR_FORKED; WP_ERROR_DRIVER.
 */
WP_API wp_status wp_capture_begin(wp_delegate *delegate, wp_stream stream, wp_graph_memory *share, wp_capture **out);

/*
 * The same for another stream that is going to take part in the capture: call it before that stream waits for one of
 * the capture's, and send nothing else to it in between. It gets memory of its own, for the two run beside one another
 * in the graph.
 * Statuses: those of wp_capture_begin.
 */
WP_API wp_status wp_capture_join(wp_capture *capture, wp_stream stream);

/*
 * Ends the capture, after the vendor's end-capture; its streams are ordinary ones again. *out stands for the graph's
 * memory. Also for a capture that the vendor has invalidated, but wp_capture_abort keeps nothing. Records an event on
 * each of the capture's streams; a thread's own default stream is named for that by the handle, so end or abort on its
 * thread. Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL); WP_ERROR_CAPTURING (the vendor still captures one of the
 * streams: end that first, or abort this where that cannot be); WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_OUT_OF_MEMORY
 * (the driver has none for an event); WP_ERROR_NO_DEVICE (the device was lost: abort it); WP_ERROR_FORKED;
 * WP_ERROR_DRIVER. On an error the capture goes on.
 */
WP_API wp_status wp_capture_end(wp_capture *capture, wp_graph_memory **out);

/*
 * Ends a capture of which nothing will be launched, likewise: its memory and what was freed in it go back once the work
 * sent to its streams so far has finished. Blocks that are live stay so, until they are freed. NULL is WP_OK.
 *
 * Some drivers (those without WP_CAP_CAPTURES_END) never let go of the streams of a capture whose end failed. There the
 * caller is believed, and such a stream counts as retired: name another one in its stead. What the capture allocated
 * goes back at once where all of its streams are such. What was freed in it, or used on such a stream before, goes back
 * if the stream was idle when the capture began; otherwise nobody can know any more, and it stays pending until the
 * runtime is destroyed, which leaves it to the driver.
 *
 * Statuses: WP_OK; WP_ERROR_CAPTURING (with WP_CAP_CAPTURES_END: the vendor still captures one of the streams);
 * WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_OUT_OF_MEMORY; WP_ERROR_FORKED; WP_ERROR_DRIVER. On an error the capture goes
 * on.
 */
WP_API wp_status wp_capture_abort(wp_capture *capture);

/*
 * Says that the graph will not be launched again. Its last launches were sent to the `count` streams, and may still
 * run: the memory is other streams' when they have finished, and what the capture's streams had been sent until its
 * end, without anybody waiting. With count 0 all launches have finished. Blocks that are still live stay so. `memory`
 * is gone; NULL is WP_OK. Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL streams); WP_ERROR_CAPTURING (one of the
 * streams is being captured); WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_OUT_OF_MEMORY; WP_ERROR_WRONG_DEVICE;
 * WP_ERROR_FORKED; WP_ERROR_DRIVER. On an error nothing has changed.
 */
WP_API wp_status wp_graph_memory_release(wp_graph_memory *memory, const wp_stream *last_launches, size_t count);

WP_END_DECLS

#endif
