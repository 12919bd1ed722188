/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that the static library is linked into. */
#include <warmpool/warmpool.h>

int plugin_run(void);

int plugin_run(void) {
  wp_runtime *runtime;
  wp_delegate *delegate;
  void *memory;
  if (wp_runtime_create(NULL, &runtime) != WP_OK) return 1;
  if (wp_delegate_open(runtime, 0, NULL, &delegate) != WP_OK) return 1;
  if (wp_alloc(delegate, 4096, WP_STREAM_PER_THREAD, &memory) != WP_OK) return 1;
  if (wp_free(runtime, memory, WP_STREAM_PER_THREAD) != WP_OK) return 1;
  if (wp_delegate_close(delegate, NULL) != WP_OK) return 1;
  return wp_runtime_destroy(runtime) == WP_OK ? 0 : 1;
}
