#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the library and the demo, and runs the demo with this script's arguments; its exit status is the script's.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
leg=demo
mkdir -p "$logs"
need_compiler
quiet configure cmake --preset host -B build/demo -DCMAKE_BUILD_TYPE=Release -DWARMPOOL_TESTS=OFF -DWARMPOOL_WERROR=OFF
quiet build cmake --build build/demo --target warmpool_demo
exec build/demo/examples/warmpool_demo "$@"
