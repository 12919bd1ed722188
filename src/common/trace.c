/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* Text is written when there is so much of it; there is more only while a call keeps its place open. */
enum { FLUSH_BYTES = 16384, LINE_BYTES = 192 };

struct wp__trace {
  const wp_runtime *runtime;
  unsigned fork_generation;
  uint64_t start_ns;
  wp__trace *next; /* in `all` */
  wp__mutex lock;  /* what follows */
  wp__file file;
  bool stopped;
  bool is_eager; /* the process is ending: each line is written at once */
  char *text;
  size_t length, capacity;
  uint64_t written; /* bytes that came before `text`, cleared ones included */
  bool has_cleared; /* some of the text is zeros, for calls that came to nothing */
  wp__trace_hold *oldest, *newest;
  char path[];
};

/* -- text, with the lock: errno's value, or 0 -- */

static size_t squeeze(char *text, size_t length) {
  size_t kept = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '\0') text[kept++] = text[i];
  }
  return kept;
}

/* Writes what lies before the first open place. */
static int flush(wp__trace *trace) {
  size_t ready = trace->oldest == NULL ? trace->length : (size_t)(trace->oldest->begin - trace->written);
  if (ready == 0) return 0;
  size_t kept = trace->has_cleared ? squeeze(trace->text, ready) : ready;
  if (!wp__file_write(&trace->file, trace->text, kept)) return errno;
  trace->length -= ready;
  trace->written += ready;
  (void)memmove(trace->text, trace->text + ready, trace->length);
  if (trace->length == 0) trace->has_cleared = false;
  return 0;
}

static int make_room(wp__trace *trace) {
  if (trace->capacity - trace->length >= LINE_BYTES) return 0;
  size_t capacity = 2 * trace->capacity;
  char *text = wp__os_calloc(capacity, 1);
  if (text == NULL) return ENOMEM;
  (void)memcpy(text, trace->text, trace->length);
  wp__os_free(trace->text);
  trace->text = text;
  trace->capacity = capacity;
  return 0;
}

struct entry {
  const char *action;
  const void *ptr;
  uint64_t size;
  int device;
};

/* `stream` is NULL where the line names none. */
static int put_line(wp__trace *trace, const struct entry *entry, const wp_stream *stream) {
  char name[32] = "";
  int error = make_room(trace);
  if (error != 0) return error;
  const wp__thread_token *thread = wp__thread_self();
  uintptr_t handle = stream == NULL ? 0 : (uintptr_t)*stream;
  if (stream != NULL) (void)snprintf(name, sizeof name, "0x%" PRIxPTR, handle == 1 ? 0 : handle);
  int length =
      snprintf(trace->text + trace->length, LINE_BYTES, "%" PRIu64 ",%" PRIu64 ",%s,0x%" PRIxPTR ",%" PRIu64 ",%s,%d\n",
               thread == NULL ? 0 : thread->serial, wp__clock_ns() - trace->start_ns, entry->action,
               (uintptr_t)entry->ptr, entry->size, name, entry->device);
  trace->length += (size_t)length;
  return 0;
}

static void open_hold(wp__trace *trace, wp__trace_hold *hold, uint64_t begin) {
  *hold = (wp__trace_hold){trace->newest, NULL, begin, trace->written + trace->length, true};
  if (trace->newest != NULL) {
    trace->newest->next = hold;
  } else {
    trace->oldest = hold;
  }
  trace->newest = hold;
}

static int put_lines(wp__trace *trace, const struct entry *entry, const wp_stream *streams, size_t count,
                     wp__trace_hold *hold) {
  uint64_t begin = trace->written + trace->length;
  int error = count == 0 ? put_line(trace, entry, NULL) : 0;
  for (size_t i = 0; i < count && error == 0; i++) error = put_line(trace, entry, &streams[i]);
  if (error != 0) return error;
  if (hold != NULL) open_hold(trace, hold, begin);
  return trace->length >= FLUSH_BYTES || trace->is_eager ? flush(trace) : 0;
}

/* Ends the lock. */
static void finish(wp__trace *trace, int error) {
  trace->stopped = trace->stopped || error != 0;
  wp__mutex_unlock(&trace->lock);
  if (error != 0) wp__log(trace->runtime, "warmpool: the trace %s ends here: %s", trace->path, strerror(error));
}

static void put(wp__trace *trace, const struct entry *entry, const wp_stream *streams, size_t count,
                wp__trace_hold *hold) {
  wp__mutex_lock(&trace->lock);
  finish(trace, trace->stopped ? 0 : put_lines(trace, entry, streams, count, hold));
}

/* -- lines -- */

void wp__trace_put_call(wp__trace *trace, const char *action, uint64_t size, wp_stream stream, int device) {
  put(trace, &(struct entry){action, NULL, size, device}, &stream, 1, NULL);
}

void wp__trace_put_block(wp__trace *trace, const char *action, const wp__block *block, const wp_stream *streams,
                         size_t count, int device, wp__trace_hold *hold) {
  uint64_t size = atomic_load_explicit(&block->requested, memory_order_relaxed);
  put(trace, &(struct entry){action, atomic_load(&block->ptr), size, device}, streams, count, hold);
}

