/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects. Nothing in them is executed: a kernel of the runtime's own is known by its name (blit.c), and any other
 * one is passed over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "soft.h"

struct reader {
  const char *code;
  size_t bytes;
};

/* A symbol's handle and a packet's kernel object both point to this. */
struct kernel {
  struct kernel *next;
  char name[128];
  uint32_t argument_bytes;
  unsigned arguments; /* 0: not known */
  soft_blit *run;     /* NULL: nothing is run */
};

struct executable {
  struct kernel *kernels; /* under the lock */
};

static struct executable *executable_of(hsa_executable_t handle) { return (struct executable *)handle.handle; }

/* -- reading -- */

hsa_status_t hsa_code_object_reader_create_from_memory(const void *code, size_t size, hsa_code_object_reader_t *out) {
  struct reader *reader = malloc(sizeof *reader);
  if (reader == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *reader = (struct reader){.code = code, .bytes = size};
  out->handle = (uint64_t)reader;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  free((void *)reader.handle);
  return HSA_STATUS_SUCCESS;
}

/* The runtime asks for NAME.kd, the kernel's descriptor. */
static struct kernel *add_kernel(struct executable *executable, const char *name, uint32_t bytes, unsigned arguments) {
  struct kernel *kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL) return NULL;
  size_t length = strlen(name);
  if (length > 3 && strcmp(name + length - 3, ".kd") == 0) length -= 3;
  (void)snprintf(kernel->name, sizeof kernel->name, "%.*s", (int)length, name);
  kernel->argument_bytes = bytes;
  kernel->arguments = arguments;
  kernel->run = soft_blit_find(kernel->name, arguments);
  soft_lock();
  kernel->next = executable->kernels;
  executable->kernels = kernel;
  soft_unlock();
  return kernel;
}

static bool add_line(struct executable *executable, const char *line, size_t length) {
  char text[1024], name[128];
  unsigned bytes, arguments = 0;
  if (length >= sizeof text) return false;
  memcpy(text, line, length);
  text[length] = '\0';
  if (sscanf(text, "%127s %u", name, &bytes) != 2) return false;
  for (const char *space = strchr(text, ' '); space != NULL; space = strchr(space + 1, ' ')) ++arguments;
  return add_kernel(executable, name, bytes, arguments - 1) != NULL; /* one space is before the bytes */
}

hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle, hsa_agent_t agent,
                                                   hsa_code_object_reader_t reader_handle, const char *options,
                                                   hsa_loaded_code_object_t *loaded) {
  (void)agent;
  (void)options;
  const struct reader *reader = (const struct reader *)reader_handle.handle;
  const char *line = soft_code_lines(reader->code, reader->bytes);
  for (const char *end; line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1) {
    if (!add_line(executable_of(handle), line, (size_t)(end - line))) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  }
  if (loaded != NULL) loaded->handle = handle.handle;
  return HSA_STATUS_SUCCESS;
}

/* -- executables -- */

hsa_status_t hsa_executable_create_alt(hsa_profile_t profile, hsa_default_float_rounding_mode_t mode,
                                       const char *options, hsa_executable_t *out) {
  (void)profile;
  (void)mode;
  (void)options;
  struct executable *executable = calloc(1, sizeof *executable);
  if (executable == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  out->handle = (uint64_t)executable;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_destroy(hsa_executable_t handle) {
  struct executable *executable = executable_of(handle);
  while (executable->kernels != NULL) {
    struct kernel *kernel = executable->kernels;
    executable->kernels = kernel->next;
    free(kernel);
  }
  free(executable);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char *options) {
  (void)executable;
  (void)options;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                         const char *name, void *address) {
  (void)executable;
  (void)agent;
  (void)name;
  (void)address;
  return HSA_STATUS_SUCCESS;
}

/* -- symbols: every name is one, for of a code object that is not ours we cannot tell -- */

hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char *name, const hsa_agent_t *agent,
                                               hsa_executable_symbol_t *out) {
  (void)agent;
  struct executable *executable = executable_of(handle);
  size_t length = strcspn(name, "."); /* before .kd */
  soft_lock();
  struct kernel *kernel = executable->kernels;
  while (kernel != NULL && (strncmp(kernel->name, name, length) != 0 || kernel->name[length] != '\0')) {
    kernel = kernel->next;
  }
  soft_unlock();
  if (kernel == NULL) kernel = add_kernel(executable, name, 256, 0);
  if (kernel == NULL) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  soft_say(SOFT_TRACE, "kernel %s: %u arguments, %s", kernel->name, kernel->arguments,
           kernel->run == NULL ? "not run" : "run");
  out->handle = (uint64_t)kernel;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute,
                                            void *value) {
  const struct kernel *kernel = (const struct kernel *)symbol.handle;
  switch ((int)attribute) {
  case HSA_EXECUTABLE_SYMBOL_INFO_TYPE: *(hsa_symbol_kind_t *)value = HSA_SYMBOL_KIND_KERNEL; break;
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: *(uint64_t *)value = symbol.handle; break;
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE: *(uint32_t *)value = kernel->argument_bytes; break;
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT: *(uint32_t *)value = 32; break;
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE: *(uint32_t *)value = 0; break;
  case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK: *(bool *)value = false; break;
  default:
    soft_say(SOFT_UNSUPPORTED, "a symbol's property %d is not known", (int)attribute);
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t executable,
                                            hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void *),
                                            void *data) {
  (void)executable;
  (void)callback;
  (void)data;
  return HSA_STATUS_SUCCESS;
}

/* -- dispatch -- */

void soft_kernel_run(struct soft_queue *queue, const hsa_kernel_dispatch_packet_t *packet) {
  const struct kernel *kernel = (const struct kernel *)packet->kernel_object;
  if (kernel == NULL || kernel->run == NULL) {
    soft_count(SOFTHSA_IGNORED_KERNELS);
    soft_say(SOFT_UNSUPPORTED, "queue %llu: kernel %s is passed over", soft_queue_id(queue),
             kernel == NULL ? "(none)" : kernel->name);
    return;
  }
  soft_say(SOFT_TRACE, "queue %llu: kernel %s", soft_queue_id(queue), kernel->name);
  kernel->run(queue, packet->kernarg_address);
  soft_count(SOFTHSA_KERNELS);
}
