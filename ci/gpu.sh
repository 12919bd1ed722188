#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that can be tested on a machine with an NVIDIA GPU, a driver and a CUDA toolkit: facts, conformance (in lanes,
# and in the driver's pool) and mutants on the cuda backend, or on the hip backend for NVIDIA, the conformance suite under
# compute-sanitizer's memcheck, and the benchmarks. Nothing is installed. Each part ends with "PART: N passed, N failed,
# N skipped", the script with their sum. Results are left in a folder: Criterion's reports as JUnit (.xml) and JSON, logs,
# bench.json, and summary.json.
set -eu
start_folder=$PWD
cd "$(dirname "$0")/.."
. ci/lib.sh

usage() {
  cat <<'END'
usage: sh ci/gpu.sh [OPTION...]
  --criterion DIR   Criterion is in DIR/include and DIR/lib (default: $CRITERION_PREFIX, or what is installed)
  --only PARTS      of facts,conformance,conformance-driver,mutants,sanitizer,bench (default: all, in this order) and,
                    with a preset for HIP, bench-hip: an allocation and its free on the hip and on the cuda backend, by
                    turns (by default the last part there)
  --no-sanitizer    all but the sanitizer
  --out DIR         where the results go (default: build/gpu-results)
  --parallel N      so many suites at once under the sanitizer (default: 4)
  --suites REGEX    only these under the sanitizer, as in 'uses|limits checked' (default: all)
  --seconds N       begin nothing after N seconds (default: 3600); the sanitizer gets what is left of them
  --preset NAME     what to build: cuda or hip-nvidia (default: cuda); cuda-sim and hip-nvidia-sim try this script
                    without a GPU
  --hip-headers DIR HIP 5.7's headers for NVIDIA are in DIR/include/hip (default: build/hip-headers/usr, fetched there)
END
}

absolute() {
  case $1 in
  /*) say "$1" ;;
  *) say "$start_folder/$1" ;;
  esac
}

command="sh ci/gpu.sh $*"
criterion=${CRITERION_PREFIX:-} parts='' sanitizer=,sanitizer out=$PWD/build/gpu-results seconds=3600
preset=cuda parallel=4 suites=. hip_root=''
while [ $# -gt 0 ]; do
  case $1 in
  --no-sanitizer) sanitizer='' ;;
  --help) usage && exit ;;
  --criterion | --only | --out | --parallel | --suites | --seconds | --preset | --hip-headers)
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case $1 in
    --criterion) criterion=$(absolute "$2") ;;
    --only) parts=$2 ;;
    --out) out=$(absolute "$2") ;;
    --parallel) parallel=$2 ;;
    --suites) suites=$2 ;;
    --seconds) seconds=$2 ;;
    --preset) preset=$2 ;;
    --hip-headers) hip_root=$(absolute "$2") ;;
    esac
    shift
    ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done
[ -n "$parts" ] || {
  parts=facts,conformance,conformance-driver,mutants$sanitizer,bench
  case $preset in hip-*) parts=$parts,bench-hip ;; esac
}
for part in $(say "$parts" | tr ',' ' '); do
  case $part:$preset in
  facts:* | conformance:* | conformance-driver:* | mutants:* | sanitizer:* | bench:* | bench-hip:hip-*) ;;
  *) usage >&2 && exit 2 ;;
  esac
done
case $preset in
*-sim) has_device=no jobs=2 rounds=1 ;; # whose pool is slow when cold
*) has_device=yes jobs=1 rounds=10 ;;
esac

# -- the machine --

gpu_field() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1; }

gpu_name() {
  found=$(gpu_field name)
  [ -n "$found" ] || found=$(sed -n 's/^Model:[[:space:]]*//p' /proc/driver/nvidia/gpus/*/information 2>/dev/null | head -n 1)
  say "$found"
}

