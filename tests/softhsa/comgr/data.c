/* SPDX-License-Identifier: Apache-2.0 */
/* Data and sets of data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../code.h"
#include "standin.h"

#define SET_MAX 32

struct set {
  size_t count;
  struct data *members[SET_MAX];
};

void *standin_allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (memory != NULL) return memory;
  (void)fprintf(stderr, "softhsa: out of host memory\n");
  abort();
}

void standin_append(struct text *text, const char *more, size_t length) {
  char *at = standin_allocate(text->length + length + 1);
  if (text->length != 0) memcpy(at, text->at, text->length);
  if (length != 0) memcpy(at + text->length, more, length);
  free(text->at);
  *text = (struct text){.at = at, .length = text->length + length};
}

struct data *standin_data(amd_comgr_data_t handle) {
  return (struct data *)handle.handle;
}
static struct set *set_of(amd_comgr_data_set_t handle) { return (struct set *)handle.handle; }

/* -- data -- */

static struct data *make(amd_comgr_data_kind_t kind) {
  struct data *data = standin_allocate(sizeof *data);
  data->references = 1;
  data->kind = kind;
  return data;
}

static void release(struct data *data) {
  if (--data->references != 0) return;
  free(data->bytes.at);
  free(data);
}

amd_comgr_status_t amd_comgr_create_data(amd_comgr_data_kind_t kind, amd_comgr_data_t *out) {
  out->handle = (uint64_t)make(kind);
  return OK;
}

amd_comgr_status_t amd_comgr_release_data(amd_comgr_data_t handle) {
  if (handle.handle == 0) return INVALID;
  release(standin_data(handle));
  return OK;
}

amd_comgr_status_t amd_comgr_get_data_kind(amd_comgr_data_t handle, amd_comgr_data_kind_t *out) {
  *out = standin_data(handle)->kind;
  return OK;
}

amd_comgr_status_t amd_comgr_set_data(amd_comgr_data_t handle, size_t size, const char *bytes) {
  standin_data(handle)->bytes.length = 0;
  standin_append(&standin_data(handle)->bytes, bytes, size);
  return OK;
}

/* Here and below, the caller first asks for the size and then brings the room. */
amd_comgr_status_t amd_comgr_get_data(amd_comgr_data_t handle, size_t *size, char *to) {
  const struct text *bytes = &standin_data(handle)->bytes;
  if (to != NULL && bytes->length != 0) memcpy(to, bytes->at, bytes->length < *size ? bytes->length : *size);
  *size = bytes->length;
  return OK;
}

static amd_comgr_status_t put(const char *text, size_t *size, char *to) {
  if (to != NULL) memcpy(to, text, strlen(text) + 1);
  *size = strlen(text) + 1;
  return OK;
}

amd_comgr_status_t amd_comgr_set_data_name(amd_comgr_data_t handle, const char *name) {
  (void)handle;
  (void)name;
  return OK;
}

amd_comgr_status_t amd_comgr_get_data_name(amd_comgr_data_t handle, size_t *size, char *to) {
  (void)handle;
  return put("", size, to);
}

amd_comgr_status_t amd_comgr_get_data_isa_name(amd_comgr_data_t handle, size_t *size, char *to) {
  (void)handle;
  return put(standin_isa(), size, to);
}

/* -- sets -- */

amd_comgr_status_t amd_comgr_create_data_set(amd_comgr_data_set_t *out) {
  out->handle = (uint64_t)standin_allocate(sizeof(struct set));
  return OK;
}

amd_comgr_status_t amd_comgr_destroy_data_set(amd_comgr_data_set_t handle) {
  struct set *set = set_of(handle);
  for (size_t i = 0; i < set->count; ++i) release(set->members[i]);
  free(set);
  return OK;
}

static amd_comgr_status_t add(struct set *set, struct data *data) {
  if (set->count == SET_MAX) return AMD_COMGR_STATUS_ERROR_OUT_OF_RESOURCES;
  ++data->references;
  set->members[set->count++] = data;
  return OK;
}

