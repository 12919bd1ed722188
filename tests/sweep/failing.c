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

static const char *const modes[] = {"once", "on", "odd", "mixed"};

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

enum { STATUSES = WATCHED_STATUSES + 1 };

static bool has(const wp_status *statuses, unsigned count, wp_status status) {
  for (unsigned i = 0; i < count; i++) {
    if (statuses[i] == status) return true;
  }
  return false;
}

/* What the entry may answer: at any time, and while something is captured. */
static unsigned statuses_of_entry(watched_entry entry, wp_status out[STATUSES]) {
  unsigned count = watched_statuses(entry, out);
  if (entry == WATCHED_memory_alloc || entry == WATCHED_memory_free) out[count++] = WP_ERROR_CAPTURING;
  return count;
}

static bool may_answer(watched_entry entry, wp_status status) {
  wp_status statuses[STATUSES];
  unsigned count = statuses_of_entry(entry, statuses);
  return has(statuses, count, status);
}

/* What else some drivers' errors come to, whichever function answers with them. */
static unsigned odd_statuses_of_entry(watched_entry entry, wp_status out[STATUSES]) {
  static const wp_status odd[] = {WP_ERROR_OUT_OF_MEMORY, WP_ERROR_NOT_SUPPORTED, WP_ERROR_CAPTURING};
  unsigned count = 0;
  for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
    if (!may_answer(entry, odd[i])) out[count++] = odd[i];
  }
  return count;
}

/* Of the statuses, those that one of the entries that are reached may answer. */
static unsigned statuses_of_any(const struct reached *of, wp_status out[STATUSES]) {
  static const wp_status all[] = {WP_ERROR_DRIVER,        WP_ERROR_NO_DEVICE,     WP_ERROR_OUT_OF_HOST_MEMORY,
                                  WP_ERROR_OUT_OF_MEMORY, WP_ERROR_NOT_SUPPORTED, WP_ERROR_CAPTURING};
  unsigned count = 0;
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    bool may = false;
    for (unsigned entry = 0; entry < WATCHED_ENTRIES; entry++) {
      may = may || (of->of_entry[entry] > 0 && may_answer((watched_entry)entry, all[i]));
    }
    if (may) out[count++] = all[i];
  }
  return count;
}

/* A target's injections for one call of it. */
struct choices {
  unsigned count;
  struct {
    enum failing_mode mode;
    wp_status status;
  } of[3 * STATUSES];
};

static void add_choices(struct choices *choices, enum failing_mode mode, const wp_status *statuses, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    choices->of[choices->count].mode = mode;
    choices->of[choices->count++].status = statuses[i];
  }
}

/* Once is left out for any entry: that is once for the entry whose turn it is. */
static void choose(const struct reached *of, unsigned target, struct choices *out) {
  wp_status statuses[STATUSES] = {WP_ERROR_OUT_OF_HOST_MEMORY}, first = WP_ERROR_DRIVER;
  unsigned count = 1;
  out->count = 0;
  if (target == TARGET_ANY) {
    count = statuses_of_any(of, statuses);
    add_choices(out, FAILING_ON, statuses, count);
    add_choices(out, FAILING_MIXED, &first, 1);
    return;
  }
  if (target != TARGET_MEMORY) count = statuses_of_entry((watched_entry)target, statuses);
  add_choices(out, FAILING_ONCE, statuses, count);
  add_choices(out, FAILING_ON, statuses, count);
  if (target == TARGET_MEMORY) return;
  count = odd_statuses_of_entry((watched_entry)target, statuses);
  add_choices(out, FAILING_ODD, statuses, count);
}

/* Of many calls the first ones are tried each, and then every sixteenth. */
enum { EACH = 64, STEP = 16 };
static unsigned tried_of(unsigned count) { return count <= EACH ? count : EACH + (count - EACH) / STEP; }
static unsigned nth_of(unsigned i) { return i < EACH ? i + 1 : EACH + (i + 1 - EACH) * STEP; }

static bool next_of(const struct reached *of, unsigned target, unsigned count, unsigned *i, struct injection *out) {
  struct choices choices;
  if (count == 0) return false;
  choose(of, target, &choices);
  unsigned all = tried_of(count) * choices.count;
  if (*i >= all) {
    *i -= all;
    return false;
  }
  unsigned choice = *i % choices.count;
  *out = (struct injection){.target = target, .nth = nth_of(*i / choices.count)};
  out->mode = choices.of[choice].mode;
  out->status = choices.of[choice].status;
  return true;
}

bool injection_at(const struct reached *of, unsigned i, struct injection *out) {
  for (unsigned entry = 0; entry < WATCHED_ENTRIES; entry++) {
    if (next_of(of, entry, of->of_entry[entry], &i, out)) return true;
  }
  return next_of(of, TARGET_ANY, of->in_all, &i, out) || next_of(of, TARGET_MEMORY, of->allocations, &i, out);
}

/* -- driver calls -- */

static void keep(watched_entry entry, wp_status status) {
  if (entry == WATCHED_device_set && rig_device_current() != device_before) refusals.loses_device = true;
  if (entry == WATCHED_capture_restore) refusals.loses_mode = true;
  if (entry == WATCHED_memory_free || entry == WATCHED_pool_trim) refusals.loses_memory = true;
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
  bool is_once = now.mode == FAILING_ONCE || now.mode == FAILING_ODD;
  if (is_once ? count != now.nth : count < now.nth) return WP_OK;
  wp_status status = now.mode == FAILING_MIXED && refusals.count > 0 ? WP_ERROR_NO_DEVICE : now.status;
  if (now.mode != FAILING_ODD && !may_answer(entry, status)) return WP_OK;
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