driver_version() {
  found=$(gpu_field driver_version)
  [ -n "$found" ] || found=$(sed -n 's/^NVRM version:.*  \([0-9][0-9.]*\) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null)
  say "$found"
}

machine() {
  say "$(uname -sm), $(getconf _NPROCESSORS_ONLN) x $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
}

toolkit=$(cuda_toolkit)
cuda_version() {
  sed -n 's/^#define CUDART_VERSION  *\([0-9]*\)[0-9]\([0-9]\)[0-9].*/\1.\2/p' "$toolkit/include/cuda_runtime_api.h" 2>/dev/null
}

# -- the parts --

bin=build/$preset/tests
started=$(date +%s)
left() { say $((seconds - $(date +%s) + started)); }
needs_device='exhaustion|runtimes|limits|arguments|process|full_lanes'

# limited SECONDS COMMAND...: so that nothing hangs for ever.
limited() {
  limit=$1
  [ "$limit" -le "$(left)" ] || limit=$(left)
  [ "$limit" -gt 0 ] || limit=1
  shift
  timeout -k 10 "$limit" "$@"
}

close_part() { # NAME PASSED FAILED SKIPPED
  say "$1: $2 passed, $3 failed, $4 skipped"
  say "$1 $2 $3 $4 $(($(date +%s) - part_started))" >>"$out/counts"
}

# A test program, or part of one, whose report says how many tests there were.
run_suite() { # NAME SECONDS PROGRAM JOBS FILTER
  status=0
  limited "$2" "$bin/$3" --verbose=1 --color=never --short-filename --jobs "$4" --filter "$5" --timeout 90 \
    --xml="$out/$1.xml" --json="$out/$1.json" >"$out/$1.log" 2>&1 || status=$?
  grep -E '^\[FAIL\]' "$out/$1.log" || true
  grep -q '^\[SKIP\].*: needs' "$out/$1.log" && say "$1: skipped: tests that need a second device"
  counts=$(sed -n 's/.*Synthesis: Tested: .*Passing: \([0-9]*\) .*Failing: \([0-9]*\) .*/\1 \2/p' "$out/$1.log")
  p=${counts%% *} f=${counts##* }
  : "${p:=0}" "${f:=0}"
  if grep -Eq "$fixture_failures" "$out/$1.log"; then f=$((f + 1)); fi
  # Stopped at its limit, crashed, or nothing ran.
  if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$p" -eq 0 ]; }; then f=1; fi
  [ "$f" -eq 0 ] || grep -E -A 4 '^\[----\] [^ ]+:[0-9]+: ' "$out/$1.log" | head -n 60 || true
  [ "$status" -eq 0 ] || say "$1: exit status $status (124: stopped after its limit)"
  # Tests that the filter leaves out are listed as disabled.
  close_part "$1" "$p" "$f" "$(grep '^\[SKIP\]' "$out/$1.log" | grep -vc 'Test is disabled' || true)"
}

# Several at once, for most of a test's time goes into its context; those that need the device for themselves not.
run_conformance() { # CACHING NAME
  WARMPOOL_TEST_CACHING=$1
  export WARMPOOL_TEST_CACHING
  run_suite "$2" 400 conformance 4 "!(@($needs_device))/*"
  part_started=$(date +%s)
  run_suite "$2-alone" 400 conformance 1 "@($needs_device)/*"
  unset WARMPOOL_TEST_CACHING
}

# In one stream contract: what tells the two apart is the library, not the driver.
run_mutants() {
  status=0
  limited 1200 sh tests/mutants/run.sh "$bin/mutants" "$backend" "$out/mutants" "$jobs" checked >"$out/mutants.log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    sed '$d' "$out/mutants.log"
    read -r p f s <<END
$(tail -n 1 "$out/mutants.log")
END
  else
    cat "$out/mutants.log"
    say "mutants: exit status $status (124: stopped after its limit)"
    p=$(grep -c '^  ok ' "$out/mutants.log" || true) f=1 s=0
  fi
  close_part mutants "$p" "$f" "$s"
}

# units: the conformance program's suites, a line "SUITE KIND TEST|TEST|..." for each contract, the largest first. Tests
# that ci/skips.txt lists for the sanitizer are left out, and counted in left-out.
units() {
  sed -n 's/^sanitizer  *\([a-z_]*\)::\([a-z_0-9]*\) .*/\1 \2/p' ci/skips.txt >"$out/sanitizer/not-here"
  "$bin/conformance" --list --color=never | awk -v skips="$out/sanitizer/not-here" -v left_out="$out/sanitizer/left-out" \
    -v unknown="$out/sanitizer/unknown" '
    BEGIN { while ((getline < skips) > 0) skip[$1 " " $2] = 1 }
    /^[a-z_]*: [0-9]* tests?/ { suite = $1; sub(/:/, "", suite); next }
    {
      sub(/^[^a-z]*/, "")
      base = $0
      kind = sub(/__declared$/, "", base) ? "declared" : "checked"
      sub(/__checked$/, "", base)
      if ((suite " " base) in skip) { met[suite " " base]; print suite, kind, $0 >left_out; next }
      unit = suite " " kind
      tests[unit] = count[unit]++ ? tests[unit] "|" $0 : $0
    }
    END {
      for (test in skip) if (!(test in met)) print test >unknown
      for (unit in tests) print count[unit], unit, tests[unit]
    }' | sort -k 1,1rn -k 2 | cut -d ' ' -f 2-
}

# memcheck PORT FILTER REPORT: the conformance program under the tool. Each worker of Criterion's is a process of its
# own. Tests call the driver wrongly on purpose: its refusals are no errors here, accesses are.
memcheck() {
  limited 300 "$tool" --tool memcheck --target-processes all --require-cuda-init no --report-api-errors no --port "$1" \
    "$bin/conformance" --filter "$2" --color=never --short-filename --jobs 1 --timeout 120 --json="$3"
}

# sanitize PORT: runs the units that standard input names, one after the other; what came of each is in a file.
sanitize() {
  port=$1
  while read -r suite kind tests; do
    unit=$out/sanitizer/$suite-$kind status=0 verdict=FAIL
    if [ "$(left)" -le 0 ]; then
      say "FAIL not begun, the time was over" >"$unit.result"
      continue
    fi
    memcheck "$port" "$suite/@($tests)" "$unit.json" >"$unit.log" 2>&1 </dev/null || status=$?
    found=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$unit.log" |
      awk '{ errors += $1 } END { print errors + 0 " errors in " NR " summaries" }')
    case $status:$found in
    *" 0 summaries") ;; # it did not look
    0:"0 errors in "*) verdict=ok ;;
    esac
    say "$verdict $found, exit status $status" >"$unit.result"
  done
}

