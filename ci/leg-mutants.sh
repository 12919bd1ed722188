#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on drivers that break one promise each: whoever shall notice it notices, by an assertion, and the
# others pass. On the host backend, and on the cuda backend with its stand-in. Then random programs on some of them, on
# the host backend: each is found within a minute.
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

# found MUTANT PATTERN: random programs go wrong on it as the pattern says, and one is made shorter.
found() {
  status=0
  WARMPOOL_MUTANT=$1 timeout 150 build/host/tests/random_mutants --seconds 60 --operations 1000 --quiet 2>&1 || status=$?
  [ "$status" -eq 1 ]
}
is_found() {
  found "$1" >"$logs/mutants-random-$1.log"
  head -n 4 "$logs/mutants-random-$1.log"
  head -n 1 "$logs/mutants-random-$1.log" | grep -E "$2" && grep -q 'operations are enough' "$logs/mutants-random-$1.log"
}

random_mutants() {
  quiet build-random cmake --build --preset host --target random_mutants
  check "random programs find nothing without a mutant" env WARMPOOL_MUTANT=none build/host/tests/random_mutants \
    --seconds 5 --operations 1000 --quiet
  grep -v '^#' tests/mutants/random.txt | grep . >"$logs/mutants-random"
  while read -r name _ pattern; do
    check "random programs find $name" is_found "$name" "$pattern" </dev/null
  done <"$logs/mutants-random"
}

leg mutants
need_compiler
need_criterion
mutants host host
mutants cuda-sim cuda
random_mutants
finish
