/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the tool share. */
#ifndef WARMPOOL_TOOLS_COMMAND_H
#define WARMPOOL_TOOLS_COMMAND_H

#include <stdbool.h>

/* One clear line, and what to do next. The result is the exit status. */
int misuse(const char *what, const char *which);
/* False: it is none from `least` to `most`. */
bool parse_number(const char *text, unsigned least, unsigned most, unsigned *out);
/* What getopt_long has not known: a word, or a letter within one. */
const char *unknown_option(char **argv);
/* 0: the device exists; otherwise the exit status. */
int check_device(unsigned device);

int replay_command(int argc, char **argv, const char *command);
int pattern_command(int argc, char **argv);

#endif