run_sanitizer() {
  tool=$(command -v compute-sanitizer || true)
  [ -n "$tool" ] || tool=$toolkit/bin/compute-sanitizer
  if [ ! -x "$tool" ]; then
    say "there is no compute-sanitizer here"
    close_part sanitizer 0 0 1
    return
  fi
  mkdir -p "$out/sanitizer"
  memcheck 49152 'last_close/comes_once__checked' "$out/sanitizer/probe.json" >"$out/sanitizer/probe.log" 2>&1 || true
  if grep 'Device not supported' "$out/sanitizer/probe.log"; then
    close_part sanitizer 0 0 1
    return
  fi
  : >"$out/sanitizer/left-out"
  : >"$out/sanitizer/unknown"
  units | grep -E "^[^|]*($suites)" >"$out/sanitizer/units"
  alone="^($needs_device) "
  lane=0
  while [ "$lane" -lt "$parallel" ]; do
    grep -vE "$alone" "$out/sanitizer/units" | awk -v lane="$lane" -v lanes="$parallel" 'NR % lanes == lane' |
      sanitize $((49152 + 64 * lane)) &
    lane=$((lane + 1))
  done
  wait
  grep -E "$alone" "$out/sanitizer/units" | sanitize 49152
  p=0 f=0
  while read -r suite test; do
    say "  FAIL  ci/skips.txt: there is no $suite::$test"
    f=$((f + 1))
  done <"$out/sanitizer/unknown"
  while read -r suite kind tests; do
    read -r verdict found <"$out/sanitizer/$suite-$kind.result"
    say "  $verdict  $suite, $kind: $found"
    if [ "$verdict" = ok ]; then
      p=$((p + $(say "$tests" | tr '|' '\n' | wc -l)))
    else
      f=$((f + 1))
      grep -E '^=========|^\[FAIL\]' "$out/sanitizer/$suite-$kind.log" | head -n 30 || true
    fi
  done <"$out/sanitizer/units"
  s=$(grep -cE "^[^|]*($suites)" "$out/sanitizer/left-out" || true)
  [ "$s" -eq 0 ] || say "sanitizer: skipped: $s tests, for the reasons in ci/skips.txt"
  close_part sanitizer "$p" "$f" "$s"
}

