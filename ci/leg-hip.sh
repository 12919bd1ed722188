#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The hip backend on AMD's own runtimes without a GPU, over the stand-in of tests/softhsa for what is below them: Debian
# 12's version, and the newest of two later suites, which bring the C library that they need along. For each version a
# line "hip-VERSION: N passed, N failed, N skipped"; what fails for a reason (ci/gaps-hip.txt) counts as skipped. Then how
# often the device itself was asked, with lanes and with a bare pool; mutants; the bench, for its counts; and stress.
#
# Conformance runs in lanes, the default. With the driver's caching, of which AMD's pools keep few promises whatever the
# library does (docs/vendor-differences.md), only the backend's own tests do: the time goes to 5.2.3 and to what is above.
#
# A suite that cannot be fetched is a skip, and told; what was fetched once stays in build/amd.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
amd=$PWD/build/amd
softhsa=$PWD/build/hip-softhsa

# version_of PACKAGE FILE: "7.2.4", of a line "PACKAGE 7.2.4-1".
version_of() { awk -v package="$1" '$1 ~ "^" package "$" { sub(/[-+~].*/, "", $2); print $2; exit }' "$2"; }

# run_program FOLDER PROGRAM LOG OPTION...: its exit status tells nothing, as gaps fail; judge() looks at the log. Among
# the gaps many wait for ever, but none of the backend's own tests, some of which take a thousand rounds.
run_program() {
  program=$1/tests/$2 log=$3 timeout=15
  [ "$2" != backend ] || timeout=60
  shift 3
  SOFTHSA_GPUS=2 GPU_MAX_HW_QUEUES=32 GPU_STREAMOPS_CP_WAIT=1 "$program" --verbose=1 --color=never --short-filename \
    --timeout "$timeout" "$@" >"$log" 2>&1 || true
}

# test_version VERSION ROOT LINK-FLAGS: builds for the runtime below ROOT, and runs what it can.
test_version() {
  name=hip-$1 build=$PWD/build/hip-$1
  # An old-style search path: it holds for the libraries that the runtime loads, too.
  quiet "configure-$1" cmake --preset hip -B "$build" -DWARMPOOL_HIP_ROOT="$2" -DWARMPOOL_INSTALL=OFF \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,--disable-new-dtags -Wl,-rpath,$softhsa/runtime$3"
  # Everything once; for later versions no unit tests, below which there is no runtime.
  targets=all
  [ "$2" = /usr ] || targets="warmpool examples/all tools/all backend facts conformance mutants stress sweep"
  # shellcheck disable=SC2086 # a list of words
  quiet "build-$1" cmake --build "$build" -j 2 --target $targets
  set -- "$1" "$logs/$name-backend.log" "$logs/$name-facts.log" "$logs/$name-conformance.log"
  run_program "$build" backend "$2" --jobs 2
  # Beside one another: what hangs in either only waits for its limit.
  run_program "$build" facts "$3" --jobs 2 &
  run_program "$build" conformance "$4" --jobs 2
  wait
  judge "$@"
  grep '^warmth: ' "$2" | sort | sed 's/^/  /'
  test_mutants "hip-$1-mutants" "build/hip-$1" "hip-${1%.*}" 1 SOFTHSA_GPUS=2 GPU_MAX_HW_QUEUES=32 GPU_STREAMOPS_CP_WAIT=1
  run_bench "$1"
  run_stress "$1"
  run_sweep "$1"
  # Declared captures have lanes in the driver's caching, too, for which a runtime's pools must keep freed memory (H9).
  case $1 in 5.[0-6].*) ;; *) check "captures in the driver's caching on $1" driver_captures "$1" "$build" ;; esac
}

# driver_captures VERSION BUILD: as the list of gaps says, too.
driver_captures() {
  captures=$logs/hip-$1-driver-captures short=${1%.*}
  WARMPOOL_TEST_CACHING=driver
  export WARMPOOL_TEST_CACHING
  run_program "$2" conformance "$captures.log" --filter 'captures/*' --jobs 2
  unset WARMPOOL_TEST_CACHING
  cat "$captures.log"
  awk -v version="$short" -f ci/judge.awk ci/gaps-hip.txt "$captures.log" >"$captures.judged"
  cat "$captures.judged"
  read -r p f _ <"$captures.judged"
  [ "$p" -gt 0 ] && [ "$f" -eq 0 ]
}

# lanes_ask_for_nothing RESULTS: what lanes have served once, they serve again without a call for memory of the driver's,
# or of the device's.
lanes_ask_for_nothing() {
  grep '"mode":"lanes' "$1" >"$1.lanes"
  [ "$(wc -l <"$1.lanes")" -eq 14 ] &&
    refuses grep -v '"driver_allocs":0,"driver_frees":0,"device_allocs":0,"device_frees":0' "$1.lanes"
}

