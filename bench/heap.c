/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <dlfcn.h>
#include <string.h>

/* Found when it is wanted, so that the tool needs no library that most machines lack. */
static void *open_library(void) {
  static const char *const names[] = {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return library;
  }
  return NULL;
}

bool bench_find_mimalloc(void *(**alloc)(size_t), void (**release)(void *)) {
  static void *library; /* stays loaded: its threads' heaps live as long as the threads */
  if (library == NULL) library = open_library();
  void *mi_malloc = library == NULL ? NULL : dlsym(library, "mi_malloc");
  void *mi_free = library == NULL ? NULL : dlsym(library, "mi_free");
  if (mi_malloc == NULL || mi_free == NULL) return false;
  (void)memcpy(alloc, &mi_malloc, sizeof mi_malloc);
  (void)memcpy(release, &mi_free, sizeof mi_free);
  return true;
}
