/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a failure travels: the place that meets it describes it here, once, for its thread; statuses go up through the
 * callers; the public function publishes it for wp_last_error, or whoever absorbs the failure drops it.
 */
#ifndef WARMPOOL_COMMON_FAULT_H
#define WARMPOOL_COMMON_FAULT_H

#include "warmpool/backend.h"
#include "warmpool/status.h"

#define WP__NO_DEVICE (-1)

#if defined(__GNUC__)
#define WP__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define WP__PRINTF(text, first)
#endif

/* Describes a failure of the library's own making; its value is `status`. */
#define wp__refuse(status, device, ...) (wp__describe(status, device, __VA_ARGS__), (status))
void wp__describe(wp_status status, int device, const char *format, ...) WP__PRINTF(3, 4);

/* Describes the failure that an entry of the backend has just answered with. */
void wp__describe_vendor(const wp_backend *backend, wp_status status, int device);

/* What an entry answered; a failure is described, and WP_ERROR_DRIVER where it is none that an entry may answer. */
static inline wp_status wp__described(const wp_backend *backend, int device, wp_status status) {
  if (status == WP_OK) return WP_OK;
  if (status <= WP_PENDING || status > WP_ERROR_DRIVER) status = WP_ERROR_DRIVER;
  wp__describe_vendor(backend, status, device);
  return status;
}

/* Adds the figures of an exhaustion to the failure described last. */
typedef struct wp__figures {
  uint64_t requested, live, cached, reserved, device_free, device_total;
} wp__figures;
void wp__fault_figures(const wp__figures *figures);

/* Sets the failure described last aside while others may be described, and brings it back. */
void wp__fault_keep(void);
void wp__fault_restore(void);

/* The text of the failure described last, for a log; the failure itself is forgotten. Valid until the next one. */
const char *wp__fault_absorb(void);

/* What a public function returns: a failure is published for wp_last_error. */
void wp__publish(const char *call, wp_status status);
static inline wp_status wp__result(const char *call, wp_status status) {
  if (status > WP_PENDING) wp__publish(call, status);
  return status;
}

/* What two steps that both ran come to: the first failure, otherwise WP_PENDING if either is. */
static inline wp_status wp__both(wp_status first, wp_status next) {
  if (first > WP_PENDING) return first;
  return next > first ? next : first;
}

#endif
