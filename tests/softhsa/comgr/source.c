/* SPDX-License-Identifier: Apache-2.0 */
/* Finds `__kernel void NAME(ARGUMENT, ...)` in a source. A declaration is taken for one as well; nobody writes those.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

static const struct {
  const char *name;
  unsigned bytes;
} types[] = {
    {"uchar", 1}, {"ushort", 2},  {"uint", 4},   {"int", 4},   {"float", 4},   {"ulong", 8},
    {"long", 8},  {"ulong2", 16}, {"uint4", 16}, {"int4", 16}, {"float4", 16}, {"ulong4", 32},
};

static bool is_word_character(char c) { return isalnum((unsigned char)c) != 0 || c == '_'; }

/* The next word at or after *at, whose end *at becomes. */
static size_t next_word(const char **at, const char *end, const char **word) {
  const char *begin = *at;
  while (begin < end && !is_word_character(*begin)) ++begin;
  const char *stop = begin;
  while (stop < end && is_word_character(*stop)) ++stop;
  *word = begin;
  *at = stop;
  return (size_t)(stop - begin);
}

static bool contains(const char *begin, const char *end, const char *what) {
  size_t length = strlen(what);
  for (; begin + length <= end; ++begin) {
    if (memcmp(begin, what, length) == 0) return true;
  }
  return false;
}

/* The size of a value, by the first word that is a type; 8 where none is known. */
static unsigned value_bytes(const char *begin, const char *end) {
  const char *word;
  for (size_t length; (length = next_word(&begin, end, &word)) != 0;) {
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
      if (strlen(types[i].name) == length && memcmp(types[i].name, word, length) == 0) return types[i].bytes;
    }
  }
  return 8;
}

/* Appends the argument's word, and moves the offset past it. */
static void add_argument(const char *begin, const char *end, struct text *words, unsigned *offset) {
  char kind = 'v';
  unsigned bytes = 8;
  if (contains(begin, end, "*")) {
    kind = contains(begin, end, "__constant") ? 'c' : 'g';
  } else if (contains(begin, end, "image")) {
    kind = 'i';
  } else {
    bytes = value_bytes(begin, end);
  }
  char word[32];
  int length = snprintf(word, sizeof word, " %c%u", kind, bytes);
  standin_append(words, word, (size_t)length);
  *offset = (*offset + bytes - 1) / bytes * bytes + bytes; /* each at its natural alignment */
}

/* From behind the opening parenthesis to the closing one. */
static void add_kernel(const char *name, size_t name_length, const char *begin, const char *end, struct text *lines) {
  struct text words = {0};
  unsigned bytes = 0;
  while (begin < end) {
    const char *comma = memchr(begin, ',', (size_t)(end - begin));
    const char *stop = comma == NULL ? end : comma;
    const char *at = begin, *word;
    if (next_word(&at, stop, &word) != 0) add_argument(begin, stop, &words, &bytes);
    begin = stop + 1;
  }
  char number[32];
  int length = snprintf(number, sizeof number, " %u", bytes);
  standin_append(lines, name, name_length);
  standin_append(lines, number, (size_t)length);
  standin_append(lines, words.at, words.length);
  standin_append(lines, "\n", 1);
  free(words.at);
}

void standin_find_kernels(const char *source, size_t length, struct text *lines) {
  const char *at = source, *end = source + length, *word;
  for (size_t word_length; (word_length = next_word(&at, end, &word)) != 0;) {
    if (word_length != strlen("__kernel") || memcmp(word, "__kernel", word_length) != 0) continue;
    const char *open = memchr(at, '(', (size_t)(end - at));
    const char *close = open == NULL ? NULL : memchr(open, ')', (size_t)(end - open));
    if (close == NULL) return;
    const char *name = open;
    while (name > at && is_word_character(name[-1])) --name;
    add_kernel(name, (size_t)(open - name), open + 1, close, lines);
    at = close;
  }
}
