# SPDX-License-Identifier: Apache-2.0
"""from_torch.py SNAPSHOT.pickle [--events N] >OUT.csv: makes a trace (docs/traces.md) of a snapshot of PyTorch's memory
history, the same each time. What it leaves out or adds is counted on stderr. A file that is no such snapshot is told
there in one line, with exit status 2."""
import argparse
import collections
import heapq
import pickle
import sys

HEADER = "Thread,Time,Action,Pointer,Size,Stream,Device"
SPECIAL_STREAMS = {0: 0, 1: 1, 2: 2}  # handles that mean the same in every program
FIRST_STREAM = 0x10
LINES_MORE = {"alloc": 2, "oom": 1}  # a block's free will be one more


class Broken(Exception):
    """What is wrong with the file."""


class PlainUnpickler(pickle.Unpickler):
    """Loads dictionaries, lists, tuples, text and numbers, and nothing that could run code: a snapshot has no more."""

    def find_class(self, module, name):
        raise Broken(f"this has a {module}.{name} in it, and no snapshot has")


def load(path):
    """The lists of entries, one a device."""
    with open(path, "rb") as file:
        try:
            snapshot = PlainUnpickler(file).load()
        except (Broken, OSError):
            raise
        except Exception as error:  # a damaged pickle raises nearly anything
            raise Broken(f"this is no pickle: {error or type(error).__name__}") from error
    traces = snapshot.get("device_traces") if isinstance(snapshot, dict) else None
    if not isinstance(traces, list) or not all(isinstance(trace, list) for trace in traces):
        raise Broken("this is no snapshot: it has no device_traces")
    return traces


class Entry:
    """One of the allocator's actions; `index` is its place among those of its device."""

    def __init__(self, device, index, fields):
        self.device, self.index = device, index
        self.fields = fields if isinstance(fields, dict) else {}
        self.action = self.fields.get("action")

    def fail(self, what):
        raise Broken(f"device_traces[{self.device}][{self.index}] {what}")

    def number(self, name):
        value = self.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        return self.fail(f"has no number {name}")


def timed(device, fields):
    """(microseconds, entry): a device's entries are in the right order, so its clock does not go back."""
    time = 0
    for index, one in enumerate(fields):
        entry = Entry(device, index, one)
        time = max(time, entry.number("time_us"))
        yield time, entry


class Trace:
    def __init__(self, devices, most):
        self.lines, self.devices, self.most = [], devices, most
        self.start, self.time = None, 0
        self.pointers, self.streams = {}, dict(SPECIAL_STREAMS)
        self.live = {}     # address: size, stream, device
        self.waiting = {}  # address: device and index of the entry that asked for the free
        self.allocations = 0
        self.counts, self.skipped = collections.Counter(), collections.Counter()
        for serial, device in enumerate(devices, 1):
            self.line("open", size=serial, device=device)

    def line(self, action, address=0, size=0, stream=0, device=0):
        pointer = self.pointers.setdefault(address, len(self.pointers) + 1) if address else 0
        name = self.streams.setdefault(stream, FIRST_STREAM + len(self.streams) - len(SPECIAL_STREAMS))
        self.lines.append(f"1,{self.time * 1000},{action},{pointer:#x},{size},{name:#x},{device}")

    def has_room(self, entry):
        """For its lines beside those that end the file; a free's is one of them."""
        lines = len(self.lines) + len(self.live) + len(self.devices) + LINES_MORE.get(entry.action, 0)
        return self.most is None or lines <= self.most

    def add(self, time, entry):
        self.start = time if self.start is None else self.start
        self.time = time - self.start
        if entry.action == "alloc":
            self.allocate(entry)
        elif entry.action == "free_requested":
            self.waiting[entry.number("addr")] = entry.device, entry.index
            self.free(entry)
        elif entry.action == "free_completed":
            self.complete(entry)
        elif entry.action == "oom":
            self.line("allocate failure", 0, entry.number("size"), entry.number("stream"), entry.device)
        else:
            self.skipped[str(entry.action)] += 1

    def allocate(self, entry):
        address = entry.number("addr")
        if address in self.live:
            entry.fail(f"allocates {address:#x}, which is allocated already")
        self.live[address] = entry.number("size"), entry.number("stream"), entry.device
        self.line("allocate", address, *self.live[address])
        self.allocations += 1

    def free(self, entry):
        address = entry.number("addr")
        if address in self.live:
            self.line("free", address, *self.live.pop(address))
        else:
            self.counts["frees of blocks that are older than the history: left out"] += 1

    def complete(self, entry):
        """That a free is complete is news only where its request was not recorded."""
        asked = self.waiting.pop(entry.number("addr"), None)
        if asked is None:
            self.free(entry)
        elif asked != (entry.device, entry.index - 1):
            self.counts["frees that PyTorch completed later, when other streams were done"] += 1

    def end(self):
        for address in list(self.live):
            self.line("free", address, *self.live.pop(address))
            self.counts["blocks live at the end: freed there"] += 1
        for serial, device in enumerate(self.devices, 1):
            self.line("close", size=serial, device=device)


def convert(path, most):
    traces = load(path)
    devices = [device for device, fields in enumerate(traces) if fields]
    trace = Trace(devices, most)
    by_device = (timed(device, traces[device]) for device in devices)
    entries = heapq.merge(*by_device, key=lambda timed_entry: timed_entry[0])
    for taken, (time, entry) in enumerate(entries):
        if not trace.has_room(entry):
            trace.counts[f"entries that have no room in {most} lines: left out"] = sum(map(len, traces)) - taken
            break
        trace.add(time, entry)
    if trace.allocations == 0:
        raise Broken("there is no allocation in it" if most is None else f"{most} lines have no room for a block")
    trace.end()
    return trace


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("snapshot")
    parser.add_argument("--events", type=int, metavar="N",
                        help="lines at the most, with the frees of what is live then")
    arguments = parser.parse_args()
    try:
        trace = convert(arguments.snapshot, arguments.events)
    except (Broken, OSError) as error:
        text = (isinstance(error, OSError) and error.strerror) or error
        print(f"{arguments.snapshot}: {text}", file=sys.stderr)
        return 2
    print(HEADER, *trace.lines, sep="\n")
    print(f"{len(trace.lines)} lines, {trace.allocations} allocations", file=sys.stderr)
    for what, count in trace.counts.items():
        print(f"{count} {what}", file=sys.stderr)
    for action, count in sorted(trace.skipped.items()):
        print(f"{count} {action}: no line", file=sys.stderr)
    return 0


sys.exit(main())
