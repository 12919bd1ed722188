/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that one stream allocates and another frees, through the library (fact H7: the runtime alone hands it out
 * while the other stream still reads it). */
#include <criterion/criterion.h>

#include "rig.h"
#include "warmpool/warmpool.h"

enum { ROUNDS = 1000, BYTES = 1 << 16 };

static bool all_are(const unsigned char *bytes, unsigned char value) {
  for (size_t i = 0; i < BYTES; i++) {
    if (bytes[i] != value) return false;
  }
  return true;
}

/* What the second stream has copied of a block that it frees at once, while the first one allocates and writes. */
static bool copy_is_whole(wp_runtime *runtime, wp_delegate *delegate, const wp_stream *streams, void *copy, int round) {
  static unsigned char read[BYTES];
  void *block, *next;
  unsigned char value = (unsigned char)(round & 0x7f);
  cr_assert_eq(wp_alloc(delegate, BYTES, streams[0], &block), WP_OK);
  rig_fill(streams[0], block, value, BYTES);
  rig_wait(streams[1], streams[0]);
  rig_copy(streams[1], copy, block, BYTES);
  cr_assert_eq(wp_free(runtime, block, streams[1]), WP_OK);
  cr_assert_eq(wp_alloc(delegate, BYTES, streams[0], &next), WP_OK);
  rig_fill(streams[0], next, 0xee, BYTES);
  rig_read(streams[1], read, copy, BYTES);
  cr_assert_eq(wp_free(runtime, next, streams[0]), WP_OK);
  return all_are(read, value);
}

static void lose_no_byte(wp_caching caching) {
  wp_runtime_options options = WP_RUNTIME_OPTIONS_INIT;
  wp_stream streams[2] = {rig_stream_create(0), rig_stream_create(0)};
  wp_runtime *runtime;
  wp_delegate *delegate;
  void *copy;
  unsigned wrong = 0;
  options.caching = caching;
  cr_assert_eq(wp_runtime_create(&options, &runtime), WP_OK);
  cr_assert_eq(wp_delegate_open(runtime, 0, NULL, &delegate), WP_OK);
  cr_assert_eq(wp_alloc(delegate, BYTES, streams[1], &copy), WP_OK);
  for (int round = 0; round < ROUNDS; round++) {
    if (!copy_is_whole(runtime, delegate, streams, copy, round)) wrong++;
  }
  cr_expect_eq(wrong, 0, "%u of %d rounds read wrong bytes", wrong, ROUNDS);
  cr_assert_eq(wp_free(runtime, copy, streams[1]), WP_OK);
  cr_expect_eq(wp_delegate_close(delegate, NULL), WP_OK);
  cr_expect_eq(wp_runtime_destroy(runtime), WP_OK);
  rig_stream_destroy(streams[0]);
  rig_stream_destroy(streams[1]);
}

Test(cross_stream, frees_lose_no_byte_in_a_thousand_rounds, .timeout = 60) { lose_no_byte(WP_CACHING_DRIVER); }
Test(cross_stream, frees_lose_no_byte_in_a_thousand_rounds_of_lanes, .timeout = 60) { lose_no_byte(WP_CACHING_LANES); }
