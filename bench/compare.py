#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts results of `warmpool bench CASE... --json` side by side.

Two files: each result of A beside that of B which has the same case, mode, bytes, sync and threads.
One file and --against MODE: each result beside that of MODE which has the same case, bytes, sync and threads.
"""
import argparse
import json
import math
import signal
import sys

KEY = {"case": str, "mode": str, "bytes": int, "sync": bool, "threads": int}
HEADER = ("gpu", "driver", "machine", "warmpool", "backend", "date")


class Trouble(Exception):
    """What is wrong with the input, in one line."""


class Nothing(Exception):
    """The files are in order, but there is nothing to put side by side."""


# -- reading: plot_data.py uses this too --


def number(value):
    """A finite number, or None for all else: the harness writes null for what it could not measure."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def check_result(path, place, result):
    if not isinstance(result, dict):
        raise Trouble(f"{path}: result {place} is not an object")
    for name, kind in KEY.items():
        # type() and not isinstance(), for which true is a number
        if type(result.get(name)) is not kind:
            raise Trouble(f'{path}: result {place} has no "{name}", or one of the wrong type')
    for name in ("ns_median", "ns_p99"):
        result.setdefault(name, None)


def load(path):
    """The file's object, with "results" that have all of KEY."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Trouble(f"{path}: not JSON: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("results"), list):
        raise Trouble(f'{path}: no "results"; is this from `warmpool bench CASE... --json`?')
    for place, result in enumerate(content["results"], 1):
        check_result(path, place, result)
    return content


def header(content, name):
    """A field of the file's head in one line."""
    return " ".join(str(content.get(name) or "unknown").split())


def bytes_text(count):
    units = ["B", "KiB", "MiB", "GiB"]
    while count >= 1024 and count % 1024 == 0 and len(units) > 1:
        count //= 1024
        units.pop(0)
    return f"{count} {units[0]}"


# -- matching --


def key(result, mode=None):
    """What a result is matched by; `mode` stands in for its own."""
    return tuple(mode if mode is not None and name == "mode" else result[name] for name in KEY)


def by_key(content, label, notes):
    found = {}
    for result in content["results"]:
        found[key(result)] = result
    twice = len(content["results"]) - len(found)
    if twice > 0:
        notes.append(f"note: results that {label} has more than once: {twice}; the last of each counts")
    return found


def match_files(a, b, notes):
    """Pairs that are in both, and what is in A or in B only."""
    in_a, in_b = by_key(a, "A", notes), by_key(b, "B", notes)
    pairs = [(in_a[k], in_b[k]) for k in in_a if k in in_b]
    return pairs, [in_a[k] for k in in_a if k not in in_b], [in_b[k] for k in in_b if k not in in_a]


def match_mode(content, mode, notes):
    """Pairs of MODE's result and another's, and the others that have none of MODE beside them."""
    found = by_key(content, "the file", notes)
    others = [result for result in found.values() if result["mode"] != mode]
    pairs = [(found[key(r, mode)], r) for r in others if key(r, mode) in found]
    return pairs, [r for r in others if key(r, mode) not in found]


def ratio(a, b):
    """How many times as long as B A took; None where one was not measured."""
    a, b = number(a["ns_median"]), number(b["ns_median"])
    return a / b if a is not None and b is not None and a > 0 and b > 0 else None


# -- text --


def time_text(ns):
    ns = number(ns)
    if ns is None:
        return "-"
    if ns < 1e3:
        return f"{ns:.1f} ns"
    return f"{ns / 1e3:.2f} us" if ns < 1e6 else f"{ns / 1e6:.2f} ms"


def ratio_texts(value):
    if value is None:
        return "-", ""
    text = f"{value:.2g}" if value < 0.1 else f"{value:.2f}" if value < 1000 else f"{value:.0f}"
    return f"{text} x", "same" if text == "1.00" else "faster" if value > 1 else "slower"


def key_texts(result):
    return [result["case"], result["mode"], bytes_text(result["bytes"]), "yes" if result["sync"] else "no",
            str(result["threads"])]


