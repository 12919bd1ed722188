/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "conformance.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEVICES_WATCHED 2

wp_runtime *runtime;
wp_stream_contract contract;

/* -- statuses -- */

wp_error_info last_error(void) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  return info;
}

void expect_status(wp_status got, wp_status expected, const char *call, const char *file, int line) {
  if (got == expected) return;
  wp_error_info info = last_error();
  cr_assert_fail("%s:%d: %s: %s, expected %s; last error: %s: %s: %s", file, line, call, wp_status_name(got),
                 wp_status_name(expected), info.call == NULL ? "none" : info.call, info.name, info.message);
}

static struct world {
  wp_stats stats[DEVICES_WATCHED];
  uint64_t used[DEVICES_WATCHED];
} seen;

static struct world look_around(void) {
  struct world world;
  memset(&world, 0, sizeof world);
  for (int i = 0; runtime != NULL && i < DEVICES_WATCHED && i < rig_device_count(); i++) {
    wp_driver_stats driver = WP_DRIVER_STATS_INIT;
    world.stats[i] = stats(i);
    OK(wp_query_driver(runtime, i, &driver));
    world.used[i] = driver.pool_used;
  }
  return world;
}

void look(void) { seen = look_around(); }

static void expect_same(const struct world *before, const struct world *after, const char *call) {
#define SAME(name)                                                                                                     \
  cr_expect_eq(before->stats[i].name, after->stats[i].name, "%s: device %d: %s: %llu, was %llu", call, i, #name,       \
               (unsigned long long)after->stats[i].name, (unsigned long long)before->stats[i].name)
  for (int i = 0; i < DEVICES_WATCHED; i++) {
    SAME(live_bytes);
    SAME(live_peak);
    SAME(live_blocks);
    SAME(parked_bytes);
    SAME(reserved_bytes);
    SAME(reserved_peak);
    SAME(allocs);
    SAME(frees);
    SAME(driver_allocs);
    SAME(driver_frees);
    cr_expect_eq(before->used[i], after->used[i], "%s: device %d: the driver's used bytes: %llu, were %llu", call, i,
                 (unsigned long long)after->used[i], (unsigned long long)before->used[i]);
  }
#undef SAME
}

void expect_refused(wp_status got, wp_status expected, const char *call, const char *file, int line) {
  wp_error_info info = last_error();
  struct world now = look_around();
  size_t length = strcspn(call, "(");
  expect_status(got, expected, call, file, line);
  cr_assert_not_null(info.call, "%s:%d: %s: no last error", file, line, call);
  cr_expect(strlen(info.call) == length && strncmp(info.call, call, length) == 0, "%s:%d: %s: last error of %s", file,
            line, call, info.call);
  cr_expect_neq(info.message[0], '\0', "%s:%d: %s: no message", file, line, call);
  cr_expect_neq(info.name[0], '\0', "%s:%d: %s: no name", file, line, call);
  cr_expect_neq(info.code, 0, "%s:%d: %s: no code", file, line, call);
  expect_same(&seen, &now, call);
}

/* -- the runtime -- */

wp_caching caching(void) {
  const char *name = getenv("WARMPOOL_TEST_CACHING");
  if (name == NULL || strcmp(name, "lanes") == 0) return WP_CACHING_LANES;
  cr_assert_str_eq(name, "driver", "WARMPOOL_TEST_CACHING=%s: lanes or driver", name);
  return WP_CACHING_DRIVER;
}

wp_runtime_options defaults(void) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  options.stream_contract = contract;
  options.caching = caching();
  return options;
}

void start(const wp_runtime_options *options) {
  wp_runtime_options plain = defaults();
  OK(wp_runtime_create(options == NULL ? &plain : options, &runtime));
}

/* What a fixture finds fails no test of Criterion's: the name is for those who read the log (ci/judge.awk). */
#define BYTES_OF_TEST(bytes, text)                                                                                     \
  cr_expect_eq(bytes, 0, "%s::%s: %llu " text, criterion_current_test->category, criterion_current_test->name,         \
               (unsigned long long)(bytes))

void end(void) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  if (runtime == NULL) return;
  OK(wp_trim(runtime, WP_DEVICE_ALL, 0, WP_WAIT, &report));
  BYTES_OF_TEST(report.live_bytes, "bytes were left live");
  BYTES_OF_TEST(report.pending_bytes, "bytes are pending in the end");
  BYTES_OF_TEST(report.reserved_after, "bytes did not go back");
  OK(wp_runtime_destroy(runtime));
  runtime = NULL;
}

