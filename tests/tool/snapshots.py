# SPDX-License-Identifier: Apache-2.0
"""snapshots.py: writes snapshots as PyTorch's memory history has them, whole ones and broken ones, to the current
folder, for recorded.sh."""
import os
import pickle

SIDE = 0x55D0C0FFEE00  # a stream's handle


def entry(action, address, size, time, stream=0):
    return {"action": action, "addr": address, "size": size, "stream": stream, "time_us": time}


def freed(address, size, time, stream=0):
    return [entry(action, address, size, time, stream) for action in ("free_requested", "free_completed")]


def write(name, snapshot):
    with open(name, "wb") as file:
        pickle.dump(snapshot, file)


def traced(name, *traces):
    settings = {"max_split_size": -1, "garbage_collection_threshold": 0.5, "expandable_segments": False}
    write(name, {"segments": [], "device_traces": list(traces), "allocator_settings": settings})


# One device: a block that is older than the history, one that another stream was using when it was freed, one whose
# addresses are used twice, one that nobody frees, and one that the device had no memory for.
ONE = [
    *freed(0x7F0000000000, 256, 1000),
    entry("segment_alloc", 0x7F1000000000, 2097152, 1001),
    entry("alloc", 0x7F1000000000, 1000, 1002),
    entry("alloc", 0x7F1000000400, 5000, 1003, SIDE),
    *freed(0x7F1000000000, 1000, 1004),
    entry("alloc", 0x7F1000000000, 24, 1005),
    entry("free_requested", 0x7F1000000400, 5000, 1006, SIDE),
    {"action": "oom", "device_free": 77, "size": 1 << 40, "stream": SIDE, "time_us": 1007},
    entry("alloc", 0x7F1000002000, 512, 1006),
    entry("free_completed", 0x7F1000000400, 5000, 1008, SIDE),
    entry("alloc", 0x7F1000000400, 7, 1009),
    entry("snapshot", 0, 0, 1010),
    entry("segment_alloc", 0x7F2000000000, 2097152, 1011),
]

traced("one.pickle", ONE)
# Three devices, of which the second does nothing; in the order of time.
traced("devices.pickle", [entry("alloc", 0x10, 1, 5), *freed(0x10, 1, 9)], [],
       [entry("alloc", 0x20, 2, 6, SIDE), *freed(0x20, 2, 7, SIDE)])
# A program may leave out the requests, or the completions.
traced("completed.pickle", [one for one in ONE if one["action"] != "free_requested"])
traced("requested.pickle", [one for one in ONE if one["action"] != "free_completed"])


class Code:
    def __reduce__(self):
        return os.system, ("touch was-run",)


write("class.pickle", {"device_traces": [[]], "segments": Code()})
with open("one.pickle", "rb") as whole, open("cut.pickle", "wb") as cut:
    cut.write(whole.read()[:-100])
with open("text.pickle", "w", encoding="utf-8") as text:
    text.write("Thread,Time,Action\n")
write("list.pickle", [1, 2])
write("no-traces.pickle", {"segments": []})
traced("empty.pickle", [])
traced("twice.pickle", [entry("alloc", 0x10, 1, 5), entry("alloc", 0x10, 1, 6)])
traced("no-size.pickle", [{"action": "alloc", "addr": 1, "stream": 0, "time_us": 1}])
traced("no-time.pickle", [{"action": "alloc", "addr": 1, "stream": 0, "size": 1}])
traced("negative.pickle", [entry("alloc", 0x10, -1, 5)])
traced("no-entry.pickle", [7])
