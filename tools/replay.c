/* SPDX-License-Identifier: Apache-2.0 */
/* warmpool replay: arguments. */
#include "replay.h"

#include <getopt.h>
#include <string.h>

#include "command.h"

/* 0 or 1: which of the two it is; -1: neither. */
static int choose(const char *text, const char *first, const char *second) {
  if (strcmp(text, first) == 0) return 0;
  return strcmp(text, second) == 0 ? 1 : -1;
}

/* The exit status; -1: go on. */
static int read_option(int option, char **argv, bench_run *run, replay_options *options) {
  unsigned number = 0;
  int choice;
  switch (option) {
  case 'j': run->json = true; return -1;
  case 'q': run->progress = false; return -1;
  case 'c':
    choice = choose(optarg, "lanes", "driver");
    options->caching = choice == 0 ? WP_CACHING_LANES : WP_CACHING_DRIVER;
    return choice >= 0 ? -1 : misuse("--caching wants lanes or driver, not", optarg);
  case 's':
    choice = choose(optarg, "checked", "declared");
    options->contract = choice == 0 ? WP_STREAMS_CHECKED : WP_STREAMS_DECLARED;
    return choice >= 0 ? -1 : misuse("--contract wants checked or declared, not", optarg);
  case 'd':
    if (!parse_number(optarg, 0, 1000000, &number)) return misuse("--device wants a number, not", optarg);
    options->device = (int)number;
    return -1;
  case 'n':
    if (!parse_number(optarg, 0, 1000000000, &options->sync)) return misuse("--sync wants a number, not", optarg);
    return -1;
  case ':': return misuse("a value is missing after", argv[optind - 1]);
  default: return misuse("replay has no option", unknown_option(argv));
  }
}

int replay_command(int argc, char **argv, const char *command) {
  static const struct option words[] = {{"json", no_argument, NULL, 'j'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"caching", required_argument, NULL, 'c'},
                                        {"contract", required_argument, NULL, 's'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"sync", required_argument, NULL, 'n'},
                                        {NULL, 0, NULL, 0}};
  bench_run run = {.progress = true};
  replay_options options = {.device = -1};
  replay_result result;
  int option, status = -1;
  while (status < 0 && (option = getopt_long(argc, argv, ":", words, NULL)) != -1) {
    status = read_option(option, argv, &run, &options);
  }
  if (status >= 0) return status;
  if (optind == argc) return misuse("replay wants a file", NULL);
  if (optind + 1 < argc) return misuse("replay takes one file, and no", argv[optind + 1]);
  if (options.device >= 0) status = check_device((unsigned)options.device);
  if (status > 0) return status;
  options.path = argv[optind];
  if (options.device >= 0) run.device = options.device;
  replay_run(&run, &options, &result);
  replay_report(&run, &options, &result, command);
  return 0;
}