amd_comgr_status_t amd_comgr_data_set_add(amd_comgr_data_set_t handle, amd_comgr_data_t data) {
  return add(set_of(handle), standin_data(data));
}

amd_comgr_status_t amd_comgr_data_set_remove(amd_comgr_data_set_t handle, amd_comgr_data_kind_t kind) {
  struct set *set = set_of(handle);
  size_t kept = 0;
  for (size_t i = 0; i < set->count; ++i) {
    if (set->members[i]->kind == kind) {
      release(set->members[i]);
    } else {
      set->members[kept++] = set->members[i];
    }
  }
  set->count = kept;
  return OK;
}

amd_comgr_status_t amd_comgr_action_data_count(amd_comgr_data_set_t handle, amd_comgr_data_kind_t kind, size_t *out) {
  *out = 0;
  for (size_t i = 0; i < set_of(handle)->count; ++i) *out += set_of(handle)->members[i]->kind == kind;
  return OK;
}

amd_comgr_status_t amd_comgr_action_data_get_data(amd_comgr_data_set_t handle, amd_comgr_data_kind_t kind, size_t index,
                                                  amd_comgr_data_t *out) {
  const struct set *set = set_of(handle);
  for (size_t i = 0; i < set->count; ++i) {
    if (set->members[i]->kind != kind || index-- != 0) continue;
    ++set->members[i]->references;
    out->handle = (uint64_t)set->members[i];
    return OK;
  }
  return INVALID;
}

/* -- the one action: to a code object with the kernels of all that goes in -- */

/* What the runtimes look at in the header: that it is ELF, of 64 bits, for AMD's GPUs and the HSA system. */
static const unsigned char elf_header[SOFT_ELF_HEADER_BYTES] = {
    0x7f,      'E',       'L',       'F', 2, 1, 1, 64, /* the ABI: HSA */
    3,         0,         0,         0,   0, 0, 0, 0,  /* its version: code object 5 */
    3,         0,         224,       0,   1, 0, 0, 0,  /* a shared object, for machine 224 */
    [52] = 64, [54] = 56, [58] = 64,                   /* the sizes of headers, none of which there are */
};

static void collect(const struct set *in, struct text *code) {
  standin_append(code, (const char *)elf_header, sizeof elf_header);
  standin_append(code, SOFT_CODE_MARK, sizeof SOFT_CODE_MARK - 1);
  for (size_t i = 0; i < in->count; ++i) {
    const struct data *data = in->members[i];
    const char *lines = soft_code_lines(data->bytes.at, data->bytes.length);
    if (lines != NULL) {
      standin_append(code, lines, strlen(lines));
    } else if (data->kind == AMD_COMGR_DATA_KIND_SOURCE) {
      standin_find_kernels(data->bytes.at, data->bytes.length, code);
    }
  }
  standin_append(code, "", 1);
}

/* Whatever the action, its result is there as each of the kinds that it might be asked for as. */
amd_comgr_status_t amd_comgr_do_action(amd_comgr_action_kind_t kind, amd_comgr_action_info_t info,
                                       amd_comgr_data_set_t in, amd_comgr_data_set_t out) {
  (void)kind;
  (void)info;
  static const amd_comgr_data_kind_t kinds[] = {AMD_COMGR_DATA_KIND_SOURCE, AMD_COMGR_DATA_KIND_BC,
                                                AMD_COMGR_DATA_KIND_RELOCATABLE, AMD_COMGR_DATA_KIND_EXECUTABLE};
  struct text code = {0};
  collect(set_of(in), &code);
  amd_comgr_status_t status = OK;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == OK; ++i) {
    struct data *data = make(kinds[i]);
    standin_append(&data->bytes, code.at, code.length);
    status = add(set_of(out), data);
    release(data);
  }
  free(code.at);
  return status;
}
