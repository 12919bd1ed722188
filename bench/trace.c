/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

enum { COLUMNS = 7, THREAD = 0, ACTION = 2, POINTER = 3, SIZE = 4, STREAM = 5, DEVICE = 6 };
static const char *const column_names[COLUMNS] = {"Thread", "Time", "Action", "Pointer", "Size", "Stream", "Device"};
static const char header[] = "Thread,Time,Action,Pointer,Size,Stream";

_Noreturn void trace_fail(const trace_reader *reader, const char *format, ...) {
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  (void)fflush(stdout);
  (void)fprintf(stderr, "%s:%llu: %s\n", reader->path, (unsigned long long)reader->line, what);
  exit(2);
}

_Noreturn static void fail_to_read(const trace_reader *reader, int error) {
  (void)fprintf(stderr, "%s: %s\n", reader->path, strerror(error));
  exit(2);
}

/* -- lines -- */

/* Without its end. False: there is none. */
static bool read_line(trace_reader *reader) {
  errno = 0;
  ssize_t length = getline(&reader->text, &reader->capacity, reader->file);
  if (length < 0 && (ferror(reader->file) != 0 || errno != 0)) fail_to_read(reader, errno);
  if (length < 0) return false;
  reader->line++;
  reader->read_bytes += (uint64_t)length;
  if (strlen(reader->text) != (size_t)length) trace_fail(reader, "this is no text");
  while (length > 0 && (reader->text[length - 1] == '\n' || reader->text[length - 1] == '\r')) length--;
  reader->text[length] = '\0';
  return true;
}

/* How many there are; the first seven of them are in `columns`. */
static int split(char *text, const char **columns) {
  int count = 0;
  for (char *at = text; at != NULL; count++) {
    if (count < COLUMNS) columns[count] = at;
    at = strchr(at, ',');
    if (at != NULL) *at++ = '\0';
  }
  return count;
}

/* -- columns -- */

static bool to_number(const char *text, int base, uint64_t *out) {
  char *end;
  bool is_number = base == 16 ? strspn(text, "0123456789abcdefABCDEFxX") > 0 : (*text >= '0' && *text <= '9');
  errno = 0;
  *out = strtoull(text, &end, base);
  return is_number && *end == '\0' && end != text && errno == 0;
}

static uint64_t number(const trace_reader *reader, const char *const *columns, int column, int base) {
  uint64_t value;
  if (base == 16 && strcmp(columns[column], "(nil)") == 0) return 0; /* as some write it */
  if (to_number(columns[column], base, &value)) return value;
  trace_fail(reader, "%s is no %snumber: \"%s\"", column_names[column], base == 16 ? "hexadecimal " : "",
             columns[column]);
}

static trace_action to_action(const trace_reader *reader, const char *text) {
#define TRACE_TEXT(name, text) text,
  static const char *const texts[] = {TRACE_ACTIONS(TRACE_TEXT)};
#undef TRACE_TEXT
  for (int i = 0; i < TRACE_ACTION_COUNT; i++) {
    if (strcmp(texts[i], text) == 0) return (trace_action)i;
  }
  trace_fail(reader, "there is no action \"%s\"", text);
}

static int to_device(const trace_reader *reader, const char *const *columns) {
  enum { MOST = 1000000 };
  uint64_t device = number(reader, columns, DEVICE, 10);
  if (device <= MOST) return (int)device;
  trace_fail(reader, "Device is too large: %s", columns[DEVICE]);
}

static void parse(trace_reader *reader, trace_event *event) {
  const char *columns[COLUMNS];
  int wanted = reader->has_device ? COLUMNS : COLUMNS - 1, count = split(reader->text, columns);
  if (count != wanted) trace_fail(reader, "there are %d columns, and not %d", count, wanted);
  event->thread = number(reader, columns, THREAD, 10);
  event->action = to_action(reader, columns[ACTION]);
  event->pointer = number(reader, columns, POINTER, 16);
  event->size = number(reader, columns, SIZE, 10);
  event->has_stream = event->action != TRACE_FREE_AFTER || *columns[STREAM] != '\0';
  event->stream = event->has_stream ? number(reader, columns, STREAM, 16) : 0;
  if (event->stream == 1) event->stream = 0;
  event->device = reader->has_device ? to_device(reader, columns) : -1;
}

/* -- the file -- */

static void read_header(trace_reader *reader) {
  reader->line = 1; /* that of a file without any */
  bool is_empty = getline(&reader->text, &reader->capacity, reader->file) < 0;
  if (is_empty && ferror(reader->file) != 0) fail_to_read(reader, errno);
  size_t length = is_empty ? 0 : strcspn(reader->text, "\r\n");
  const char *rest = reader->text + sizeof header - 1;
  bool begins = !is_empty && strncmp(reader->text, header, sizeof header - 1) == 0;
  if (!is_empty) reader->text[length] = '\0';
  reader->has_device = begins && strcmp(rest, ",Device") == 0;
  if (!begins || !(*rest == '\0' || reader->has_device)) {
    trace_fail(reader, "the header is not \"%s\", with or without \",Device\"", header);
  }
}

void trace_open(trace_reader *reader, const char *path) {
  struct stat status;
  *reader = (trace_reader){.path = path};
  reader->file = fopen(path, "r");
  if (reader->file == NULL) fail_to_read(reader, errno);
  if (fstat(fileno(reader->file), &status) == 0 && status.st_size > 0) reader->all_bytes = (uint64_t)status.st_size;
  read_header(reader);
}

static bool read_event(trace_reader *reader, trace_event *event) {
  do {
    if (!read_line(reader)) return false;
  } while (*reader->text == '\0');
  parse(reader, event);
  return true;
}

bool trace_next(trace_reader *reader, trace_event *event) {
  bool has_event = reader->is_ahead ? reader->has_next : read_event(reader, event);
  if (reader->is_ahead) *event = reader->next;
  reader->is_ahead = false;
  return has_event;
}

bool trace_next_line(trace_reader *reader, const trace_event *event, trace_event *next) {
  if (!reader->is_ahead) reader->has_next = read_event(reader, &reader->next);
  reader->is_ahead = true;
  if (!reader->has_next || reader->next.action != event->action || reader->next.pointer != event->pointer) return false;
  return trace_next(reader, next);
}

void trace_close(trace_reader *reader) {
  (void)fclose(reader->file);
  free(reader->text);
}
