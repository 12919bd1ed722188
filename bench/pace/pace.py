#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a version of the library is slower than another: runs bench/pace/pace.c of both in turns, and judges.

usage: pace.py --old PROGRAM --new PROGRAM [--rounds N] [--only CASE,...] [--note NAME=VALUE]... [--out FILE]
       pace.py --judge FILE

ci/pace.sh builds the two programs and calls this. --judge looks at a file of --out again. Exit status: 0, no case is
slower; 1, one is; 2, it could not be found out.

A round starts both programs anew, so that where their memory lies differs from round to round (that of the stack does
so by an environment of random size; what is called "the same" else differs by a per cent), and gives each case TURNS turns of each, old and new in alternation; who begins changes from pair to pair, so that a machine that gets
slower, or faster, treats both alike. A round's time is the fastest turn: what else runs here only ever adds. Old and new
of a round are a pair, and what is judged is the median of the pairs' ratios, new / old.

A case that is above LIMIT is looked at again, with SECOND times the rounds; that second look then counts alone, and the
first one is kept in the file.
"""
import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time

LIMIT = 1.03
TURNS = 4
SECOND = 3
LEAST = 10  # rounds


class Failure(Exception):
    pass


# -- judging --

def interval(ratios):
    """A confidence interval of at least 95 % of the median: by order statistics, which takes nothing for granted about
    how the ratios are distributed. That the k smallest of n are all below the median has the chance of at most k - 1 in
    n throws of a coin; k is the largest one with which both ends together miss less often than one time in twenty. With
    fewer than six ratios no two of them are so far apart; then they are the smallest and the largest."""
    ordered, n = sorted(ratios), len(ratios)
    k, below, chance = 0, 0.0, 0.5 ** n
    while 2 * (below + chance) <= 0.05:
        below += chance
        chance = chance * (n - k) / (k + 1)
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]


def judge(old, new):
    """What pairs of times come to, as members of a result."""
    ratios = [b / a for a, b in zip(old, new)]
    low, high = interval(ratios)
    median = statistics.median(ratios)
    return {"old_median_ns": statistics.median(old), "new_median_ns": statistics.median(new), "ratio": median,
            "low": low, "high": high, "slower": median > LIMIT}


def shown(name, rounds, verdict):
    words = "SLOWER" if verdict["slower"] else "faster" if verdict["high"] < 1 else "no slower"
    return (f'{name:<22} {verdict["old_median_ns"]:>12.1f} {verdict["new_median_ns"]:>12.1f}   '
            f'{verdict["ratio"]:.3f}  {verdict["low"]:.3f} ... {verdict["high"]:.3f}  {rounds:>6}  {words}')


HEADER = f'{"case":<22} {"old, ns":>12} {"new, ns":>12}   new / old, 95 %        rounds'


def conclude(results):
    slower = [result["case"] for result in results if result["slower"]]
    if slower:
        print(f"slower by more than {LIMIT - 1:.0%}: {', '.join(slower)}")
    else:
        print(f"no case is slower by more than {LIMIT - 1:.0%}")
    return 1 if slower else 0


def times(result, side):
    values = result.get(side) if isinstance(result, dict) else None
    if not isinstance(values, list) or not values or not all(isinstance(v, (int, float)) and v > 0 for v in values):
        raise Failure(f'a result without times in "{side}"')
    return values


def judge_file(path):
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)["results"]
        if not results:
            raise Failure("no results")
        for result in results:
            if len(times(result, "old_ns")) != len(times(result, "new_ns")):
                raise Failure("a result with more old times than new ones, or fewer")
            result.update(judge(result["old_ns"], result["new_ns"]))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise Failure(f'{path}: not a file of ci/pace.sh: no JSON, or no "results"; give what --out has written') from None
    except Failure as error:
        raise Failure(f"{path}: {error}; give what ci/pace.sh --out has written") from None
    print(HEADER)
    for result in results:
        print(shown(str(result.get("case")), len(result["old_ns"]), result))
    return conclude(results)


# -- measuring --

class Program:
    """One process of a version."""

    def __init__(self, path):
        self.path = path
        environment = {**os.environ, "PACE_PADDING": "x" * random.randrange(4096)}
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        env=environment)

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Failure(f'{self.path} has ended at the command "{command}", see above')
        return answer.strip()

    def pin(self, processors):
        """Streams' threads, where a driver has them, are made within a turn and stay where their maker is."""
        if processors and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, processors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        if self.process.wait() != 0 and sys.exc_info()[0] is None:
            raise Failure(f"{self.path} has failed in the end, see above")


