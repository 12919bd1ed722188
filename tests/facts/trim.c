/* SPDX-License-Identifier: Apache-2.0 */
/* What a trim gives back, and who has to have waited for what before. */
#include <criterion/criterion.h>
#include <sched.h>

#include "facts.h"

#define BYTES (64 * MIB)

TestSuite(trim, .init = facts_init, .fini = facts_fini, .timeout = 20);

static void allocate_and_free(wp_stream order) { release(allocate(pool, BYTES, order), order); }

static void synchronize_event(wp_event event) { cr_assert_eq(driver->event_synchronize(driver->self, event), WP_OK); }

/* C1 */
Test(trim, counts_a_free_that_waits_for_work_as_unused_at_once) {
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  cr_expect_eq(used(pool), 0);
  cr_expect_eq(reserved(pool), BYTES);
  rig_release(hold);
}

/* C1 */
Test(trim, gives_nothing_back_while_a_free_waits_for_work) {
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  release(memory, stream);
  trim(pool);
  cr_expect_eq(reserved(pool), BYTES);
  rig_release(hold);
}

/* C1: the event stands for the work that the free waits for, not for the free. */
Test(trim, gives_nothing_back_when_work_has_finished_and_nobody_synchronised) {
  void *memory = allocate(pool, BYTES, stream);
  rig_hold *hold = rig_hold_stream(stream);
  wp_event work = record(stream);
  release(memory, stream);
  rig_release(hold);
  await_by_query(work);
  trim(pool);
  cr_expect_eq(reserved(pool), BYTES);
}

/* C2 */
Test(trim, gives_nothing_back_after_a_query_alone) {
  allocate_and_free(stream);
  await_by_query(record(stream));
  trim(pool);
  cr_expect_eq(reserved(pool), BYTES);
}

/* C2 */
Test(trim, gives_all_back_after_the_stream_was_synchronised) {
  void *memory = allocate(pool, BYTES, stream);
  rig_busy(stream, 20);
  release(memory, stream);
  synchronize(stream);
  cr_expect_eq(reserved(pool), BYTES);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C2 */
Test(trim, gives_all_back_after_an_event_behind_the_free_was_synchronised) {
  void *memory = allocate(pool, BYTES, stream);
  rig_busy(stream, 20);
  release(memory, stream);
  synchronize_event(record(stream));
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C2 */
Test(trim, gives_all_back_after_a_stream_that_waited_was_synchronised) {
  wp_stream other = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, stream);
  rig_busy(stream, 20);
  release(memory, stream);
  wait_for(other, record(stream));
  synchronize(other);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
  rig_stream_destroy(other);
}

/* C2 */
Test(trim, gives_all_back_after_an_event_of_a_destroyed_stream_was_synchronised) {
  wp_stream user = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, user);
  rig_busy(user, 20);
  release(memory, user);
  wp_event event = record(user);
  rig_stream_destroy(user);
  synchronize_event(event);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C2 */
Test(trim, gives_all_back_after_a_stream_that_waited_for_a_destroyed_one_was_synchronised) {
  wp_stream user = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, user);
  rig_busy(user, 20);
  release(memory, user);
  wp_event event = record(user);
  rig_stream_destroy(user);
  wait_for(stream, event);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
}

/* C3: the foreign work is held until the end, so whoever waits for it never gets there. */
Test(trim, gives_all_back_without_waiting_for_foreign_work) {
  wp_stream user = rig_stream_create(0), foreign = rig_stream_create(0);
  rig_hold *hold = rig_hold_stream(foreign);
  void *memory = allocate(pool, BYTES, user);
  rig_busy(user, 20);
  wp_event event = record(user);
  rig_stream_destroy(user);
  wait_for(stream, event);
  release(memory, stream);
  synchronize(stream);
  trim(pool);
  cr_expect_eq(reserved(pool), 0);
  rig_release(hold);
  rig_stream_destroy(foreign);
}

/* C4 */
Test(trim, gives_all_back_in_the_end_of_what_was_freed_on_a_destroyed_stream) {
  wp_stream user = rig_stream_create(0);
  void *memory = allocate(pool, BYTES, user);
  rig_hold *hold = rig_hold_stream(user);
  release(memory, user);
  rig_stream_destroy(user);
  trim(pool);
  cr_expect_eq(reserved(pool), BYTES);
  rig_release(hold);
  do {
    (void)sched_yield();
    trim(pool);
  } while (reserved(pool) != 0);
}

/* C18 */
Test(trim, leaves_a_neighbour_its_cache) {
  wp_pool neighbour = make_pool(0);
  wp_stream theirs = rig_stream_create(0);
  release(allocate(neighbour, BYTES, theirs), theirs);
  await_by_query(record(theirs));
  allocate_and_free(stream);
  synchronize(stream);
  synchronize_event(record(stream));
  allocate_and_free(stream);
  trim(pool);
  cr_expect_eq(reserved(neighbour), BYTES);
  rig_stream_destroy(theirs);
}
