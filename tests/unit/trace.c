/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime writes of what is done with it, and in which order. */
#include "trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime.h"
#include "world.h"

TestSuite(trace, .timeout = 20);

static struct world world;
static char path[] = "/tmp/warmpool-trace-XXXXXX";
static char text[1 << 20];

static void new_file(void) {
  int file = mkstemp(path);
  cr_assert(file >= 0);
  (void)close(file);
}

static void start_in(wp_caching caching) {
  new_file();
  world_options.caching = caching;
  world_options.trace_path = path;
  world_start(&world);
}

/* The file, without its header and its column Time; it is gone then. */
static void read_file(void) {
  char line[512];
  FILE *file = fopen(path, "r");
  size_t length = 0;
  unsigned long long before = 0;
  cr_assert_not_null(file);
  cr_assert_not_null(fgets(line, sizeof line, file));
  cr_assert_str_eq(line, "Thread,Time,Action,Pointer,Size,Stream,Device\n");
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned long long thread, time;
    int rest = 0;
    cr_assert_eq(sscanf(line, "%llu,%llu,%n", &thread, &time, &rest), 2, "not a line of a trace: %s", line);
    cr_assert_geq(time, before);
    before = time;
    length += (size_t)snprintf(text + length, sizeof text - length, "%llu,%s", thread, line + rest);
  }
  (void)fclose(file);
  (void)unlink(path);
}

/* What is to be in it. */
static char wanted[8192];
static void want(const char *action, const void *ptr, size_t size, wp_stream stream) {
  size_t length = strlen(wanted);
  (void)snprintf(wanted + length, sizeof wanted - length, "%llu,%s,0x%llx,%zu,0x%llx,0\n",
                 (unsigned long long)wp__thread_self()->serial, action, (unsigned long long)(uintptr_t)ptr, size,
                 (unsigned long long)(uintptr_t)stream);
}

static void end_as_wanted(void) {
  world_end(&world);
  read_file();
  want("close", NULL, 1, NULL);
  cr_assert_str_eq(text, wanted);
}

/* -- lines -- */

static void do_everything(void) {
  wp_runtime *runtime = world.runtime;
  wp_stream both[] = {world.s, WP_STREAM_PER_THREAD};
  wp_delegate *second;
  void *out = NULL, *one, *two, *three;
  want("open", NULL, 1, NULL);
  expect(WP_OK, wp_delegate_open(runtime, 0, NULL, &second));
  want("open", NULL, 2, NULL);
  expect(WP_OK, wp_prime(second, 5000, world.t));
  want("prime", NULL, 5000, world.t);
  one = world_alloc(&world, 1000, world.s);
  want("allocate", one, 1000, world.s); /* as asked for, not as rounded */
  expect(WP_OK, wp_note_use(runtime, one, world.t));
  want("note", one, 1000, world.t);
  expect(WP_OK, wp_free(runtime, one, world.s));
  want("free", one, 1000, world.s);
  two = world_alloc(&world, 700, (wp_stream)1); /* the legacy stream's other name */
  want("allocate", two, 700, WP_STREAM_LEGACY);
  expect(WP_OK, wp_free_after(runtime, two, both, 2));
  want("free after", two, 700, world.s);
  want("free after", two, 700, WP_STREAM_PER_THREAD);
  three = world_alloc(&world, 3 * MIB, world.t);
  want("allocate", three, 3 * MIB, world.t);
  expect(WP_ERROR_OUT_OF_MEMORY, wp_alloc(second, (size_t)1 << 40, world.s, &out));
  want("allocate failure", NULL, (size_t)1 << 40, world.s);
  expect(WP_OK, wp_free_after(runtime, three, &world.t, 1));
  want("free after", three, 3 * MIB, world.t);
  expect(WP_OK, wp_stream_retire(runtime, 0, world.t));
  want("retire", NULL, 0, world.t);
  expect(WP_OK, wp_trim(runtime, WP_DEVICE_ALL, 4096, WP_WAIT, NULL));
  want("trim", NULL, 4096, NULL);
  expect(WP_OK, wp_delegate_close(second, NULL));
  want("close", NULL, 2, NULL);
}