class Pace:
    def __init__(self, old, new):
        self.paths = old, new
        self.all = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self.crowded, self.sizes, self.turns = {}, {}, 0
        with Program(old) as program:
            for name in program.ask("cases").split():
                self.crowded[name.rstrip("*")] = name.endswith("*")

    def measure_size(self, name):
        """Once, by the old version, and the same for both ever after."""
        with Program(self.paths[0]) as program:
            self.place(program, name)
            self.sizes[name] = program.ask(f"size {name}")

    def place(self, program, name):
        program.pin(self.all if self.crowded[name] else self.all[-1:])

    def pair(self, programs, name):
        """The times of a round."""
        best = [None, None]
        for _ in range(TURNS):
            self.turns += 1
            for side in (0, 1) if self.turns % 2 else (1, 0):
                self.place(programs[side], name)
                value = float(programs[side].ask(f"turn {name} {self.sizes[name]}"))
                best[side] = value if best[side] is None else min(best[side], value)
        return best

    def look(self, names, rounds):
        """{name: (old times, new times)}"""
        found = {name: ([], []) for name in names}
        for number in range(1, rounds + 1):
            with Program(self.paths[0]) as old, Program(self.paths[1]) as new:
                for name in names:
                    progress(f"round {number} of {rounds}: {name}")
                    for values, value in zip(found[name], self.pair((old, new), name)):
                        values.append(value)
        progress("")
        return found


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def result_of(name, size, old, new, first=None):
    result = {"case": name, "size": int(size), "rounds": len(old), **judge(old, new)}
    if first is not None:
        result["first_look"] = first
    return {**result, "old_ns": old, "new_ns": new}


def measure(arguments):
    pace = Pace(arguments.old, arguments.new)
    names = arguments.only.split(",") if arguments.only else list(pace.crowded)
    for name in names:
        if name not in pace.crowded:
            raise Failure(f'no case "{name}"; there are: {", ".join(pace.crowded)}')
    for name in names:
        progress(f"how long a turn is: {name}")
        pace.measure_size(name)
    found = pace.look(names, arguments.rounds)
    results = [result_of(name, pace.sizes[name], *found[name]) for name in names]
    print(HEADER)
    for i, result in enumerate(results):
        print(shown(result["case"], result["rounds"], result), flush=True)
        if result["slower"]:
            print(f'{result["case"]}: once more, with {SECOND * arguments.rounds} rounds', flush=True)
            again = pace.look([result["case"]], SECOND * arguments.rounds)[result["case"]]
            results[i] = result_of(result["case"], result["size"], *again, first=result)
            print(shown(result["case"], results[i]["rounds"], results[i]), flush=True)
    document = {"machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors", "cpu": processor(),
                "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "limit": LIMIT, "turns_a_round": TURNS,
                **dict(note.split("=", 1) for note in arguments.note), "results": results}
    write(arguments.out, document)
    return conclude(results)


def write(path, document):
    if path is None:
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}; give --out a file that can be written") from None


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"pace.py: {message}; --help says more\n")


def main():
    parser = Parser(prog="pace.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", metavar="FILE")
    parser.add_argument("--old", metavar="PROGRAM")
    parser.add_argument("--new", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", metavar="CASE,...")
    parser.add_argument("--note", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.judge is None and (arguments.old is None or arguments.new is None):
        parser.error("give --old and --new, or --judge")
    if arguments.rounds < LEAST:
        parser.error(f"--rounds wants {LEAST} or more, not {arguments.rounds}")
    try:
        return judge_file(arguments.judge) if arguments.judge is not None else measure(arguments)
    except Failure as failure:
        progress("")
        print(f"pace.py: {failure}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"pace.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
