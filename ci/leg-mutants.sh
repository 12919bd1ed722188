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
  log=$logs/mutants-$1.log
  export WARMPOOL_HOST_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=32
  if ! sh tests/mutants/run.sh "build/$1/tests/mutants" "$2" "build/$1/mutants" 2 >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  sed '$d' "$log"
  read -r p f s <<END
$(tail -n 1 "$log")
END
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

leg mutants
need_compiler
need_criterion
mutants host host
mutants cuda-sim cuda
finish
