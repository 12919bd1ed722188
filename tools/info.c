/* SPDX-License-Identifier: Apache-2.0 */
#include "info.h"

#include "bench.h"
#include "json.h"
#include "vendor.h"

static const struct capability {
  uint32_t bit;
  const char *name, *text;
} capabilities[] = {
    {WP_CAP_POOLS, "pools", "memory pools"},
    {WP_CAP_STREAM_IDENTITY, "stream_identity", "streams have ids"},
    {WP_CAP_STREAM_DEVICE, "stream_device", "streams know their device"},
    {WP_CAP_GRAPH_MEMORY, "graph_memory", "graphs can own memory"},
    {WP_CAP_KEEPS_FREED, "keeps_freed", "freed memory may stay in pools"},
    {WP_CAP_ORDERED_FREE, "ordered_free", "any stream may free"},
    {WP_CAP_CHECKED_FREE, "checked_free", "a wrong free is told"},
    {WP_CAP_STREAMS_DRAIN, "streams_drain", "a stream's end waits"},
    {WP_CAP_CAPTURES_END, "captures_end", "a capture that failed is over"},
};

struct device {
  char name[128], driver[128];
  uint32_t capabilities;
  uint64_t free_bytes, total_bytes;
};

static void ask(int ordinal, struct device *device) {
  const wp_backend *backend = wp_backend_builtin();
  BENCH(backend->device_set(backend->self, ordinal));
  vendor_describe(ordinal, device->name, sizeof device->name, device->driver, sizeof device->driver);
  BENCH(backend->device_capabilities(backend->self, ordinal, &device->capabilities));
  BENCH(backend->device_memory(backend->self, &device->free_bytes, &device->total_bytes));
}

static void put_table(int ordinal, const struct device *device) {
  (void)printf("\ndevice %d  %s\n", ordinal, device->name);
  (void)printf("  %-28s %.1f of %.1f MiB free\n", "memory", (double)device->free_bytes / (double)BENCH_MIB,
               (double)device->total_bytes / (double)BENCH_MIB);
  for (size_t i = 0; i < BENCH_COUNT(capabilities); i++) {
    (void)printf("  %-28s %s\n", capabilities[i].text,
                 (device->capabilities & capabilities[i].bit) != 0 ? "yes" : "no");
  }
}

static void put_json(int ordinal, const struct device *device) {
  json_open(NULL, '{');
  json_integer("device", (uint64_t)ordinal);
  json_string("name", device->name);
  json_integer("memory_free", device->free_bytes);
  json_integer("memory_total", device->total_bytes);
  json_open("capabilities", '{');
  for (size_t i = 0; i < BENCH_COUNT(capabilities); i++) {
    json_boolean(capabilities[i].name, (device->capabilities & capabilities[i].bit) != 0);
  }
  json_close('}');
  json_close('}');
}

void show_info(bool json) {
  const wp_backend *backend = wp_backend_builtin();
  struct device device;
  int count = 0;
  BENCH(backend->device_count(backend->self, &count));
  for (int i = 0; i < count; i++) {
    ask(i, &device);
    if (i == 0 && json) {
      json_open(NULL, '{');
      json_string("warmpool", wp_version());
      json_string("backend", backend->name);
      json_string("driver", device.driver);
      json_open("devices", '[');
    } else if (i == 0) {
      (void)printf("warmpool %s, %s backend (%s)\n", wp_version(), backend->name, device.driver);
    }
    if (json) {
      put_json(i, &device);
    } else {
      put_table(i, &device);
    }
  }
  if (!json) return;
  json_close(']');
  json_close('}');
}