void wp__trace_put_alloc(wp__trace *trace, wp__block *block, size_t bytes, wp_stream stream, int device) {
  atomic_store_explicit(&block->requested, bytes, memory_order_relaxed);
  wp__trace_put_block(trace, "allocate", block, &stream, 1, device, NULL);
}

static void close_hold(wp__trace *trace, wp__trace_hold *hold) {
  if (hold->previous != NULL) {
    hold->previous->next = hold->next;
  } else {
    trace->oldest = hold->next;
  }
  if (hold->next != NULL) {
    hold->next->previous = hold->previous;
  } else {
    trace->newest = hold->previous;
  }
  hold->held = false;
}

/* Its lines are still in `text`, as those of every open place. */
static void clear(wp__trace *trace, const wp__trace_hold *hold) {
  (void)memset(trace->text + (hold->begin - trace->written), 0, (size_t)(hold->end - hold->begin));
  trace->has_cleared = true;
}

void wp__trace_end_hold(wp__trace *trace, wp__trace_hold *hold, bool happened) {
  int error = 0;
  wp__mutex_lock(&trace->lock);
  if (!happened && !trace->stopped) clear(trace, hold);
  close_hold(trace, hold);
  if (!trace->stopped && (trace->length >= FLUSH_BYTES || trace->is_eager)) error = flush(trace);
  finish(trace, error);
}

/* -- all traces: those of runtimes that nobody destroys are flushed when the process ends -- */

static wp__mutex all_lock = WP__MUTEX_INIT;
static wp__trace *all;
static atomic_uint last_generation; /* of the processes, by forks, that made a trace */

static void flush_all(void) {
  unsigned generation = wp__fork_generation();
  if (atomic_load(&last_generation) != generation) return; /* those there are belong to the parent */
  wp__mutex_lock(&all_lock);
  for (wp__trace *trace = all; trace != NULL; trace = trace->next) {
    if (trace->fork_generation != generation) continue;
    wp__mutex_lock(&trace->lock);
    trace->is_eager = true;
    if (!trace->stopped && flush(trace) != 0) trace->stopped = true;
    wp__mutex_unlock(&trace->lock);
  }
  wp__mutex_unlock(&all_lock);
}

static void flush_at_exit(void) { (void)atexit(flush_all); }

static void enlist(wp__trace *trace) {
  static wp__once once = WP__ONCE_INIT;
  wp__once_run(&once, flush_at_exit);
  wp__mutex_lock(&all_lock);
  atomic_store(&last_generation, trace->fork_generation);
  trace->next = all;
  all = trace;
  wp__mutex_unlock(&all_lock);
}

static void delist(const wp__trace *trace) {
  wp__mutex_lock(&all_lock);
  wp__trace **link = &all;
  while (*link != trace) link = &(*link)->next;
  *link = trace->next;
  wp__mutex_unlock(&all_lock);
}

/* -- making and ending one -- */

static wp__trace *allocate(const char *path) {
  size_t length = strlen(path) + 1;
  wp__trace *trace = wp__os_calloc(1, sizeof *trace + length);
  if (trace == NULL) return NULL;
  trace->capacity = 2 * (size_t)FLUSH_BYTES;
  trace->text = wp__os_calloc(trace->capacity, 1);
  if (trace->text == NULL) {
    wp__os_free(trace);
    return NULL;
  }
  (void)memcpy(trace->path, path, length);
  return trace;
}

static void deallocate(wp__trace *trace) {
  wp__os_free(trace->text);
  wp__os_free(trace);
}

wp_status wp__trace_create(const wp_runtime *runtime, const char *path, wp__trace **out) {
  static const char header[] = "Thread,Time,Action,Pointer,Size,Stream,Device\n";
  wp__trace *trace = allocate(path);
  if (trace == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, WP__NO_DEVICE, "no memory for a trace");
  if (!wp__file_create(&trace->file, path)) {
    int error = errno;
    deallocate(trace);
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "the trace cannot be written: %s: %s", strerror(error),
                      path);
  }
  trace->runtime = runtime;
  trace->fork_generation = runtime->fork_generation;
  trace->start_ns = wp__clock_ns();
  wp__mutex_init(&trace->lock);
  (void)memcpy(trace->text, header, sizeof header - 1);
  trace->length = sizeof header - 1;
  enlist(trace);
  *out = trace;
  return WP_OK;
}

const char *wp__trace_path(const wp__trace *trace) { return trace->path; }

void wp__trace_destroy(wp__trace *trace) {
  if (trace == NULL) return;
  delist(trace);
  wp__mutex_lock(&trace->lock);
  int error = trace->stopped ? 0 : flush(trace);
  bool closed = wp__file_close(&trace->file);
  if (error == 0 && !closed && !trace->stopped) error = errno;
  finish(trace, error);
  wp__mutex_destroy(&trace->lock);
  deallocate(trace);
}
