/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"

TestSuite(copy, .init = begin, .fini = end);

static void to_gpu(void *to, const void *from, size_t bytes, const hsa_signal_t *after, hsa_signal_t done) {
  REQUIRE(hsa_amd_memory_async_copy(to, gpu(0), from, cpu(), bytes, after == NULL ? 0 : 1, after, done));
}

static void to_host(void *to, const void *from, size_t bytes, hsa_signal_t done) {
  REQUIRE(hsa_amd_memory_async_copy(to, cpu(), from, gpu(0), bytes, 0, NULL, done));
}

Test(copy, there_and_back) {
  char *device = allocate(gpu(0), MIB), there[] = "some bytes", back[sizeof there] = "";
  hsa_signal_t first = signal_at(1), second = signal_at(1);
  to_gpu(device, there, sizeof there, NULL, first);
  cr_assert(comes_to(first, 0));
  to_host(back, device, sizeof back, second);
  cr_assert(comes_to(second, 0));
  cr_assert_str_eq(back, there);
  cr_assert_eq(softhsa_pending(), 0);
  cr_assert_eq(softhsa_count(SOFTHSA_COPIES), 2);
}

Test(copy, it_waits_for_signals) {
  char *device = allocate(gpu(0), MIB), bytes[4] = "new";
  strcpy(device, "old");
  hsa_signal_t gate = signal_at(1), done = signal_at(1);
  to_gpu(device, bytes, sizeof bytes, &gate, done);
  cr_assert(stays_at(done, 1));
  cr_assert_str_eq(device, "old");
  hsa_signal_store_screlease(gate, 0);
  cr_assert(comes_to(done, 0));
  cr_assert_str_eq(device, "new");
}

Test(copy, an_engine_keeps_the_order) {
  char *device = allocate(gpu(0), MIB), bytes[4] = "new";
  hsa_signal_t gate = signal_at(1), first = signal_at(1), second = signal_at(1), other = signal_at(1);
  to_gpu(device, bytes, sizeof bytes, &gate, first);
  to_gpu(device + 64, bytes, sizeof bytes, NULL, second);
  to_host(bytes, bytes, 0, other);
  cr_assert(comes_to(other, 0), "the other direction has an engine of its own");
  cr_assert(stays_at(second, 1), "passed the one before it");
  hsa_signal_store_screlease(gate, 0);
  cr_assert(comes_to(second, 0));
}

Test(copy, engines_are_named_by_a_bit) {
  char *device = allocate(gpu(0), MIB), bytes[4] = "new";
  hsa_signal_t gate = signal_at(1), done = signal_at(2);
  uint32_t idle;
  REQUIRE(hsa_amd_memory_copy_engine_status(gpu(0), cpu(), &idle));
  cr_assert_eq(idle, 0xff);
  REQUIRE(hsa_amd_memory_async_copy_on_engine(device, gpu(0), bytes, cpu(), sizeof bytes, 1, &gate, done,
                                              (hsa_amd_sdma_engine_id_t)4, false));
  REQUIRE(hsa_amd_memory_copy_engine_status(gpu(0), cpu(), &idle));
  cr_assert_eq(idle, 0xff & ~4u);
  REQUIRE(hsa_amd_memory_async_copy_on_engine(device, gpu(0), bytes, cpu(), sizeof bytes, 0, NULL, done,
                                              (hsa_amd_sdma_engine_id_t)2, false));
  cr_assert(comes_to(done, 1));
  cr_assert_neq(hsa_amd_memory_async_copy_on_engine(device, gpu(0), bytes, cpu(), sizeof bytes, 0, NULL, done,
                                                    (hsa_amd_sdma_engine_id_t)3, false),
                HSA_STATUS_SUCCESS);
  hsa_signal_store_screlease(gate, 0);
  cr_assert(comes_to(done, 0));
}

Test(copy, copies_can_be_held) {
  char *device = allocate(gpu(0), MIB), bytes[4] = "new";
  hsa_queue_t *queue = queue_create(gpu(0));
  hsa_signal_t done = signal_at(1), of_queue = signal_at(1);
  softhsa_hold_copies(true);
  to_gpu(device, bytes, sizeof bytes, NULL, done);
  push_and(queue, NULL, 0, of_queue);
  cr_assert(comes_to(of_queue, 0), "queues go on");
  cr_assert(stays_at(done, 1));
  cr_assert_eq(softhsa_pending(), 1);
  softhsa_hold_copies(false);
  cr_assert(comes_to(done, 0));
  softhsa_hold(true);
  hsa_signal_store_screlease(done, 1);
  to_gpu(device, bytes, sizeof bytes, NULL, done);
  cr_assert(stays_at(done, 1));
  softhsa_hold(false);
  cr_assert(comes_to(done, 0));
}

Test(copy, a_block_of_rows) {
  char *device = allocate(gpu(0), MIB);
  const char rows[] = "ab..cd..ef..gh..ij..kl..";
  hsa_signal_t done = signal_at(1);
  hsa_pitched_ptr_t from = {(void *)(uintptr_t)rows, 4, 12}, to = {device, 8, 64};
  hsa_dim3_t from_at = {0, 1, 0}, to_at = {3, 2, 1}, range = {2, 2, 2};
  REQUIRE(hsa_amd_memory_async_copy_rect(&to, &to_at, &from, &from_at, &range, gpu(0), hsaHostToDevice, 0, NULL, done));
  cr_assert(comes_to(done, 0));
  cr_assert_arr_eq(device + 64 + 16 + 2, "\0cd\0", 4);
  cr_assert_arr_eq(device + 64 + 24 + 2, "\0ef\0", 4);
  cr_assert_arr_eq(device + 128 + 16 + 2, "\0ij\0", 4);
  cr_assert_arr_eq(device + 128 + 24 + 2, "\0kl\0", 4);
}

Test(copy, it_can_end_with_copies_pending) {
  char *device = allocate(gpu(0), MIB), bytes[4] = "new";
  hsa_signal_t gate = signal_at(1), done = signal_at(1);
  to_gpu(device, bytes, sizeof bytes, &gate, done);
  cr_assert(stays_at(done, 1));
}
