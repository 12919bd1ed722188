/* SPDX-License-Identifier: Apache-2.0 */
/* From a source through comgr and HSA to a kernel that a queue runs, or passes over. */
#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#else
#include <amd_comgr.h>
#endif
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define PREFIX "__kernel void __amd_rocclr_"
#define GOOD(call) cr_assert_eq(call, AMD_COMGR_STATUS_SUCCESS, "%s failed", #call)

static amd_comgr_data_t compile(const char *source) {
  amd_comgr_data_t data, code;
  amd_comgr_data_set_t in, out;
  amd_comgr_action_info_t info;
  GOOD(amd_comgr_create_data(AMD_COMGR_DATA_KIND_SOURCE, &data));
  GOOD(amd_comgr_set_data(data, strlen(source), source));
  GOOD(amd_comgr_create_data_set(&in));
  GOOD(amd_comgr_create_data_set(&out));
  GOOD(amd_comgr_data_set_add(in, data));
  GOOD(amd_comgr_release_data(data));
  GOOD(amd_comgr_create_action_info(&info));
  GOOD(amd_comgr_do_action(AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC, info, in, out));
  GOOD(amd_comgr_action_data_get_data(out, AMD_COMGR_DATA_KIND_EXECUTABLE, 0, &code));
  GOOD(amd_comgr_destroy_data_set(in));
  GOOD(amd_comgr_destroy_data_set(out));
  return code;
}

static hsa_executable_t executable;

static void end_code(void) {
  if (executable.handle != 0) REQUIRE(hsa_executable_destroy(executable));
  end();
}

TestSuite(code, .init = begin, .fini = end_code);

