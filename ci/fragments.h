/* SPDX-License-Identifier: Apache-2.0 */
/* What the pieces of C in README.md and docs/ take for granted; ci/fragments.sh compiles them behind this. */
#ifndef WARMPOOL_CI_FRAGMENTS_H
#define WARMPOOL_CI_FRAGMENTS_H

#include <assert.h>
#include <stdlib.h>

#include <warmpool/warmpool.h>

extern wp_runtime *runtime;
extern wp_delegate *model;
extern wp_stream stream, other;
extern void *scratch;
extern size_t bytes;

/* The program's own, and the vendor's. */
void enqueue_kernels(wp_stream on, void *memory);
void order_after(wp_stream later, wp_stream earlier);
void destroy_stream(wp_stream gone);
void log_line(const char *text);
void do_something_else(void);
void begin_capture(wp_stream on);
int end_capture(wp_stream on);
void launch_graph(wp_stream on);

#endif
