/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads traces (docs/traces.md): those that the library writes, and RMM's logs, whose form that is without the column
 * Device. A file that is neither ends the program with "FILE:LINE: what" and status 2.
 */
#ifndef WARMPOOL_BENCH_TRACE_H
#define WARMPOOL_BENCH_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* X(name in C, name in the file) */
#define TRACE_ACTIONS(X)                                                                                               \
  X(ALLOCATE, "allocate")                                                                                              \
  X(FAILURE, "allocate failure")                                                                                       \
  X(FREE, "free")                                                                                                      \
  X(FREE_AFTER, "free after")                                                                                          \
  X(NOTE, "note")                                                                                                      \
  X(PRIME, "prime")                                                                                                    \
  X(RETIRE, "retire")                                                                                                  \
  X(TRIM, "trim")                                                                                                      \
  X(OPEN, "open")                                                                                                      \
  X(CLOSE, "close")

#define TRACE_ACTION(name, text) TRACE_##name,
typedef enum trace_action { TRACE_ACTIONS(TRACE_ACTION) TRACE_ACTION_COUNT } trace_action;
#undef TRACE_ACTION

typedef struct trace_event {
  trace_action action;
  uint64_t thread, pointer, size;
  uint64_t stream; /* a special handle's alias is told as the handle */
  bool has_stream; /* "free after" that waits for nothing has none */
  int device;      /* -1: the file does not say */
} trace_event;

typedef struct trace_reader {
  const char *path;
  FILE *file;
  uint64_t line, read_bytes, all_bytes; /* all_bytes is 0 where nobody knows */
  bool has_device;
  char *text;
  size_t capacity;
  bool is_ahead; /* `next` was looked at, and not taken yet */
  bool has_next;
  trace_event next;
} trace_reader;

void trace_open(trace_reader *reader, const char *path);
/* False: that was the last. */
bool trace_next(trace_reader *reader, trace_event *event);
/* Takes the event after this one, if it is one more line of the same call. */
bool trace_next_line(trace_reader *reader, const trace_event *event, trace_event *next);
void trace_close(trace_reader *reader);

/* Ends the program for what is wrong with the line read last. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
_Noreturn void
trace_fail(const trace_reader *reader, const char *format, ...);

#endif
