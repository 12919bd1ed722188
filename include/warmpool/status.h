/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses, and what went wrong last.
 *
 * Every function that can fail returns a wp_status. 0 is success and WP_PENDING is success with a remark; from
 * WP_ERROR_INVALID_ARGUMENT on nothing was done: output parameters are untouched, no block was handed out or taken
 * back, and whatever the caller owned before the call is still owned and usable. (An allocation that ran out has given
 * idle memory back before it says so; and where the driver refuses a step, a close has closed all the same, a destroy
 * has destroyed, and a trim or a tick has done the rest.) Besides what its comment lists, a call that asks the driver
 * may answer WP_ERROR_NO_DEVICE or WP_ERROR_OUT_OF_HOST_MEMORY where the driver does.
 */
#ifndef WARMPOOL_STATUS_H
#define WARMPOOL_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "warmpool/export.h"

WP_BEGIN_DECLS

/* X(name, value, message): the one list of statuses. Values are part of the ABI and never change. */
#define WP_STATUS_LIST(X)                                                                                              \
  X(WP_OK, 0, "success")                                                                                               \
  X(WP_PENDING, 1, "done, but some memory waits for unfinished work")                                                  \
  X(WP_ERROR_INVALID_ARGUMENT, 2, "an argument is out of its range")                                                   \
  X(WP_ERROR_INVALID_POINTER, 3, "the pointer is not a live block of this runtime")                                    \
  X(WP_ERROR_OUT_OF_MEMORY, 4, "the device has not enough memory")                                                     \
  X(WP_ERROR_OUT_OF_HOST_MEMORY, 5, "the host has not enough memory")                                                  \
  X(WP_ERROR_LIMIT, 6, "a limit that was set would be exceeded")                                                       \
  X(WP_ERROR_NOT_SUPPORTED, 7, "the device or its driver cannot do this")                                              \
  X(WP_ERROR_NO_DEVICE, 8, "there is no such device")                                                                  \
  X(WP_ERROR_WRONG_DEVICE, 9, "the stream belongs to another device")                                                  \
  X(WP_ERROR_CAPTURING, 10, "not possible while the stream is being captured")                                         \
  X(WP_ERROR_BUSY, 11, "a delegate is open or memory is live")                                                         \
  X(WP_ERROR_FORKED, 12, "the runtime was made before fork() and belongs to the parent process")                       \
  X(WP_ERROR_DRIVER, 13, "the driver answered with an error")

#define WP_STATUS_ENUMERATOR(name, value, message) name = value,
typedef enum wp_status { WP_STATUS_LIST(WP_STATUS_ENUMERATOR) } wp_status;
#undef WP_STATUS_ENUMERATOR

/* The enumerator's name, for example "WP_ERROR_LIMIT"; "WP_ERROR_UNKNOWN" for other values. A static string. */
WP_API const char *wp_status_name(wp_status status);

/* One lower-case English phrase without a full stop. A static string, never NULL. */
WP_API const char *wp_status_message(wp_status status);

/*
 * The particulars of a failure. `code`, `name` and `message` are the driver's own where the driver refused something,
 * otherwise the wp_status, its name and what was wrong with the call. The figures (bytes) are filled by wp_alloc and
 * wp_prime for WP_ERROR_OUT_OF_MEMORY and WP_ERROR_LIMIT, as they were at that moment; those that nobody could tell are
 * 0.
 */
typedef struct wp_error_info {
  size_t size;              /* set by the caller: sizeof(wp_error_info) */
  const char *call;         /* the wp_ function that failed; a static string; NULL if none has failed */
  int code;                 /* the driver's error code, or the wp_status */
  char name[64];            /* the driver's name of that code, or the wp_status's */
  char message[192];        /* what happened and, where there is one, the remedy */
  int device;               /* ordinal, or -1 */
  uint64_t requested_bytes; /* what the failed call asked for */
  uint64_t live_bytes;      /* blocks handed out on the device, as in wp_stats */
  uint64_t cached_bytes;    /* idle in the device's pool */
  uint64_t reserved_bytes;  /* held by the device's pool, live and idle */
  uint64_t device_free;     /* the driver's figures for the whole device */
  uint64_t device_total;
} wp_error_info;
#define WP_ERROR_INFO_INIT                                                                                             \
  { sizeof(wp_error_info), NULL, 0, "", "", -1, 0, 0, 0, 0, 0, 0 }

/*
 * Copies the particulars of the calling thread's last failed wp_ call to `out`; successful calls do not change them.
 * Does nothing where `out` is NULL or `out->size` is not the size of this struct. Makes no driver call, never fails.
 */
WP_API void wp_last_error(wp_error_info *out);

WP_END_DECLS

#endif
