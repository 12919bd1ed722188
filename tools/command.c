/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "bench.h"

int misuse(const char *what, const char *which) {
  (void)fprintf(stderr, "warmpool: %s%s%s: see warmpool --help\n", what, which != NULL ? " " : "",
                which != NULL ? which : "");
  return 2;
}

bool parse_number(const char *text, unsigned least, unsigned most, unsigned *out) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least || value > most) return false;
  *out = (unsigned)value;
  return true;
}

const char *unknown_option(char **argv) {
  static char letter[3] = "-?";
  if (optopt == 0) return argv[optind - 1];
  letter[1] = (char)optopt;
  return letter;
}

int check_device(unsigned device) {
  char text[128];
  int count = 0;
  const wp_backend *backend = wp_backend_builtin();
  BENCH(backend->device_count(backend->self, &count));
  if (device < (unsigned)count) return 0;
  (void)snprintf(text, sizeof text, "%u: the %s backend has %d, from 0 on", device, backend->name, count);
  return misuse("there is no device", text);
}
