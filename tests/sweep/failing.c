/* SPDX-License-Identifier: Apache-2.0 */
#include "failing.h"

#include <stdio.h>
#include <string.h>

#include "os.h"
#include "rig.h"

static bool is_armed;
static bool fails;
static struct injection now;
static int device_before;
static struct reached reached;
static struct refusals refusals;

/* -- names -- */

static const char *const modes[] = {"once", "on", "mixed"};

const char *injection_mode(const struct injection *injection) { return modes[injection->mode]; }

const char *injection_target(const struct injection *injection) {
  if (injection->target == TARGET_MEMORY) return "memory";
  if (injection->target == TARGET_ANY) return "any";
  return watched_name((watched_entry)injection->target);
}

void injection_name(const struct injection *injection, char text[INJECTION_TEXT]) {
  (void)snprintf(text, INJECTION_TEXT, "%s %u %s %s", injection_target(injection), injection->nth,
                 injection_mode(injection), wp_status_name(injection->status));
}

static bool find_target(const char *name, unsigned *out) {
  for (unsigned target = 0; target <= TARGET_MEMORY; target++) {
    struct injection injection = {.target = target};
    *out = target;
    if (strcmp(injection_target(&injection), name) == 0) return true;
  }
  return false;
}

static bool find_mode(const char *name, enum failing_mode *out) {
  for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
    *out = (enum failing_mode)mode;
    if (strcmp(modes[mode], name) == 0) return true;
  }
  return false;
}

static bool find_status(const char *name, wp_status *out) {
  for (int status = WP_OK; status <= WP_ERROR_DRIVER; status++) {
    *out = (wp_status)status;
    if (strcmp(wp_status_name(*out), name) == 0) return true;
  }
  return false;
}

bool injection_parse(const char *text, struct injection *out) {
  char target[32], mode[32], status[64];
  if (sscanf(text, "%31s %u %31s %63s", target, &out->nth, mode, status) != 4) return false;
  return find_target(target, &out->target) && find_mode(mode, &out->mode) && find_status(status, &out->status);
}

/* -- which there are -- */

static unsigned statuses_of(unsigned target, wp_status out[WATCHED_STATUSES]) {
  static const wp_status all[WATCHED_STATUSES] = {WP_ERROR_DRIVER, WP_ERROR_NO_DEVICE, WP_ERROR_OUT_OF_HOST_MEMORY,
                                                  WP_ERROR_OUT_OF_MEMORY, WP_ERROR_NOT_SUPPORTED};
  if (target < WATCHED_ENTRIES) return watched_statuses((watched_entry)target, out);
  memcpy(out, all, sizeof all);
  if (target == TARGET_ANY) return WATCHED_STATUSES;
  out[0] = WP_ERROR_OUT_OF_HOST_MEMORY;
  return 1;
}

/* Once is left out for any entry: that is once for the entry whose turn it is. */
static bool next_of(unsigned target, unsigned count, unsigned *i, struct injection *out) {
  wp_status statuses[WATCHED_STATUSES];
  unsigned choices = statuses_of(target, statuses);
  unsigned each = target == TARGET_ANY ? choices + 1 : choices * 2;
  if (*i >= count * each) {
    *i -= count * each;
    return false;
  }
  unsigned choice = *i % each;
  *out = (struct injection){.target = target, .nth = *i / each + 1};
  if (target == TARGET_ANY) {
    out->mode = choice < choices ? FAILING_ON : FAILING_MIXED;
    out->status = choice < choices ? statuses[choice] : WP_ERROR_DRIVER;
  } else {
    out->mode = choice < choices ? FAILING_ONCE : FAILING_ON;
    out->status = statuses[choice % choices];
  }
  return true;
}

bool injection_at(const struct reached *of, unsigned i, struct injection *out) {
  for (unsigned entry = 0; entry < WATCHED_ENTRIES; entry++) {
    if (next_of(entry, of->of_entry[entry], &i, out)) return true;
  }
  return next_of(TARGET_ANY, of->in_all, &i, out) || next_of(TARGET_MEMORY, of->allocations, &i, out);
}

