/* SPDX-License-Identifier: Apache-2.0 */
/* The same from C++, where initialisers, enumerations and linkage have other rules. */
#include <warmpool/warmpool.h>

#include <cstring>
#include <iostream>

namespace {

class failure {
public:
  failure(const char *what, wp_status status) {
    wp_error_info info = WP_ERROR_INFO_INIT;
    wp_last_error(&info);
    std::cout << what << ": " << wp_status_name(status) << " (" << info.message << ")\n";
  }
};

void check(const char *what, wp_status status) {
  if (status != WP_OK) throw failure(what, status);
}

void run() {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_delegate_options delegate_options = WP_DELEGATE_OPTIONS_INIT;
  wp_release_report report = WP_RELEASE_REPORT_INIT;
  wp_stats stats = WP_STATS_INIT;
  wp_driver_stats driver_stats = WP_DRIVER_STATS_INIT;
  wp_pointer_info_t info = WP_POINTER_INFO_INIT;
  wp_runtime *runtime = nullptr;
  wp_delegate *delegate = nullptr;
  void *block = nullptr;

  std::cout << "backend " << wp_backend_builtin()->name << "\n";
  check("create", wp_runtime_create(&options, &runtime));
  check("open", wp_delegate_open(runtime, 0, &delegate_options, &delegate));
  check("alloc", wp_alloc(delegate, 1 << 20, WP_STREAM_LEGACY, &block));
  check("pointer info", wp_pointer_info(runtime, block, &info));
  check("stats", wp_delegate_stats(delegate, &stats));
  std::cout << "live_bytes " << stats.live_bytes << "\n";
  check("free", wp_free(runtime, block, WP_STREAM_LEGACY));
  check("query", wp_query_driver(runtime, 0, &driver_stats));
  std::cout << "warm " << (driver_stats.pool_reserved != 0 ? "yes" : "no") << "\n";
  check("close", wp_delegate_close(delegate, &report));
  std::cout << "reserved_after " << report.reserved_after << "\n";
  check("destroy", wp_runtime_destroy(runtime));
}

} // namespace

int main() {
  if (std::strcmp(wp_version(), WP_VERSION_STRING) != 0) return 1;
  try {
    run();
  } catch (const failure &) {
    return 1;
  }
  return 0;
}
