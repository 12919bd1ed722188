/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_COMMON_ALLOC_H
#define WARMPOOL_COMMON_ALLOC_H

#include "delegate.h"

/* wp_alloc, whatever has to be done. */
wp_status wp__alloc(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out);

#endif
