/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for AMD's code object manager, as far as the HIP runtimes use it: "compiling" a program finds out which
 * kernels it has and which arguments they take, and that is what the code object says (../code.h).
 *
 * The major versions 2 and 3 differ in the numbers of the actions. Nothing here depends on them.
 */
#ifndef SOFTHSA_COMGR_STANDIN_H
#define SOFTHSA_COMGR_STANDIN_H

#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#else
#include <amd_comgr.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OK AMD_COMGR_STATUS_SUCCESS
#define INVALID AMD_COMGR_STATUS_ERROR_INVALID_ARGUMENT

/* Text that grows. Out of host memory, the process ends: no test is about that. */
struct text {
  char *at;
  size_t length;
};

void *standin_allocate(size_t bytes); /* zeros */
void standin_append(struct text *text, const char *more, size_t length);

/* Bytes of some kind, with an owner for each handle and each set that has it. */
struct data {
  unsigned references;
  amd_comgr_data_kind_t kind;
  struct text bytes;
};

struct data *standin_data(amd_comgr_data_t handle);

/* A line for each kernel of an OpenCL source. */
void standin_find_kernels(const char *source, size_t length, struct text *lines);

const char *standin_isa(void);

#endif