/* The kernel object of that name, of what the source is compiled to; once a check. */
static uint64_t load(const char *source, const char *name) {
  amd_comgr_data_t data = compile(source);
  size_t size = 0;
  GOOD(amd_comgr_get_data(data, &size, NULL));
  char *bytes = malloc(size);
  GOOD(amd_comgr_get_data(data, &size, bytes));
  GOOD(amd_comgr_release_data(data));
  hsa_code_object_reader_t reader;
  hsa_executable_symbol_t symbol;
  hsa_agent_t agent = gpu(0);
  uint64_t object;
  REQUIRE(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  REQUIRE(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
  REQUIRE(hsa_executable_load_agent_code_object(executable, agent, reader, NULL, NULL));
  REQUIRE(hsa_executable_freeze(executable, NULL));
  REQUIRE(hsa_executable_get_symbol_by_name(executable, name, &agent, &symbol));
  REQUIRE(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  REQUIRE(hsa_code_object_reader_destroy(reader));
  free(bytes);
  return object;
}

static hsa_signal_t dispatch(uint64_t object, void *arguments) {
  hsa_signal_t done = signal_at(1);
  hsa_kernel_dispatch_packet_t packet = {
      .kernel_object = object, .kernarg_address = arguments, .completion_signal = done};
  push(queue_create(gpu(0)), HSA_PACKET_TYPE_KERNEL_DISPATCH, &packet);
  return done;
}

Test(code, metadata_say_where_arguments_are) {
  amd_comgr_data_t data = compile("__kernel void f(uchar a, __constant uint* b,\n uint c, ulong4 d) { g(a); }");
  amd_comgr_metadata_node_t root, kernels, kernel, arguments, argument, offset;
  size_t count, size;
  char text[16];
  GOOD(amd_comgr_get_data_metadata(data, &root));
  GOOD(amd_comgr_metadata_lookup(root, "amdhsa.kernels", &kernels));
  GOOD(amd_comgr_index_list_metadata(kernels, 0, &kernel));
  cr_assert_neq(amd_comgr_index_list_metadata(kernels, 1, &argument), AMD_COMGR_STATUS_SUCCESS);
  GOOD(amd_comgr_metadata_lookup(kernel, ".args", &arguments));
  GOOD(amd_comgr_get_metadata_list_size(arguments, &count));
  cr_assert_eq(count, 4);
  static const char *const offsets[] = {"0", "8", "16", "32"};
  for (size_t i = 0; i < count; ++i) {
    GOOD(amd_comgr_index_list_metadata(arguments, i, &argument));
    GOOD(amd_comgr_metadata_lookup(argument, ".offset", &offset));
    size = sizeof text;
    GOOD(amd_comgr_get_metadata_string(offset, &size, text));
    cr_assert_str_eq(text, offsets[i]);
    GOOD(amd_comgr_destroy_metadata(offset));
    GOOD(amd_comgr_destroy_metadata(argument));
  }
  GOOD(amd_comgr_destroy_metadata(arguments));
  GOOD(amd_comgr_destroy_metadata(kernel));
  GOOD(amd_comgr_destroy_metadata(kernels));
  GOOD(amd_comgr_destroy_metadata(root));
  GOOD(amd_comgr_release_data(data));
}

Test(code, what_nobody_knows_is_passed_over) {
  hsa_signal_t done = dispatch(load("__kernel void add(__global uint* a) {}", "add.kd"), NULL);
  cr_assert(comes_to(done, 0));
  cr_assert_eq(softhsa_count(SOFTHSA_IGNORED_KERNELS), 1);
  cr_assert_eq(softhsa_count(SOFTHSA_KERNELS), 0);
}

/* -- the three ways to say what a fill is -- */

Test(code, a_fill_of_eight_arguments) {
  uint64_t object = load(PREFIX "fillBufferAligned(__global uchar* b, __global ushort* s, __global uint* i, "
                                "__global ulong* l, __constant uchar* p, uint n, ulong o, ulong c) {}",
                         "__amd_rocclr_fillBufferAligned.kd");
  uint16_t memory[8] = {0}, pattern = 0x0102;
  struct {
    void *bytes, *shorts, *ints, *longs, *pattern;
    uint32_t period;
    uint64_t offset, count;
  } arguments = {.shorts = memory, .pattern = &pattern, .period = 1, .offset = 2, .count = 5};
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  const uint16_t expected[8] = {0, 0, 0x0102, 0x0102, 0x0102, 0x0102, 0x0102, 0};
  cr_assert_arr_eq(memory, expected, sizeof memory);
  cr_assert_eq(softhsa_count(SOFTHSA_KERNELS), 1);
}

static void fill_to_end(const char *source) {
  uint64_t object = load(source, "__amd_rocclr_fillBufferAligned.kd");
  uint32_t memory[8] = {0}, pattern[2] = {1, 2};
  struct {
    void *to, *pattern;
    uint32_t period, width;
    uint64_t end;
    uint32_t next, group;
  } arguments = {memory + 1, pattern, 2, 4, (uint64_t)(memory + 7), 8, 64};
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  const uint32_t expected[8] = {0, 1, 2, 1, 2, 1, 2, 0};
  cr_assert_arr_eq(memory, expected, sizeof memory);
}

Test(code, a_fill_of_six_arguments) {
  fill_to_end(PREFIX "fillBufferAligned(__global void* b, __constant uchar* p, uint n, uint a, ulong e, uint c) {}");
}

Test(code, a_fill_of_seven_arguments) {
  fill_to_end(PREFIX
              "fillBufferAligned(__global void* b, __constant uchar* p, uint n, uint a, ulong e, uint c, uint g) {}");
}

/* -- copies -- */

Test(code, a_copy_of_six_arguments) {
  uint64_t object =
      load(PREFIX "copyBuffer(__global uchar* s, __global uchar* d, ulong so, ulong do_, ulong n, uint r) {}",
           "__amd_rocclr_copyBuffer.kd");
  char from[] = "0123456789", to[] = "..........";
  struct {
    char *from, *to;
    uint64_t from_offset, to_offset, count;
    uint32_t remainder;
  } arguments = {from, to, 1, 2, 2, 3};
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  cr_assert_str_eq(to, "..1234567.");
  arguments.remainder = 8; /* then the count is in bytes */
  memset(to, '.', sizeof to - 1);
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  cr_assert_str_eq(to, "..12......");
}

Test(code, a_copy_of_eight_arguments) {
  uint64_t object = load(PREFIX "copyBuffer(__global uchar* s, __global uchar* d, ulong n, uint r, uint a, ulong e, "
                                "uint c, uint w) {}",
                         "__amd_rocclr_copyBuffer.kd");
  char from[] = "0123456789", to[] = "..........";
  struct {
    char *from, *to;
    uint64_t bytes, rest[4];
  } arguments = {from, to, 7, {0}};
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  cr_assert_str_eq(to, "0123456...");
}

Test(code, a_block_of_rows) {
  uint64_t object =
      load(PREFIX "copyBufferRect(__global uchar* s, __global uchar* d, ulong4 sr, ulong4 dr, ulong4 n) {}",
           "__amd_rocclr_copyBufferRect.kd");
  char from[] = "ab..cd..ef..", to[] = "............";
  struct {
    char *from, *to;
    _Alignas(32) uint64_t from_rect[4];
    uint64_t to_rect[4], size[4];
  } arguments = {from, to, {4, 12, 4, 0}, {3, 12, 1, 0}, {2, 2, 1, 1}};
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  cr_assert_str_eq(to, ".cd.ef......");
}

/* -- values -- */

Test(code, a_wait_for_a_value) {
  uint64_t object = load(PREFIX "streamOpsWait(__global uint* i, __global ulong* l, ulong v, ulong f, ulong m) {}",
                         "__amd_rocclr_streamOpsWait.kd");
  uint32_t word = 6;
  struct {
    uint32_t *narrow;
    uint64_t *wide, value, condition, mask;
  } arguments = {&word, NULL, 5, 1, UINT64_MAX}; /* equal */
  hsa_signal_t done = dispatch(object, &arguments);
  cr_assert(stays_at(done, 1));
  __atomic_store_n(&word, 5, __ATOMIC_SEQ_CST);
  cr_assert(comes_to(done, 0));
}

Test(code, a_value_is_written) {
  uint64_t object =
      load(PREFIX "streamOpsWrite(__global uint* i, __global ulong* l, ulong v) {}", "__amd_rocclr_streamOpsWrite.kd");
  uint32_t narrow[2] = {0};
  uint64_t wide = 0;
  struct {
    uint32_t *narrow;
    uint64_t *wide, value;
  } arguments = {narrow, NULL, 0x100000002};
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  cr_assert(narrow[0] == 2 && narrow[1] == 0);
  arguments.narrow = NULL;
  arguments.wide = &wide;
  cr_assert(comes_to(dispatch(object, &arguments), 0));
  cr_assert_eq(wide, 0x100000002);
}
