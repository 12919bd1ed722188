/* SPDX-License-Identifier: Apache-2.0 */
/* Uses: streams that a block waits for when it is freed, each with an event recorded where the use was submitted. */
#ifndef WARMPOOL_COMMON_USES_H
#define WARMPOOL_COMMON_USES_H

#include "block.h"
#include "device.h"

/* Makes `use` stand for what was submitted to the stream so far; it is not being captured. `stream` is its record, or
 * NULL where none could be made. */
wp_status wp__use_record(wp__device *device, wp_stream handle, wp__stream *stream, wp__use *use);

/* Whether what the use stands for has finished. */
wp_status wp__use_ask(wp__device *device, const wp__use *use, bool *complete);
/* Waits until it has; *complete is false if a capture of the stream has begun meanwhile. */
wp_status wp__use_wait(wp__device *device, const wp__use *use, bool *complete);

/* The driver must neither be asked for its event nor wait for it: the stream is in a declared capture, or left by one.
 */
bool wp__use_is_mute(const wp__use *use);
/* And nobody will know any more whether it has finished. */
bool wp__use_is_left(const wp__use *use);

/* Adds a use for each of the streams. On failure those added are dropped again. */
wp_status wp__uses_add(wp__device *device, wp__block *block, const wp_stream *streams, size_t count);
/* The same for one stream that is known, and is not being captured. */
wp_status wp__use_add(wp__device *device, wp__block *block, wp__stream *stream);

/* Drops the uses that have finished. *waits: one is left that a free on `stream` has to wait for; those of that stream
 * itself stay in the list, but are not waited for. */
wp_status wp__uses_prune(wp__device *device, wp__block *block, wp__stream *stream, bool *waits);
/* Drops all uses: the free has been given to the driver. */
void wp__uses_drop(wp__device *device, wp__block *block);

/* Takes the first use out of a list and gives its event back to the device. */
void wp__use_drop(wp__device *device, wp__block *block, wp__use **link);
/* Forgets all uses of a block without the driver: the device is lost. */
void wp__uses_forget(wp__block *block);

#endif
