#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on one of AMD's runtimes, many times in a row, to see whether anything ever hangs. ci/leg-hip.sh has
# built it before. Tests that ci/gaps-hip.txt lists for the version are left out. Ends with a line
# "soak-hip-VERSION: N runs, N hangs, N failed tests, N seconds"; the exit status is 0 if there were no hangs.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

usage() {
  say "usage: sh ci/soak-hip.sh VERSION [RUNS]: for example 6.4.3 500 (default: 500)"
  exit 2
}

case $# in 1 | 2) ;; *) usage ;; esac
version=$1 runs=${2:-500}
case $runs in '' | *[!0-9]*) usage ;; esac
program=build/hip-$version/tests/conformance
[ -x "$program" ] || { say "soak-hip: there is no $program: run ci/leg-hip.sh first" >&2 && exit 2; }
log=$logs/soak-hip-$version
mkdir -p "$logs"

# gaps: the tests to leave out, as Criterion's pattern, which takes a list only if it is short.
gaps() {
  awk -v version="${version%.*}" '
    /^#/ || NF == 0 { next }
    { sub(/^[?]/, "", $1); sub(/::/, "/", $2) }
    $1 == "*" || index("," $1 ",", "," version ",") { printf "%s%s", (n++ ? "|" : ""), $2 }' ci/gaps-hip.txt
}

SOFTHSA_GPUS=2 GPU_MAX_HW_QUEUES=32 GPU_STREAMOPS_CP_WAIT=1
export SOFTHSA_GPUS GPU_MAX_HW_QUEUES GPU_STREAMOPS_CP_WAIT
filter="!($(gaps))"
started=$(date +%s) run=0 hangs=0 failures=0
: >"$log.log"
while [ "$run" -lt "$runs" ]; do
  run=$((run + 1))
  timeout 300 "$program" --filter "$filter" --jobs 2 --timeout 30 --color=never --short-filename >"$log.run" 2>&1 || {
    hangs=$((hangs + $(grep -c 'Timed out' "$log.run" || true)))
    failures=$((failures + $(grep -c '^\[FAIL\]' "$log.run" || true)))
    { say "run $run"; grep -vE '^\[(PASS|SKIP|RUN )' "$log.run"; } >>"$log.log"
  }
  # The whole run was cut off, or ran nothing.
  grep -qE 'Synthesis: Tested: [1-9]' "$log.run" || hangs=$((hangs + 1))
  say "$run runs, $hangs hangs, $failures failed tests" >"$log.so-far"
  if [ -t 2 ]; then printf '\r%d of %d runs, %d hangs' "$run" "$runs" "$hangs" >&2; fi
done
if [ -t 2 ]; then printf '\r\033[K' >&2; fi
say "soak-hip-$version: $runs runs, $hangs hangs, $failures failed tests, $(($(date +%s) - started)) seconds"
[ "$hangs" -eq 0 ]
