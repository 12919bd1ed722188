/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a program that has this file, the simulated driver's memory comes at ascending addresses, the same in each run:
 * which of two free blocks the library takes may depend on which lies lower. Not for sanitizers, which have an mmap of
 * their own.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEP = 1 << 21 };

/* Of mmap's callers only those outside the C library get here. */
void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  static atomic_uintptr_t next = (uintptr_t)1 << 40; /* far from where the kernel puts anything by itself */
  if (address == NULL && (flags & MAP_ANONYMOUS) != 0) {
    uintptr_t taken = (bytes + STEP - 1) / STEP * STEP;
    address = (void *)atomic_fetch_add(&next, taken); /* a hint */
  }
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}
