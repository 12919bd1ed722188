/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include "home.h"
#include "lanes.h"
#include "runtime.h"

/* -- scopes -- */

static void restore_mode(wp__scope *scope) {
  wp_status status = WP__CALL(scope->runtime, WP__NO_DEVICE, capture_restore, scope->mode);
  if (status != WP_OK) wp__log_fault(scope->runtime, "the thread's capture mode could not be restored");
}

wp_status wp__scope_enter(wp__scope *scope, wp_runtime *runtime, int ordinal) {
  int current = WP__NO_DEVICE;
  *scope = (wp__scope){runtime, WP__NO_DEVICE, 0};
  wp_status status = WP__CALL(runtime, ordinal, device_current, &current);
  if (status == WP_OK) status = WP__CALL(runtime, ordinal, capture_relax, &scope->mode);
  if (status != WP_OK || current == ordinal) return status;
  status = WP__CALL(runtime, ordinal, device_set, ordinal);
  if (status == WP_OK) {
    scope->previous = current;
  } else {
    restore_mode(scope);
  }
  return status;
}

void wp__scope_leave(wp__scope *scope) {
  restore_mode(scope);
  if (scope->previous == WP__NO_DEVICE) return;
  wp_status status = WP__CALL(scope->runtime, scope->previous, device_set, scope->previous);
  if (status != WP_OK) wp__log_fault(scope->runtime, "the thread's current device could not be restored");
}

/* -- which devices there are -- */

static wp_status find_bays(wp_runtime *runtime, wp__slots **out) {
  int count = 0;
  *out = atomic_load_explicit(&runtime->slots, memory_order_acquire);
  if (*out != NULL) return WP_OK;
  wp_status status = WP__CALL(runtime, WP__NO_DEVICE, device_count, &count);
  if (status != WP_OK) return status;
  if (count < 1) return wp__refuse(WP_ERROR_NO_DEVICE, WP__NO_DEVICE, "the driver knows no device");
  wp__slots *made = wp__os_calloc(1, sizeof *made + (size_t)count * sizeof made->slots[0]);
  if (made == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, WP__NO_DEVICE, "no memory for %d devices", count);
  made->count = count;
  if (atomic_compare_exchange_strong(&runtime->slots, out, made)) {
    *out = made;
  } else {
    wp__os_free(made); /* another thread was faster */
  }
  return WP_OK;
}

static wp_status name_device(wp_runtime *runtime, int device, int *ordinal) {
  if (device < WP_DEVICE_CURRENT) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "%d is neither an ordinal nor WP_DEVICE_CURRENT",
                      device);
  }
  *ordinal = device;
  return device != WP_DEVICE_CURRENT ? WP_OK : WP__CALL(runtime, WP__NO_DEVICE, device_current, ordinal);
}

static wp_status check_ordinal(const wp__slots *slots, int ordinal) {
  if (ordinal >= 0 && ordinal < slots->count) return WP_OK;
  return wp__refuse(WP_ERROR_NO_DEVICE, ordinal, "there is no device %d: the driver knows %d", ordinal, slots->count);
}

wp_status wp__device_resolve(wp_runtime *runtime, int device, int *ordinal) {
  wp__slots *slots;
  wp_status status = name_device(runtime, device, ordinal);
  if (status == WP_OK) status = find_bays(runtime, &slots);
  return status == WP_OK ? check_ordinal(slots, *ordinal) : status;
}

wp_status wp__device_lookup(wp_runtime *runtime, int device, wp__device **out) {
  int ordinal;
  wp_status status = name_device(runtime, device, &ordinal);
  wp__slots *slots = atomic_load_explicit(&runtime->slots, memory_order_acquire);
  if (status != WP_OK) return status;
  if (slots != NULL && (status = check_ordinal(slots, ordinal)) != WP_OK) return status;
  *out = slots == NULL ? NULL : atomic_load_explicit(&slots->slots[ordinal].device, memory_order_acquire);
  return WP_OK;
}

int wp__device_limit(wp_runtime *runtime) {
  wp__slots *slots = atomic_load_explicit(&runtime->slots, memory_order_acquire);
  return slots == NULL ? 0 : slots->count;
}

wp__device *wp__device_at(wp_runtime *runtime, int i) {
  wp__slots *slots = atomic_load_explicit(&runtime->slots, memory_order_acquire);
  return atomic_load_explicit(&slots->slots[i].device, memory_order_acquire);
}

void wp__devices_free(wp_runtime *runtime) { wp__os_free(atomic_load(&runtime->slots)); }

/* -- making and ending one -- */