# Every case, its results in bench.json. Nothing is judged here: a case either comes to its end or not.
run_bench() {
  status=0
  limited 300 "build/$preset/tools/warmpool" bench all --rounds 20 --traces bench/traces --json >"$out/bench.json" 2>"$out/bench.log" || status=$?
  p=$(grep -c '^{"backend"' "$out/bench.json" || true) f=0
  [ "$status" -eq 0 ] && [ "$p" -gt 0 ] || f=1
  cat "$out/bench.log"
  close_part bench "$p" "$f" 0
}

# What HIP's names cost: both backends by turns, each as often the first as the second, and all on one processor, for a
# process on one that is far from the GPU takes half as long again. The medians of each one's medians are in
# bench-hip.json; they are not judged either.
run_bench_hip() {
  rm -rf "$out/bench-hip"
  mkdir -p "$out/bench-hip"
  status=0 p=0 f=0
  processor=$(taskset -cp $$ 2>/dev/null | sed -n 's/.*[:,-][[:space:]]*\([0-9][0-9]*\)$/\1/p')
  for turn in cuda-1 hip-1 hip-2 cuda-2 cuda-3 hip-3 hip-4 cuda-4 cuda-5 hip-5 hip-6 cuda-6; do
    case $turn in
    cuda-*) tool=build/$cuda_preset/tools/warmpool ;;
    hip-*) tool=build/$preset/tools/warmpool ;;
    esac
    set -- "$tool" bench per-alloc --rounds "$rounds" --json
    if [ -n "$processor" ]; then set -- taskset -c "$processor" "$@"; fi
    limited 60 "$@" >"$out/bench-hip/$turn.json" 2>"$out/bench-hip/$turn.log" || status=$?
    cat "$out/bench-hip/$turn.log"
    [ "$status" -eq 0 ] || { say "bench-hip: $turn: exit status $status" && break; }
  done
  awk -f ci/side-by-side.awk "$out"/bench-hip/*.json >"$out/bench-hip.json" || status=$?
  sed -n -e '/"lanes/!d; s/[{}"]//g; p' "$out/bench-hip.json"
  p=$(grep -c '"hip_to_cuda"' "$out/bench-hip.json" || true)
  [ "$status" -eq 0 ] && [ "$p" -gt 0 ] || f=1
  close_part bench-hip "$p" "$f" 0
}

# -- the summary --

quoted() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

summary() {
  printf '{\n  "machine": %s,\n' "$(quoted "$(machine)")"
  printf '  "gpu": %s,\n  "driver": %s,\n' "$(quoted "$(gpu_name)")" "$(quoted "$(driver_version)")"
  printf '  "cuda": %s,\n  "preset": %s,\n' "$(quoted "$(cuda_version)")" "$(quoted "$preset")"
  printf '  "commit": %s,\n' "$(quoted "$(git rev-parse --verify --quiet HEAD 2>/dev/null || true)")"
  printf '  "command": %s,\n  "date": "%s",\n  "parts": {' "$(quoted "$command")" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  awk '{ printf "%s\n    \"%s\": {\"passed\": %d, \"failed\": %d, \"skipped\": %d, \"seconds\": %d}",
           (NR > 1 ? "," : ""), $1, $2, $3, $4, $5 }' "$out/counts"
  printf '\n  },\n  "passed": %d,\n  "failed": %d,\n  "skipped": %d\n}\n' "$passed" "$failed" "$skipped"
}

leg gpu
mkdir -p "$out"
rm -rf "${out:?}/mutants" "${out:?}/sanitizer" "$out/summary.json"
: >"$out/counts"
for tool in cmake ninja cc timeout; do
  have "$tool" || { say "gpu: $tool is missing" && exit 2; }
done
[ "$preset" = cuda-sim ] || [ -n "$toolkit" ] || { say "gpu: there is no CUDA toolkit here" && exit 2; }
[ "$has_device" = no ] || has_gpu || { say "gpu: there is no NVIDIA GPU with a driver here" && exit 2; }
case $preset in
hip-*)
  [ -n "$hip_root" ] || hip_root=$(hip_headers) || {
    say "gpu: HIP's headers for NVIDIA cannot be fetched (--hip-headers says where they are):"
    tail -n 5 "$logs/fetch-hip-headers.log"
    exit 2
  }
  ;;
esac

set -- --preset "$preset" -DCMAKE_BUILD_TYPE=RelWithDebInfo
if [ -n "$hip_root" ]; then set -- "$@" -DWARMPOOL_HIP_ROOT="$hip_root"; fi
if [ -n "$toolkit" ]; then set -- "$@" -DCUDAToolkit_ROOT="$toolkit"; fi
if [ -n "$criterion" ]; then
  LD_LIBRARY_PATH=$criterion/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
  set -- "$@" -DCRITERION_INCLUDE_DIR="$criterion/include" -DCRITERION_LIBRARY="$criterion/lib/libcriterion.so"
fi
quiet configure cmake "$@"
quiet build cmake --build "build/$preset" --target facts conformance mutants warmpool_tool
backend=$(sed -n 's/^WARMPOOL_BACKEND:STRING=//p' "build/$preset/CMakeCache.txt")
CUDA_DEVICE_MAX_CONNECTIONS=32
export CUDA_DEVICE_MAX_CONNECTIONS
[ "$has_device" = yes ] || export WARMPOOL_HOST_DEVICES=2
case ,$parts, in
*,bench-hip,*)
  cuda_preset=cuda${preset#hip-nvidia}
  quiet configure-cuda cmake --preset "$cuda_preset" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCUDAToolkit_ROOT="$toolkit" \
    -DWARMPOOL_TESTS=OFF
  quiet build-cuda cmake --build "build/$cuda_preset" --target warmpool_tool
  ;;
esac

for part in $(say "$parts" | tr ',' ' '); do
  say "gpu: $part"
  part_started=$(date +%s)
  case $part in
  facts) run_suite facts 120 facts "$jobs" '*/*' ;;
  conformance) run_conformance lanes conformance ;;
  conformance-driver) run_conformance driver conformance-driver ;;
  mutants) run_mutants ;;
  sanitizer) run_sanitizer ;;
  bench) run_bench ;;
  bench-hip) run_bench_hip ;;
  esac
done
read -r passed failed skipped <<END
$(awk '{ p += $2; f += $3; s += $4 } END { print p + 0, f + 0, s + 0 }' "$out/counts")
END
summary >"$out/summary.json"
rm -f "$out/counts"
say "gpu: results are in $out"
leg=total
finish
