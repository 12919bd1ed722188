#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the gnuplot program that draws one case of a result file; plot.sh runs it.

usage: plot_data.py RESULT.json per-alloc|threads OUTPUT.svg
exit status: 0 written to stdout, 2 wrong arguments or file, 3 the file has nothing of that case to draw
"""
import math
import sys
import textwrap

from compare import Trouble, bytes_text, header, load, number

# Okabe and Ito's colours, which differ for the colour-blind too, but for their yellow, which is too light for white. A
# mode has the same colour and point in both plots; the points differ by shape for who prints in grey.
STYLES = {
    "cold": ("#000000", 5),
    "driver": ("#0072B2", 7),
    "delegate": ("#D55E00", 9),
    "delegate-checked": ("#E69F00", 8),
    "lanes": ("#009E73", 13),
    "lanes-checked": ("#56B4E9", 12),
    "malloc": ("#CC79A7", 11),
    "mimalloc": ("#7F7F7F", 10),
}
SPARE = [("#8C564B", 4), ("#17827F", 6), ("#6A3D9A", 14)]  # for modes to come

SETUP = """set terminal svg size {width},{height} noenhanced font 'sans-serif,13' background rgb 'white' name 'warmpool'
set output {output}
set tmargin at screen {top:.4f}
set bmargin 4
set key at screen 0.5, screen {key:.4f} center top horizontal maxrows {rows} Left reverse samplen 2 width 1
set border 3 lc rgb '#555555'
set tics nomirror out
set grid ytics lc rgb '#DDDDDD' lw 1 lt 1
set logscale y
set ylabel {ylabel}
set yrange [{low:g}:{high:g}]
set ytics ({ytics})
set xrange [{left:g}:{right:g}]
set xtics ({xtics})
"""


def quoted(text):
    """Text as gnuplot takes it literally, in one line."""
    return "'" + " ".join(text.split()).replace("'", "''") + "'"


def setup(content, what, modes, width, height, **rest):
    """All but what is drawn. From the top: the title, where it was measured, the legend, the plot; in pixels."""
    gpu, driver, date = (header(content, name) for name in ("gpu", "driver", "date"))
    where = textwrap.wrap(f"{gpu}; driver: {driver}; {date[:10]}", width // 7)
    rows = math.ceil(len(modes) / max(1, width // 190))
    key = 38 + 18 * len(where)
    program = SETUP.format(width=width, height=height, rows=rows, key=1 - key / height,
                           top=1 - (key + 24 * rows + 18) / height, **rest)
    for place, line in enumerate([what] + where):
        look = "font 'sans-serif,15'" if place == 0 else "font 'sans-serif,12' tc rgb '#444444'"
        y = 1 - (20 + 18 * place) / height
        program += f"set label {quoted(line)} at screen 0.5, screen {y:.4f} center {look}\n"
    return program


def styles(modes):
    spare = 0
    chosen = {}
    for mode in modes:
        if mode in STYLES:
            chosen[mode] = STYLES[mode]
        else:
            chosen[mode] = SPARE[spare % len(SPARE)]
            spare += 1
    return chosen


def modes_of(rows):
    """The modes, those that are known first and in their order, so that the plots of two files look alike."""
    found = list(dict.fromkeys(row["mode"] for row in rows))
    return [mode for mode in STYLES if mode in found] + [mode for mode in found if mode not in STYLES]


def axis(values, below):
    """Limits around the values, with `below` of the height free under them, and the ticks: 1, 2, 5 or powers of 10."""
    low, high = min(values) / 1.6, max(values) * 1.6  # wide enough for one tick or more
    low /= (high / low) ** (below / (1 - below))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1000 else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return low, high, ", ".join(f'"{tick:g}" {tick:g}' for tick in ticks if low <= tick <= high)


def blocks(points_of):
    """The data of each mode as a named block."""
    text = ""
    for place, points in enumerate(points_of):
        text += f"$mode{place} << END\n" + "".join(" ".join(point) + "\n" for point in points) + "END\n"
    return text


def short(value):
    """Three digits or so, as they are written beside a point."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


# -- per-alloc: a group for each size with and without synchronising, a point for each mode, a line up to its p99 --


