/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmpool: a private, warm, stream-ordered memory pool per device.
 *
 *   wp_runtime *runtime;
 *   wp_delegate *model;
 *   void *scratch;
 *   wp_runtime_create(NULL, &runtime);
 *   wp_delegate_open(runtime, WP_DEVICE_CURRENT, NULL, &model);
 *   wp_alloc(model, 64 << 20, stream, &scratch);     ... use it on `stream` ...
 *   wp_free(runtime, scratch, stream);
 *   wp_delegate_close(model, NULL);                  the device's memory is back
 *   wp_runtime_destroy(runtime);
 *
 * What holds for all functions:
 *   - Threads: any function may run on any number of threads at once, on the same objects too, except that nothing may
 *     run beside or after the destruction of its object, that no other call names a stream while that is retired or
 *     while a capture of it begins, ends or is aborted, and that wp_device_lost is alone on its device.
 *   - Current device: whatever it was before a call, it is after it.
 *   - Structs with a `size` member are initialised with their ..._INIT; any other size is WP_ERROR_INVALID_ARGUMENT.
 *   - Failure leaves the caller with what it had, and fills wp_last_error of the calling thread.
 *   - Ordinals count devices as the driver does, from 0. How many there are a runtime learns at its first open (or
 *     wp_query_driver); until then every ordinal is one of a device not in use.
 *   - After fork() the child gets WP_ERROR_FORKED for everything that the parent made, and nothing is done.
 */
#ifndef WARMPOOL_WARMPOOL_H
#define WARMPOOL_WARMPOOL_H

#include "warmpool/backend.h"
#include "warmpool/capture.h"
#include "warmpool/delegate.h"
#include "warmpool/runtime.h"
#include "warmpool/stats.h"
#include "warmpool/status.h"
#include "warmpool/version.h"

#endif