Test(trace, has_a_line_for_every_action_in_lanes) {
  start_in(WP_CACHING_LANES);
  do_everything();
  end_as_wanted();
}

Test(trace, has_a_line_for_every_action_in_the_driver_s_pool) {
  start_in(WP_CACHING_DRIVER);
  do_everything();
  end_as_wanted();
}

Test(trace, names_no_stream_where_a_free_waits_for_none) {
  char line[128];
  start_in(WP_CACHING_LANES);
  void *ptr = world_alloc(&world, 100, world.s);
  expect(WP_OK, wp_free_after(world.runtime, ptr, NULL, 0));
  world_end(&world);
  read_file();
  (void)snprintf(line, sizeof line, ",free after,0x%llx,100,,0\n", (unsigned long long)(uintptr_t)ptr);
  cr_assert_not_null(strstr(text, line), "%s", text);
}

/* The lanes' own hits stay hits, though they go the long way. */
Test(trace, leaves_hits_what_they_are) {
  start_in(WP_CACHING_LANES);
  for (int i = 0; i < 10; i++) expect(WP_OK, wp_free(world.runtime, world_alloc(&world, 512, world.s), world.s));
  wp_stats stats = world_stats(&world);
  cr_assert_eq(stats.lane_hits, 9);
  cr_assert_eq(stats.lane_misses, 1);
  cr_assert_not(world.runtime->warm);
  world_end(&world);
  (void)unlink(path);
}

Test(trace, has_no_line_for_what_was_refused_or_was_nothing) {
  void *out = NULL;
  start_in(WP_CACHING_DRIVER);
  void *ptr = world_alloc(&world, 512, world.s);
  want("open", NULL, 1, NULL);
  want("allocate", ptr, 512, world.s);
  expect(WP_OK, wp_alloc(world.delegate, 0, world.s, &out));
  expect(WP_OK, wp_free(world.runtime, NULL, world.s));
  expect(WP_ERROR_INVALID_ARGUMENT, wp_alloc(world.delegate, 512, world.s, NULL));
  fake_fail("event_create", 1, WP_ERROR_OUT_OF_MEMORY);
  expect(WP_ERROR_OUT_OF_MEMORY, wp_note_use(world.runtime, ptr, world.t));
  fake_fail("memory_free", 1, WP_ERROR_DRIVER);
  expect(WP_ERROR_DRIVER, wp_free(world.runtime, ptr, world.s));
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, (char *)ptr + 512, world.s));
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  want("free", ptr, 512, world.s);
  expect(WP_ERROR_INVALID_POINTER, wp_free(world.runtime, ptr, world.s));
  expect(WP_ERROR_NO_DEVICE, wp_trim(world.runtime, 7, 0, WP_WAIT, NULL));
  end_as_wanted();
}

Test(trace, frees_what_is_lost_with_a_device) {
  start_in(WP_CACHING_LANES);
  void *ptr = world_alloc(&world, 512, world.s);
  want("open", NULL, 1, NULL);
  want("allocate", ptr, 512, world.s);
  expect(WP_OK, wp_device_lost(world.runtime, 0));
  want("free", ptr, 512, world.s);
  expect(WP_OK, wp_delegate_close(world.delegate, NULL));
  want("close", NULL, 1, NULL);
  expect(WP_OK, wp_runtime_destroy(world.runtime));
  read_file();
  cr_assert_str_eq(text, wanted);
}

/* -- order -- */

/* Lines come while a free is under way, more than are kept in memory otherwise; the free fails, or does not. */
static wp_backend inside;
static wp_status answer;
enum { EARLY = 800 }; /* lines */
static void *early[EARLY];
static wp_status free_amid_allocs(void *self, void *ptr, wp_stream stream) {
  inside.memory_free = fake_backend.memory_free;
  for (size_t i = 0; i < EARLY; i++) early[i] = world_alloc(&world, 512, world.t);
  return answer == WP_OK ? fake_backend.memory_free(self, ptr, stream) : answer;
}