/* -- driver calls -- */

static bool may_answer(watched_entry entry, wp_status status) {
  wp_status statuses[WATCHED_STATUSES];
  unsigned count = watched_statuses(entry, statuses);
  for (unsigned i = 0; i < count; i++) {
    if (statuses[i] == status) return true;
  }
  return false;
}

static void keep(watched_entry entry, wp_status status) {
  if (entry == WATCHED_device_set && rig_device_current() != device_before) refusals.loses_device = true;
  if (entry == WATCHED_capture_restore) refusals.loses_mode = true;
  if (entry == WATCHED_memory_alloc && status == WP_ERROR_OUT_OF_MEMORY) refusals.of_allocation++;
  if (refusals.count < REFUSALS_KEPT) {
    refusals.kept[refusals.count].entry = entry;
    refusals.kept[refusals.count].status = status;
  }
  refusals.count++;
}

static wp_status before(watched_entry entry) {
  if (!is_armed) return WP_OK;
  unsigned of_entry = ++reached.of_entry[entry], in_all = ++reached.in_all;
  if (!fails || (now.target != (unsigned)entry && now.target != TARGET_ANY)) return WP_OK;
  unsigned count = now.target == TARGET_ANY ? in_all : of_entry;
  if (now.mode == FAILING_ONCE ? count != now.nth : count < now.nth) return WP_OK;
  wp_status status = now.mode == FAILING_MIXED && refusals.count > 0 ? WP_ERROR_NO_DEVICE : now.status;
  if (!may_answer(entry, status)) return WP_OK;
  keep(entry, status);
  return status;
}

/* -- what the driver has given -- */

enum { HELD_MAX = 1024 };
static struct held {
  const void *address;
  size_t bytes;
} held[HELD_MAX];
static unsigned held_count;

static void note_memory(void *address, size_t bytes) {
  if (bytes > 0 && held_count < HELD_MAX) held[held_count++] = (struct held){address, bytes};
  for (unsigned i = 0; bytes == 0 && i < held_count; i++) {
    if (held[i].address != address) continue;
    held[i] = held[--held_count];
    return;
  }
}

unsigned long long failing_driver_bytes(void) {
  unsigned long long sum = 0;
  for (unsigned i = 0; i < held_count; i++) sum += held[i].bytes;
  return sum;
}

void failing_forget_bytes(void) { held_count = 0; }

const watched_hooks failing_hooks = {.before = before, .memory = note_memory};

/* -- host allocations: those of the thread that calls, so that a simulated driver's own threads go on -- */

static _Thread_local bool is_caller;

static bool allocation_fails(void) {
  if (!is_armed || !is_caller) return false;
  unsigned count = ++reached.allocations;
  if (!fails || now.target != TARGET_MEMORY) return false;
  if (now.mode == FAILING_ONCE ? count != now.nth : count < now.nth) return false;
  refusals.allocations++;
  return true;
}

/* The linker puts these in front of the library's (--wrap). */
void *__real_wp__os_calloc(size_t count, size_t size);
void *__real_wp__os_calloc_lines(size_t count, size_t size);
void *__wrap_wp__os_calloc(size_t count, size_t size);
void *__wrap_wp__os_calloc_lines(size_t count, size_t size);
void *__wrap_wp__os_calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : __real_wp__os_calloc(count, size);
}
void *__wrap_wp__os_calloc_lines(size_t count, size_t size) {
  return allocation_fails() ? NULL : __real_wp__os_calloc_lines(count, size);
}

/* -- begin and end -- */

void failing_begin(const struct injection *injection, int device) {
  reached = (struct reached){.in_all = 0};
  refusals = (struct refusals){.count = 0};
  device_before = device;
  fails = injection != NULL;
  if (fails) now = *injection;
  is_caller = true;
  is_armed = true;
}

void failing_end(void) { is_armed = false; }
const struct reached *failing_reached(void) { return &reached; }
const struct refusals *failing_refusals(void) { return &refusals; }
