/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delegates: the users of a device's pool. A delegate is a model, a method, a plug-in instance: whatever opens, runs
 * for a while and closes. All delegates of a device share its pool; while one is open the pool stays warm, and when the
 * last one closes the device's memory goes back.
 *
 * Stream order. wp_alloc(d, n, s, &p): work submitted to `s` after the call may use `p`. wp_free(rt, p, s): all uses of
 * `p` were submitted to `s` before the call, or are ordered before that point of `s` by the caller. Uses on other
 * streams that are not ordered so are named by wp_note_use or wp_free_after. Another stream that a block is freed on
 * comes after the allocation's point of `s`, even where nothing used the block: it may have been others' until there.
 * A freed block may serve a later allocation on the freeing stream at once, and one on another stream when its work has
 * finished.
 *
 * A call touches the streams named in it and one stream of the library's own; under WP_STREAMS_DECLARED a release (a
 * close, a trim, an exhaustion, or what a later call finishes of one) and an allocation that needs more than its stream
 * has also record an event on streams that memory was freed on and that are not retired. It never waits for a stream,
 * except wp_delegate_close, wp_runtime_destroy and wp_trim under WP_WAIT, and wp_alloc and wp_prime on exhaustion under
 * WP_OOM_RECLAIM_AND_WAIT.
 */
#ifndef WARMPOOL_DELEGATE_H
#define WARMPOOL_DELEGATE_H

#include <stddef.h>
#include <stdint.h>

#include "warmpool/runtime.h"

WP_BEGIN_DECLS

typedef struct wp_delegate_options {
  size_t size;          /* sizeof(wp_delegate_options) */
  const char *name;     /* shown in wp_stats_json; copied; NULL: "" */
  uint64_t limit_bytes; /* most live bytes of this delegate; 0: no limit */
} wp_delegate_options;
#define WP_DELEGATE_OPTIONS_INIT                                                                                       \
  { sizeof(wp_delegate_options), NULL, 0 }

/*
 * Opens a delegate on `device` (an ordinal or WP_DEVICE_CURRENT). The first one of a device makes its pool; opening
 * after a last close warms that same pool again. The caller owns *out and closes it with wp_delegate_close.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT; WP_ERROR_NO_DEVICE (no such device, or no driver: the driver's own text
 * is in wp_last_error); WP_ERROR_NOT_SUPPORTED (the device has no memory pools, or they cannot keep freed memory);
 * WP_ERROR_OUT_OF_MEMORY; WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_FORKED; WP_ERROR_DRIVER.
 */
WP_API wp_status wp_delegate_open(wp_runtime *runtime, int device, const wp_delegate_options *options,
                                  wp_delegate **out);

/*
 * Closes a delegate. Its live blocks stay valid and are freed with wp_free as before. Closing the last delegate of a
 * device gives the device's idle memory back, except keep_bytes, waiting or not as `release_wait` says; blocks freed
 * after that go back without a delegate. NULL does nothing. `report` may be NULL; it is filled on WP_OK and WP_PENDING,
 * also where other delegates stay open: then nothing is returned, nothing is waited for, and pending_bytes are those of
 * blocks that wait for other streams than their own. Statuses: WP_OK; WP_PENDING (closed, as the last one;
 * pending_bytes wait for work and go back at a later call or wp_tick); WP_ERROR_INVALID_ARGUMENT (closed already,
 * `report->size`: nothing was done); WP_ERROR_FORKED (nothing was done); WP_ERROR_OUT_OF_MEMORY (the driver has none
 * for an event) and WP_ERROR_DRIVER (closed, though the driver refused a step: wp_trim tries again).
 */
WP_API wp_status wp_delegate_close(wp_delegate *delegate, wp_release_report *report);

/*
 * Hands out at least `bytes` bytes of the delegate's device, usable in the order of `stream`, aligned to 256 bytes or
 * more. Zero bytes are WP_OK and *out = NULL. The caller owns the block until wp_free.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL, closed delegate); WP_ERROR_OUT_OF_MEMORY (of the device; figures in
 * wp_last_error); WP_ERROR_OUT_OF_HOST_MEMORY; WP_ERROR_LIMIT (the runtime's or the delegate's);
 * WP_ERROR_WRONG_DEVICE; WP_ERROR_NO_DEVICE (the device was lost); WP_ERROR_CAPTURING (WP_CACHING_LANES: the stream is
 * being captured and that was not declared, see capture.h; in both: it is the legacy stream and waits for one that is
 * being captured; or a driver that cannot allocate meanwhile); WP_ERROR_FORKED; WP_ERROR_DRIVER.
 */
