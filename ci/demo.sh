#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the library and the demo, and runs the demo with this script's arguments; its exit status is the script's. The
# backend is cuda where that can run, host elsewhere.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
leg=demo
mkdir -p "$logs"
toolkit=$(cuda_toolkit)
backend=host build=build/demo
if ! has_gpu; then
  say "demo: the host backend, for there is no NVIDIA GPU with a driver here"
elif [ -z "$toolkit" ]; then
  say "demo: the host backend, for there is an NVIDIA GPU here, but no CUDA toolkit"
else
  say "demo: the cuda backend, for there is an NVIDIA GPU here, and a CUDA toolkit in $toolkit"
  backend=cuda build=build/demo-cuda
fi
need_compiler
quiet configure cmake --preset "$backend" -B "$build" -DCMAKE_BUILD_TYPE=Release -DWARMPOOL_TESTS=OFF -DWARMPOOL_WERROR=OFF
quiet build cmake --build "$build" --target warmpool_demo
exec "$build/examples/warmpool_demo" "$@"
