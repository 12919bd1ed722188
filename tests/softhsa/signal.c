/* SPDX-License-Identifier: Apache-2.0 */
/* Signals, waiting for them, and the thread that calls handlers. A signal's handle points to an amd_signal_t. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "soft.h"

static amd_signal_t *signal_of(hsa_signal_t handle) { return (amd_signal_t *)handle.handle; }

int64_t soft_signal_value(hsa_signal_t signal) { return __atomic_load_n(&signal_of(signal)->value, __ATOMIC_SEQ_CST); }

bool soft_compare(int64_t value, hsa_signal_condition_t condition, int64_t with) {
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ: return value == with;
  case HSA_SIGNAL_CONDITION_NE: return value != with;
  case HSA_SIGNAL_CONDITION_LT: return value < with;
  case HSA_SIGNAL_CONDITION_GTE: return value >= with;
  default: return true;
  }
}

static bool has_arrived(hsa_signal_t signal) { return soft_signal_value(signal) <= 0; }

bool soft_all_arrived(const hsa_signal_t *signals, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (signals[i].handle != 0 && !has_arrived(signals[i])) return false;
  }
  return true;
}

/* Of no signal at all, none has to arrive. */
bool soft_any_arrived(const hsa_signal_t *signals, size_t count) {
  bool is_empty = true;
  for (size_t i = 0; i < count; ++i) {
    if (signals[i].handle == 0) continue;
    if (has_arrived(signals[i])) return true;
    is_empty = false;
  }
  return is_empty;
}

/* -- making and changing -- */

hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t consumer_count, const hsa_agent_t *consumers,
                               hsa_signal_t *out) {
  (void)consumer_count;
  (void)consumers;
  amd_signal_t *signal = aligned_alloc(AMD_SIGNAL_ALIGN_BYTES, sizeof *signal);
  if (signal == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  memset(signal, 0, sizeof *signal);
  signal->kind = AMD_SIGNAL_KIND_USER;
  signal->value = value;
  out->handle = (uint64_t)signal;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t value, uint32_t consumer_count, const hsa_agent_t *consumers,
                                   uint64_t attributes, hsa_signal_t *out) {
  (void)attributes;
  return hsa_signal_create(value, consumer_count, consumers, out);
}

hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
  free(signal_of(signal));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t **out) {
  *out = &signal_of(signal)->value;
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal) { return soft_signal_value(signal); }
hsa_signal_value_t hsa_signal_load_scacquire(hsa_signal_t signal) { return soft_signal_value(signal); }

static void store(hsa_signal_t signal, int64_t value) {
  soft_doorbell_rung(signal, value);
  __atomic_store_n(&signal_of(signal)->value, value, __ATOMIC_SEQ_CST);
  soft_tell();
}

/* The signal may be gone as soon as its value has changed, so nothing touches it after that. */
static void add(hsa_signal_t signal, int64_t value) {
  (void)__atomic_add_fetch(&signal_of(signal)->value, value, __ATOMIC_SEQ_CST);
  soft_tell();
}

void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { store(signal, value); }
void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) { store(signal, value); }
void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { store(signal, value); }
void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { add(signal, value); }
void hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { add(signal, -value); }

void soft_complete(hsa_signal_t signal, uint64_t start) {
  if (signal.handle == 0) return;
  signal_of(signal)->start_ts = start;
  signal_of(signal)->end_ts = soft_now();
  add(signal, -1);
}

/* -- waiting -- */

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                             hsa_signal_value_t with, uint64_t timeout, hsa_wait_state_t hint) {
  (void)hint;
  uint64_t now = soft_now();
  uint64_t end = timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
  int64_t value;
  soft_lock();
  while (value = soft_signal_value(signal), !soft_compare(value, condition, with) && (now = soft_now()) < end) {
    soft_await_until_locked(end - now < SOFT_POLL_NS ? end : now + SOFT_POLL_NS);
  }
  soft_unlock();
  return value;
}

hsa_signal_value_t hsa_signal_wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                           hsa_signal_value_t with, uint64_t timeout, hsa_wait_state_t hint) {
  return hsa_signal_wait_scacquire(signal, condition, with, timeout, hint);
}

/* -- times -- */

hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                 hsa_amd_profiling_dispatch_time_t *out) {
  (void)agent;
  *out = (hsa_amd_profiling_dispatch_time_t){.start = signal_of(signal)->start_ts, .end = signal_of(signal)->end_ts};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *out) {
  *out = (hsa_amd_profiling_async_copy_time_t){.start = signal_of(signal)->start_ts, .end = signal_of(signal)->end_ts};
  return HSA_STATUS_SUCCESS;
}

/* -- handlers: each is called once its signal has come to what it waits for, until it answers false -- */

struct handler {
  struct handler *next;
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  int64_t with;
  hsa_amd_signal_handler function;
  void *argument;
};

static struct handler *handlers;
static pthread_t handler_thread;
static bool handlers_end;

static void append_locked(struct handler *handler) {
  struct handler **end = &handlers;
  while (*end != NULL) end = &(*end)->next;
  handler->next = NULL;
  *end = handler;
  soft_tell_locked();
}

/* Takes the first handler whose signal has come so far out of the list. */
static struct handler *take_due_locked(int64_t *value) {
  for (struct handler **at = &handlers; *at != NULL; at = &(*at)->next) {
    struct handler *handler = *at;
    *value = soft_signal_value(handler->signal);
    if (!soft_compare(*value, handler->condition, handler->with)) continue;
    *at = handler->next;
    return handler;
  }
  return NULL;
}

hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                          hsa_signal_value_t with, hsa_amd_signal_handler function, void *argument) {
  struct handler *handler = malloc(sizeof *handler);
  if (handler == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *handler = (struct handler){
      .signal = signal, .condition = condition, .with = with, .function = function, .argument = argument};
  soft_lock();
  append_locked(handler);
  soft_unlock();
  return HSA_STATUS_SUCCESS;
}

static void *call_handlers(void *unused) {
  (void)unused;
  soft_lock();
  while (!handlers_end) {
    int64_t value;
    struct handler *handler = take_due_locked(&value);
    if (handler == NULL) {
      soft_await_locked();
      continue;
    }
    soft_unlock();
    bool again = handler->function(value, handler->argument);
    soft_lock();
    if (again) {
      append_locked(handler);
    } else {
      free(handler);
    }
  }
  soft_unlock();
  return NULL;
}

bool soft_handlers_start(void) {
  handlers_end = false;
  return pthread_create(&handler_thread, NULL, call_handlers, NULL) == 0;
}

void soft_handlers_stop(void) {
  soft_lock();
  handlers_end = true;
  soft_tell_locked();
  soft_unlock();
  (void)pthread_join(handler_thread, NULL);
  while (handlers != NULL) {
    struct handler *handler = handlers;
    handlers = handler->next;
    free(handler);
  }
}