static void free_amid(wp_status status) {
  static char line[128];
  inside = fake_backend;
  world_options.backend = &inside;
  start_in(WP_CACHING_DRIVER);
  void *ptr = world_alloc(&world, 1000, world.s);
  inside.memory_free = free_amid_allocs;
  answer = status;
  expect(status, wp_free(world.runtime, ptr, world.s));
  if (status != WP_OK) expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  for (size_t i = 0; i < EARLY; i++) expect(WP_OK, wp_free(world.runtime, early[i], world.t));
  world_end(&world);
  read_file();
  (void)snprintf(line, sizeof line, ",free,0x%llx,1000,", (unsigned long long)(uintptr_t)ptr);
  char *first_free = strstr(text, line), *first_alloc = strstr(text, ",512,");
  cr_assert_not_null(first_free);
  cr_assert_null(strstr(first_free + 1, line)); /* there is one */
  cr_assert_eq(first_free < first_alloc, status == WP_OK);
}

Test(trace, writes_a_free_before_what_follows_from_it) { free_amid(WP_OK); }
Test(trace, takes_back_the_line_of_a_free_that_fails) { free_amid(WP_ERROR_DRIVER); }

enum { PAIRS = 2000, THREADS = 2, PLACES = 64 };

static void *take_and_give(void *argument) {
  wp_stream stream = argument;
  for (int i = 0; i < PAIRS; i++) {
    void *ptr = NULL;
    expect(WP_OK, wp_alloc(world.delegate, 512, stream, &ptr));
    expect(WP_OK, wp_free(world.runtime, ptr, stream));
  }
  return NULL;
}

/* One thread could do the same again: nothing is handed out twice, or freed that is not there. */
Test(trace, has_an_order_that_can_be_followed) {
  pthread_t threads[THREADS];
  unsigned long long live[PLACES] = {0}, pointer;
  char action[32];
  int lines = 0;
  start_in(WP_CACHING_LANES);
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_create(&threads[i], NULL, take_and_give, world.s), 0);
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
  world_end(&world);
  read_file();
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    cr_assert_eq(sscanf(line, "%*u,%31[^,],0x%llx,", action, &pointer), 2);
    if (pointer == 0) continue;
    bool frees = strcmp(action, "free") == 0;
    int place = 0, wants = 0;
    while (place < PLACES && live[place] != pointer) place++;
    cr_assert_eq(place < PLACES, frees, "line %d: %s of 0x%llx", lines, action, pointer);
    while (wants < PLACES && live[wants] != (frees ? pointer : 0)) wants++;
    cr_assert(wants < PLACES);
    live[wants] = frees ? 0 : pointer;
    lines++;
  }
  cr_assert_eq(lines, 2 * THREADS * PAIRS);
}

/* -- the file -- */

Test(trace, that_cannot_be_opened_is_refused) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_runtime *runtime = NULL;
  long before = wp__test_allocations();
  options.trace_path = "/nowhere/at/all";
  expect(WP_ERROR_INVALID_ARGUMENT, wp_runtime_create(&options, &runtime));
  cr_assert_null(runtime);
  cr_assert_eq(wp__test_allocations(), before);
  cr_assert_not_null(strstr(world_error().message, "No such file or directory: /nowhere/at/all"));
}

Test(trace, without_host_memory_is_refused) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_runtime *runtime = NULL;
  int refused = 0;
  new_file();
  options.trace_path = path;
  long before = wp__test_allocations();
  for (long nth = 1; runtime == NULL; nth++) {
    wp__test_fail_allocation(nth);
    if (wp_runtime_create(&options, &runtime) == WP_ERROR_OUT_OF_HOST_MEMORY) refused++;
    wp__test_fail_allocation(0);
    if (runtime == NULL) cr_assert_eq(wp__test_allocations(), before);
  }
  cr_assert_geq(refused, 3); /* the runtime, the trace, its text */
  expect(WP_OK, wp_runtime_destroy(runtime));
  read_file();
  cr_assert_str_eq(text, "");
}

