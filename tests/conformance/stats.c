/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting: what is live, whose it is, how high it went. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

SUITE(stats);

BOTH_CONTRACTS(stats, count_blocks_bytes_and_calls) {
  start(NULL);
  wp_stats now = stats(0);
  cr_expect_eq(now.allocs + now.frees + now.live_bytes + now.reserved_peak, 0);
  wp_delegate *delegate = open_on(0);
  void *one = take(delegate, 1000, WP_STREAM_LEGACY), *other = take(delegate, 5000, WP_STREAM_LEGACY);
  now = stats(0);
  cr_expect_geq(now.live_bytes, 6000);
  cr_expect_leq(now.live_bytes, 6000 + 2 * 512);
  cr_expect_eq(now.live_blocks, 2);
  cr_expect_eq(now.live_peak, now.live_bytes);
  cr_expect_eq(now.reserved_bytes, now.live_bytes + now.cached_bytes + now.parked_bytes);
  cr_expect_eq(now.reserved_peak, now.reserved_bytes);
  cr_expect_eq(now.allocs, 2);
  cr_expect_eq(now.frees, 0);
  cr_expect_geq(now.driver_allocs, 1);
  uint64_t peak = now.live_peak;
  give(one, WP_STREAM_LEGACY);
  give(other, WP_STREAM_LEGACY);
  now = stats(0);
  cr_expect_eq(now.live_bytes, 0);
  cr_expect_eq(now.live_blocks, 0);
  cr_expect_eq(now.live_peak, peak);
  cr_expect_eq(now.allocs, 2);
  cr_expect_eq(now.frees, 2);
  (void)last_close(delegate, WP_OK);
}

BOTH_CONTRACTS(stats, agree_with_the_pointers_usable_bytes) {
  static const size_t sizes[] = {1, 255, 256, 257, 511, 512, 513, 100000, 1 << 20, (3 << 20) + 1};
  void *blocks[COUNT_OF(sizes)];
  uint64_t usable = 0;
  start(NULL);
  wp_delegate *delegate = open_on(0);
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    wp_pointer_info_t info = WP_POINTER_INFO_INIT;
    blocks[i] = take(delegate, sizes[i], WP_STREAM_LEGACY);
    OK(wp_pointer_info(runtime, blocks[i], &info));
    cr_expect_geq(info.bytes, sizes[i]);
    cr_expect_leq(info.bytes, sizes[i] + sizes[i] / 16 + 512);
    usable += info.bytes;
    cr_expect_eq(stats(0).live_bytes, usable);
  }
  for (size_t i = 0; i < COUNT_OF(sizes); i++) give(blocks[i], WP_STREAM_LEGACY);
  cr_expect_eq(stats(0).live_bytes, 0);
  (void)last_close(delegate, WP_OK);
}

BOTH_CONTRACTS(stats, are_kept_for_each_delegate) {
  start(NULL);
  wp_delegate *one = open_on(0), *other = open_on(0);
  void *a = take(one, 4096, WP_STREAM_LEGACY), *b = take(other, 8192, WP_STREAM_LEGACY);
  cr_expect_eq(stats_of(one).live_bytes, 4096);
  cr_expect_eq(stats_of(other).live_bytes, 8192);
  cr_expect_eq(stats(0).live_bytes, 4096 + 8192);
  give(a, WP_STREAM_LEGACY);
  cr_expect_eq(stats_of(one).live_bytes, 0);
  cr_expect_eq(stats_of(one).live_peak, 4096);
  cr_expect_eq(stats_of(one).allocs, 1);
  cr_expect_eq(stats_of(one).frees, 1);
  cr_expect_eq(stats_of(other).frees, 0);
  wp_stats now = stats_of(other);
  cr_expect_eq(now.parked_bytes + now.reserved_bytes + now.reserved_peak + now.driver_allocs + now.trims, 0,
               "what belongs to the device is 0 in a delegate's stats");
  OK(wp_delegate_close(other, NULL));
  cr_expect_eq(stats_of(other).live_bytes, 8192); /* as long as a block is live */
  give(b, WP_STREAM_LEGACY);
  REFUSES(WP_ERROR_INVALID_ARGUMENT, wp_delegate_stats(other, &now));
  (void)last_close(one, WP_OK);
}