static wp_status create_in_driver(wp__device *device) {
  wp_runtime *runtime = device->runtime;
  int ordinal = device->ordinal;
  wp_status status = WP__CALL(runtime, ordinal, device_capabilities, ordinal, &device->capabilities);
  if (status != WP_OK) return status;
  if ((device->capabilities & WP_CAP_POOLS) == 0) {
    return wp__refuse(WP_ERROR_NOT_SUPPORTED, ordinal, "device %d has no memory pools", ordinal);
  }
  if (!device->lanes && (device->capabilities & WP_CAP_KEEPS_FREED) == 0) {
    return wp__refuse(WP_ERROR_NOT_SUPPORTED, ordinal, "the pools of device %d cannot keep freed memory", ordinal);
  }
  status = WP__CALL(runtime, ordinal, stream_create, &device->home);
  if (status != WP_OK) return status;
  status = WP__CALL(runtime, ordinal, pool_create, &device->pool);
  if (status != WP_OK) (void)WP__VENDOR(runtime, stream_destroy, device->home);
  return status;
}

static wp_status create_device(wp_runtime *runtime, int ordinal, wp__device **out) {
  wp__scope scope;
  wp__device *device = wp__os_calloc(1, sizeof *device);
  if (device == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, ordinal, "no memory for a device");
  device->runtime = runtime;
  device->ordinal = ordinal;
  device->checked = runtime->options.stream_contract == WP_STREAMS_CHECKED;
  device->lanes = runtime->lanes;
  device->warm = runtime->warm;
  device->bounded = device->lanes && runtime->options.release_threshold != UINT64_MAX;
  device->account.limit = runtime->options.limit_bytes;
  wp__mutex_init(&device->lock);
  wp_status status = wp__scope_enter(&scope, runtime, ordinal);
  if (status == WP_OK) {
    status = create_in_driver(device);
    wp__scope_leave(&scope);
  }
  if (status == WP_OK) {
    *out = device;
  } else {
    wp__device_free(device);
  }
  return status;
}

void wp__device_free(wp__device *device) {
  wp__streams_destroy(&device->streams);
  wp__mutex_destroy(&device->lock);
  wp__os_free(device);
}

static wp_status destroy_event(wp__device *device, wp_event event) {
  return event == NULL ? WP_OK : WP__CALL(device->runtime, device->ordinal, event_destroy, event);
}

static wp_status destroy_events(wp__device *device) {
  wp_status status = WP_OK;
  for (wp__stream *stream = NULL; (stream = wp__stream_next(device, stream)) != NULL;) {
    status = wp__both(status, destroy_event(device, stream->event));
    status = wp__both(status, destroy_event(device, atomic_load(&stream->spare)));
  }
  while (device->events_cached > 0) {
    status = wp__both(status, destroy_event(device, device->events[--device->events_cached]));
  }
  return status;
}

wp_status wp__device_destroy(wp__device *device) {
  wp_runtime *runtime = device->runtime;
  int ordinal = device->ordinal;
  wp__scope scope;
  /* First: what follows may log, and who is told may ask for statistics. */
  atomic_store(&atomic_load(&runtime->slots)->slots[ordinal].device, NULL);
  uint64_t held = wp__counter_get(&device->held_bytes);
  wp_status status = wp__scope_enter(&scope, runtime, ordinal);
  if (status == WP_OK) {
    status = wp__home_abandon(device);
    status = wp__both(status, wp__lanes_abandon(device));
    status = wp__both(status, destroy_events(device));
    held = wp__counter_get(&device->held_bytes);
    if (!device->lanes || held == 0) status = wp__both(status, WP__CALL(runtime, ordinal, pool_destroy, device->pool));
    status = wp__both(status, WP__CALL(runtime, ordinal, stream_destroy, device->home));
    wp__scope_leave(&scope);
  }
  if (held != 0) {
    wp__log(runtime, "warmpool: %llu bytes are left to the driver: it is not known when the work on them finishes",
            (unsigned long long)held);
  }
  atomic_store(&device->lost, true); /* to us: what is left is forgotten without the driver */
  wp__home_forget(device);
  wp__device_free(device);
  return status;
}

/* -- opening and closing: the count decides what the pool may keep -- */