Test(trace, is_copied_with_its_path) {
  new_file();
  char *copy = strdup(path);
  world_options.trace_path = copy;
  world_start(&world);
  (void)memset(copy, 'x', strlen(copy));
  free(copy);
  cr_assert_str_eq(world.runtime->options.trace_path, path);
  world_end(&world);
  read_file();
}

Test(trace, that_cannot_be_written_is_told_once_and_ends) {
  world_options.trace_path = "/dev/full";
  world_start(&world);
  void *ptr = NULL;
  for (int i = 0; i < 2000; i++) {
    ptr = world_alloc(&world, 512, world.s);
    expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  }
  cr_assert_eq(world.log_lines, 1);
  cr_assert_str_eq(world.logged, "warmpool: the trace /dev/full ends here: No space left on device");
  world_end(&world);
  cr_assert_eq(world.log_lines, 1);
}

Test(trace, that_is_short_and_cannot_be_written_is_told_in_the_end) {
  world_options.trace_path = "/dev/full";
  world_start(&world);
  cr_assert_eq(world.log_lines, 0);
  world_end(&world);
  cr_assert_eq(world.log_lines, 1);
}

Test(trace, that_host_memory_does_not_suffice_for_ends) {
  wp__trace_hold place;
  world_options.trace_path = "/dev/null";
  world_start(&world);
  void *ptr = world_alloc(&world, 512, world.s);
  wp__trace *trace = world.runtime->trace;
  wp__trace_begin(trace, "free", wp__map_get(&world.runtime->blocks.map, ptr), &world.s, 1, 0, &place);
  wp__test_fail_allocations(true);
  for (int i = 0; i < 3 * EARLY; i++) wp__trace_call(trace, "trim", 0, NULL, 0);
  wp__test_fail_allocations(false);
  wp__trace_settle(trace, &place, false);
  cr_assert_eq(world.log_lines, 1);
  cr_assert_str_eq(world.logged, "warmpool: the trace /dev/null ends here: Cannot allocate memory");
  expect(WP_OK, wp_free(world.runtime, ptr, world.s));
  world_end(&world);
}

/* The default runtime is never destroyed; what it writes is complete when the process ends. */
static void use_default(void) {
  wp_runtime *runtime = NULL;
  wp_delegate *delegate;
  (void)setenv("WARMPOOL_TRACE", path, 1);
  expect(WP_OK, wp_runtime_default(&runtime));
  cr_assert_str_eq(runtime->options.trace_path, path);
  runtime->backend = &fake_backend;
  expect(WP_OK, wp_delegate_open(runtime, 0, NULL, &delegate));
}

Test(trace, of_the_default_runtime_is_named_by_the_environment) {
  wp_runtime *runtime = NULL;
  (void)setenv("WARMPOOL_TRACE", "/nowhere/at/all", 1);
  expect(WP_ERROR_INVALID_ARGUMENT, wp_runtime_default(&runtime));
  cr_assert_null(runtime);
  (void)setenv("WARMPOOL_TRACE", "", 1);
  expect(WP_OK, wp_runtime_default(&runtime));
  cr_assert_null(runtime->trace);
}

Test(trace, of_the_default_runtime_is_complete_when_the_process_ends) {
  new_file();
  pid_t child = fork();
  if (child == 0) {
    use_default();
    exit(0);
  }
  int status = 1;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(status, 0);
  read_file();
  cr_assert_not_null(strstr(text, "open,0x0,1,0x0,0\n"), "%s", text);
}

/* A child has a copy of what its parent had not written yet, and leaves it alone. */
Test(trace, of_a_parent_is_not_written_by_its_child) {
  start_in(WP_CACHING_LANES);
  want("open", NULL, 1, NULL);
  pid_t child = fork();
  if (child == 0) exit(0);
  int status = 1;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(status, 0);
  end_as_wanted();
}