def draw_per_alloc(content, output):
    rows = [r for r in content["results"] if r["case"] == "per-alloc" and (number(r["ns_median"]) or 0) > 0]
    if not rows:
        return None
    modes = modes_of(rows)
    groups = sorted({(not row["sync"], row["bytes"]) for row in rows})
    points_of = [[] for _ in modes]
    values = []
    for row in rows:
        place = modes.index(row["mode"])
        x = groups.index((not row["sync"], row["bytes"])) + (place - (len(modes) - 1) / 2) * 0.8 / len(modes)
        median = row["ns_median"] / 1e3
        p99 = max(number(row["ns_p99"]) or 0, row["ns_median"]) / 1e3
        values += [median, p99]
        points_of[place].append((f"{x:.4f}", f"{median:.6g}", f"{p99:.6g}", short(median)))
    low, high, ytics = axis(values, 0.15)
    xtics = ", ".join(f'"{bytes_text(size)}\\n{"no sync" if unsynced else "sync"}" {place}'
                      for place, (unsynced, size) in enumerate(groups))
    program = setup(content, "One allocation and its free: median, with a line up to the 99th percentile", modes,
                    width=max(640, 120 + 24 * len(groups) * (len(modes) + 1)), height=500, output=quoted(output),
                    ylabel=quoted("microseconds (log scale)"), low=low, high=high, ytics=ytics, left=-0.5,
                    right=len(groups) - 0.5, xtics=xtics)
    for place in range(1, len(groups)):
        dash = "lw 1.5 lc rgb '#999999'" if groups[place][0] != groups[place - 1][0] else "lw 1 lc rgb '#DDDDDD'"
        program += f"set arrow from {place - 0.5},graph 0 to {place - 0.5},graph 1 nohead back {dash}\n"
    program += blocks(points_of) + "plot "
    parts = []
    for place, (mode, (colour, shape)) in enumerate(styles(modes).items()):
        data = f"$mode{place}"
        parts.append(f"{data} using 1:2:2:3 with yerrorbars lc rgb '{colour}' lw 1.5 pt {shape} ps 0.9 "
                     f"title {quoted(mode)}")
        parts.append(f"{data} using 1:2:(strcol(4)) with labels rotate right offset 0,-0.7 "
                     f"font 'sans-serif,10' tc rgb '#333333' notitle")
    return program + ", \\\n  ".join(parts) + "\n"


# -- threads: a line for each mode --


def draw_threads(content, output):
    rows = [r for r in content["results"] if r["case"] == "threads" and (number(r.get("pairs_per_second")) or 0) > 0]
    rows = [r for r in rows if r["threads"] > 0]  # what a log scale has
    if not rows:
        return None
    modes = modes_of(rows)
    points_of = [sorted((row["threads"], row["pairs_per_second"] / 1e6) for row in rows if row["mode"] == mode)
                 for mode in modes]
    low, high, ytics = axis([row["pairs_per_second"] / 1e6 for row in rows], 0.03)
    threads = sorted({row["threads"] for row in rows})
    program = setup(content, "Pairs of an allocation and a free, each thread on a stream of its own", modes, width=760,
                    height=480, output=quoted(output), ylabel=quoted("million pairs per second (log scale)"), low=low,
                    high=high, ytics=ytics, left=threads[0] / 1.1, right=threads[-1] * 1.1,
                    xtics=", ".join(map(str, threads)))
    program += "set logscale x 2\nset xlabel 'threads'\n"
    program += blocks([(str(x), f"{y:.6g}") for x, y in points] for points in points_of) + "plot "
    program += ", \\\n  ".join(
        f"$mode{place} using 1:2 with linespoints lc rgb '{colour}' lw 2 pt {shape} ps 1 title {quoted(mode)}"
        for place, (mode, (colour, shape)) in enumerate(styles(modes).items()))
    return program + "\n"


def main():
    draw = {"per-alloc": draw_per_alloc, "threads": draw_threads}
    if len(sys.argv) != 4 or sys.argv[2] not in draw:
        print("plot_data.py: give RESULT.json, per-alloc or threads, and OUTPUT.svg", file=sys.stderr)
        return 2
    try:
        program = draw[sys.argv[2]](load(sys.argv[1]), sys.argv[3])
    except Trouble as trouble:
        print(f"plot.sh: {trouble}", file=sys.stderr)
        return 2
    if program is None:
        return 3
    sys.stdout.write(program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
