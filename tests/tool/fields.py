# SPDX-License-Identifier: Apache-2.0
"""fields.py FILE CASE: the file is a result file in which every result is of CASE, or of a part of it (CASE-PART), and
has every field, and which has every mode of these, in their order."""
import json
import sys

HEADER = {"warmpool": str, "machine": str, "gpu": str, "driver": str, "backend": str, "date": str, "command": str}
NUMBER = (int, float)
FIELDS = {
    "backend": str, "device": int, "case": str, "mode": str, "bytes": int, "sync": bool, "threads": int,
    "samples": int, "operations": int, "ns_median": NUMBER, "ns_p99": NUMBER, "driver_allocs": int, "driver_frees": int,
}
EXTRAS = {
    "per-alloc": ["calls_per_pair"],
    "delegates": ["ns_first", "vendor_calls"],
    "threads": ["pairs_per_second"],
    "footprint": ["largest_bytes", "reserved_peak", "driver_reserved_most", "peak_ratio"],
    "footprint-pattern": ["vendor_calls", "most_live_bytes", "reserved_peak"],
    "graph": ["ns_done", "graph_reserved", "pool_reserved"],
    "graph-neighbour": ["ns_done", "graph_reserved"],
    "graph-released": ["ns_done", "graph_reserved"],
    "capture": ["ns_graph"],
}
API = ["delegate", "delegate-checked", "lanes", "lanes-checked"]
CAPTURED = ["driver-memory", "capture-memory"]
GRAPHS = ["graph-undisturbed", "graph-after-release", "graph-after-our-capture", "graph-trim-never"]
MODES = {
    "per-alloc": ["cold", "driver", *API],
    "delegates": ["cold", "driver", *API],
    "release": ["idle", "idle-driver", "idle-many", "idle-many-driver", "pending", "pending-no-wait", "beside-busy"],
    "cotenant": ["cache", *GRAPHS],
    "threads": ["driver", *API, "malloc", "mimalloc"],
    "footprint": ["delegate", "lanes", "lanes-checked"],
    "footprint-pattern": ["delegate", "lanes", "lanes-checked"],
    "graph": CAPTURED,
    "graph-neighbour": ["undisturbed", *CAPTURED, "unmapped", "paused"],
    "graph-released": CAPTURED,
    "capture": CAPTURED,
}
PATTERNS = ["steady", "inference", "streams", "sizes", "growing", "burst", "turns", "notes", "after", "handover"]
for pattern in PATTERNS: # replayed
    EXTRAS["footprint-" + pattern] = ["reserved_peak", "driver_reserved_peak", "peak_ratio", "driver_peak_ratio", "hits",
                                      "steals", "refused"]
    MODES["footprint-" + pattern] = API
OPTIONAL = {"mimalloc"}  # not to be had everywhere
KEY = ("case", "mode", "bytes", "sync", "threads")  # what compare.py tells results apart by


def missing(wanted, found):
    return [name for name, kind in wanted.items() if not isinstance(found.get(name), kind)]


def wrong_modes(case, results):
    """Every group of results that differ in their mode alone has all modes of the case, in their order."""
    groups = {}
    for result in results:
        if result["case"] == case:
            groups.setdefault((result["bytes"], result["sync"], result["threads"]), []).append(result["mode"])
    wanted = [[mode for mode in MODES[case] if mode not in OPTIONAL or mode in modes] for modes in groups.values()]
    return [f"modes of {case}: {modes}" for modes, all_modes in zip(groups.values(), wanted) if modes != all_modes]


def main(path, case):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    parts = [part for part in MODES if part == case or part.startswith(case + "-")]
    results = content["results"]
    wrong = missing(HEADER, content)
    for result in results:
        wrong += missing(FIELDS, result)
        wrong += missing(dict.fromkeys(EXTRAS.get(result["case"], []), NUMBER), result)
        if result["case"] not in parts or result["samples"] < 1 or result["ns_median"] <= 0:
            wrong.append(f"a result of {result['case']} with {result['samples']} samples")
    for part in parts:
        wrong += wrong_modes(part, results)
    wrong += [f"no result of {part}" for part in parts if part not in {result["case"] for result in results}]
    if len({tuple(result[name] for name in KEY) for result in results}) < len(results):
        wrong.append("two results that compare.py cannot tell apart")
    print(len(results), "results; wrong:", wrong)
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], sys.argv[2]))