wp_delegate *open_on(int device) {
  wp_delegate *delegate = NULL;
  OK(wp_delegate_open(runtime, device, NULL, &delegate));
  cr_assert_not_null(delegate);
  return delegate;
}

wp_release_report last_close(wp_delegate *delegate, wp_status expected) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  ANSWERS(expected, wp_delegate_close(delegate, &report));
  cr_expect_eq(report.devices, 1);
  cr_expect_eq(report.returned_bytes, report.reserved_before - report.reserved_after);
  return report;
}

void *take(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  void *memory = NULL;
  OK(wp_alloc(delegate, bytes, stream, &memory));
  cr_assert_not_null(memory);
  cr_assert_eq((uintptr_t)memory % 256, 0);
  return memory;
}

void give(void *memory, wp_stream stream) { OK(wp_free(runtime, memory, stream)); }

wp_stats stats(int device) {
  wp_stats out = WP_STATS_INIT;
  OK(wp_device_stats(runtime, device, &out));
  return out;
}

wp_stats stats_of(wp_delegate *delegate) {
  wp_stats out = WP_STATS_INIT;
  OK(wp_delegate_stats(delegate, &out));
  return out;
}

static wp_driver_stats ask_driver(int device) {
  wp_driver_stats out = WP_DRIVER_STATS_INIT;
  OK(wp_query_driver(runtime, device, &out));
  return out;
}

uint64_t reserved(int device) { return ask_driver(device).pool_reserved; }
uint64_t device_total(int device) { return ask_driver(device).device_total; }

