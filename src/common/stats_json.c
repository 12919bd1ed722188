/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "delegate.h"
#include "runtime.h"
#include "stats.h"
#include "warmpool/version.h"

/* Text that may not fit: counted in full, written as far as it goes. */
struct text {
  char *buffer;
  size_t capacity;
  size_t length;
};

static void put(struct text *text, const char *format, ...) WP__PRINTF(2, 3);
static void put(struct text *text, const char *format, ...) {
  va_list arguments;
  size_t room = text->length < text->capacity ? text->capacity - text->length : 0;
  va_start(arguments, format);
  int written = vsnprintf(room > 0 ? text->buffer + text->length : NULL, room, format, arguments);
  va_end(arguments);
  if (written > 0) text->length += (size_t)written;
}

static void put_string(struct text *text, const char *string) {
  put(text, "\"");
  for (; *string != '\0'; string++) {
    unsigned char c = (unsigned char)*string;
    if (c == '"' || c == '\\') {
      put(text, "\\%c", c);
    } else if (c < 0x20) {
      put(text, "\\u%04x", (unsigned)c);
    } else {
      put(text, "%c", c);
    }
  }
  put(text, "\"");
}

static void put_stats(struct text *text, const wp_stats *stats) {
#define PUT_MEMBER(name) put(text, ",\"" #name "\":%" PRIu64, stats->name);
  WP_STATS_LIST(PUT_MEMBER)
#undef PUT_MEMBER
}

static void put_devices(struct text *text, wp_runtime *runtime) {
  const char *comma = "";
  for (int i = 0; i < wp__device_limit(runtime); i++) {
    wp__device *device = wp__device_at(runtime, i);
    wp_stats stats;
    if (device == NULL) continue;
    wp__device_stats(device, &stats);
    put(text, "%s{\"device\":%d,\"open_delegates\":%u", comma, i, atomic_load(&device->open_delegates));
    put_stats(text, &stats);
    put(text, "}");
    comma = ",";
  }
}

static void put_delegates(struct text *text, wp_runtime *runtime) {
  const char *comma = "";
  wp__mutex_lock(&runtime->lock);
  for (wp_delegate *delegate = runtime->delegates; delegate != NULL; delegate = delegate->next) {
    wp_stats stats;
    wp__delegate_stats(delegate, &stats);
    put(text, "%s{\"name\":", comma);
    put_string(text, delegate->name == NULL ? "" : delegate->name);
    put(text, ",\"device\":%d,\"open\":%s", delegate->device->ordinal,
        atomic_load(&delegate->state) == WP__DELEGATE_OPEN ? "true" : "false");
    put_stats(text, &stats);
    put(text, "}");
    comma = ",";
  }
  wp__mutex_unlock(&runtime->lock);
}

size_t wp_stats_json(wp_runtime *runtime, char *buffer, size_t capacity) {
  struct text text = {buffer, buffer == NULL ? 0 : capacity, 0};
  if (wp__result("wp_stats_json", wp__runtime_check(runtime)) != WP_OK) return 0;
  put(&text, "{\"warmpool\":\"%s\",\"backend\":", wp_version());
  put_string(&text, runtime->backend->name);
  put(&text, ",\"devices\":[");
  put_devices(&text, runtime);
  put(&text, "],\"delegates\":[");
  put_delegates(&text, runtime);
  put(&text, "]}");
  return text.length;
}
