/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and wp_prime: arguments, limits, and which way a request goes. */
#include "alloc.h"

#include "direct.h"
#include "home.h"
#include "refill.h"
#include "release.h"
#include "runtime.h"
#include "stats.h"

static wp_status claim_limits(wp_delegate *delegate, size_t bytes) {
  wp__device *device = delegate->device;
  if (wp__limits_claim(delegate, device, bytes)) return WP_OK;
  bool own =
      delegate->account.limit != 0 && wp__counter_get(&delegate->account.claimed) + bytes > delegate->account.limit;
  return wp__refuse(WP_ERROR_LIMIT, device->ordinal, "%zu bytes more would pass the %s limit of %llu", bytes,
                    own ? "delegate's" : "runtime's",
                    (unsigned long long)(own ? delegate->account.limit : device->account.limit));
}

/* What wp_last_error tells about an exhaustion, as far as the driver answers now; a limit needs no driver. */
static void add_figures(wp__device *device, wp_status status, size_t requested) {
  wp_runtime *runtime = device->runtime;
  wp__scope scope;
  wp_pool_usage usage = {0, 0};
  wp__figures figures = {.requested = requested, .live = wp__device_live(device)};
  if (status != WP_ERROR_OUT_OF_MEMORY && status != WP_ERROR_LIMIT) return;
  if (status == WP_ERROR_OUT_OF_MEMORY) {
    wp__fault_keep();
    if (wp__scope_enter(&scope, runtime, device->ordinal) == WP_OK) {
      (void)WP__VENDOR(runtime, pool_usage, device->pool, &usage);
      (void)WP__VENDOR(runtime, device_memory, &figures.device_free, &figures.device_total);
      wp__scope_leave(&scope);
    }
    wp__fault_restore();
  }
  uint64_t busy = device->lanes ? figures.live : usage.used;
  figures.reserved = usage.reserved;
  figures.cached = usage.reserved > busy ? usage.reserved - busy : 0;
  wp__fault_figures(&figures);
}

/* Blocks of the driver's are handed out in steps of this many bytes. */
#define GRANULE ((size_t)512)
static size_t round_up(size_t bytes) { return (bytes + (GRANULE - 1)) & ~(GRANULE - 1); }

static wp_status round_request(const wp_delegate *delegate, size_t bytes, bool in_lane, size_t *rounded) {
  const wp__device *device = delegate->device;
  if (bytes <= WP__CLASS_LARGEST) {
    *rounded = in_lane ? wp__class_bytes(wp__class_above(bytes)) : round_up(bytes);
    return WP_OK;
  }
  return wp__refuse(WP_ERROR_OUT_OF_MEMORY, device->ordinal, "no device has %zu bytes", bytes);
}

/* With the limits claimed and the device current. `captured`: what wp__stream_captured says of the handle. */
static wp_status alloc_claimed(wp_delegate *delegate, size_t bytes, wp_stream handle, const wp__stream *captured,
                               void **out) {
  wp__device *device = delegate->device;
  wp__stream *stream;
  wp_capture_state state;
  if (captured != NULL) return wp__lane_alloc(delegate, captured->bay, bytes, out);
  wp_status status = wp__stream_look(device, handle, true, &stream, &state);
  if (status != WP_OK) return status;
  if (state == WP_CAPTURE_IMPLICIT) return wp__stream_refuse(device, state, "the legacy stream cannot be used");
  if (!device->lanes) return wp__direct_alloc(delegate, stream, stream == NULL ? handle : stream->handle, bytes, out);
  if (state != WP_CAPTURE_NONE) return wp__stream_refuse(device, state, "a lane cannot serve an allocation");
  return wp__lane_alloc(delegate, stream, bytes, out);
}

static wp_status alloc_rounded(wp_delegate *delegate, size_t bytes, wp_stream stream, const wp__stream *captured,
                               void **out) {
  wp__scope scope;
  wp__device *device = delegate->device;
  wp_status status = claim_limits(delegate, bytes);
  if (status != WP_OK) return status;
  status = wp__scope_enter(&scope, device->runtime, device->ordinal);
  if (status == WP_OK) {
    wp__home_poll(device);
    status = alloc_claimed(delegate, bytes, stream, captured, out);
    wp__scope_leave(&scope);
    /* Meanwhile: what the lane got for this is idle. */
    if (device->lanes || captured != NULL) wp__release_if_closed(device);
  }
  if (status != WP_OK) {
    wp__limits_unclaim(delegate, device, bytes);
  }
  return status;
}

static wp_status alloc_some(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out) {
  wp__device *device = delegate->device;
  wp_runtime *runtime = device->runtime;
  size_t rounded = 0;
  const wp__stream *captured = wp__stream_captured(device, stream);
  wp_status status = round_request(delegate, bytes, device->lanes || captured != NULL, &rounded);
  if (status == WP_OK) status = alloc_rounded(delegate, rounded, stream, captured, out);
  if (status == WP_OK) {
    if (runtime->trace == NULL) return WP_OK;
    wp__trace_alloc(runtime->trace, wp__map_get(&runtime->blocks.map, *out), bytes, stream, device->ordinal);
  } else {
    add_figures(device, status, bytes);
    wp__trace_call(runtime->trace, "allocate failure", bytes, stream, device->ordinal);
  }
  return status;
}

wp_status wp__alloc(wp_delegate *delegate, size_t bytes, wp_stream stream, void **out) {
  wp_status status = wp__delegate_hold(delegate);
  if (status != WP_OK) return status;
  if (out == NULL) {
    status = wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "out is NULL");
  } else if (bytes == 0) {
    *out = NULL;
  } else {
    status = alloc_some(delegate, bytes, stream, out);
  }
  wp__delegate_release(delegate);
  return status;
}

/* -- wp_prime -- */

static wp_status prime_stream(wp__device *device, size_t bytes, wp_stream handle) {
  wp__stream *stream;
  wp_status status = wp__stream_find(device, handle, "memory cannot be primed", &stream);
  if (status != WP_OK) return status;
  return device->lanes ? wp__lane_prime(device, stream, bytes) : wp__direct_prime(device, stream, bytes);
}

static wp_status prime_rounded(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  wp__scope scope;
  wp_status status = wp__scope_enter(&scope, delegate->runtime, delegate->device->ordinal);
  if (status != WP_OK) return status;
  status = prime_stream(delegate->device, bytes, stream);
  wp__scope_leave(&scope);
  if (delegate->runtime->lanes) wp__release_if_closed(delegate->device);
  return status;
}

static wp_status prime(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  size_t rounded = 0;
  wp_status status = wp__delegate_hold(delegate);
  if (status != WP_OK) return status;
  if (bytes != 0) {
    status = round_request(delegate, bytes, delegate->device->lanes, &rounded);
    if (status == WP_OK) status = prime_rounded(delegate, rounded, stream);
    add_figures(delegate->device, status, bytes);
    if (status == WP_OK) {
      wp__trace_call(delegate->runtime->trace, "prime", bytes, stream, delegate->device->ordinal);
    }
  }
  wp__delegate_release(delegate);
  return status;
}

wp_status wp_prime(wp_delegate *delegate, size_t bytes, wp_stream stream) {
  return wp__result("wp_prime", prime(delegate, bytes, stream));
}
