/* SPDX-License-Identifier: Apache-2.0 */
/* Options: what may stand in them, and what the environment says. */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "bytes.h"
#include "runtime.h"

wp_status wp__check_size(const char *type, size_t given, size_t expected) {
  if (given == expected) return WP_OK;
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE,
                    "%s.size is %zu and this library's is %zu: initialise it with its _INIT, and build against the "
                    "headers of the library you run",
                    type, given, expected);
}

static wp_status check_choice(const char *member, int value, int highest) {
  if (value >= 0 && value <= highest) return WP_OK;
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "wp_runtime_options.%s has no value %d", member, value);
}

wp_status wp__options_check(const wp_runtime_options *options) {
  wp_status status = wp__check_size("wp_runtime_options", options->size, sizeof *options);
  if (status == WP_OK) status = check_choice("caching", (int)options->caching, WP_CACHING_DRIVER);
  if (status == WP_OK) status = check_choice("stream_contract", (int)options->stream_contract, WP_STREAMS_DECLARED);
  if (status == WP_OK) status = check_choice("release_wait", (int)options->release_wait, WP_NO_WAIT);
  if (status == WP_OK) status = check_choice("oom_policy", (int)options->oom_policy, WP_OOM_FAIL);
  if (status == WP_OK) status = check_choice("graph_trim", (int)options->graph_trim, WP_GRAPH_TRIM_NEVER);
  if (status == WP_OK && options->backend != NULL) status = wp__backend_check(options->backend);
  return status;
}

/* -- the environment -- */

struct word {
  const char *text;
  int value;
};

static wp_status no_meaning(const char *variable, const char *text, const char *expected) {
  return wp__refuse(WP_ERROR_INVALID_ARGUMENT, WP__NO_DEVICE, "%s=%s has no meaning: expected %s", variable, text,
                    expected);
}

/* `words` ends with a NULL text. An unset or empty variable leaves *out alone. */
static wp_status read_word(const char *variable, const struct word *words, const char *expected, int *out) {
  const char *text = getenv(variable);
  if (text == NULL || *text == '\0') return WP_OK;
  for (const struct word *word = words; word->text != NULL; word++) {
    if (strcmp(text, word->text) == 0) {
      *out = word->value;
      return WP_OK;
    }
  }
  return no_meaning(variable, text, expected);
}

static wp_status read_bytes(const char *variable, uint64_t *out) {
  const char *text = getenv(variable);
  if (text == NULL || *text == '\0' || wp__parse_bytes(text, out)) return WP_OK;
  return no_meaning(variable, text, "a number of bytes, with K, M, G or T behind it if you like");
}

/* NULL: unset or empty. */
static const char *read_path(const char *variable) {
  const char *text = getenv(variable);
  return text == NULL || *text == '\0' ? NULL : text;
}

wp_status wp__options_from_environment(wp_runtime_options *options) {
  static const struct word cachings[] = {{"lanes", WP_CACHING_LANES}, {"driver", WP_CACHING_DRIVER}, {NULL, 0}};
  static const struct word streams[] = {{"checked", WP_STREAMS_CHECKED}, {"declared", WP_STREAMS_DECLARED}, {NULL, 0}};
  static const struct word waits[] = {{"wait", WP_WAIT}, {"no-wait", WP_NO_WAIT}, {NULL, 0}};
  static const struct word policies[] = {
      {"wait", WP_OOM_RECLAIM_AND_WAIT}, {"reclaim", WP_OOM_RECLAIM}, {"fail", WP_OOM_FAIL}, {NULL, 0}};
  static const struct word graphs[] = {{"if-used", WP_GRAPH_TRIM_IF_USED}, {"never", WP_GRAPH_TRIM_NEVER}, {NULL, 0}};
  int caching = WP_CACHING_LANES, contract = WP_STREAMS_CHECKED, wait = WP_WAIT;
  int policy = WP_OOM_RECLAIM_AND_WAIT, graph = WP_GRAPH_TRIM_IF_USED;
  *options = (wp_runtime_options)WP_RUNTIME_OPTIONS_INIT;
  wp_status status = read_word("WARMPOOL_CACHING", cachings, "lanes or driver", &caching);
  if (status == WP_OK) status = read_word("WARMPOOL_STREAMS", streams, "checked or declared", &contract);
  if (status == WP_OK) status = read_word("WARMPOOL_RELEASE_WAIT", waits, "wait or no-wait", &wait);
  if (status == WP_OK) status = read_word("WARMPOOL_OOM", policies, "wait, reclaim or fail", &policy);
  if (status == WP_OK) status = read_word("WARMPOOL_GRAPH_TRIM", graphs, "if-used or never", &graph);
  if (status == WP_OK) status = read_bytes("WARMPOOL_RELEASE_THRESHOLD", &options->release_threshold);
  if (status == WP_OK) status = read_bytes("WARMPOOL_LIMIT_BYTES", &options->limit_bytes);
  if (status == WP_OK) status = read_bytes("WARMPOOL_KEEP_BYTES", &options->keep_bytes);
  options->trace_path = read_path("WARMPOOL_TRACE");
  options->caching = (wp_caching)caching;
  options->stream_contract = (wp_stream_contract)contract;
  options->release_wait = (wp_wait)wait;
  options->oom_policy = (wp_oom_policy)policy;
  options->graph_trim = (wp_graph_trim)graph;
  return status;
}
