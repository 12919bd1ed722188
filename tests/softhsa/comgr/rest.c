/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that have nothing to do here, and those that are not there. The runtimes look all of them up by name,
 * so AMD's header, which says what they take, is left out. */

enum { SUCCESS = 0, ERROR = 1 };

#define ANSWER(status, name)                                                                                           \
  int name(void);                                                                                                      \
  int name(void) { return status; }

ANSWER(SUCCESS, amd_comgr_action_info_set_bundle_entry_ids)
ANSWER(SUCCESS, amd_comgr_action_info_set_device_lib_linking)
ANSWER(SUCCESS, amd_comgr_action_info_set_language)
ANSWER(SUCCESS, amd_comgr_action_info_set_logging)
ANSWER(SUCCESS, amd_comgr_action_info_set_option_list)
ANSWER(SUCCESS, amd_comgr_action_info_set_options)
ANSWER(SUCCESS, amd_comgr_action_info_set_working_directory_path)
ANSWER(SUCCESS, amd_comgr_destroy_action_info)
ANSWER(SUCCESS, amd_comgr_iterate_symbols) /* there are none */

ANSWER(ERROR, amd_comgr_action_info_get_isa_name)
ANSWER(ERROR, amd_comgr_action_info_get_language)
ANSWER(ERROR, amd_comgr_action_info_get_logging)
ANSWER(ERROR, amd_comgr_action_info_get_option_list_count)
ANSWER(ERROR, amd_comgr_action_info_get_option_list_item)
ANSWER(ERROR, amd_comgr_action_info_get_options)
ANSWER(ERROR, amd_comgr_action_info_get_working_directory_path)
ANSWER(ERROR, amd_comgr_demangle_symbol_name)
ANSWER(ERROR, amd_comgr_get_mangled_name)
ANSWER(ERROR, amd_comgr_lookup_code_object)
ANSWER(ERROR, amd_comgr_map_name_expression_to_symbol_name)
ANSWER(ERROR, amd_comgr_populate_mangled_names)
ANSWER(ERROR, amd_comgr_populate_name_expression_map)
ANSWER(ERROR, amd_comgr_set_data_from_file_slice)
ANSWER(ERROR, amd_comgr_symbol_get_info)
ANSWER(ERROR, amd_comgr_symbol_lookup)
