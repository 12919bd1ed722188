/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points that the runtimes are linked with and the stand-in does not have. Whatever they are called with,
 * they answer HSA_STATUS_ERROR; so AMD's headers, which say with what, are left out here. */

int soft_missing(const char *name); /* system.c */

#define MISSING(name)                                                                                                  \
  int name(void);                                                                                                      \
  int name(void) { return soft_missing(#name); }

MISSING(hsa_amd_ais_file_read)
MISSING(hsa_amd_ais_file_write)
MISSING(hsa_amd_image_create)
MISSING(hsa_amd_interop_map_buffer)
MISSING(hsa_amd_interop_unmap_buffer)
MISSING(hsa_amd_ipc_memory_attach)
MISSING(hsa_amd_ipc_memory_create)
MISSING(hsa_amd_ipc_memory_detach)
MISSING(hsa_amd_portable_export_dmabuf)
MISSING(hsa_amd_svm_attributes_get)
MISSING(hsa_amd_svm_attributes_set)
MISSING(hsa_amd_svm_prefetch_async)
MISSING(hsa_amd_vmem_export_shareable_handle)
MISSING(hsa_amd_vmem_import_shareable_handle)
MISSING(hsa_ext_image_create)
MISSING(hsa_ext_image_create_with_layout)
MISSING(hsa_ext_image_data_get_info)
MISSING(hsa_ext_image_destroy)
MISSING(hsa_ext_image_export)
MISSING(hsa_ext_image_import)
MISSING(hsa_ext_sampler_create)
MISSING(hsa_ext_sampler_create_v2)
MISSING(hsa_ext_sampler_destroy)
