# SPDX-License-Identifier: Apache-2.0
"""fields.py FILE CASE: the file is a result file in which every result is of CASE and has every field."""
import json
import sys

HEADER = {"warmpool": str, "machine": str, "gpu": str, "driver": str, "backend": str, "date": str, "command": str}
FIELDS = {
    "backend": str, "device": int, "case": str, "mode": str, "bytes": int, "sync": bool, "threads": int,
    "samples": int, "operations": int, "ns_median": (int, float), "ns_p99": (int, float), "driver_allocs": int, "driver_frees": int,
}


def missing(wanted, found):
    return [name for name, kind in wanted.items() if not isinstance(found.get(name), kind)]


with open(sys.argv[1], encoding="utf-8") as file:
    content = json.load(file)
wrong = missing(HEADER, content)
for result in content["results"]:
    wrong += missing(FIELDS, result)
    if result["case"] != sys.argv[2] or result["samples"] < 1 or result["ns_median"] <= 0:
        wrong.append(f"a result of {result['case']} with {result['samples']} samples")
print(len(content["results"]), "results; wrong:", wrong)
sys.exit(1 if wrong or not content["results"] else 0)
