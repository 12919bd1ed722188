#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that can be tested on a machine with an NVIDIA GPU, a driver and a CUDA toolkit: facts, conformance (in lanes,
# and in the driver's pool) and mutants on the cuda backend, or on the hip backend for NVIDIA, some of the conformance
# suite under compute-sanitizer's memcheck, random programs, and the benchmarks. Nothing is installed. Each part ends with
# "PART: N passed, N failed, N skipped", the script with their sum. Results are left in a folder: logs of what failed,
# bench.json, summary.json, and a record, with which a later call goes on (ci/gpu-units.sh).
# The exit status is 0 where all is well, 1 where something failed, 2 where nothing can run, 3 where something is not done.
set -eu
start_folder=$PWD
cd "$(dirname "$0")/.."
. ci/lib.sh
. ci/gpu-units.sh
. ci/gpu-parts.sh
. ci/gpu-sanitizer.sh

# The parts, in this order. A further one has a name here, plan_NAME and unit_NAME.
all_parts="facts conformance conformance-driver mutants sanitizer random bench bench-hip"
# Programs of parts that not every branch has; such a part is skipped where its program is missing.
optional_programs="random"

usage() {
  cat <<'END'
usage: sh ci/gpu.sh [OPTION...]
  --criterion DIR   Criterion is in DIR/include and DIR/lib (default: $CRITERION_PREFIX, or what is installed)
  --only PARTS      of facts,conformance,conformance-driver,mutants,sanitizer,random,bench (default: all, in this order)
                    and, with a preset for HIP, bench-hip: an allocation and its free on the hip and on the cuda
                    backend, by turns (by default the last part there)
  --no-sanitizer    all but the sanitizer
  --out DIR         where the results go (default: build/gpu-results)
  --jobs N          so many tests at once (default: what processors and memory have room for)
  --suites REGEX    only these under the sanitizer, as in 'uses|limits checked'; . for all (default: the tests in
                    ci/gpu-sanitizer.txt)
  --random-seconds N  so long the random programs run (default: 120)
  --seconds N       begin nothing after N seconds, and stop then what still runs (default: 3600)
  --resume FILE     FILE is the record of an earlier call (DIR/record): what it says was done at the same commit, and with
                    the same preset, without a failure, does not run again
  --commit ID       what is tested (default: $WARMPOOL_COMMIT, what git says, or a checksum of the sources)
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

command="sh ci/gpu.sh $*" again='sh ci/gpu.sh'
criterion=${CRITERION_PREFIX:-} parts='' sanitizer=yes out=$PWD/build/gpu-results seconds=3600 preset=cuda jobs=''
suites='' hip_root='' resume='' random_seconds=120 commit=${WARMPOOL_COMMIT:-}
while [ $# -gt 0 ]; do
  case $1 in
  --no-sanitizer) sanitizer=no again="$again $1" ;;
  --help) usage && exit ;;
  --criterion | --only | --out | --jobs | --suites | --random-seconds | --seconds | --resume | --commit | --preset | --hip-headers)
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case $1 in
    --criterion) criterion=$(absolute "$2") ;;
    --only) parts=$2 ;;
    --out) out=$(absolute "$2") ;;
    --jobs) jobs=$2 ;;
    --suites) suites=$2 ;;
    --random-seconds) random_seconds=$2 ;;
    --seconds) seconds=$2 ;;
    --resume) resume=$(absolute "$2") ;;
    --commit) commit=$2 ;;
    --preset) preset=$2 ;;
    --hip-headers) hip_root=$(absolute "$2") ;;
    esac
    [ "$1" = --resume ] || again="$again $1 '$2'"
    shift
    ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done
case "${jobs:-1},$random_seconds,$seconds" in *[!0-9,]* | 0* | *,0*) usage >&2 && exit 2 ;; esac
case $commit in *[!A-Za-z0-9._-]*) usage >&2 && exit 2 ;; esac
[ -z "$resume" ] || [ -r "$resume" ] || { say "gpu: there is no $resume" >&2 && exit 2; }
[ -n "$parts" ] || for part in $all_parts; do
  case $part:$sanitizer:$preset in
  sanitizer:no:* | bench-hip:*:cuda*) ;;
  *) parts=$parts,$part ;;
  esac
