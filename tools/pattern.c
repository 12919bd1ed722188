/* SPDX-License-Identifier: Apache-2.0 */
/* warmpool pattern: arguments. */
#include "pattern.h"

#include <getopt.h>

#include "command.h"

/* The exit status; -1: go on. */
static int read_option(int option, char **argv, unsigned *events, unsigned *seed) {
  switch (option) {
  case 'e':
    if (parse_number(optarg, 1, 1000000000, events)) return -1;
    return misuse("--events wants a number of at least 1, not", optarg);
  case 's':
    if (parse_number(optarg, 0, 1000000000, seed)) return -1;
    return misuse("--seed wants a number, not", optarg);
  case ':': return misuse("a value is missing after", argv[optind - 1]);
  default: return misuse("pattern has no option", unknown_option(argv));
  }
}

int pattern_command(int argc, char **argv) {
  static const struct option words[] = {
      {"events", required_argument, NULL, 'e'}, {"seed", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
  unsigned events = 10000, seed = 1;
  int option, status = -1;
  while (status < 0 && (option = getopt_long(argc, argv, ":", words, NULL)) != -1) {
    status = read_option(option, argv, &events, &seed);
  }
  if (status >= 0) return status;
  if (optind == argc) return misuse("pattern wants a name", NULL);
  if (optind + 1 < argc) return misuse("pattern takes one name, and no", argv[optind + 1]);
  const pattern_kind *found = pattern_find(argv[optind]);
  if (found == NULL) return misuse("there is no pattern", argv[optind]);
  pattern_write(found, stdout, events, seed);
  return 0;
}
