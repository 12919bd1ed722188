/* SPDX-License-Identifier: Apache-2.0 */
/* unloads PLUGIN: a thread loads, runs and unloads it, and ends afterwards. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int result = 1;

static void *use_plugin(void *path) {
  int (*run)(void);
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    (void)fprintf(stderr, "%s\n", dlerror());
    return NULL;
  }
  *(void **)&run = dlsym(plugin, "plugin_run");
  if (run != NULL) result = run();
  if (dlclose(plugin) != 0) result = 1;
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t thread;
  if (count != 2 || pthread_create(&thread, NULL, use_plugin, arguments[1]) != 0) return 2;
  (void)pthread_join(thread, NULL);
  return result;
}