WP_API wp_status wp_alloc(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out);

/*
 * Gives a block back in the order of `stream`, whichever delegate it came from, open or closed. NULL is WP_OK. Where
 * other streams were named by wp_note_use and have not finished, the block waits for them without holding up `stream`;
 * so it does where `stream` is not the one it was allocated on, until the work submitted to `stream` so far has
 * finished. The library needs no host memory for it.
 *
 * In a declared capture any block can be freed (capture.h). On a stream that is captured otherwise only a block
 * allocated in that capture can be (WP_CACHING_DRIVER); the free becomes part of the graph. Such a block that is not
 * freed there is freed on another stream, or after the capture, as often as launches of the graph have allocated it
 * anew.
 *
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT; WP_ERROR_INVALID_POINTER (not a block of this runtime, or freed already:
 * of several racing frees exactly one succeeds); WP_ERROR_WRONG_DEVICE; WP_ERROR_CAPTURING (a block from outside on a
 * stream whose capture is not declared, or other streams were named; the legacy stream while a stream it waits for is
 * being captured; or a driver that frees nothing meanwhile: free after the capture); WP_ERROR_OUT_OF_MEMORY and
 * WP_ERROR_OUT_OF_HOST_MEMORY (the driver has none for an event); WP_ERROR_FORKED; WP_ERROR_DRIVER (in
 * WP_CACHING_DRIVER under WP_STREAMS_DECLARED also for such a block from outside). On every error the block stays live.
 * Under WP_STREAMS_CHECKED a free stands where the driver then refuses its record: that is logged, and the memory stays
 * pending until the next free on the stream is recorded.
 */
WP_API wp_status wp_free(wp_runtime *runtime, void *ptr, wp_stream stream);

/*
 * Gives a block back once the work submitted so far to each of the `count` streams has finished; none of the streams is
 * held up, and streams named by wp_note_use are waited for as well. With count 0 all use of the block has finished
 * already, and what its stream was sent before the allocation; it can serve any stream at once. NULL is WP_OK.
 * Statuses: those of wp_free; with two streams or more also WP_ERROR_CAPTURING for one in a declared capture. On every
 * error the block stays live.
 */
WP_API wp_status wp_free_after(wp_runtime *runtime, void *ptr, const wp_stream *streams, size_t count);

/*
 * Says that work submitted to `stream` before this call uses the live block, so that the coming free waits for that.
 * Call it after the last such submission; a later note for the same stream replaces the earlier one. May run beside
 * other notes for the same block. Each stream so named costs an event until the block is freed and has been there.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL); WP_ERROR_INVALID_POINTER; WP_ERROR_OUT_OF_HOST_MEMORY;
 * WP_ERROR_OUT_OF_MEMORY (the driver has none for an event); WP_ERROR_WRONG_DEVICE; WP_ERROR_CAPTURING (the stream is
 * being captured); WP_ERROR_FORKED; WP_ERROR_DRIVER.
 */
WP_API wp_status wp_note_use(wp_runtime *runtime, void *ptr, wp_stream stream);

typedef struct wp_pointer_info_t {
  size_t size;           /* set by the caller: sizeof(wp_pointer_info_t) */
  int device;            /* ordinal */
  void *base;            /* where the block begins */
  uint64_t bytes;        /* usable from there; at least what was asked for */
  wp_delegate *delegate; /* whose it is, perhaps closed */
  wp_stream stream;      /* the stream it was allocated on */
} wp_pointer_info_t;
#define WP_POINTER_INFO_INIT                                                                                           \
  { sizeof(wp_pointer_info_t), -1, NULL, 0, NULL, NULL }

/*
 * Tells about the live block that `ptr` points into. A block's first byte is found at once, other bytes by a walk over
 * the live blocks. Makes no driver call.
 * Statuses: WP_OK; WP_ERROR_INVALID_ARGUMENT (NULL, `out->size`); WP_ERROR_INVALID_POINTER; WP_ERROR_FORKED.
 */
WP_API wp_status wp_pointer_info(wp_runtime *runtime, const void *ptr, wp_pointer_info_t *out);

/*
 * Maps `bytes` of the device now, so that later allocations on `stream` up to that size in sum find them warm: one
 * block of that size, or smaller ones. They are idle memory: a trim or the last close gives them back, and in
 * WP_CACHING_LANES the next free what is beyond release_threshold. Zero bytes are WP_OK.
 * Statuses: those of wp_alloc, WP_ERROR_LIMIT aside.
 */
WP_API wp_status wp_prime(wp_delegate *delegate, size_t bytes, wp_stream stream);

WP_END_DECLS

#endif
