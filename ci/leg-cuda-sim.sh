#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The cuda backend without a GPU: on the stand-in for the CUDA runtime, and compiled as older toolkits would have it.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
work=build/cuda-older

# compiles VERSION HEADERS: src/cuda, with the version that a header claims to be put back to VERSION.
compiles() {
  mkdir -p "$work/$1"
  printf '#include_next <cuda_runtime_api.h>\n#undef CUDART_VERSION\n#define CUDART_VERSION %s\n' "$1" \
    >"$work/$1/cuda_runtime_api.h"
  for source in src/cuda/*.c; do
    cc -std=c11 -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -isystem "$work/$1" -isystem "$2" -I include \
      -I build/cuda-sim/include -I src/common -I src/cuda "$source" || return 1
  done
}

leg cuda-sim
need_compiler
need_criterion
build_preset cuda-sim
run_tests cuda-sim
toolkit=$(cuda_toolkit)
for headers in ${toolkit:+"$toolkit/include"} tests/cudart_sim/include; do
  # Before stream ids (12.0), before stream devices (12.8), with both.
  for version in 11080 12000 12080; do
    check "src/cuda compiles as with CUDA $version: $headers" compiles "$version" "$headers"
  done
done
finish
