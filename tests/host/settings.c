/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine's settings, and what a program sees of wrong ones. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/host/engine.h"
#include "../../src/host/settings.h"
#include "warmpool/backend.h"
#include "warmpool/host.h"

static void set(const char *devices, const char *memory) {
  (void)unsetenv("WARMPOOL_HOST_DEVICES");
  (void)unsetenv("WARMPOOL_HOST_MEMORY");
  if (devices != NULL) (void)setenv("WARMPOOL_HOST_DEVICES", devices, 1);
  if (memory != NULL) (void)setenv("WARMPOOL_HOST_MEMORY", memory, 1);
}

TestSuite(host_settings, .timeout = 20);

Test(host_settings, are_one_device_of_4_gib_by_default) {
  set(NULL, NULL);
  struct wp__host_settings settings = wp__host_settings_read();
  cr_expect_null(settings.complaint);
  cr_expect_eq(settings.devices, 1);
  cr_expect_eq(settings.memory, UINT64_C(4) << 30);
}

Test(host_settings, take_a_number_of_devices_from_1_to_64) {
  static const char *const good[] = {"", "1", "2", "64", "007"};
  static const char *const bad[] = {"0", "65", "-1", "+1", " 1", "1 ", "one", "1.5", "0x2", "18446744073709551617"};
  static const int values[] = {1, 1, 2, 64, 7};
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    set(good[i], NULL);
    cr_expect_eq(wp__host_settings_read().devices, values[i], "'%s'", good[i]);
    cr_expect_null(wp__host_settings_read().complaint);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    set(bad[i], NULL);
    const char *complaint = wp__host_settings_read().complaint;
    cr_assert_not_null(complaint, "'%s'", bad[i]);
    cr_expect_not_null(strstr(complaint, "WARMPOOL_HOST_DEVICES"));
  }
}

Test(host_settings, take_memory_in_bytes_or_with_a_suffix) {
  static const char *const good[] = {"", "1", "65536", "64K", "96M", "3G", "2T", "18446744073709551615"};
  static const uint64_t values[] = {
      UINT64_C(4) << 30, 1,         65536, UINT64_C(64) << 10, UINT64_C(96) << 20, UINT64_C(3) << 30,
      UINT64_C(2) << 40, UINT64_MAX};
  static const char *const bad[] = {
      "0", "0M", "M", "-1", "1k", "1MB", "1M ", "1 M", "1.5G", "18446744073709551616", "16777216T"};
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    set(NULL, good[i]);
    cr_expect_eq(wp__host_settings_read().memory, values[i], "'%s'", good[i]);
    cr_expect_null(wp__host_settings_read().complaint);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    set(NULL, bad[i]);
    const char *complaint = wp__host_settings_read().complaint;
    cr_assert_not_null(complaint, "'%s'", bad[i]);
    cr_expect_not_null(strstr(complaint, "WARMPOOL_HOST_MEMORY"));
  }
}

Test(host_settings, decide_what_devices_there_are) {
  const wp_backend *backend = wp_backend_builtin();
  set("3", "96M");
  int count = 0;
  uint64_t free_bytes = 0, total_bytes = 0;
  cr_expect_eq(backend->device_count(backend->self, &count), WP_OK);
  cr_expect_eq(count, 3);
  cr_expect_eq(backend->device_set(backend->self, 2), WP_OK);
  cr_expect_eq(backend->device_memory(backend->self, &free_bytes, &total_bytes), WP_OK);
  cr_expect_eq(total_bytes, 96 << 20);
  cr_expect_eq(free_bytes, 96 << 20);
  set("1", "32M"); /* read once: changes nothing now */
  cr_expect_eq(backend->device_count(backend->self, &count), WP_OK);
  cr_expect_eq(count, 3);
}

Test(host_settings, that_are_wrong_leave_no_device_and_say_why) {
  const wp_backend *backend = wp_backend_builtin();
  set("many", NULL);
  int number = 7;
  void *handle = NULL;
  wp_driver_error error;
  cr_expect_eq(backend->device_count(backend->self, &number), WP_ERROR_NO_DEVICE);
  backend->last_error(backend->self, &error);
  cr_expect_eq(error.code, WP__HOST_NO_DEVICE);
  cr_expect_str_eq(error.name, "HOST_ERROR_NO_DEVICE");
  cr_expect_str_eq(error.call, "host_device_count");
  cr_expect_not_null(strstr(error.text, "WARMPOOL_HOST_DEVICES"));
  cr_expect_eq(backend->device_current(backend->self, &number), WP_ERROR_NO_DEVICE);
  cr_expect_eq(backend->device_set(backend->self, 0), WP_ERROR_NO_DEVICE);
  cr_expect_eq(backend->stream_create(backend->self, &handle), WP_ERROR_NO_DEVICE);
  cr_expect_eq(backend->pool_create(backend->self, &handle), WP_ERROR_NO_DEVICE);
  cr_expect_eq(wp__host_pool_create(0, &handle), WP__HOST_NO_DEVICE);
  cr_expect_eq(wp_host_stream_create(0, &handle), WP_ERROR_NO_DEVICE);
  cr_expect_eq(number, 7);
  cr_expect_null(handle);
}
