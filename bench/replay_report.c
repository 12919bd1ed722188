/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "replay.h"

static const char *caching_name(const replay_options *options) {
  return options->caching == WP_CACHING_LANES ? "lanes" : "driver";
}

static const char *contract_name(const replay_options *options) {
  return options->contract == WP_STREAMS_CHECKED ? "checked" : "declared";
}

static double each(uint64_t sum, uint64_t count) { return count == 0 ? 0 : (double)sum / (double)count; }

static void put_json(const replay_options *options, const replay_result *result) {
  json_open(NULL, '{');
  json_string("case", "replay");
  json_string("file", options->path);
  json_string("caching", caching_name(options));
  json_string("contract", contract_name(options));
  json_integer("sync", options->sync);
#define REPLAY_JSON(name) json_integer(#name, result->name);
  REPLAY_COUNTS(REPLAY_JSON)
#undef REPLAY_JSON
  json_integer("ns_total", result->ns_total);
  json_number("ns_per_call", each(result->ns_total, result->calls));
  json_number("ns_per_allocation", each(result->ns_alloc, result->allocations + result->refused));
  json_number("ns_per_free", each(result->ns_free, result->frees));
  json_close('}');
}

static void put_count(const char *name, uint64_t value) {
  (void)printf("  %-22s %14" PRIu64, name, value);
  if (strstr(name, "_peak") != NULL) (void)printf("  %.1f MiB", (double)value / (double)BENCH_MIB);
  (void)printf("\n");
}

static void put_table(const replay_options *options, const replay_result *result) {
  (void)printf("\nreplay of %s: caching %s, %s streams\n", options->path, caching_name(options),
               contract_name(options));
#define REPLAY_ROW(name) put_count(#name, result->name);
  REPLAY_COUNTS(REPLAY_ROW)
#undef REPLAY_ROW
  (void)printf("  %-22s %14.3f ms\n", "all calls", (double)result->ns_total / 1e6);
  (void)printf("  %-22s %14.1f ns\n", "a call", each(result->ns_total, result->calls));
  (void)printf("  %-22s %14.1f ns\n", "an allocation", each(result->ns_alloc, result->allocations + result->refused));
  (void)printf("  %-22s %14.1f ns\n", "a free", each(result->ns_free, result->frees));
}

void replay_report(const bench_run *run, const replay_options *options, const replay_result *result,
                   const char *command) {
  bench_header(run, command);
  if (run->json) {
    put_json(options, result);
  } else {
    put_table(options, result);
  }
  bench_footer(run);
}
