/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"
#include "device.h"
#include "engine.h"

static _Thread_local wp__host_result last_error;

wp__host_result wp__host_finish(wp__host_result result) {
  if (result != WP__HOST_SUCCESS) last_error = result;
  return result;
}

wp__host_result wp__host_error_peek(void) { return last_error; }

wp__host_result wp__host_error_take(void) {
  wp__host_result result = last_error;
  last_error = WP__HOST_SUCCESS;
  return result;
}

const char *wp__host_result_name(wp__host_result result) {
#define NAME(suffix, code, text)                                                                                       \
  case WP__HOST_##suffix: return code == 0 ? "HOST_SUCCESS" : "HOST_ERROR_" #suffix;
  switch (result) { WP__HOST_RESULT_LIST(NAME) }
#undef NAME
  return "HOST_ERROR_UNKNOWN";
}

const char *wp__host_result_text(wp__host_result result) {
  if (result == WP__HOST_NO_DEVICE && wp__host_devices_complaint() != NULL) return wp__host_devices_complaint();
#define TEXT(suffix, code, text)                                                                                       \
  case WP__HOST_##suffix: return text;
  switch (result) { WP__HOST_RESULT_LIST(TEXT) }
#undef TEXT
  return "unknown error";
}
