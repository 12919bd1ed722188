/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what is here, and what it costs. Exit status 0: done; 1: it went wrong; 2: wrong arguments, or a
 * trace that cannot be read. */
#include <getopt.h>
#include <string.h>

#include "bench.h"
#include "command.h"
#include "info.h"
#include "pattern.h"

static const char usage[] =
    "usage: warmpool info [--json]\n"
    "       warmpool bench CASE... [--json] [--device N] [--rounds N] [--traces DIR] [--quiet]\n"
    "       warmpool replay FILE [--caching lanes|driver] [--contract checked|declared] [--device N] [--sync N]\n"
    "                            [--json] [--quiet]\n"
    "       warmpool pattern NAME [--events N] [--seed N]\n"
    "       warmpool --help | --version\n"
    "\n"
    "info    shows the backend, its devices, what they can do and their memory.\n"
    "replay  runs a trace that the library has written (WARMPOOL_TRACE), or a log of RMM's, and tells what it took.\n"
    "pattern writes a made-up trace to the standard output, the same for the same seed. NAME is one of those below.\n"
    "bench   measures. Every mode of a case has its turn in each round, so that their ratios mean something. CASE is\n"
    "        one of these, or all:\n";
static const char options_text[] =
    "\n"
    "  --json      prints one JSON object instead of a table\n"
    "  --quiet     no progress on the terminal\n"
    "  --device N  bench: runs on device N (default: 0); replay: runs everything on device N (default: on the one "
    "that\n"
    "              the trace names)\n"
    "  --rounds N  bench: 1 to 10000; more rounds, more samples (default: 10)\n"
    "  --traces    bench footprint: replays the traces in folder DIR as well, all files that end in .csv\n"
    "  --events N  pattern: writes about so many lines (default: 10000)\n"
    "  --seed N    pattern: another seed, other random numbers (default: 1)\n"
    "  --caching   replay: where freed memory stays warm, in the library's lanes or in the driver's pool (default: "
    "lanes)\n"
    "  --contract  replay: what is promised of streams (default: checked)\n"
    "  --sync N    replay: synchronises all streams after each N events, and leaves to the driver what has finished "
    "in\n"
    "              between, as it would for a program; counts may then differ from run to run. Default: 0: nothing is\n"
    "              synchronised, but each question whether work has finished waits until it has, and so does each "
    "free\n"
    "              that reaches the driver. So all memory that was freed can be had, by the lanes and by the driver's\n"
    "              pool alike, and a replay gives the same counts and peaks each time, on whichever backend. The\n"
    "              waits are in no time that is told.\n"
    "\n"
    "Exit status: 0 done, 1 something failed, 2 wrong arguments, or a trace that is broken or missing.\n";

static void print_help(FILE *out) {
  (void)fputs(usage, out);
  for (size_t i = 0; bench_cases[i] != NULL; i++) {
    (void)fprintf(out, "          %-10s %s\n", bench_cases[i]->name, bench_cases[i]->summary);
  }
  (void)fputs("        The patterns:\n", out);
  for (const pattern_kind *each = patterns; each->name != NULL; each++) {
    (void)fprintf(out, "          %-10s %s\n", each->name, each->summary);
  }
  (void)fputs(options_text, out);
}

/* -- bench -- */

static const bench_case *find_case(const char *name) {
  for (size_t i = 0; bench_cases[i] != NULL; i++) {
    if (strcmp(bench_cases[i]->name, name) == 0) return bench_cases[i];
  }
  return NULL;
}

static void run_case(bench_run *run, const bench_case *bench) {
  bench_title(run, bench);
  bench->run(run);
}

static int run_cases(bench_run *run, char **names) {
  for (char **name = names; *name != NULL; name++) {
    for (size_t i = 0; bench_cases[i] != NULL; i++) {
      if (strcmp(*name, "all") == 0 || strcmp(*name, bench_cases[i]->name) == 0) run_case(run, bench_cases[i]);
    }
  }
  return 0;
}

static int bench_command(int argc, char **argv, const char *command) {
  static const struct option options[] = {
      {"json", no_argument, NULL, 'j'},         {"device", required_argument, NULL, 'd'},
      {"rounds", required_argument, NULL, 'r'}, {"traces", required_argument, NULL, 't'},
      {"quiet", no_argument, NULL, 'q'},        {NULL, 0, NULL, 0}};
  bench_run run = {.rounds = 10, .progress = true};
  unsigned device = 0;
  int option;
  while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
    switch (option) {
    case 'j': run.json = true; break;
    case 'q': run.progress = false; break;
    case 't': run.traces = optarg; break;
    case 'd':
      if (!parse_number(optarg, 0, 1000000, &device)) return misuse("--device wants a number, not", optarg);
      break;
    case 'r':
      if (!parse_number(optarg, 1, 10000, &run.rounds)) return misuse("--rounds wants 1 to 10000, not", optarg);
      break;
    case ':': return misuse("a value is missing after", argv[optind - 1]);
    default: return misuse("there is no option", unknown_option(argv));
    }
  }
  if (optind == argc) return misuse("bench wants a case", NULL);
  for (int i = optind; i < argc; i++) {
    if (strcmp(argv[i], "all") != 0 && find_case(argv[i]) == NULL) return misuse("there is no case", argv[i]);
  }
  int status = check_device(device);
  if (status != 0) return status;
  run.device = (int)device;
  bench_header(&run, command);
  status = run_cases(&run, argv + optind);
  bench_footer(&run);
  return status;
}

/* -- info -- */

static int info_command(int argc, char **argv) {
  static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
  bool json = false;
  int option;
  while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
    if (option != 'j') return misuse("info has no option", unknown_option(argv));
    json = true;
  }
  if (optind < argc) return misuse("info takes no", argv[optind]);
  show_info(json);
  return 0;
}

static const char *join(int argc, char **argv, char *text, size_t capacity) {
  size_t length = (size_t)snprintf(text, capacity, "warmpool");
  for (int i = 1; i < argc && length < capacity; i++) {
    int added = snprintf(text + length, capacity - length, " %s", argv[i]);
    if (added > 0) length += (size_t)added;
  }
  return text;
}

static int run_command(int argc, char **argv, const char *command) {
  if (argc < 2) return misuse("a command is missing", NULL);
  if (strcmp(argv[1], "--help") == 0) {
    print_help(stdout);
    return 0;
  }
  if (strcmp(argv[1], "--version") == 0) {
    (void)printf("warmpool %s, %s backend\n", wp_version(), wp_backend_builtin()->name);
    return 0;
  }
  if (strcmp(argv[1], "info") == 0) return info_command(argc - 1, argv + 1);
  if (strcmp(argv[1], "bench") == 0) return bench_command(argc - 1, argv + 1, command);
  if (strcmp(argv[1], "replay") == 0) return replay_command(argc - 1, argv + 1, command);
  if (strcmp(argv[1], "pattern") == 0) return pattern_command(argc - 1, argv + 1);
  return misuse("there is no command", argv[1]);
}

int main(int argc, char **argv) {
  char text[1024];
  const char *command = join(argc, argv, text, sizeof text); /* before getopt_long moves words about */
  int status = run_command(argc, argv, command);
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return status;
  (void)fprintf(stderr, "warmpool: the output could not be written\n");
  return 1;
}
