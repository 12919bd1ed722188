# SPDX-License-Identifier: Apache-2.0
"""make.py PATTERN [--events N] [--seed S]: writes a trace (docs/traces.md) of about N lines to stdout, the same for the
same seed. Everything in it is freed and closed in the end."""
import argparse
import collections
import random
import sys

KIB, MIB = 1 << 10, 1 << 20
ONE, TWO = 0x55550010, 0x55550020  # streams


class Trace:
    def __init__(self, out, events, seed):
        self.out, self.left, self.random = out, events, random.Random(seed)
        self.time, self.live, self.idle, self.made, self.delegates = 0, {}, [], 0, []
        out.write("Thread,Time,Action,Pointer,Size,Stream,Device\n")

    def line(self, action, pointer=0, size=0, stream=0):
        self.time += self.random.randrange(100, 5000)
        self.left -= 1
        self.out.write(f"1,{self.time},{action},{pointer:#x},{size},{stream:#x},0\n")

    def more(self):
        """Whether there is room for lines beside those that end it."""
        return self.left > len(self.live) + len(self.delegates)

    def open(self):
        self.delegates.append(len(self.delegates) + 1)
        self.line("open", size=self.delegates[-1])

    def allocate(self, size, stream=ONE):
        if self.idle:
            pointer = self.idle.pop()
        else:
            pointer = 0x7F0000000000 + (self.made << 32)
            self.made += 1
        self.line("allocate", pointer, size, stream)
        self.live[pointer] = size, stream
        return pointer

    def free(self, pointer, stream=None):
        size, own = self.live.pop(pointer)
        self.line("free", pointer, size, own if stream is None else stream)
        self.idle.append(pointer)

    def free_after(self, pointer, streams):
        size, _ = self.live.pop(pointer)
        for stream in streams:
            self.line("free after", pointer, size, stream)
        self.idle.append(pointer)

    def note(self, pointer, stream):
        self.line("note", pointer, self.live[pointer][0], stream)

    def end(self):
        for pointer in list(self.live):
            self.free(pointer)
        for serial in self.delegates:
            self.line("close", size=serial)


def steady(trace):
    """the same eight blocks again and again"""
    sizes = [512, 3 * KIB, 20 * KIB, 100 * KIB, 256 * KIB, MIB, 3 * MIB, 5 * MIB + 12345]
    while trace.more():
        for pointer in [trace.allocate(size) for size in sizes]:
            trace.free(pointer)


def inference(trace):
    """25 delegates in turn, four blocks each, the largest of another size in each"""
    for _ in range(24):
        trace.open()
    while trace.more():
        for delegate in range(25):
            blocks = [trace.allocate(size) for size in (4 * KIB, 256 * KIB, MIB, (delegate + 1) * 640 * KIB)]
            for pointer in blocks:
                trace.free(pointer)


def sizes(trace):
    """random sizes of 256 B to 8 MiB, random lives, 48 blocks at the most"""
    while trace.more():
        live = list(trace.live)
        if live and (len(live) == 48 or trace.random.random() < 0.45):
            trace.free(trace.random.choice(live))
        else:
            trace.allocate(int(256 * 2 ** (15 * trace.random.random())))


def growing(trace):
    """n and n + 256 bytes, a larger n each time, from 1 to 16 MiB"""
    n = MIB
    while trace.more():
        one, two = trace.allocate(n), trace.allocate(n + 256)
        trace.free(one)
        trace.free(two)
        n = n + n // 50 // 256 * 256 if n < 16 * MIB else MIB


def burst(trace):
    """128 blocks of 1 to 3 MiB at once, and then small ones only"""
    for pointer in [trace.allocate(trace.random.randrange(MIB, 3 * MIB)) for _ in range(128)]:
        trace.free(pointer)
    while trace.more():
        for pointer in [trace.allocate(trace.random.randrange(KIB, 64 * KIB)) for _ in range(8)]:
            trace.free(pointer)


def produce(trace, give):
    queue = collections.deque()
    while trace.more():
        queue.append(trace.allocate(trace.random.randrange(64 * KIB, 4 * MIB)))
        if len(queue) > 6:
            give(queue.popleft())


def notes(trace):
    """blocks of one stream that another one uses, too, and that it notes"""
    def give(pointer):
        trace.note(pointer, TWO)
        trace.free(pointer)
    produce(trace, give)


def after(trace):
    """the same, freed after both streams"""
    produce(trace, lambda pointer: trace.free_after(pointer, (ONE, TWO)))


def handover(trace):
    """the same, freed on the other stream, which takes memory of its own as well"""
    def give(pointer):
        trace.free(pointer, TWO)
        trace.free(trace.allocate(trace.random.randrange(64 * KIB, 4 * MIB), TWO))
    produce(trace, give)


PATTERNS = {function.__name__: function
            for function in (steady, inference, sizes, growing, burst, notes, after, handover)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:10} {function.__doc__}" for name, function in PATTERNS.items()))
    parser.add_argument("pattern", choices=PATTERNS)
    parser.add_argument("--events", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    trace = Trace(sys.stdout, arguments.events, arguments.seed)
    trace.open()
    PATTERNS[arguments.pattern](trace)
    trace.end()


main()
