/* SPDX-License-Identifier: Apache-2.0 */
/* Stream order: whom a freed block may serve, and when. */
#include "conformance.h"

SUITE(order);

BOTH_CONTRACTS(order, lets_a_freed_block_serve_its_stream_at_once) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream stream = rig_stream_create(0);
  void *memory = take(delegate, granule(), stream);
  uint64_t before = reserved(0);
  rig_hold *hold = rig_hold_stream(stream);
  for (int i = 0; i < 10; i++) { /* all this is behind the hold, and needs no other memory */
    rig_fill(stream, memory, i, MIB);
    give(memory, stream);
    memory = take(delegate, granule(), stream);
  }
  cr_expect_eq(reserved(0), before);
  rig_release(hold);
  give(memory, stream);
  (void)last_close(delegate, WP_OK);
  end_stream(0, stream);
}

/* rocm-systems#10943: the copy on s2 has not run when the block is freed there; s1 asks for memory meanwhile. */
BOTH_CONTRACTS(order, never_hands_out_what_another_stream_still_works_on) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream s1 = rig_stream_create(0), s2 = rig_stream_create(0);
  void *copy = take(delegate, MIB, s2);
  for (int round = 0; round < 50; round++) {
    void *memory = take(delegate, MIB, s1);
    rig_fill(s1, memory, round, MIB);
    rig_wait(s2, s1);
    rig_hold *hold = rig_hold_stream(s2);
    rig_copy(s2, copy, memory, MIB);
    give(memory, s2);
    void *next = take(delegate, MIB, s1);
    rig_fill(s1, next, 0xee, MIB);
    rig_stream_synchronize(s1);
    rig_release(hold);
    expect_bytes(s2, copy, round, MIB);
    give(next, s1);
  }
  give(copy, s2);
  (void)last_close(delegate, WP_OK);
  end_stream(0, s1);
  end_stream(0, s2);
}

/* The same without a hold, where whatever is wrong depends on time. */
BOTH_CONTRACTS(order, holds_between_streams_that_run) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream streams[3];
  void *copies[3];
  for (unsigned i = 0; i < 3; i++) copies[i] = take(delegate, MIB, streams[i] = rig_stream_create(0));
  for (unsigned round = 0; round < 120; round++) {
    unsigned s = round % 3, other = (round + 1) % 3;
    void *memory = take(delegate, MIB, streams[s]);
    rig_fill(streams[s], memory, (int)(round & 0x7f), MIB);
    rig_copy(streams[s], copies[s], memory, MIB);
    give(memory, streams[s]);
    void *next = take(delegate, MIB, streams[other]);
    rig_fill(streams[other], next, 0xff, MIB);
    give(next, streams[other]);
    expect_bytes(streams[s], copies[s], (int)(round & 0x7f), MIB);
  }
  for (unsigned i = 0; i < 3; i++) give(copies[i], streams[i]);
  (void)last_close(delegate, WP_OK);
  for (unsigned i = 0; i < 3; i++) end_stream(0, streams[i]);
}

BOTH_CONTRACTS(order, lets_a_freed_block_serve_other_streams_once_its_work_has_finished) {
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream s1 = rig_stream_create(0), s2 = rig_stream_create(0);
  void *memory = take(delegate, granule(), s1);
  rig_hold *hold = rig_hold_stream(s1);
  give(memory, s1);
  void *other = take(delegate, granule(), s2);
  cr_expect(!overlap(memory, other, granule()));
  expect_reserved(0, 2);
  rig_release(hold);
  rig_stream_synchronize(s1);
  memory = take(delegate, granule(), s2);
  expect_reserved(0, 2);
  give(memory, s2);
  give(other, s2);
  (void)last_close(delegate, WP_OK);
  end_stream(0, s1);
  end_stream(0, s2);
}

BOTH_CONTRACTS(order, keeps_live_blocks_apart) {
  enum { BLOCKS = 64 };
  unsigned char *blocks[BLOCKS];
  start(NULL);
  wp_delegate *one = open_on(0), *other = open_on(0);
  wp_stream streams[2] = {rig_stream_create(0), rig_stream_create(0)};
  for (unsigned i = 0; i < BLOCKS; i++) {
    blocks[i] = take(i % 3 ? one : other, 1000 + i, streams[i % 2]);
    rig_fill(streams[i % 2], blocks[i], (int)i, 1000 + i);
  }
  rig_stream_synchronize(streams[0]);
  rig_stream_synchronize(streams[1]);
  for (unsigned i = 0; i < BLOCKS; i++) expect_bytes(streams[i % 2], blocks[i], (int)i, 1000 + i);
  for (unsigned i = 0; i < BLOCKS; i++) give(blocks[i], streams[(i + 1) % 2]); /* the work on them has finished */
  OK(wp_delegate_close(one, NULL));
  (void)last_close(other, WP_OK);
  end_stream(0, streams[0]);
  end_stream(0, streams[1]);
}

/* -- handles that are handed out again: cupy#5264, rmm#649 -- */

BOTH_CONTRACTS(order, tells_a_stream_from_an_earlier_one_of_the_same_handle) {
  wp_stream spares[8] = {NULL};
  start(NULL);
  wp_delegate *delegate = open_on(0);
  wp_stream gone = rig_stream_create(0), reader = rig_stream_create(0);
  void *copy = take(delegate, granule(), reader), *memory = take(delegate, granule(), gone);
  rig_fill(gone, memory, 0x42, MIB);
  rig_hold *hold = rig_hold_stream(gone);
  rig_copy(gone, copy, memory, MIB);
  give(memory, gone);
  rig_wait(reader, gone);
  end_stream(0, gone);
  wp_stream stream = reincarnate(gone, spares, COUNT_OF(spares));
  if (stream != NULL) {
    void *next = take(delegate, granule(), stream);
    bool is_apart = !overlap(memory, next, granule());
    if (!is_apart) { /* the close would take the memory from under the work on it */
      rig_release(hold);
      rig_stream_synchronize(reader);
    }
    cr_assert(is_apart);
    rig_fill(stream, next, 0x99, MIB);
    give(next, stream);
    rig_stream_synchronize(stream);
  }
  release_later(hold); /* only now: the close has to remember the stream that is gone */
  expect_mapped(last_close(delegate, WP_OK).reserved_after, 1); /* the copy */
  release_is_over();
  expect_bytes(reader, copy, 0x42, MIB);
  give(copy, reader);
  tick_until_reserved(0, 0);
  end_stream(0, reader);
  for (size_t i = 0; i < COUNT_OF(spares) && spares[i] != NULL; i++) end_stream(0, spares[i]);
  if (stream == NULL) cr_skip_test("the driver did not hand the handle out again");
}
