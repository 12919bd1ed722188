/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a code object: a tree of maps, lists and strings, built from its lines when somebody asks. A node's
 * handle keeps the whole tree; each that is handed out is given back with amd_comgr_destroy_metadata. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../code.h"
#include "standin.h"

struct tree;

struct node {
  struct tree *tree;
  struct node *made_before; /* all nodes of the tree */
  amd_comgr_metadata_kind_t kind;
  char *text;       /* of a string */
  struct node *key; /* in a map */
  struct node *first, *last, *next;
};

struct tree {
  unsigned references;
  struct node *made_last;
};

static struct node *node_of(amd_comgr_metadata_node_t handle) { return (struct node *)handle.handle; }

/* -- building -- */

static struct node *make(struct tree *tree, amd_comgr_metadata_kind_t kind) {
  struct node *node = standin_allocate(sizeof *node);
  node->tree = tree;
  node->kind = kind;
  node->made_before = tree->made_last;
  tree->made_last = node;
  return node;
}

static struct node *string(struct tree *tree, const char *text, size_t length) {
  struct node *node = make(tree, AMD_COMGR_METADATA_KIND_STRING);
  node->text = standin_allocate(length + 1);
  memcpy(node->text, text, length);
  return node;
}

static struct node *add(struct node *to, const char *key, struct node *child) {
  if (key != NULL) child->key = string(to->tree, key, strlen(key));
  if (to->last == NULL) {
    to->first = child;
  } else {
    to->last->next = child;
  }
  to->last = child;
  return child;
}

static struct node *add_new(struct node *to, const char *key, amd_comgr_metadata_kind_t kind) {
  return add(to, key, make(to->tree, kind));
}

static void add_text(struct node *to, const char *key, const char *text) {
  (void)add(to, key, string(to->tree, text, strlen(text)));
}

static void add_number(struct node *to, const char *key, unsigned value) {
  char text[16];
  (void)snprintf(text, sizeof text, "%u", value);
  add_text(to, key, text);
}

static void add_argument(struct node *arguments, char kind, unsigned bytes, unsigned *offset) {
  struct node *argument = add_new(arguments, NULL, AMD_COMGR_METADATA_KIND_MAP);
  *offset = (*offset + bytes - 1) / bytes * bytes;
  add_number(argument, ".offset", *offset);
  add_number(argument, ".size", bytes);
  add_text(argument, ".value_kind", kind == 'v' ? "by_value" : kind == 'i' ? "image" : "global_buffer");
  if (kind == 'g' || kind == 'c') add_text(argument, ".address_space", kind == 'c' ? "constant" : "global");
  *offset += bytes;
}

static void add_kernel(struct node *kernels, const char *line, size_t length) {
  char text[1024], name[128], symbol[160];
  unsigned bytes, offset = 0;
  int used;
  (void)snprintf(text, sizeof text, "%.*s", (int)length, line);
  if (sscanf(text, "%127s %u%n", name, &bytes, &used) != 2) return;
  (void)snprintf(symbol, sizeof symbol, "%s.kd", name);
  struct node *kernel = add_new(kernels, NULL, AMD_COMGR_METADATA_KIND_MAP);
  add_text(kernel, ".name", name);
  add_text(kernel, ".symbol", symbol);
  add_number(kernel, ".kernarg_segment_size", bytes);
  add_number(kernel, ".kernarg_segment_align", 32);
  add_number(kernel, ".group_segment_fixed_size", 0);
  add_number(kernel, ".private_segment_fixed_size", 0);
  add_number(kernel, ".wavefront_size", 64);
  add_number(kernel, ".max_flat_workgroup_size", 1024);
  struct node *arguments = add_new(kernel, ".args", AMD_COMGR_METADATA_KIND_LIST);
  char kind;
  for (const char *at = text + used; sscanf(at, " %c%u%n", &kind, &bytes, &used) == 2; at += used) {
    add_argument(arguments, kind, bytes, &offset);
  }
}

static struct node *make_root(void) {
  struct tree *tree = standin_allocate(sizeof *tree);
  tree->references = 1;
  return make(tree, AMD_COMGR_METADATA_KIND_MAP);
}

