/* SPDX-License-Identifier: Apache-2.0 */
#include "delegate.h"

#include <string.h>

#include "lanes.h"
#include "release.h"
#include "runtime.h"

bool wp__delegate_retain(wp_delegate *delegate) {
  unsigned seen = atomic_load(&delegate->references);
  do {
    if (seen == 0) return false; /* its record may serve another one any moment */
  } while (!atomic_compare_exchange_weak(&delegate->references, &seen, seen + 1));
  if (atomic_load_explicit(&delegate->state, memory_order_acquire) == WP__DELEGATE_OPEN) return true;
  wp__delegate_release(delegate);
  return false;
}

/* With the runtime's lock: the record, in no list, is kept for the next delegate. */
static void keep_record(wp_delegate *delegate) {
  wp_runtime *runtime = delegate->runtime;
  atomic_store(&delegate->state, WP__DELEGATE_GONE);
  wp__os_free(delegate->name);
  delegate->name = NULL;
  delegate->next = NULL;
  if (runtime->old_delegates == NULL) {
    runtime->old_delegates = delegate;
  } else {
    runtime->last_old_delegate->next = delegate;
  }
  runtime->last_old_delegate = delegate;
  runtime->old_delegate_count++;
}

/* With the runtime's lock. NULL: none has rested long enough. */
static wp_delegate *take_old(wp_runtime *runtime) {
  wp_delegate *delegate = runtime->old_delegates;
  if (runtime->old_delegate_count <= WP__DELEGATES_RESTING) return NULL;
  runtime->old_delegates = delegate->next;
  runtime->old_delegate_count--;
  return delegate;
}

void wp__delegate_release(wp_delegate *delegate) {
  if (atomic_fetch_sub(&delegate->references, 1) == 1) wp__delegate_settle(delegate);
}

/* With the runtime's lock. Nothing refers to the record any more, and nothing can come to: the lanes know no life that
 * it is open in. */
static bool is_over(wp_delegate *delegate) {
  wp__counts sum;
  if (atomic_load(&delegate->state) != WP__DELEGATE_CLOSED || atomic_load(&delegate->references) != 0) return false;
  wp__lanes_sum_of(delegate, &sum);
  return sum.allocs == sum.frees;
}

void wp__delegate_settle(wp_delegate *delegate) {
  wp_runtime *runtime = delegate->runtime;
  wp__mutex_lock(&runtime->lock);
  if (!is_over(delegate)) {
    wp__mutex_unlock(&runtime->lock);
    return;
  }
  if (delegate->next != NULL) delegate->next->previous = delegate->previous;
  if (delegate->previous != NULL) {
    delegate->previous->next = delegate->next;
  } else {
    runtime->delegates = delegate->next;
  }
  keep_record(delegate);
  wp__mutex_unlock(&runtime->lock);
}

void wp__delegate_free(wp_delegate *delegate) {
  wp__os_free(delegate->name);
  wp__os_free(delegate);
}

wp_status wp__delegate_check(const wp_delegate *delegate) {
  if (delegate == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "delegate is NULL");
  wp_status status = wp__runtime_check(delegate->runtime);
  if (status != WP_OK) return status;
  if (atomic_load_explicit(&delegate->state, memory_order_acquire) != WP__DELEGATE_GONE) return WP_OK;
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "the delegate is closed and its blocks are freed");
}

wp_status wp__delegate_hold(wp_delegate *delegate) {
  wp_status status = wp__delegate_check(delegate);
  if (status != WP_OK) return status;
  if (!wp__delegate_retain(delegate)) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "the delegate is closed");
  }
  if (!atomic_load_explicit(&delegate->device->lost, memory_order_acquire)) return WP_OK;
  status = wp__refuse(WP_ERROR_NO_DEVICE, delegate->device->ordinal,
                      "the device was lost: close this delegate and open another");
  wp__delegate_release(delegate);
  return status;
}

static wp_status copy_name(const char *from, char **to) {
  size_t length = from == NULL ? 0 : strlen(from);
  *to = NULL;
  if (length == 0) return WP_OK;
  *to = wp__os_calloc(length + 1, 1);
  if (*to == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, WP__NO_DEVICE, "no memory for a delegate's name");
  (void)memcpy(*to, from, length);
  return WP_OK;
}

static void reset(wp_delegate *delegate, wp_runtime *runtime, uint64_t limit_bytes, char *name) {
  delegate->runtime = runtime;
  delegate->serial = atomic_fetch_add(&runtime->delegate_serial, 1) + 1;
  delegate->name = name;
  delegate->account.limit = limit_bytes;
  delegate->limited = limit_bytes != 0 || runtime->options.limit_bytes != 0;
  atomic_store(&delegate->account.claimed, 0);
  atomic_store(&delegate->account.live, 0);
  atomic_store(&delegate->account.live_peak, 0);
  atomic_store(&delegate->account.frees, 0);
  atomic_store(&delegate->account.allocs, 0);
  atomic_store(&delegate->references, 1);
}

