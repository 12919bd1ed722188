#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same random programs on two libraries and compares what each call answered (ci/compare.sh).

A program writes a line "SEED OPERATION NAME ANSWER" for each answer. Of each seed the first difference has a kind: the
call and its two statuses, or what else differs, without its numbers. A kind that FILE names is expected.

A library may answer in more than one way by itself: where addresses decide which of two idle lanes it takes memory from.
A seed that differs is run again and again on both; it is no difference if both give the same answers in some run.
"""
import argparse
import fnmatch
import itertools
import os
import re
import subprocess
import sys
import tempfile

BATCH = 250  # seeds at a time: the answers of all would fill a disk
RUNS = 24  # of a seed that differs
LINE = re.compile(r"(\d+) (\d+) (the end|\w+) (.*)")
COUNTER = re.compile(r"counter (\w+) \d+$")
STATUS = re.compile(r"(wp_\w+) (WP_\w+)")


def fail(text):
    print(f"compare.sh: {text}", file=sys.stderr)
    sys.exit(2)


def read_expected(path):
    """Lines "KIND | REASON"; a kind may have * in it."""
    kinds = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() == "" or line.startswith("#"):
                continue
            kind, bar, reason = (part.strip() for part in line.partition("|"))
            if not kind or not bar or not reason:
                fail(f'{path}:{number}: no "KIND | REASON"')
            kinds[kind] = reason
    return kinds


class Pair:
    """The two programs, and how they are run."""

    def __init__(self, old, new, operations, folder):
        self.programs = {"old": old, "new": new}
        self.operations = operations
        self.folder = folder

    def answers(self, first, count):
        """Those of both, by seed; ends here where a program goes wrong."""
        options = ["--seed", str(first), "--count", str(count), "--operations", str(self.operations), "--quiet"]
        files = {name: os.path.join(self.folder, name) for name in self.programs}
        runs = {
            name: subprocess.Popen(
                [program, *options, "--lines", files[name]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            for name, program in self.programs.items()
        }
        said = {name: run.communicate()[0] for name, run in runs.items()}
        for name, run in runs.items():
            if run.returncode != 0:
                print(f"the {name} library goes wrong:\n{said[name]}", end="")
        if any(run.returncode != 0 for run in runs.values()):
            sys.exit(1)
        return [read_answers(file) for file in files.values()]

    def agree_in_some_run(self, seed, uneven):
        seen = set(), set()
        for _ in range(RUNS):
            for side, answers in zip(seen, self.answers(seed, 1)):
                side.add(tuple(without_counters(answers.get(seed, []), uneven)))
            if seen[0] & seen[1]:
                return True
        return False


def read_answers(path):
    """[(operation, name, answer)] by seed."""
    answers = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = LINE.match(line)
            if match is None:
                fail(f"not an answer of a random program: {line.rstrip()}")
            answers.setdefault(int(match[1]), []).append(match.groups()[1:])
    return answers


def counters_of(answers):
    matches = (COUNTER.match(answer) for lines in answers.values() for _, _, answer in lines)
    return {match[1] for match in matches if match}


def without_counters(lines, names):
    for line in lines:
        match = COUNTER.match(line[2])
        if match is None or match[1] not in names:
            yield line


def kind_of(old, new):
    if old is None or new is None or old[:2] != new[:2]:
        return "another call"
    statuses = [STATUS.match(line[2]) for line in (old, new)]
    if all(statuses) and statuses[0][1] == statuses[1][1]:
        return f"{statuses[0][1]}: {statuses[0][2]}, now {statuses[1][2]}"
    words = [re.sub(r"^(counter \w+|\w+).*", r"\1", line[2]) for line in (old, new)]
    return words[0] if words[0] == words[1] else f"{words[0]}, now {words[1]}"


def first_difference(old, new):
    return next((pair for pair in itertools.zip_longest(old, new) if pair[0] != pair[1]), None)


def differences(pair, first, count):
    """(kind, seed, old line, new line) of each seed that differs, how many go one way or another, and the answers.

    A counter that only one library has is no difference.
    """
    old, new = pair.answers(first, count)
    uneven = counters_of(old) ^ counters_of(new)
    found, vary = [], 0
    for seed in sorted(old.keys() | new.keys()):
        lines = first_difference(*(without_counters(side.get(seed, []), uneven) for side in (old, new)))
        if lines is None:
            continue
        if pair.agree_in_some_run(seed, uneven):
            vary += 1
        else:
            found.append((kind_of(*lines), seed, *lines))
    return found, vary, sum(len(lines) for lines in new.values())


def text_of(line):
    return "no answer" if line is None else f"{line[0]} {line[1]}: {line[2]}"


def report(found, expected):
    """Whether something is not expected."""
    is_wrong = False
    for kind in sorted({each[0] for each in found}):
        seeds = [each for each in found if each[0] == kind]
        reason = next((reason for name, reason in expected.items() if fnmatch.fnmatchcase(kind, name)), None)
        print(f"{'DIFFERS' if reason is None else 'expected'}  {kind}, first in {len(seeds)} seeds")
        if reason is not None:
            print(f"    {reason}")
            continue
        is_wrong = True
        for _, seed, old, new in seeds[:3]:
            print(f"    seed {seed}: old {text_of(old)}\n{'':>{len(str(seed)) + 9}} new {text_of(new)}")
    return is_wrong


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    for option in ("--seed", "--seeds", "--operations"):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument("--expected", required=True)
    options = parser.parse_args()
    expected = read_expected(options.expected)
    found, vary, count, end = [], 0, 0, options.seed + options.seeds
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(options.old, options.new, options.operations, folder)
        for first in range(options.seed, end, BATCH):
            batch = min(BATCH, end - first)
            some, others, answers = differences(pair, first, batch)
            found += some
            vary += others
            count += answers
            show_progress(f"compare: {first + batch - options.seed} of {options.seeds} seeds")
    show_progress("")
    is_wrong = report(found, expected)
    result = f"{len(found)} seeds differ" if found else "no difference"
    print(f"compare: seeds {options.seed} to {end - 1}, {count} answers: {result}")
    if vary:
        print(f"compare: {vary} of the seeds go one way or another on either library, and the same way in some run")
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