amd_comgr_status_t amd_comgr_get_data_metadata(amd_comgr_data_t data, amd_comgr_metadata_node_t *out) {
  const struct text *code = &standin_data(data)->bytes;
  struct node *root = make_root();
  struct node *version = add_new(root, "amdhsa.version", AMD_COMGR_METADATA_KIND_LIST);
  add_number(version, NULL, 1);
  add_number(version, NULL, 2);
  struct node *kernels = add_new(root, "amdhsa.kernels", AMD_COMGR_METADATA_KIND_LIST);
  const char *line = soft_code_lines(code->at, code->length);
  for (const char *end; line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1) {
    add_kernel(kernels, line, (size_t)(end - line));
  }
  out->handle = (uint64_t)root;
  return OK;
}

/* Of a processor the runtimes want to know how many registers it has. */
amd_comgr_status_t amd_comgr_get_isa_metadata(const char *isa, amd_comgr_metadata_node_t *out) {
  (void)isa;
  struct node *root = make_root();
  add_number(root, "AddressableNumSGPRs", 102);
  add_number(root, "AddressableNumVGPRs", 512);
  add_number(root, "TotalNumVGPRs", 512);
  out->handle = (uint64_t)root;
  return OK;
}

/* -- handles -- */

static amd_comgr_status_t hand_out(struct node *node, amd_comgr_metadata_node_t *out) {
  if (node == NULL) return AMD_COMGR_STATUS_ERROR;
  ++node->tree->references;
  out->handle = (uint64_t)node;
  return OK;
}

amd_comgr_status_t amd_comgr_destroy_metadata(amd_comgr_metadata_node_t handle) {
  struct tree *tree = node_of(handle)->tree;
  if (--tree->references != 0) return OK;
  while (tree->made_last != NULL) {
    struct node *node = tree->made_last;
    tree->made_last = node->made_before;
    free(node->text);
    free(node);
  }
  free(tree);
  return OK;
}

/* -- looking -- */

amd_comgr_status_t amd_comgr_get_metadata_kind(amd_comgr_metadata_node_t handle, amd_comgr_metadata_kind_t *out) {
  *out = node_of(handle)->kind;
  return OK;
}

amd_comgr_status_t amd_comgr_get_metadata_string(amd_comgr_metadata_node_t handle, size_t *size, char *to) {
  const char *text = node_of(handle)->text;
  if (text == NULL) return INVALID;
  size_t length = strlen(text) + 1;
  if (to != NULL) memcpy(to, text, length < *size ? length : *size);
  *size = length;
  return OK;
}

static size_t count(const struct node *node) {
  size_t children = 0;
  for (const struct node *child = node->first; child != NULL; child = child->next) ++children;
  return children;
}

amd_comgr_status_t amd_comgr_get_metadata_map_size(amd_comgr_metadata_node_t handle, size_t *out) {
  *out = count(node_of(handle));
  return OK;
}

amd_comgr_status_t amd_comgr_get_metadata_list_size(amd_comgr_metadata_node_t handle, size_t *out) {
  *out = count(node_of(handle));
  return OK;
}

amd_comgr_status_t amd_comgr_metadata_lookup(amd_comgr_metadata_node_t handle, const char *key,
                                             amd_comgr_metadata_node_t *out) {
  struct node *child = node_of(handle)->first;
  while (child != NULL && (child->key == NULL || strcmp(child->key->text, key) != 0)) child = child->next;
  return hand_out(child, out);
}

amd_comgr_status_t amd_comgr_index_list_metadata(amd_comgr_metadata_node_t handle, size_t index,
                                                 amd_comgr_metadata_node_t *out) {
  struct node *child = node_of(handle)->first;
  while (child != NULL && index-- != 0) child = child->next;
  return hand_out(child, out);
}

amd_comgr_status_t amd_comgr_iterate_map_metadata(amd_comgr_metadata_node_t handle,
                                                  amd_comgr_status_t (*callback)(amd_comgr_metadata_node_t key,
                                                                                 amd_comgr_metadata_node_t value,
                                                                                 void *data),
                                                  void *data) {
  if (node_of(handle)->kind != AMD_COMGR_METADATA_KIND_MAP) return INVALID;
  for (struct node *child = node_of(handle)->first; child != NULL; child = child->next) {
    amd_comgr_metadata_node_t key = {(uint64_t)child->key}, value = {(uint64_t)child};
    /* The two are lent for the call. Its answer says nothing: the runtimes' fail for keys that they do not use. */
    (void)callback(key, value, data);
  }
  return OK;
}
