/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_BACKEND_H
#define WARMPOOL_COMMON_BACKEND_H

#include "warmpool/backend.h"

/* Refuses a vtable of another version or with a member missing, and names the member. */
wp_status wp__backend_check(const wp_backend *backend);

#endif
