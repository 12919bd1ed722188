# SPDX-License-Identifier: Apache-2.0
"""replayed.py TRACE ONE TWO: two results of `warmpool replay TRACE --json`, of which the trace is a complete one: both
have the same counts, and those that the trace tells are right."""
import csv
import json
import sys

COUNTS = ["events", "allocations", "frees", "refused", "left_live", "live_peak", "reserved_peak",
          "driver_reserved_peak", "hits", "misses", "steals", "driver_allocs", "driver_frees"]
TIMES = ["ns_total", "ns_per_call", "ns_per_allocation", "ns_per_free"]


def expected(path):
    """What the trace itself says."""
    live, now, peak, events, allocations = {}, 0, 0, 0, 0
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            events += 1
            if row["Action"] == "allocate":
                live[row["Pointer"]] = int(row["Size"])
                now += live[row["Pointer"]]
                peak, allocations = max(peak, now), allocations + 1
            elif row["Action"] in ("free", "free after"):
                now -= live.pop(row["Pointer"], 0)
    return {"events": events, "allocations": allocations, "frees": allocations, "refused": 0, "left_live": len(live),
            "live_peak": peak}


def main(trace, *paths):
    results, wrong = [], []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            results += json.load(file)["results"]
    one, two = results
    wrong += [f"{name} is {one.get(name)!r}" for name in COUNTS if not isinstance(one.get(name), int)]
    wrong += [f"{name} is {one.get(name)!r}" for name in TIMES if not one.get(name, 0) > 0]
    wrong += [f"{name}: {one[name]} and {two[name]}" for name in one if name not in TIMES and one[name] != two[name]]
    wrong += [f"{name} is {one[name]}, not {value}" for name, value in expected(trace).items() if one[name] != value]
    lanes = one["caching"] == "lanes"
    if one["hits"] + one["misses"] != (one["allocations"] if lanes else 0):
        wrong.append(f"{one['hits']} hits and {one['misses']} misses")
    if one["reserved_peak"] < one["live_peak"] or one["driver_allocs"] != one["driver_frees"]:
        wrong.append("less was reserved than was live, or more allocated than freed")
    print(one, "wrong:", wrong)
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
