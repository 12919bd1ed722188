/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked and set around an action. Only the processor's name is kept: programs are compiled for the one there.
 */
#include <string.h>

#include "standin.h"

static char isa[128] = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";

const char *standin_isa(void) { return isa; }

void amd_comgr_get_version(size_t *major, size_t *minor) {
  *major = STANDIN_MAJOR;
  *minor = STANDIN_MAJOR == 2 ? 4 : 0;
}

amd_comgr_status_t amd_comgr_status_string(amd_comgr_status_t status, const char **out) {
  *out = status == OK ? "success" : "failure in the stand-in for comgr";
  return OK;
}

amd_comgr_status_t amd_comgr_get_isa_count(size_t *out) {
  *out = 1;
  return OK;
}

amd_comgr_status_t amd_comgr_get_isa_name(size_t index, const char **out) {
  (void)index;
  *out = isa;
  return OK;
}

amd_comgr_status_t amd_comgr_create_action_info(amd_comgr_action_info_t *out) {
  out->handle = 1; /* there is nothing in one */
  return OK;
}

amd_comgr_status_t amd_comgr_action_info_set_isa_name(amd_comgr_action_info_t info, const char *name) {
  (void)info;
  if (name != NULL && strlen(name) < sizeof isa) memmove(isa, name, strlen(name) + 1);
  return OK;
}
