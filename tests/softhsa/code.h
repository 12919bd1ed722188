/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stand-in for comgr "compiles" a program to, and the stand-in for HSA loads: the header of an ELF file, which
 * the runtimes look at, and behind it a line for each kernel, "NAME BYTES KIND..." with the bytes of its arguments and,
 * for each argument, a letter and its size: g8 (a pointer to global memory), c8 (to constant memory), i8 (an image),
 * v4 (a value of 4 bytes). The last line is followed by a zero byte.
 */
#ifndef SOFTHSA_CODE_H
#define SOFTHSA_CODE_H

#include <stddef.h>
#include <string.h>

#define SOFT_ELF_HEADER_BYTES 64
#define SOFT_CODE_MARK "softhsa kernels\n"

/* The lines of a code object, or NULL where it is not ours. */
static inline const char *soft_code_lines(const char *code, size_t size) {
  const size_t mark = sizeof SOFT_CODE_MARK - 1;
  if (size <= SOFT_ELF_HEADER_BYTES + mark || code[size - 1] != '\0') return NULL;
  const char *lines = code + SOFT_ELF_HEADER_BYTES;
  return memcmp(lines, SOFT_CODE_MARK, mark) == 0 ? lines + mark : NULL;
}

#endif
