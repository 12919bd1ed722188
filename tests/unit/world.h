/* SPDX-License-Identifier: Apache-2.0 */
/* What most unit tests start from: a runtime on the fake driver, one delegate on device 0, two streams. */
#ifndef WARMPOOL_TESTS_UNIT_WORLD_H
#define WARMPOOL_TESTS_UNIT_WORLD_H

#include <criterion/criterion.h>

#include "fake.h"
#include "os.h"
#include "warmpool/warmpool.h"

#define MIB ((size_t)1 << 20)

struct world {
  wp_runtime *runtime;
  wp_delegate *delegate; /* "first" */
  wp_stream s, t;        /* of device 0 */
  int log_lines;         /* what the runtime logged */
  char logged[320];      /* the last line */
};

extern wp_runtime_options world_options; /* what world_start uses; the fake backend unless it names one */

void world_start(struct world *world);
void world_end(struct world *world); /* everything must be freed and closed; proves that nothing is left anywhere */

/* A test between start() and world_end(&world). Not with .init and .fini: Criterion only warns of what fails there. */
#define WORLD_TEST(suite, name, start)                                                                                 \
  static void suite##_##name(void);                                                                                    \
  Test(suite, name, .timeout = 10) {                                                                                   \
    start();                                                                                                           \
    suite##_##name();                                                                                                  \
    world_end(&world);                                                                                                 \
  }                                                                                                                    \
  static void suite##_##name(void)

#define expect(expected, call)                                                                                         \
  do {                                                                                                                 \
    wp_status expect_status_ = (call);                                                                                 \
    wp_error_info expect_info_ = WP_ERROR_INFO_INIT;                                                                   \
    wp_last_error(&expect_info_);                                                                                      \
    cr_assert(expect_status_ == (expected), "%s is %s, not %s; last error: %s", #call, wp_status_name(expect_status_), \
              wp_status_name(expected), expect_info_.message);                                                         \
  } while (0)

void *world_alloc(struct world *world, size_t bytes, wp_stream stream);
bool world_is_live(struct world *world, const void *ptr);
wp_stats world_stats(struct world *world); /* of device 0 */
wp_error_info world_error(void);

#endif
