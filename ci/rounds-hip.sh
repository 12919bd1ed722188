#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What has been reported of AMD's runtimes (tests/hip/scenarios_*.c, cross_stream.c), many rounds in a process each, on
# each version that ci/leg-hip.sh has built. Prints how far each test came, and for each version a line
# "rounds-hip-VERSION: N passed, N failed, N gaps, N hung, N rounds, N s of CPU, N s". Gaps are ci/gaps-hip.txt's; what
# hung is among the failed. The exit status is 0 if nothing failed.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

usage() {
  say "usage: sh ci/rounds-hip.sh [ROUNDS [VERSION...]]: for example 10000 6.4.3 (default: 1000, and all there are)"
  exit 2
}

rounds=${1:-1000}
case $rounds in '' | *[!0-9]* | 0) usage ;; esac
[ $# -eq 0 ] || shift
if [ $# -eq 0 ]; then
  for program in build/hip-[0-9]*/tests/backend; do
    [ -x "$program" ] || { say "rounds-hip: nothing is built: run ci/leg-hip.sh first" >&2 && exit 2; }
    version=${program#build/hip-}
    set -- "$@" "${version%/tests/backend}"
  done
fi

# run VERSION LOG: one test after the other; its time goes to LOG.cpu.
run() (
  SOFTHSA_GPUS=2 GPU_MAX_HW_QUEUES=32 GPU_STREAMOPS_CP_WAIT=1 WARMPOOL_TEST_ROUNDS=$rounds \
    "build/hip-$1/tests/backend" --filter '@(many_*|cross_stream)/*' --jobs 1 --timeout $((rounds / 10 + 30)) \
    --verbose=1 --color=never --short-filename >"$2" 2>&1 || true
  times >"$2.cpu"
)

# seconds FILE: of user and system together, of the children.
seconds() { awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4 + 0.5) }' "$1"; }

mkdir -p "$logs"
all_failed=0
for version in "$@"; do
  log=$logs/rounds-hip-$version.log
  started=$(date +%s)
  run "$version" "$log"
  took=$(($(date +%s) - started))
  awk -v version="${version%.*}" -f ci/judge.awk ci/gaps-hip.txt "$log" >"$log.judged"
  read -r p f s <"$log.judged"
  # The thousand rounds of cross_stream are always a thousand.
  sed -n -e 's/^rounds: \(.*\): \([0-9]* of [0-9]*\)$/  \2  \1/p' \
    -e 's/^\[PASS\] \(cross_stream[^ ]*\): .*/  1000 of 1000  \1/p' "$log" | tee "$log.rounds"
  sed -n '2,$s/^/  /p' "$log.judged"
  grep '^\[FAIL\].*Timed out' "$log" | sed 's/^\[FAIL\] \(.*\): Timed out.*/failed: \1/' | sort >"$log.timed-out"
  hung=$(sort "$log.judged" | comm -12 - "$log.timed-out" | wc -l)
  done_rounds=$(awk '{ sum += $1 } END { print sum + 0 }' "$log.rounds")
  cpu=$(seconds "$log.cpu")
  say "rounds-hip-$version: $p passed, $f failed, $s gaps, $hung hung, $done_rounds rounds, $cpu s of CPU, $took s"
  all_failed=$((all_failed + f))
done
[ "$all_failed" -eq 0 ]
