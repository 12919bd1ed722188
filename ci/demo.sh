#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the library and the demo, and runs the demo with this script's arguments; its exit status is the script's. The
# backend is cuda or hip where that can run, host elsewhere.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
leg=demo
mkdir -p "$logs"
toolkit=$(cuda_toolkit) hip=$(hip_root)
backend=host build=build/demo
if has_gpu && [ -n "$toolkit" ]; then
  say "demo: the cuda backend, for there is an NVIDIA GPU here, and a CUDA toolkit in $toolkit"
  backend=cuda build=build/demo-cuda
elif has_amd_gpu && [ -n "$hip" ]; then
  say "demo: the hip backend, for there is an AMD GPU here, and HIP in $hip"
  backend=hip build=build/demo-hip
elif has_gpu; then
  say "demo: the host backend, for there is an NVIDIA GPU here, but no CUDA toolkit"
elif has_amd_gpu; then
  say "demo: the host backend, for there is an AMD GPU here, but no HIP 5.7 or newer"
else
  say "demo: the host backend, for there is no GPU with a driver here"
fi
need_compiler
quiet configure cmake --preset "$backend" -B "$build" -DCMAKE_BUILD_TYPE=Release -DWARMPOOL_TESTS=OFF -DWARMPOOL_WERROR=OFF \
  -DWARMPOOL_HIP_ROOT="$hip"
quiet build cmake --build "$build" --target warmpool_demo
exec "$build/examples/warmpool_demo" "$@"
