/* SPDX-License-Identifier: Apache-2.0 */
/* The header of this folder, also where it is not the one in use. */
#include "include/cuda_runtime_api.h"

#include "header_check.h"

typedef int nothing_to_link;