BOTH_CONTRACTS(stats, forget_peaks_when_told) {
  wp_runtime_options options = defaults();
  wp_delegate_options limited = WP_DELEGATE_OPTIONS_INIT;
  wp_delegate *delegate;
  options.limit_bytes = limited.limit_bytes = 8 * MIB; /* makes live_peak exact in lanes */
  start(&options);
  OK(wp_reset_peaks(runtime, WP_DEVICE_ALL));
  OK(wp_delegate_open(runtime, 0, &limited, &delegate));
  void *small = take(delegate, 512, WP_STREAM_LEGACY);
  give(take(delegate, MIB, WP_STREAM_LEGACY), WP_STREAM_LEGACY);
  cr_expect_eq(stats(0).live_peak, MIB + 512);
  cr_expect_eq(stats_of(delegate).live_peak, MIB + 512);
  cr_expect_eq(stats(0).reserved_peak, options.caching == WP_CACHING_DRIVER ? MIB + 512 : stats(0).reserved_bytes);
  uint64_t peak = stats(0).reserved_peak;
  OK(wp_reset_peaks(runtime, 0));
  cr_expect_eq(stats(0).live_peak, 512);
  cr_expect_eq(stats_of(delegate).live_peak, 512);
  cr_expect_eq(stats(0).reserved_peak, options.caching == WP_CACHING_DRIVER ? 512 : peak);
  give(small, WP_STREAM_LEGACY);
  cr_expect_eq(stats(0).live_peak, 512);
  OK(wp_reset_peaks(runtime, WP_DEVICE_CURRENT));
  cr_expect_eq(stats(0).live_peak, 0);
  (void)last_close(delegate, WP_OK);
}

BOTH_CONTRACTS(stats, of_the_driver_match_what_is_held) {
  wp_driver_stats before = WP_DRIVER_STATS_INIT, now = WP_DRIVER_STATS_INIT;
  start(NULL);
  OK(wp_query_driver(runtime, 0, &before)); /* of a device not used so far */
  cr_expect_eq(before.pool_reserved, 0);
  cr_expect_gt(before.device_total, 0);
  cr_expect_leq(before.device_free, before.device_total);
  wp_delegate *delegate = open_on(0);
  void *memory = take(delegate, 2 * MIB, WP_STREAM_LEGACY);
  OK(wp_query_driver(runtime, WP_DEVICE_CURRENT, &now));
  cr_expect_eq(now.pool_used, stats(0).reserved_bytes);
  cr_expect_geq(now.pool_reserved, now.pool_used);
  give(memory, WP_STREAM_LEGACY);
  OK(wp_query_driver(runtime, 0, &now));
  cr_expect_eq(now.pool_used, stats(0).reserved_bytes);
  cr_expect_geq(now.pool_reserved, 2 * MIB);
  (void)last_close(delegate, WP_OK);
}

/* -- wp_stats_json -- */

BOTH_CONTRACTS(stats, can_be_written_as_json) {
  wp_delegate_options options = WP_DELEGATE_OPTIONS_INIT;
  wp_delegate *delegate;
  char name[] = "model \"a\"\\\n\x01", text[8192], part[16];
  start(NULL);
  options.name = name;
  OK(wp_delegate_open(runtime, 0, &options, &delegate));
  memset(name, 'x', sizeof name - 1); /* the name was copied */
  void *memory = take(delegate, 123, WP_STREAM_LEGACY);
  size_t length = wp_stats_json(runtime, NULL, 0);
  cr_assert_lt(length, sizeof text);
  cr_expect_eq(wp_stats_json(runtime, text, sizeof text), length);
  cr_expect_eq(strlen(text), length);
  cr_expect_eq(text[0], '{');
  cr_expect_eq(text[length - 1], '}');
#define NAMED(name) cr_expect_not_null(strstr(text, "\"" #name "\""), "no " #name);
  WP_STATS_LIST(NAMED)
  cr_expect_not_null(strstr(text, "\"model \\\"a\\\"\\\\"), "%s", text);
  for (size_t i = 0; i < length; i++)
    cr_assert((unsigned char)text[i] >= ' ' || text[i] == '\n', "a control character");
  memset(part, '#', sizeof part);
  cr_expect_eq(wp_stats_json(runtime, part, 8), length);
  cr_expect_eq(memcmp(part, text, 7), 0);
  cr_expect_eq(part[7], '\0');
  cr_expect_eq(part[8], '#');
  cr_expect_eq(wp_stats_json(runtime, part, 1), length);
  cr_expect_eq(part[0], '\0');
  cr_expect_eq(wp_stats_json(NULL, part, sizeof part), 0);
  give(memory, WP_STREAM_LEGACY);
  (void)last_close(delegate, WP_OK);
}