wp_status wp__device_open(wp_runtime *runtime, int ordinal, wp__device **out) {
  wp__slot *slot = &atomic_load_explicit(&runtime->slots, memory_order_acquire)->slots[ordinal];
  wp_status status = WP_OK;
  wp__mutex_lock(&runtime->lock);
  while (slot->creating) wp__cond_wait(&runtime->changed, &runtime->lock);
  wp__device *device = atomic_load(&slot->device);
  if (device == NULL && slot->without_pools) {
    status = wp__refuse(WP_ERROR_NOT_SUPPORTED, ordinal, "device %d has no memory pools that can be used", ordinal);
  } else if (device == NULL) {
    slot->creating = true;
    wp__mutex_unlock(&runtime->lock);
    status = create_device(runtime, ordinal, &device);
    wp__mutex_lock(&runtime->lock);
    slot->creating = false;
    slot->without_pools = status == WP_ERROR_NOT_SUPPORTED;
    if (status == WP_OK) atomic_store_explicit(&slot->device, device, memory_order_release);
    wp__cond_broadcast(&runtime->changed);
  }
  if (status == WP_OK) (void)atomic_fetch_add(&device->open_delegates, 1);
  wp__mutex_unlock(&runtime->lock);
  if (status != WP_OK) return status;

  status = wp__device_apply_threshold(device);
  if (status == WP_OK) {
    *out = device;
  } else if (wp__device_close(device)) {
    atomic_store(&device->release_due, true); /* a free may have counted on the delegate meanwhile */
  }
  return status;
}

bool wp__device_close(wp__device *device) {
  wp__mutex_lock(&device->runtime->lock);
  bool last = atomic_fetch_sub(&device->open_delegates, 1) == 1;
  wp__mutex_unlock(&device->runtime->lock);
  return last;
}

wp_status wp__device_apply_threshold(wp__device *device) {
  wp_runtime *runtime = device->runtime;
  wp__scope scope;
  wp_status status = WP_OK;
  bool entered = false;
  wp__mutex_lock(&device->lock);
  while (!device->threshold_changing && status == WP_OK) {
    bool open = atomic_load(&device->open_delegates) != 0;
    uint64_t wanted = open ? runtime->options.release_threshold : runtime->options.keep_bytes;
    if (device->lanes) wanted = 0; /* what is idle stays in the lanes */
    if (device->threshold_known && device->threshold == wanted) break;
    device->threshold_changing = true;
    wp__mutex_unlock(&device->lock);
    if (!entered) status = wp__scope_enter(&scope, runtime, device->ordinal);
    entered = entered || status == WP_OK;
    if (entered) status = WP__CALL(runtime, device->ordinal, pool_set_threshold, device->pool, wanted);
    wp__mutex_lock(&device->lock);
    device->threshold_changing = false;
    device->threshold_known = status == WP_OK;
    device->threshold = wanted;
  }
  wp__mutex_unlock(&device->lock);
  if (entered) wp__scope_leave(&scope);
  return status;
}

static wp_status tell_threshold_again(wp__device *device) {
  wp__mutex_lock(&device->lock);
  if (!device->threshold_changing) device->threshold_known = false;
  wp__mutex_unlock(&device->lock);
  return wp__device_apply_threshold(device);
}

void wp__device_settle_threshold(wp__device *device) {
  if (atomic_load_explicit(&device->threshold_settled, memory_order_relaxed)) return;
  if (tell_threshold_again(device) == WP_OK) {
    atomic_store_explicit(&device->threshold_settled, true, memory_order_relaxed);
  } else {
    wp__log_fault(device->runtime, "the release threshold may not hold yet");
  }
}

void wp__device_hold(wp__device *device, uint64_t bytes) {
  wp__counter_raise(&device->reserved_peak, wp__counter_add(&device->held_bytes, bytes));
}

/* -- events -- */

wp_status wp__event_get(wp__device *device, wp_event *out) {
  bool cached = false;
  wp__mutex_lock(&device->lock);
  if (device->events_cached > 0) {
    *out = device->events[--device->events_cached];
    cached = true;
  }
  wp__mutex_unlock(&device->lock);
  return cached ? WP_OK : WP__CALL(device->runtime, device->ordinal, event_create, out);
}

void wp__event_put(wp__device *device, wp_event event) {
  bool cached = false;
  wp__mutex_lock(&device->lock);
  if (device->events_cached < WP__EVENTS_CACHED) {
    device->events[device->events_cached++] = event;
    cached = true;
  }
  wp__mutex_unlock(&device->lock);
  if (cached) return;
  wp__scope scope; /* the warm path has none, and seldom comes here */
  wp_status status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status == WP_OK) {
    status = WP__CALL(device->runtime, device->ordinal, event_destroy, event);
    wp__scope_leave(&scope);
  }
  if (status != WP_OK) wp__log_fault(device->runtime, "an event could not be destroyed");
}