# run_bench VERSION: of times it tells nothing here.
run_bench() {
  results=$logs/hip-$1-bench.json
  quiet "bench-$1" "build/hip-$1/tools/warmpool" bench per-alloc delegates --rounds 1 --quiet --json
  cp "$logs/$leg-bench-$1.log" "$results"
  check "bench on $1: lanes ask the device for nothing" lanes_ask_for_nothing "$results"
}

# run_stress VERSION: its short form, which takes seven seconds whatever it is given.
run_stress() {
  check "stress on $1" env SOFTHSA_GPUS=2 timeout 120 "build/hip-$1/tests/stress" 1 --threads 4
}

# run_sweep VERSION: a part of it, another one for each version.
run_sweep() {
  sweep=$logs/hip-$1-sweep.log
  check "faults on $1" sweep_faults "$1" "$sweep"
  sed -n 's/^sweep: /  /p' "$sweep"
}
sweep_faults() {
  SOFTHSA_GPUS=2 GPU_MAX_HW_QUEUES=32 GPU_STREAMOPS_CP_WAIT=1 timeout 120 "build/hip-$1/tests/sweep" \
    --version "hip-${1%.*}" --seed "${1%%.*}" --seconds 20 >"$2" 2>&1 && return
  cat "$2"
  return 1
}

# again NAME LOG...: runs what went against the list once more, each test alone: AMD's runtimes have races of their own,
# which show when two tests run at once. Prints their output.
again() {
  build=$PWD/build/$1
  shift
  sed -n -e 's/^failed: //p' -e 's/^passed, though it is a gap: //p' "$judged" | sort -u >"$judged-again"
  while read -r test; do
    log=$(grep -lF "$test" "$@" | head -n 1)
    program=${log##*-}
    run_program "$build" "${program%.log}" "$judged-one" --filter "${test%%::*}/${test#*::}" --jobs 1 </dev/null
    cat "$judged-one"
  done <"$judged-again"
}

# judge VERSION LOG...
judge() {
  name=hip-$1 short=${1%.*} judged=$logs/hip-$1-judged
  shift
  awk -v version="$short" -f ci/judge.awk ci/gaps-hip.txt "$@" >"$judged"
  if grep -qE '^(failed|passed, though)' "$judged"; then
    again "$name" "$@" >"$judged.log"
    sed 's/^/  once, and run again alone: /' "$judged-again"
    awk -v version="$short" -f ci/judge.awk ci/gaps-hip.txt "$@" again=1 "$judged.log" >"$judged"
  fi
  read -r p f s <"$judged"
  sed -n '2,$s/^/  /p' "$judged"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  say "$name: $p passed, $f failed, $s skipped"
}

# fetch SUITE PACKAGE...: into build/amd/SUITE. False, and a skip, where the suite cannot be reached.
fetch() {
  say "$leg: fetch $1"
  suite=$1
  shift
  sh ci/fetch-suite.sh "$suite" "$amd/$suite" "$@" >"$logs/$leg-fetch-$suite.log" 2>&1 && return
  skipped=$((skipped + 1))
  say "$leg: SKIPPED: the suite $suite cannot be fetched; the end of $logs/$leg-fetch-$suite.log:"
  tail -n 5 "$logs/$leg-fetch-$suite.log"
  return 1
}

# newer_link SUITE: how a program is linked that runs with the C library of forky.
newer_link() {
  system=$amd/forky/usr/$here
  printf '%s' ":$amd/$1/usr/$here:$system -Wl,--dynamic-linker=$system/ld-linux-x86-64.so.2"
  printf '%s' " -Wl,--unresolved-symbols=ignore-in-shared-libs"
}

leg hip
need_compiler
need_criterion
need /usr/include/hip/hip_runtime_api.h:libamdhip64-dev /usr/include/hsa/hsa_ext_amd.h:libhsa-runtime-dev \
  /usr/include/amd_comgr.h:libamd-comgr-dev
here=lib/$(cc -print-multiarch)
mkdir -p "$amd"
# For all versions: the libraries below a runtime, which its program's search path begins with.
quiet configure-softhsa cmake -S "${SOFTHSA_SOURCE:-tests/softhsa}" -B "$softhsa" -G Ninja -DSOFTHSA_CHECKS=OFF
quiet build-softhsa cmake --build "$softhsa" -j 2
check "src/hip is src/cuda but for what it gives a reason for" sh ci/parity.sh

dpkg-query --show libamdhip64-dev >"$amd/versions"
test_version "$(version_of libamdhip64-dev "$amd/versions")" /usr ""
if fetch forky libamdhip64-N libamdhip64-dev libc6 libstdc++6 libgcc-s1 libnuma1; then
  test_version "$(version_of libamdhip64-dev "$amd/forky/versions")" "$amd/forky/usr" "$(newer_link forky)"
  if fetch experimental libamdhip64-N libamdhip64-dev; then
    version=$(version_of libamdhip64-dev "$amd/experimental/versions")
    test_version "$version" "$amd/experimental/usr" "$(newer_link experimental)"
  fi
else
  skipped=$((skipped + 1))
  say "$leg: SKIPPED: the suite experimental, which needs the C library of forky"
fi
finish
