/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include "fault.h"

static wp_status missing(const char *member) {
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "wp_backend.%s is NULL: every member is required",
                    member);
}

wp_status wp__backend_check(const wp_backend *backend) {
  if (backend->size != sizeof *backend) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE,
                      "wp_backend.size is %zu and this library's is %zu: compile the backend against its headers",
                      backend->size, sizeof *backend);
  }
  if (backend->name == NULL) return missing("name");
#define CHECK_MEMBER(member)                                                                                           \
  if (backend->member == NULL) return missing(#member);
  WP_BACKEND_LIST(CHECK_MEMBER)
#undef CHECK_MEMBER
  return WP_OK;
}
