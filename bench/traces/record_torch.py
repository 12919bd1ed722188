# SPDX-License-Identifier: Apache-2.0
"""record_torch.py MODEL OUT.pickle [--seed N]: runs a model on the GPU, from its construction until nothing of it is
left, and writes the snapshot of PyTorch's memory history to OUT.pickle, for from_torch.py, and what it was recorded on
to OUT.json."""
import argparse
import datetime
import gc
import json
import os
import pathlib
import pickle
import platform
import shlex
import shutil
import subprocess
import sys
import time

import torch

from torch_models import MODELS

MOST_ENTRIES = 1000000
SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")


def driver_version():
    """None where nobody tells."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    told = subprocess.run([tool, "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                          check=False)
    return told.stdout.split("\n")[0].strip() or None


def empty():
    """Gives back what no tensor holds, the libraries' workspaces with it."""
    gc.collect()
    torch.cuda.synchronize()
    clear_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear_workspaces is not None:
        clear_workspaces()
    torch.cuda.empty_cache()


def record(model, seed):
    """(snapshot, sizes of the model, seconds)"""
    torch.cuda.init()
    torch.manual_seed(seed)
    empty()
    torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=MOST_ENTRIES)
    torch.cuda.reset_peak_memory_stats()
    start = time.monotonic()
    sizes = model(torch.device("cuda", torch.cuda.current_device()))
    empty()
    seconds = time.monotonic() - start
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(None)
    if any(len(trace) >= MOST_ENTRIES for trace in snapshot["device_traces"]):
        sys.exit(f"there are more than {MOST_ENTRIES} entries: the first ones are lost")
    return snapshot, sizes, seconds


def facts(name, sizes, seconds, seed):
    device, peaks = torch.cuda.get_device_properties(torch.cuda.current_device()), torch.cuda.memory_stats()
    return {
        "model": name,
        "does": " ".join(MODELS[name].__doc__.split()),
        "sizes": sizes,
        "seed": seed,
        "gpu": device.name,
        "gpu_bytes": device.total_memory,
        "driver": driver_version(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(["python3", *sys.argv]),
        "seconds": round(seconds, 3),
        "torch_requested_peak": peaks["requested_bytes.all.peak"],
        "torch_allocated_peak": peaks["allocated_bytes.all.peak"],
        "torch_reserved_peak": peaks["reserved_bytes.all.peak"],
        "torch_device_allocations": peaks.get("num_device_alloc"),
        "torch_device_frees": peaks.get("num_device_free"),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:8} {' '.join(function.__doc__.split())}" for name, function in MODELS.items()))
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("PyTorch has no GPU here")
    snapshot, sizes, seconds = record(MODELS[arguments.model], arguments.seed)
    with open(arguments.out, "wb") as file:
        pickle.dump(snapshot, file, protocol=4)
    with open(arguments.out.with_suffix(".json"), "w", encoding="utf-8") as file:
        json.dump(facts(arguments.model, sizes, seconds, arguments.seed), file, indent=2)
        file.write("\n")
    print(f"{sum(map(len, snapshot['device_traces']))} entries in {seconds:.1f} s", file=sys.stderr)


main()
