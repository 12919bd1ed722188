/* SPDX-License-Identifier: Apache-2.0 */
#include "warmpool/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "warmpool/version.h"

const char *wp_version(void) { return WP_VERSION_STRING; }

const char *wp_status_name(wp_status status) {
#define NAME_CASE(name, value, message)                                                                                \
  case name: return #name;
  switch (status) { WP_STATUS_LIST(NAME_CASE) }
#undef NAME_CASE
  return "WP_ERROR_UNKNOWN";
}

const char *wp_status_message(wp_status status) {
#define MESSAGE_CASE(name, value, message)                                                                             \
  case name: return message;
  switch (status) { WP_STATUS_LIST(MESSAGE_CASE) }
#undef MESSAGE_CASE
  return "not a status of this library";
}

/* The failure on its way up, and the last one that reached a caller. */
static _Thread_local wp_status described;
static _Thread_local wp_error_info fault;
static _Thread_local wp_error_info published = WP_ERROR_INFO_INIT;

static void copy_text(char *to, size_t capacity, const char *from) { (void)snprintf(to, capacity, "%s", from); }

static void start_fault(wp_status status, int device) {
  fault = (wp_error_info)WP_ERROR_INFO_INIT;
  fault.device = device;
  fault.code = (int)status;
  copy_text(fault.name, sizeof fault.name, wp_status_name(status));
  described = status;
}

void wp__describe(wp_status status, int device, const char *format, ...) {
  va_list arguments;
  start_fault(status, device);
  va_start(arguments, format);
  (void)vsnprintf(fault.message, sizeof fault.message, format, arguments);
  va_end(arguments);
}

void wp__describe_vendor(const wp_backend *backend, wp_status status, int device) {
  wp_driver_error error = {0, "", "", ""};
  backend->last_error(backend->self, &error);
  if (error.code == 0) {
    wp__describe(status, device, "%s: %s", backend->name, wp_status_message(status));
    return;
  }
  start_fault(status, device);
  fault.code = error.code;
  copy_text(fault.name, sizeof fault.name, error.name);
  (void)snprintf(fault.message, sizeof fault.message, "%s: %s", error.call, error.text);
}

void wp__fault_figures(const wp__figures *figures) {
  fault.requested_bytes = figures->requested;
  fault.live_bytes = figures->live;
  fault.cached_bytes = figures->cached;
  fault.reserved_bytes = figures->reserved;
  fault.device_free = figures->device_free;
  fault.device_total = figures->device_total;
}

static _Thread_local wp_status kept_status;
static _Thread_local wp_error_info kept;

void wp__fault_keep(void) {
  kept_status = described;
  kept = fault;
}

void wp__fault_restore(void) {
  described = kept_status;
  fault = kept;
}

const char *wp__fault_absorb(void) {
  described = WP_OK;
  return fault.message;
}

void wp__publish(const char *call, wp_status status) {
  if (described != status) wp__describe(status, WP__NO_DEVICE, "%s", wp_status_message(status));
  published = fault;
  published.call = call;
  described = WP_OK;
}

void wp_last_error(wp_error_info *out) {
  if (out != NULL && out->size == sizeof *out) *out = published;
}
