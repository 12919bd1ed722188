/* SPDX-License-Identifier: Apache-2.0 */
/* The table of expected findings: a row is
 *   [?]BACKENDS CASES TARGETS MODES KIND ISSUE REASON
 * of which the first four are patterns, or lists of them with commas. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

struct expected *expected_rows;
unsigned expected_count;

bool matches(const char *pattern, const char *text) { return fnmatch(pattern, text, 0) == 0; }

/* Whether one of the patterns of a list with commas is the text's. */
static bool is_in(const char *list, const char *text) {
  char copy[192];
  char *rest = NULL;
  (void)snprintf(copy, sizeof copy, "%s", list);
  for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
    if (matches(word, text)) return true;
  }
  return false;
}

/* False: it is no row. */
static bool read_row(const char *line, struct expected *row) {
  char issue[16];
  *row = (struct expected){.sometimes = *line == '?'};
  if (row->sometimes) line++;
  if (sscanf(line, "%31s %191s %63s %15s %15s %15s %191[^\n]", row->backend, row->name, row->target, row->mode,
             row->kind, issue, row->reason) != 7) {
    return false;
  }
  char *end = NULL; /* the number of an issue, or a fact's (H9) */
  const char *number = issue[0] == 'H' ? issue + 1 : issue;
  return strtol(number, &end, 10) > 0 && *end == '\0';
}

bool expected_read(const char *path, const char *backend, const char *version) {
  char line[512];
  unsigned number = 0;
  FILE *file = fopen(path, "r");
  bool is_good = file != NULL;
  if (file == NULL) (void)fprintf(stderr, "sweep: %s cannot be read\n", path);
  while (is_good && fgets(line, sizeof line, file) != NULL) {
    struct expected row;
    number++;
    if (line[0] == '#' || line[strspn(line, " \n")] == '\0') continue;
    is_good = read_row(line, &row);
    if (!is_good) (void)fprintf(stderr, "sweep: %s:%u is not a row\n", path, number);
    if (!is_good || (!is_in(row.backend, backend) && !is_in(row.backend, version))) continue;
    struct expected *rows = realloc(expected_rows, (expected_count + 1) * sizeof *rows);
    if (rows == NULL) abort();
    expected_rows = rows;
    expected_rows[expected_count++] = row;
  }
  if (file != NULL) (void)fclose(file);
  return is_good;
}

bool expected_is_of(const struct expected *row, const char *name) { return is_in(row->name, name); }

struct expected *expected_find(const char *name, const struct injection *injection, const char *kind) {
  const char *target = injection == NULL ? "none" : injection_target(injection);
  const char *mode = injection == NULL ? "none" : injection_mode(injection);
  for (unsigned i = 0; i < expected_count; i++) {
    struct expected *row = &expected_rows[i];
    if (strcmp(row->kind, kind) != 0 || !expected_is_of(row, name)) continue;
    if (!is_in(row->target, target) || !is_in(row->mode, mode)) continue;
    row->matched++;
    return row;
  }
  return NULL;
}