done
for part in $(say "$parts" | tr ',' ' '); do
  case " $all_parts :$part:$preset" in
  *:bench-hip:cuda*) usage >&2 && exit 2 ;;
  *" $part "*) ;;
  *) usage >&2 && exit 2 ;;
  esac
done
case $preset in
*-sim) has_device=no rounds=1 ;; # whose pool is slow when cold
*) has_device=yes rounds=10 ;;
esac
started=$(date +%s) bin=build/$preset/tests workers='' holder=''
left() { say $((seconds - $(date +%s) + started)); }

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

# Which devices there are, as CUDA_VISIBLE_DEVICES has them.
devices() {
  if [ "$has_device" = no ]; then
    case ${WARMPOOL_HOST_DEVICES:-2} in 1) say 0 ;; *) say 0,1 ;; esac
  elif [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    say "$CUDA_VISIBLE_DEVICES"
  else
    nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | paste -s -d , - | grep . || say 0
  fi
}

# see_devices COUNT: so many, 1 or 2, are there for what runs from here on. With two, a context takes seconds.
see_devices() {
  CUDA_VISIBLE_DEVICES=$(say "$all_devices" | cut -d , -f "1-$1")
  export CUDA_VISIBLE_DEVICES
  [ "$has_device" = yes ] || export WARMPOOL_HOST_DEVICES="$1"
}

# How many tests have room: a processor each, 3 GiB of memory (a context, and what a test has of its own), 4 GiB of the
# device's. No more than 3 on a GPU: on the H200 a test took 1.6 s where one ran at a time, 0.92 s with two at once, 1.1 s
# with three or four and 1.4 s with eight (bench/results), so that contexts seem to be made one after the other.
room() {
  cores=$(getconf _NPROCESSORS_ONLN)
  host=$(awk '/^MemAvailable:/ { print int($2 / 3145728) }' /proc/meminfo)
  device=$(gpu_field memory.free | sed -n 's/^\([0-9][0-9]*\) MiB.*/\1/p')
  say "$cores" "${host:-4}" "$((${device:-32768} / 4096))" 3 | tr ' ' '\n' | sort -n | awk 'NR == 1 { print $1 < 1 ? 1 : $1 }'
}

# What is tested: a commit, with a checksum of the sources where they differ from it, or where there is no git.
sources() {
  find src include tests bench tools ci cmake CMakeLists.txt CMakePresets.json -type f ! -path 'bench/results/*' 2>/dev/null |
    sort | xargs sha256sum | sha256sum | cut -c 1-12
}

source_id() {
  if head=$(git rev-parse --verify --quiet HEAD 2>/dev/null); then
    [ -z "$(git status --porcelain 2>/dev/null)" ] || head=$head-$(sources)
    say "$head"
  else
    say "unknown-$(sources)"
  fi
}

# The driver may let go of a device that nobody has open, and wakes it up again for the next test.
hold_device() {
  for node in /dev/nvidia[0-9]*; do
    [ -r "$node" ] || continue
    # shellcheck disable=SC2217 # that it is open is all
    sleep "$seconds" <"$node" &
    holder="$holder $!"
  done
}

# shellcheck disable=SC2086 # lists of words
let_go() { [ -z "$workers$holder" ] || kill $workers $holder 2>/dev/null || true; }

# -- the summary --

quoted() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

summary() {
  printf '{\n  "machine": %s,\n' "$(quoted "$(machine)")"
  printf '  "gpu": %s,\n  "driver": %s,\n' "$(quoted "$(gpu_name)")" "$(quoted "$(driver_version)")"
  printf '  "cuda": %s,\n  "preset": %s,\n' "$(quoted "$(cuda_version)")" "$(quoted "$preset")"
  printf '  "commit": %s,\n  "jobs": %d,\n' "$(quoted "$commit")" "$jobs"
  printf '  "command": %s,\n  "date": "%s",\n  "parts": {' "$(quoted "$command")" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  awk -v commit="$commit" '
    { printf "%s\n    \"%s\": {\"passed\": %d, \"failed\": %d, \"skipped\": %d, \"not_done\": %d, \"seconds\": %d, \"commit\": \"%s\"}",
        (NR > 1 ? "," : ""), $1, $2, $3, $4, $5, $6, commit }' "$work/counts"
  printf '\n  },\n  "passed": %d,\n  "failed": %d,\n  "skipped": %d,\n  "not_done": %d\n}\n' \
    "$passed" "$failed" "$skipped" "$undone"
}

