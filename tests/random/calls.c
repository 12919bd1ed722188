/* SPDX-License-Identifier: Apache-2.0 */
/* Around each call of the library: the driver may fail, holds open where the library waits, and the answer is judged.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#ifdef WARMPOOL_TESTING
#include "os.h"
#endif

_Thread_local struct actor *self;

/* -- what went wrong -- */

_Noreturn void violation(const char *format, ...) {
  static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER; /* never given up */
  va_list arguments;
  (void)pthread_mutex_lock(&first);
  (void)fprintf(stderr, "random: seed %llu", (unsigned long long)shared.seed);
  if (self != NULL) {
    (void)fprintf(stderr, ", actor %u, operation %u (%s)", self->index, self->at, operation_name(self->now.kind));
    if (self->is_calling) (void)fprintf(stderr, ", in %s", listed_name(self->call));
  }
  (void)fputs(": ", stderr);
  va_start(arguments, format);
  (void)vfprintf(stderr, format, arguments);
  va_end(arguments);
  (void)fputc('\n', stderr);
  if (setup.lines != NULL) (void)fflush(setup.lines);
  _exit(3); /* other threads may be anywhere */
}

/* -- lines, for ci/compare.sh -- */

void tell(const char *format, ...) {
  va_list arguments;
  if (setup.lines == NULL) return;
  (void)fprintf(setup.lines, "%llu %u %s ", (unsigned long long)shared.seed, self->at, operation_name(self->now.kind));
  va_start(arguments, format);
  (void)vfprintf(setup.lines, format, arguments);
  va_end(arguments);
  (void)fputc('\n', setup.lines);
}

/* -- what the driver gave, numbered: addresses differ from run to run -- */

enum { GIVEN = 4096 };
static struct given {
  const unsigned char *address;
  size_t bytes;
  unsigned number;
} given[GIVEN];
static unsigned given_count, given_ever;
static pthread_mutex_t given_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_memory(void *address, size_t bytes) {
  if (setup.lines == NULL) return;
  (void)pthread_mutex_lock(&given_lock);
  if (bytes != 0 && given_count < GIVEN) {
    given[given_count++] = (struct given){address, bytes, ++given_ever};
  } else if (bytes == 0) {
    for (unsigned i = 0; i < given_count; i++) {
      if (given[i].address != address) continue;
      given[i] = given[--given_count];
      break;
    }
  }
  (void)pthread_mutex_unlock(&given_lock);
}

void given_start(void) { given_ever = given_count; }

const char *place_of(const void *address, char text[64]) {
  const unsigned char *byte = address;
  (void)snprintf(text, 64, "elsewhere");
  (void)pthread_mutex_lock(&given_lock);
  for (unsigned i = 0; i < given_count; i++) {
    if (byte < given[i].address || (size_t)(byte - given[i].address) >= given[i].bytes) continue;
    (void)snprintf(text, 64, "%u+%zu", given[i].number, (size_t)(byte - given[i].address));
    break;
  }
  (void)pthread_mutex_unlock(&given_lock);
  return text;
}

/* -- the failing driver -- */

static uint64_t next_random(void) {
  self->random = mix(self->random);
  return self->random;
}

/* Also the host's memory, where the library is built for it; with one thread, for all have one count. */
static void arm_host_memory(void) {
#ifdef WARMPOOL_TESTING
  if (!self->is_ending && setup.threads == 1 && next_random() % (4 * (uint64_t)setup.rate) == 0) {
    wp__test_fail_allocation(1 + (long)(next_random() % 3));
  }
#endif
}

static void disarm_host_memory(void) {
#ifdef WARMPOOL_TESTING
  if (setup.rate == 0 || setup.threads > 1) return;
  if (wp__test_allocation_failed()) self->has_failed = self->was_injected = self->record_failed = true;
  wp__test_fail_allocation(0);
#endif
}

/* What is sent then needs host memory of its own. */
static void open_holds_in_call(void) {
  disarm_host_memory();
  holds_open();
}

/* To synchronise what has finished shows the driver that, and waits for nothing. */
static void check_wait(void) {
  bool is_complete = true;
  if (self->may_wait) {
    open_holds_in_call();
    return;
  }
  (void)wp_backend_builtin()->event_query(wp_backend_builtin()->self, watched_event(), &is_complete);
  REQUIRE_THAT(is_complete, "the library waits in a call that never does");
}

/* A call that cannot enter the device, or leave it, can lose what it was about to give back (issue 4 of 15): of every
 * second program only, so that the others show all else. */
