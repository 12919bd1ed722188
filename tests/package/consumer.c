/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside the tree: everything it knows about warmpool is installed. */
#include <warmpool/warmpool.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static wp_runtime *runtime;
static wp_delegate *delegate;

static int fail(const char *what, wp_status status) {
  wp_error_info info = WP_ERROR_INFO_INIT;
  wp_last_error(&info);
  printf("%s: %s (%s)\n", what, wp_status_name(status), info.message);
  return 1;
}

static int open_all(void) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_delegate_options delegate_options = WP_DELEGATE_OPTIONS_INIT;
  wp_status status = wp_runtime_create(&options, &runtime);
  if (status != WP_OK) return fail("create", status);
  delegate_options.name = "consumer";
  status = wp_delegate_open(runtime, 0, &delegate_options, &delegate);
  if (status != WP_OK) return fail("open", status);
  return 0;
}

static int use_memory(void) {
  wp_stats stats = WP_STATS_INIT;
  wp_driver_stats driver_stats = WP_DRIVER_STATS_INIT;
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  void *block = NULL;
  wp_status status = wp_alloc(delegate, 1 << 20, WP_STREAM_LEGACY, &block);
  if (status != WP_OK) return fail("alloc", status);
  status = wp_pointer_info(runtime, block, &info);
  if (status != WP_OK || info.base != block) return fail("pointer info", status);
  status = wp_delegate_stats(delegate, &stats);
  if (status != WP_OK) return fail("stats", status);
  printf("live_bytes %" PRIu64 "\n", stats.live_bytes);
  status = wp_free(runtime, block, WP_STREAM_LEGACY);
  if (status != WP_OK) return fail("free", status);
  status = wp_query_driver(runtime, 0, &driver_stats);
  if (status != WP_OK) return fail("query", status);
  printf("warm %s\n", driver_stats.pool_reserved != 0 ? "yes" : "no");
  return 0;
}

static int close_all(void) {
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_status status = wp_delegate_close(delegate, &report);
  if (status != WP_OK) return fail("close", status);
  printf("reserved_after %" PRIu64 "\n", report.reserved_after);
  status = wp_runtime_destroy(runtime);
  if (status != WP_OK) return fail("destroy", status);
  return 0;
}

int main(void) {
  if (strcmp(wp_version(), WP_VERSION_STRING) != 0) {
    printf("headers of %s, library of %s\n", WP_VERSION_STRING, wp_version());
    return 1;
  }
  printf("backend %s\n", wp_backend_builtin()->name);
  return open_all() || use_memory() || close_all();
}