/* What the driver maps for one byte. */
static size_t measure_granule(void) {
  wp_runtime *tests = runtime;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *memory = take(delegate, 1, stream);
  size_t found = (size_t)reserved(0);
  give(memory, stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
  end();
  runtime = tests;
  cr_assert_neq(found, 0);
  return found;
}

size_t granule(void) {
  static size_t found;
  if (found != 0) return found;
  if (rig_shared_step() != 0) return found = rig_shared_step() / 4 * 3; /* each block has a header, too */
  found = measure_granule();
  if (found < MIB) found = MIB; /* enough to fill, and a multiple of what is mapped */
  return found;
}

uint64_t most_mapped(unsigned count) { return count * (rig_shared_step() == 0 ? granule() : 2 * rig_shared_step()); }

void expect_granules(uint64_t bytes, unsigned count, const char *what, const char *file, int line) {
  uint64_t least = count * granule(), most = most_mapped(count);
  cr_expect(bytes >= least && bytes <= most, "%s:%d: %s: %llu bytes are mapped, not %llu to %llu", file, line, what,
            (unsigned long long)bytes, (unsigned long long)least, (unsigned long long)most);
}

void expect_granules_on(int device, unsigned count, const char *file, int line) {
  wp_driver_stats driver = ask_driver(device);
  expect_granules(driver.pool_reserved, count, "the driver's pool", file, line);
  if (rig_shared_step() == 0 || caching() == WP_CACHING_DRIVER) return;
  cr_expect_eq(driver.pool_used, count * granule(), "%s:%d: %llu bytes are used, not %u granules", file, line,
               (unsigned long long)driver.pool_used, count);
}

void tick_until_reserved(int device, uint64_t bytes) {
  for (;;) {
    OK(wp_tick(runtime));
    if (reserved(device) == bytes) return;
    (void)sched_yield();
  }
}

/* -- devices and streams -- */

bool driver_can(uint32_t capability) {
  const wp_backend *backend = wp_backend_builtin();
  uint32_t found = 0;
  OK(backend->device_capabilities(backend->self, 0, &found));
  return (found & capability) != 0;
}

void need_devices(int count) {
  if (rig_device_count() < count) cr_skip_test("needs %d devices, and there are %d", count, rig_device_count());
}

void end_stream(int device, wp_stream stream) {
  if (contract == WP_STREAMS_DECLARED) OK(wp_stream_retire(runtime, device, stream));
  rig_stream_destroy(stream);
}

wp_stream reincarnate(wp_stream gone, wp_stream *spares, size_t count) {
  wp_stream found = NULL;
  for (size_t i = 0; i < count && found == NULL; i++) {
    spares[i] = rig_stream_create(0);
    if (spares[i] == gone) found = spares[i];
  }
  return found;
}

/* -- bytes -- */

bool overlap(const void *one, const void *other, size_t bytes) {
  uintptr_t low = (uintptr_t)one, high = (uintptr_t)other;
  return low < high ? high - low < bytes : low - high < bytes;
}

void expect_bytes(wp_stream stream, const void *memory, int byte, size_t bytes) {
  unsigned char *copy = malloc(bytes);
  cr_assert_not_null(copy);
  rig_read(stream, copy, memory, bytes);
  /* Mostly all are like the one before them, which memcmp says at once; if not, the first that is not is looked for. */
  bool is_even = bytes > 0 && copy[0] == (unsigned char)byte && memcmp(copy, copy + 1, bytes - 1) == 0;
  size_t same = is_even ? bytes : 0;
  while (same < bytes && copy[same] == (unsigned char)byte) same++;
  cr_assert_eq(same, bytes, "byte %zu of %zu is %#x, not %#x", same, bytes, copy[same == bytes ? 0 : same],
               (unsigned)byte);
  free(copy);
}

/* -- other threads -- */

static pthread_t releaser;
static atomic_bool is_released, is_back;
static long stuck; /* the thread that is to be */

/* What the system says of that thread: false where it says nothing. */
static bool look_at_stuck(char *state, unsigned long *ticks) {
  char path[64], text[1024], *after;
  unsigned long user = 0, system = 0;
  (void)snprintf(path, sizeof path, "/proc/self/task/%ld/stat", stuck);
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  (void)fclose(file);
  after = strrchr(text, ')'); /* the name before may have spaces */
  if (after == NULL ||
      sscanf(after, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", state, &user, &system) != 3) {
    return false;
  }
  *ticks = user + system;
  return true;
}

/* Until it sleeps, look after look, or has run for long (a wait may spin): a machine that is busy elsewhere can leave a
 * thread that is on its way for longer than any pause. Or until it is back, or seconds have passed. */
static void wait_until_stuck(void) {
  enum { LOOKS = 5000, ASLEEP = 5 };
  const struct timespec pause = {0, 1000 * 1000};
  unsigned long start = 0, ticks = 0, many = (unsigned long)sysconf(_SC_CLK_TCK) / 10;
  char state = ' ';
  (void)look_at_stuck(&state, &start);
  for (int look = 0, asleep = 0; look < LOOKS && asleep < ASLEEP && !atomic_load(&is_back); look++) {
    (void)nanosleep(&pause, NULL);
    if (!look_at_stuck(&state, &ticks) || ticks - start >= many) return;
    asleep = state == 'S' ? asleep + 1 : 0;
  }
}

static void *release_after_a_while(void *hold) {
  struct timespec while_ = {0, 150 * 1000 * 1000};
  (void)nanosleep(&while_, NULL);
  wait_until_stuck();
  atomic_store(&is_released, true);
  rig_release(hold);
  return NULL;
}

void release_later(rig_hold *hold) {
  atomic_store(&is_released, false);
  atomic_store(&is_back, false);
  stuck = syscall(SYS_gettid);
  cr_assert_eq(pthread_create(&releaser, NULL, release_after_a_while, hold), 0);
}

void release_is_over(void) {
  bool was_released = atomic_load(&is_released);
  atomic_store(&is_back, true);
  cr_assert(was_released, "the call did not wait for the work");
  cr_assert_eq(pthread_join(releaser, NULL), 0);
}

struct runner {
  pthread_t thread;
  pthread_barrier_t *start;
  void (*body)(unsigned, void *);
  unsigned index;
  void *argument;
  atomic_uint *turn; /* whose end it is */
};

/* They start together, and end one after the other: a driver may hang where threads that had streams of their own end
 * at the same moment (C19). */
static void *run(void *self) {
  const struct timespec pause = {0, 100000};
  struct runner *runner = self;
  (void)pthread_barrier_wait(runner->start);
  runner->body(runner->index, runner->argument);
  while (atomic_load(runner->turn) != runner->index) (void)nanosleep(&pause, NULL);
  return NULL;
}

void run_threads(unsigned count, void (*body)(unsigned, void *), void *argument) {
  struct runner runners[32];
  pthread_barrier_t start_line;
  atomic_uint turn = count; /* nobody's */
  cr_assert_leq(count, COUNT_OF(runners));
  cr_assert_eq(pthread_barrier_init(&start_line, NULL, count), 0);
  for (unsigned i = 0; i < count; i++) {
    runners[i] = (struct runner){.start = &start_line, .body = body, .index = i, .argument = argument, .turn = &turn};
    cr_assert_eq(pthread_create(&runners[i].thread, NULL, run, &runners[i]), 0);
  }
  for (unsigned i = 0; i < count; i++) {
    atomic_store(&turn, i);
    (void)pthread_join(runners[i].thread, NULL);
  }
  (void)pthread_barrier_destroy(&start_line);
}