leg gpu
trap 'let_go; close_leg 130' INT
trap 'let_go; close_leg 143' TERM
work=$out/work record=$out/record
mkdir -p "$out"
rm -rf "${work:?}" "$out/summary.json"
mkdir "$work"
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

set -- --preset "$preset" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWARMPOOL_TESTS=ON # a run for HIP turns them off
if [ -n "$hip_root" ]; then set -- "$@" -DWARMPOOL_HIP_ROOT="$hip_root"; fi
if [ -n "$toolkit" ]; then set -- "$@" -DCUDAToolkit_ROOT="$toolkit"; fi
if [ -n "$criterion" ]; then
  LD_LIBRARY_PATH=$criterion/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
  set -- "$@" -DCRITERION_INCLUDE_DIR="$criterion/include" -DCRITERION_LIBRARY="$criterion/lib/libcriterion.so"
fi
quiet configure cmake "$@"
set -- facts facts_together conformance conformance_together mutants warmpool_tool
cmake --build "build/$preset" --target help >"$work/targets"
for program in $optional_programs; do
  if grep -q "^$program: phony" "$work/targets"; then set -- "$@" "$program"; fi
done
quiet build cmake --build "build/$preset" --target "$@"
backend=$(sed -n 's/^WARMPOOL_BACKEND:STRING=//p' "build/$preset/CMakeCache.txt")
CUDA_DEVICE_MAX_CONNECTIONS=32
export CUDA_DEVICE_MAX_CONNECTIONS
case ,$parts, in
*,bench-hip,*)
  cuda_preset=cuda${preset#hip-nvidia}
  quiet configure-cuda cmake --preset "$cuda_preset" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCUDAToolkit_ROOT="$toolkit" \
    -DWARMPOOL_TESTS=OFF
  quiet build-cuda cmake --build "build/$cuda_preset" --target warmpool_tool
  ;;
esac

[ -n "$commit" ] || commit=$(source_id)
[ -n "$jobs" ] || jobs=$(room)
all_devices=$(devices) has_two=no
case $all_devices in *,*) has_two=yes ;; esac
needs >"$work/needs"
say "gpu: commit $commit, preset $preset, $jobs at once, devices $all_devices, $(left) of $seconds seconds left"
for file in "$record" ${resume:+"$resume"}; do
  [ ! -s "$file" ] || durations_of "$file"
done >"$work/durations"
: >"$work/believed"
[ -z "$resume" ] || believe "$resume"
{ say "# preset commit part unit passed failed skipped seconds" && cat "$work/believed"; } >"$record"
[ "$has_device" = no ] || hold_device
for part in $(say "$parts" | tr ',' ' '); do
  rm -rf "${out:?}/$part"
  mkdir "$out/$part"
  run_part "$part"
done
let_go
read -r passed failed skipped undone <<END
$(awk '{ p += $2; f += $3; s += $4; u += $5 } END { print p + 0, f + 0, s + 0, u + 0 }' "$work/counts")
END
summary >"$out/summary.json"
unfinished=$(awk '$5 > 0 { printf "%s%s", n++ ? ", " : "", $1 }' "$work/counts")
rm -rf "${work:?}"
say "gpu: results are in $out"
leg=total
[ "$undone" -gt 0 ] || finish
say "gpu: not done: $undone units of $unfinished. To go on:"
say "  $again --resume '$record'"
[ "$failed" -eq 0 ] || exit 1
trap - EXIT
say "$leg: $passed passed, $failed failed, $skipped skipped"
exit 3
