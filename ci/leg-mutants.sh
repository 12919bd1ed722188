#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on drivers that break one promise each: whoever shall notice it notices, by an assertion, and the
# others pass. On the host backend, and on the cuda backend with its stand-in.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

# mutants PRESET BACKEND
mutants() {
  quiet "configure-$1" cmake --preset "$1"
  quiet "build-$1" cmake --build --preset "$1" --target mutants
  say "mutants: on $1"
  test_mutants "mutants-$1" "build/$1" "$2" 2 WARMPOOL_HOST_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=32
}

leg mutants
need_compiler
need_criterion
mutants host host
mutants cuda-sim cuda
finish
