/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARMPOOL_TOOLS_INFO_H
#define WARMPOOL_TOOLS_INFO_H

#include <stdbool.h>

/* The backend, its devices, what they can do and their memory, on stdout. Ends the program where there is no device. */
void show_info(bool json);

#endif
