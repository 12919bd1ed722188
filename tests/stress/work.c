/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, complaining, and the work that streams do. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stress.h"

struct totals totals;
atomic_ullong violations, progress, submitted, completed;

void count(atomic_ullong *counter) { (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

void violation(const char *format, ...) {
  va_list arguments;
  if (atomic_fetch_add(&violations, 1) >= 20) return; /* enough to see */
  va_start(arguments, format);
  (void)fputs("stress: ", stderr);
  (void)vfprintf(stderr, format, arguments);
  (void)fputc('\n', stderr);
  va_end(arguments);
}

bool expect(wp_status got, wp_status expected, const char *call) {
  if (got == expected) return true;
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  violation("%s: %s, expected %s (%s: %s)", call, wp_status_name(got), wp_status_name(expected), info.name,
            info.message);
  return false;
}

void *host_memory(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (memory == NULL) abort();
  return memory;
}

/* -- work -- */

/* Carries all it needs, for the block is gone from the thread's table by the time it runs. */
struct work {
  struct block block;
  bool owns_flag;
};

static size_t last_word(const struct block *block) { return block->count - 1; }

static void fill_words(void *argument) {
  const struct block *block = argument;
  for (size_t i = 0; i < block->count; i += 1024) block->words[i] = block->stamp + i;
  block->words[last_word(block)] = block->stamp;
}

static void fill_now(void *argument) {
  struct work *work = argument;
  fill_words(&work->block);
  if (work->block.filled != NULL) atomic_store_explicit(work->block.filled, true, memory_order_release);
  free(work);
  count(&completed);
}

static void check_words(const struct block *block) {
  for (size_t i = 0; i < block->count; i += 1024) {
    uint64_t expected = i == last_word(block) ? block->stamp : block->stamp + i;
    if (block->words[i] == expected) continue;
    violation("word %zu of %zu of %p is %#" PRIx64 ", not %#" PRIx64, i, block->count, (void *)block->words,
              block->words[i], expected);
    return;
  }
  if (block->words[last_word(block)] != block->stamp) violation("the last word of %p is wrong", (void *)block->words);
}

static void check_now(void *argument) {
  struct work *work = argument;
  /* A block from another thread: its fill was submitted earlier, and waits for nothing that was submitted later. */
  while (work->owns_flag && !atomic_load_explicit(work->block.filled, memory_order_acquire)) (void)sched_yield();
  check_words(&work->block);
  if (work->owns_flag) free(work->block.filled);
  free(work);
  count(&totals.checks);
  count(&completed);
}

static void check_in_graph(void *argument) {
  check_words(argument);
  count(&totals.checks);
}

static void free_now(void *argument) {
  free(argument);
  count(&completed);
}

static void nap_now(void *argument) {
  (void)usleep(*(unsigned *)argument);
  free(argument);
  count(&completed);
}

static void launch(wp_stream stream, void (*function)(void *), void *argument) {
  count(&submitted);
  vendor_launch(stream, function, argument);
}

static void launch_work(wp_stream stream, void (*function)(void *), const struct block *block, bool owns_flag) {
  struct work *work = host_memory(sizeof *work);
  *work = (struct work){*block, owns_flag};
  launch(stream, function, work);
}

/* Not counted as submitted: what follows the last launch is. */
void capture_fill(wp_stream stream, struct block *block) { vendor_launch(stream, fill_words, block); }
void capture_check(wp_stream stream, struct block *block) { vendor_launch(stream, check_in_graph, block); }

void launch_free(wp_stream stream, void *memory) { launch(stream, free_now, memory); }

void launch_nap(wp_stream stream, unsigned microseconds) {
  unsigned *argument = host_memory(sizeof *argument);
  *argument = microseconds;
  launch(stream, nap_now, argument);
}

void launch_fill(wp_stream stream, const struct block *block) { launch_work(stream, fill_now, block, false); }
void launch_check(wp_stream stream, const struct block *block) { launch_work(stream, check_now, block, false); }
void launch_check_of_other(wp_stream stream, const struct block *block) {
  launch_work(stream, check_now, block, block->filled != NULL);
}
