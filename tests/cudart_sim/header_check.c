/* SPDX-License-Identifier: Apache-2.0 */
/* The header that everything here is compiled with: NVIDIA's, where there is one. */
#include <cuda_runtime_api.h>

#include "header_check.h"

typedef int nothing_to_link;