/* A record that is in no list. */
static wp_status take_record(wp_runtime *runtime, const wp_delegate_options *options, wp_delegate **out) {
  char *name;
  wp_status status = copy_name(options->name, &name);
  if (status != WP_OK) return status;
  wp__mutex_lock(&runtime->lock);
  wp_delegate *delegate = take_old(runtime);
  wp__mutex_unlock(&runtime->lock);
  if (delegate == NULL) delegate = wp__os_calloc(1, sizeof *delegate);
  if (delegate == NULL) {
    wp__os_free(name);
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, WP__NO_DEVICE, "no memory for a delegate");
  }
  reset(delegate, runtime, options->limit_bytes, name);
  *out = delegate;
  return WP_OK;
}

/* Lists the record of an opened delegate, or keeps that of one that could not be opened. */
static void settle_record(wp_delegate *delegate, bool opened) {
  wp_runtime *runtime = delegate->runtime;
  wp__mutex_lock(&runtime->lock);
  if (!opened) {
    keep_record(delegate);
    wp__mutex_unlock(&runtime->lock);
    return;
  }
  delegate->previous = NULL;
  delegate->next = runtime->delegates;
  if (delegate->next != NULL) delegate->next->previous = delegate;
  runtime->delegates = delegate;
  atomic_store_explicit(&delegate->state, WP__DELEGATE_OPEN, memory_order_release);
  atomic_store_explicit(&delegate->life, delegate->serial, memory_order_release);
  wp__mutex_unlock(&runtime->lock);
}

static wp_status open_delegate(wp_runtime *runtime, int device, const wp_delegate_options *options, wp_delegate **out) {
  static const wp_delegate_options defaults = WP_DELEGATE_OPTIONS_INIT;
  wp_delegate *delegate;
  int ordinal;
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (out == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "out is NULL");
  if (options == NULL) options = &defaults;
  status = wp__check_size("wp_delegate_options", options->size, sizeof *options);
  if (status == WP_OK) status = wp__device_resolve(runtime, device, &ordinal);
  if (status == WP_OK) status = take_record(runtime, options, &delegate);
  if (status != WP_OK) return status;

  wp__device *opened;
  status = wp__device_open(runtime, ordinal, &opened);
  if (status == WP_OK) atomic_store(&delegate->device, opened);
  settle_record(delegate, status == WP_OK);
  if (status != WP_OK) return status;
  wp__trace_call(runtime->trace, "open", delegate->serial, NULL, ordinal);
  *out = delegate;
  return WP_OK;
}

wp_status wp_delegate_open(wp_runtime *runtime, int device, const wp_delegate_options *options, wp_delegate **out) {
  return wp__result("wp_delegate_open", open_delegate(runtime, device, options, out));
}

/* What closing a delegate does to its device. */
static wp_status close_on_device(wp_delegate *delegate, wp_release_report *report, bool wants_report) {
  wp__device *device = delegate->device;
  wp_runtime *runtime = device->runtime;
  if (!wp__device_close(device)) {
    wp_status status = wp__lanes_vouch(delegate);
    return wants_report ? wp__both(status, wp__release_nothing(device, report)) : status;
  }
  wp_status status = wp__device_apply_threshold(device);
  status = wp__both(status, wp__release(device, runtime->options.keep_bytes, runtime->options.release_wait, report));
  if (status != WP_OK) atomic_store(&device->release_due, true);
  return status;
}

static wp_status close_delegate(wp_delegate *delegate, wp_release_report *report) {
  wp_release_report found = WP_RELEASE_REPORT_INIT;
  int open = WP__DELEGATE_OPEN;
  if (delegate == NULL) return WP_OK;
  wp_status status = wp__runtime_check(delegate->runtime);
  if (status == WP_OK && report != NULL) {
    status = wp__check_size("wp_release_report", report->size, sizeof *report);
  }
  if (status != WP_OK) return status;
  if (!atomic_compare_exchange_strong(&delegate->state, &open, WP__DELEGATE_CLOSED)) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "the delegate is closed already");
  }
  atomic_store(&delegate->life, 0); /* before the lanes are asked whether it has live blocks */
  wp__device *device = delegate->device;
  wp__trace_call(delegate->runtime->trace, "close", delegate->serial, NULL, device->ordinal);
  if (atomic_load(&device->lost)) {
    (void)wp__device_close(device);
  } else {
    status = close_on_device(delegate, &found, report != NULL);
  }
  wp__delegate_release(delegate);
  if (status <= WP_PENDING && report != NULL) *report = found;
  return status;
}

wp_status wp_delegate_close(wp_delegate *delegate, wp_release_report *report) {
  return wp__result("wp_delegate_close", close_delegate(delegate, report));
}