def show_table(pairs, name_a, name_b):
    rows = [["case", "mode", "bytes", "sync", "threads", f"median {name_a}".strip(), f"median {name_b}".strip(),
             f"{name_a}/{name_b or 'this'}", "", f"p99 {name_a}".strip(), f"p99 {name_b}".strip()]]
    for a, b in pairs:
        rows.append(key_texts(b) + [time_text(a["ns_median"]), time_text(b["ns_median"]), *ratio_texts(ratio(a, b)),
                                    time_text(a["ns_p99"]), time_text(b["ns_p99"])])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    words = (0, 1, 8)  # the columns of words; those of numbers end in line
    for row in rows:
        cells = [cell.ljust(width) if column in words else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def show_file(label, path, content):
    gpu, driver, machine, version, backend, date = (header(content, name) for name in HEADER)
    indent = " " * len(label)
    print(f"{label}{path}: warmpool {version}, {backend} backend, {date}")
    print(f"{indent}{gpu}; driver: {driver}")
    print(f"{indent}{machine}")


def show_rest(title, results):
    if not results:
        return
    print(f"\n{title}:")
    for r in results:
        case, mode, size, sync, threads = key_texts(r)
        print(f"  {case}, {mode}, {size}, {'sync' if sync == 'yes' else 'no sync'}, threads {threads}: "
              f"{time_text(r['ns_median'])}")


# -- JSON --


def head_json(path, content):
    return {"file": path, **{name: content.get(name) for name in HEADER}}


def pair_json(a, b):
    names = ("mode", "ns_median", "ns_p99")
    entry = {name: b[name] for name in KEY}
    entry["a"] = {name: a[name] for name in names}
    entry["b"] = {name: b[name] for name in names}
    entry["ratio"] = ratio(a, b)
    return entry


def show_json(heads, pairs, rest):
    print(json.dumps({**heads, "results": [pair_json(*pair) for pair in pairs], **rest}, indent=1))


# -- the two ways to compare --


def compare_files(path_a, path_b, as_json):
    a, b, notes = load(path_a), load(path_b), []
    pairs, only_a, only_b = match_files(a, b, notes)
    differing = [name for name in ("machine", "gpu") if header(a, name) != header(b, name)]
    if differing:
        notes.insert(0, f"warning: another {' and '.join(differing)} in B than in A: the ratios mix machines")
    if not pairs:
        raise Nothing(f"{path_a} and {path_b} have no result in common")
    if as_json:
        heads = {"a": head_json(path_a, a), "b": head_json(path_b, b), "notes": notes}
        show_json(heads, pairs, {"only_a": only_a, "only_b": only_b})
        return
    show_file("A  ", path_a, a)
    show_file("B  ", path_b, b)
    show_notes(notes, "A/B above 1: B is faster than A")
    show_table(pairs, "A", "B")
    show_rest("in A only", only_a)
    show_rest("in B only", only_b)


def compare_modes(path, mode, as_json):
    content, notes = load(path), []
    pairs, alone = match_mode(content, mode, notes)
    if not pairs:
        modes = sorted({result["mode"] for result in content["results"]})
        raise Nothing(f'{path}: nothing to compare with mode "{mode}"; its modes are: {", ".join(modes) or "none"}')
    if as_json:
        heads = {"a": head_json(path, content), "against": mode, "notes": notes}
        show_json(heads, pairs, {"only_b": alone})
        return
    show_file("", path, content)
    show_notes(notes, f"{mode}/this above 1: the row's mode is faster than {mode}")
    show_table(pairs, mode, "")
    show_rest(f"without {mode} beside it", alone)


def show_notes(notes, legend):
    for note in notes:
        print(note)
    print(f"{legend}\n")


# -- the command line --


class Parser(argparse.ArgumentParser):
    def error(self, message):  # one line, and not the usage before it
        raise Trouble(f"{message} (see --help)")


def arguments():
    parser = Parser(prog="compare.py", description=__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter,
                    epilog="exit status: 0 compared, 1 nothing in common, 2 wrong arguments or files")
    parser.add_argument("a", metavar="A.json")
    parser.add_argument("b", metavar="B.json", nargs="?")
    parser.add_argument("--against", metavar="MODE", help="compare the modes of A.json with this one")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    given = parser.parse_args()
    if (given.b is None) == (given.against is None):
        parser.error("give either two files, or one and --against MODE")
    return given


def main():
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no failure to report
    try:
        given = arguments()
        if given.b is not None:
            compare_files(given.a, given.b, given.json)
        else:
            compare_modes(given.a, given.against, given.json)
    except Nothing as nothing:
        print(f"compare.py: {nothing}", file=sys.stderr)
        return 1
    except Trouble as trouble:
        print(f"compare.py: {trouble}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
