/* SPDX-License-Identifier: Apache-2.0 */
/* What the library makes of a driver whose pools may not keep freed memory (fact H9). */
#include <criterion/criterion.h>

#include "warmpool/warmpool.h"

static bool keeps_freed(void) {
  const wp_backend *backend = wp_backend_builtin();
  uint32_t capabilities = 0;
  cr_assert_eq(backend->device_capabilities(backend->self, 0, &capabilities), WP_OK);
  return (capabilities & WP_CAP_KEEPS_FREED) != 0;
}

Test(driver_caching, is_refused_where_freed_memory_may_not_stay_in_a_pool) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_delegate *delegate = NULL;
  wp_runtime *runtime;
  options.caching = WP_CACHING_DRIVER;
  cr_assert_eq(wp_runtime_create(&options, &runtime), WP_OK);
  for (int i = 0; i < 2; i++) {
    wp_status status = wp_delegate_open(runtime, 0, NULL, &delegate);
    cr_expect_eq(status, keeps_freed() ? WP_OK : WP_ERROR_NOT_SUPPORTED);
    wp_last_error(&info);
    if (status == WP_OK) {
      cr_expect_eq(wp_delegate_close(delegate, NULL), WP_OK);
    } else {
      cr_expect_neq(info.message[0], '\0');
    }
  }
  cr_expect_eq(wp_runtime_destroy(runtime), WP_OK);
}
