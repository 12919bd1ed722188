/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream's handle and its id say about the stream. */
#include <criterion/criterion.h>

#include "facts.h"

#define ROUNDS 20

static void streams_init(void) {
  facts_init();
  uint32_t capabilities;
  cr_assert_eq(driver->device_capabilities(driver->self, 0, &capabilities), WP_OK);
  if ((capabilities & WP_CAP_STREAM_IDENTITY) == 0) cr_skip_test("the driver gives streams no ids");
}

TestSuite(streams, .init = streams_init, .fini = facts_fini, .timeout = 20);

static uint64_t id_of(wp_stream of) {
  uint64_t id = 0;
  cr_assert_eq(driver->stream_identity(driver->self, of, &id), WP_OK);
  return id;
}

/* C14 */
Test(streams, a_handle_destroyed_while_idle_comes_back_with_another_id) {
  int recycled = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    wp_stream before = rig_stream_create(0);
    uint64_t id = id_of(before);
    rig_stream_destroy(before);
    wp_stream after = rig_stream_create(0);
    if (after == before) ++recycled;
    cr_expect_neq(id_of(after), id);
    rig_stream_destroy(after);
  }
  cr_expect_geq(recycled, ROUNDS / 2);
}

/* C14 */
Test(streams, a_handle_destroyed_while_busy_comes_back_before_its_work_has_ended) {
  int recycled = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    wp_stream before = rig_stream_create(0);
    rig_hold *hold = rig_hold_stream(before);
    wp_event event = record(before);
    rig_stream_destroy(before);
    wp_stream after = rig_stream_create(0);
    bool complete = true;
    cr_assert_eq(driver->event_query(driver->self, event, &complete), WP_OK);
    if (after == before && !complete) ++recycled;
    synchronize(after); /* does not wait for the destroyed stream */
    rig_release(hold);
    rig_stream_destroy(after);
  }
  cr_expect_geq(recycled, ROUNDS / 2);
}

/* C14 */
Test(streams, ids_never_repeat) {
  uint64_t ids[2 * ROUNDS];
  for (int i = 0; i < 2 * ROUNDS; ++i) {
    wp_stream made = rig_stream_create(0);
    ids[i] = id_of(made);
    for (int j = 0; j < i; ++j) cr_expect_neq(ids[i], ids[j]);
    rig_stream_destroy(made);
  }
}

/* C14: two streams that live at the same time, too. */
Test(streams, an_id_is_its_streams_for_life) {
  wp_stream other = rig_stream_create(0);
  uint64_t id = id_of(stream);
  cr_expect_neq(id_of(other), id);
  rig_stream_destroy(other);
  cr_expect_eq(id_of(stream), id);
}