static bool is_of_scope(watched_entry entry) {
  return entry == WATCHED_device_current || entry == WATCHED_device_set || entry == WATCHED_capture_relax;
}

/* What was allocated in the driver's caching and cannot be given out goes to the driver without an order where its free
 * is refused and the record of its stream as well (issue 4 of 15): then memory may be handed out too early. */
static void note_what_was_lost(void) {
  const unsigned records = 1u << WATCHED_event_record | 1u << WATCHED_event_create;
  if ((self->failed_entries & records) == 0) return;
  self->record_failed = true;
  if (self->failed_entries & 1u << WATCHED_memory_free) self->order_lost = true;
}

static wp_status before(watched_entry entry) {
  wp_status statuses[WATCHED_STATUSES];
  if (self == NULL || !self->is_calling) return WP_OK;
  if (entry == WATCHED_event_synchronize) check_wait();
  if (entry == WATCHED_event_query) inner_event_settle(watched_event());
  if (entry == WATCHED_stream_synchronize && self->may_wait) open_holds_in_call();
  /* The library asks for a moment whether an event is complete, how often is a matter of time. */
  bool is_again = entry == WATCHED_event_query && self->asked == entry;
  self->asked = entry;
  if (setup.rate == 0 || self->is_ending || is_again || next_random() % setup.rate != 0) return WP_OK;
  if (is_of_scope(entry)) {
    if (shared.seed % 2 == 0) return WP_OK;
    self->scope_failed = true;
  }
  self->has_failed = self->was_injected = true;
  self->failed_entries |= 1u << entry;
  note_what_was_lost();
  unsigned count = watched_statuses(entry, statuses);
  wp_status status = statuses[next_random() % count];
  tell("%s: %s fails with %s", listed_name(self->call), watched_name(entry), wp_status_name(status));
  return status;
}

const watched_hooks hooks = {before, note_memory, inner_streams_note};

/* -- the call -- */

void call_begin(listed_call call, bool may_wait) {
  count_call();
  now_doing(listed_name(call), self->at);
  /* Two threads that wait for one stream: only one of them asks the driver, the other waits for it. */
  if (may_wait && setup.threads > 1) holds_open();
  streams_settle();
  self->call = call;
  self->may_wait = may_wait;
  self->has_failed = false;
  self->failed_entries = 0;
  self->is_calling = true;
  self->current = rig_device_current();
  if (setup.rate != 0) arm_host_memory();
}

/* Where a call of the driver's failed that puts back what the thread had, it may be otherwise. */
static void put_back(void) {
  const wp_backend *real = wp_backend_builtin();
  rig_device_set(self->current);
  (void)real->capture_restore(real->self, 0); /* the mode that every thread begins with, on every driver */
}

static void check_left_as_it_was(void) {
  const wp_backend *real = wp_backend_builtin();
  int mode = 0;
  REQUIRE_THAT(rig_device_current() == self->current, "%s changed the current device", listed_name(self->call));
  (void)real->capture_relax(real->self, &mode);
  (void)real->capture_restore(real->self, mode);
  REQUIRE_THAT(mode == 0, "%s changed the thread's capture mode", listed_name(self->call));
}

static void check_error(wp_status status) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  REQUIRE_THAT(info.call != NULL && strcmp(info.call, listed_name(self->call)) == 0,
               "the last error is %s's, where %s answered %s", info.call == NULL ? "no call" : info.call,
               listed_name(self->call), wp_status_name(status));
  REQUIRE_THAT(info.message[0] != '\0' && info.name[0] != '\0', "the last error of %s says nothing",
               listed_name(self->call));
}

bool call_end(wp_status status, unsigned natural) {
  self->is_calling = false;
  disarm_host_memory();
  if (self->has_failed) {
    put_back();
  } else {
    check_left_as_it_was();
  }
  REQUIRE_THAT(is_listed(self->call, status), "%s answered %s, which its header does not list", listed_name(self->call),
               wp_status_name(status));
  tell("%s %s%s", listed_name(self->call), wp_status_name(status), self->has_failed ? ", the driver failed" : "");
  if (status <= WP_PENDING) return true;
  check_error(status);
  if (!self->has_failed && (natural & 1u << (unsigned)status) == 0) {
    wp_error_info info = WP_ERROR_INFO_INIT;
    wp_last_error(&info);
    violation("%s answered %s although no driver call failed: %s", listed_name(self->call), wp_status_name(status),
              info.message);
  }
  return false;
}
