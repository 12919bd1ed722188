/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the host backend's devices, present when they are touched and not before: programs map and unmap much more
 * than they write. The linker puts these in front of the library's own (--wrap, in tests/CMakeLists.txt). */
#define _DEFAULT_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

bool __wrap_wp__pages_commit(void *address, size_t bytes);
bool __wrap_wp__pages_commit(void *address, size_t bytes) {
  return mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}
