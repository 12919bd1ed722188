/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>

#include "delegate.h"
#include "home.h"
#include "release.h"

wp_status wp__runtime_check(const wp_runtime *runtime) {
  if (runtime == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "runtime is NULL");
  if (wp__runtime_is_ours(runtime)) return WP_OK;
  return wp__refuse(WP_ERROR_FORKED, WP__NO_DEVICE, "this process was forked from the one that made the runtime");
}

/* What the callback's own calls meet is not told: that may be the same trouble, again and again. */
void wp__log(const wp_runtime *runtime, const char *format, ...) {
  static _Thread_local bool is_telling;
  char line[320];
  va_list arguments;
  if (runtime->options.log == NULL || is_telling) return;
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  is_telling = true;
  runtime->options.log(runtime->options.user, line);
  is_telling = false;
}

void wp__log_fault(const wp_runtime *runtime, const char *what) {
  wp__log(runtime, "warmpool: %s: %s", what, wp__fault_absorb());
}

/* -- create, destroy -- */

static void free_runtime(wp_runtime *runtime) {
  wp__trace_destroy(runtime->trace); /* first: it may log, and who is told may ask for statistics */
  while (runtime->lost != NULL) {
    wp__device *device = runtime->lost;
    runtime->lost = device->next_lost;
    wp__device_free(device);
  }
  while (runtime->old_delegates != NULL) {
    wp_delegate *delegate = runtime->old_delegates;
    runtime->old_delegates = delegate->next;
    wp__delegate_free(delegate);
  }
  wp__devices_free(runtime);
  wp__blocks_destroy(&runtime->blocks);
  wp__cond_destroy(&runtime->changed);
  wp__mutex_destroy(&runtime->lock);
  wp__os_free(runtime);
}

static wp_status create(const wp_runtime_options *options, wp_runtime **out) {
  static const wp_runtime_options defaults = WP_RUNTIME_OPTIONS_INIT;
  if (out == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "out is NULL");
  if (options == NULL) options = &defaults;
  wp_status status = wp__options_check(options);
  if (status != WP_OK) return status;
  wp_runtime *runtime = wp__os_calloc(1, sizeof *runtime);
  if (runtime == NULL) return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, WP__NO_DEVICE, "no memory for a runtime");
  runtime->options = *options;
  runtime->lanes = options->caching == WP_CACHING_LANES;
  runtime->backend = options->backend != NULL ? options->backend : wp_backend_builtin();
  wp__forks_watch();
  runtime->fork_generation = wp__fork_generation();
  wp__mutex_init(&runtime->lock);
  wp__cond_init(&runtime->changed);
  if (!wp__blocks_init(&runtime->blocks)) {
    free_runtime(runtime);
    return wp__refuse(WP_ERROR_OUT_OF_HOST_MEMORY, WP__NO_DEVICE, "no memory for the block registry");
  }
  if (options->trace_path != NULL) status = wp__trace_create(runtime, options->trace_path, &runtime->trace);
  if (status != WP_OK) {
    free_runtime(runtime);
    return status;
  }
  runtime->options.trace_path = runtime->trace == NULL ? NULL : wp__trace_path(runtime->trace);
  runtime->warm = runtime->lanes && runtime->trace == NULL;
  *out = runtime;
  return WP_OK;
}

wp_status wp_runtime_create(const wp_runtime_options *options, wp_runtime **out) {
  return wp__result("wp_runtime_create", create(options, out));
}

static wp_status check_idle(wp_runtime *runtime) {
  unsigned open = 0, closed = 0;
  wp__mutex_lock(&runtime->lock);
  for (wp_delegate *delegate = runtime->delegates; delegate != NULL; delegate = delegate->next) {
    if (atomic_load(&delegate->state) == WP__DELEGATE_OPEN) {
      open++;
    } else {
      closed++; /* and still listed: it has live blocks */
    }
  }
  wp__mutex_unlock(&runtime->lock);
  unsigned graphs = atomic_load(&runtime->graphs);
  if (graphs != 0) {
    return wp__refuse(WP_ERROR_BUSY, WP__NO_DEVICE, "of %u graphs the capture is open, or the memory not released",
                      graphs);
  }
  if (open == 0 && closed == 0) return WP_OK;
  return wp__refuse(WP_ERROR_BUSY, WP__NO_DEVICE, "%u delegates are open, and %u are closed but have live blocks", open,
                    closed);
}

static wp_status destroy(wp_runtime *runtime) {
  if (runtime == NULL) return WP_OK;
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  if (runtime->is_default) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "the default runtime lives as long as the process");
  }
  status = check_idle(runtime);
  if (status != WP_OK) return status;

  for (int i = 0; i < wp__device_limit(runtime); i++) {
    wp_release_report report = WP_RELEASE_REPORT_INIT;
    wp__device *device = wp__device_at(runtime, i);
    if (device == NULL) continue;
    status = wp__both(status, wp__release(device, 0, runtime->options.release_wait, &report));
    status = wp__both(status, wp__device_destroy(device));
  }
  free_runtime(runtime);
  return status;
}

wp_status wp_runtime_destroy(wp_runtime *runtime) { return wp__result("wp_runtime_destroy", destroy(runtime)); }

/* -- the default runtime -- */

/* Made under a lock: a second one could not have the same trace file. */
static wp_status make_default(_Atomic(wp_runtime *) *the_default) {
  static wp__mutex lock = WP__MUTEX_INIT;
  wp_runtime_options options;
  wp_runtime *runtime = NULL;
  wp_status status = wp__options_from_environment(&options);
  if (status != WP_OK) return status;
  wp__mutex_lock(&lock);
  if (atomic_load(the_default) == NULL) {
    status = create(&options, &runtime);
    if (status == WP_OK) runtime->is_default = true;
    if (status == WP_OK) atomic_store_explicit(the_default, runtime, memory_order_release);
  }
  wp__mutex_unlock(&lock);
  return status;
}

static wp_status find_default(wp_runtime **out) {
  static _Atomic(wp_runtime *) the_default;
  if (out == NULL) return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "out is NULL");
  wp_runtime *runtime = atomic_load_explicit(&the_default, memory_order_acquire);
  if (runtime == NULL) {
    wp_status status = make_default(&the_default);
    if (status != WP_OK) return status;
    runtime = atomic_load(&the_default);
  }
  wp_status status = wp__runtime_check(runtime);
  if (status == WP_OK) *out = runtime;
  return status;
}

wp_status wp_runtime_default(wp_runtime **out) { return wp__result("wp_runtime_default", find_default(out)); }

/* -- trim, tick -- */

static wp_status trim_device(wp__device *device, uint64_t keep_bytes, wp_wait wait, wp_release_report *report) {
  wp_status status = wp__release(device, keep_bytes, wait, report);
  if (status <= WP_PENDING) wp__trace_call(device->runtime->trace, "trim", keep_bytes, NULL, device->ordinal);
  return status;
}

static wp_status trim_all(wp_runtime *runtime, uint64_t keep_bytes, wp_wait wait, wp_release_report *report) {
  wp_status status = WP_OK;
  for (int i = 0; i < wp__device_limit(runtime); i++) {
    wp__device *device = wp__device_at(runtime, i);
    if (device != NULL) status = wp__both(status, trim_device(device, keep_bytes, wait, report));
  }
  return status;
}

static wp_status trim(wp_runtime *runtime, int device, uint64_t keep_bytes, wp_wait wait, wp_release_report *report) {
  wp_release_report found = WP_RELEASE_REPORT_INIT;
  wp__device *one = NULL;
  wp_status status = wp__runtime_check(runtime);
  if (status == WP_OK && report != NULL) {
    status = wp__check_size("wp_release_report", report->size, sizeof *report);
  }
  if (status != WP_OK) return status;
  if (wait != WP_WAIT && wait != WP_NO_WAIT) {
    return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "wp_wait has no value %d", (int)wait);
  }
  if (device == WP_DEVICE_ALL) {
    status = trim_all(runtime, keep_bytes, wait, &found);
  } else {
    status = wp__device_lookup(runtime, device, &one);
    if (status == WP_OK && one != NULL) status = trim_device(one, keep_bytes, wait, &found);
  }
  if (status <= WP_PENDING && report != NULL) *report = found;
  return status;
}

wp_status wp_trim(wp_runtime *runtime, int device, uint64_t keep_bytes, wp_wait wait, wp_release_report *report) {
  return wp__result("wp_trim", trim(runtime, device, keep_bytes, wait, report));
}

static wp_status tick_device(wp__device *device) {
  wp__scope scope;
  uint64_t waited_ns = 0;
  wp_status status = WP_OK;
  if (atomic_load(&device->parked_count) != 0) {
    status = wp__scope_enter(&scope, device->runtime, device->ordinal);
    if (status != WP_OK) return status;
    status = wp__home_collect(device, WP_NO_WAIT, &waited_ns);
    wp__scope_leave(&scope);
  }
  return wp__both(status, wp__release_due(device));
}

static wp_status tick(wp_runtime *runtime) {
  wp_status status = wp__runtime_check(runtime);
  if (status != WP_OK) return status;
  for (int i = 0; i < wp__device_limit(runtime); i++) {
    wp__device *device = wp__device_at(runtime, i);
    if (device != NULL) status = wp__both(status, tick_device(device));
  }
  return status;
}

wp_status wp_tick(wp_runtime *runtime) { return wp__result("wp_tick", tick(runtime)); }

/* -- retire -- */

static wp_status retire_on(wp__device *device, wp_stream handle) {
  wp__stream *stream = NULL;
  wp_status status = wp__stream_find_known(device, handle, &stream);
  if (status != WP_OK || stream == NULL) return status;
  if (wp__counter_get(&stream->freed) != wp__counter_get(&stream->recorded)) {
    status = wp__stream_record(device, stream, true);
    if (status != WP_OK) return status;
  }
  atomic_store(&stream->retired, true);
  /* A release on another thread may be recording on it at this moment; the caller is about to destroy it. */
  while (atomic_load(&stream->recorders) != 0) wp__yield();
  return WP_OK;
}

static wp_status retire(wp_runtime *runtime, int ordinal, wp_stream stream) {
  wp__scope scope;
  wp__device *device = NULL;
  wp_status status = wp__runtime_check(runtime);
  if (status == WP_OK) status = wp__device_lookup(runtime, ordinal, &device);
  if (status != WP_OK || device == NULL) return status;
  status = wp__scope_enter(&scope, runtime, device->ordinal);
  if (status != WP_OK) return status;
  status = retire_on(device, stream);
  if (status == WP_OK) wp__trace_call(runtime->trace, "retire", 0, stream, device->ordinal);
  wp__scope_leave(&scope);
  if (status == WP_OK) wp__release_if_due(device);
  return status;
}

wp_status wp_stream_retire(wp_runtime *runtime, int device, wp_stream stream) {
  return wp__result("wp_stream_retire", retire(runtime, device, stream));
}
