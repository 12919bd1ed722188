#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long forms of what ci/test.sh runs for seconds, on this machine's processor alone: random programs, faults to their
# end, sanitizers, and the same tests again and again. Seeds come from the date, so that each night tries others; with --seed
# a night is repeated.
# usage: sh ci/nightly.sh [--minutes N] [--seed N] [PART...]
#   --minutes N  what is bounded by time takes so long in all (default: 60); building, and a sweep, come on top
#   --seed N     the first seed (default: today's date and six zeros)
# parts (default: all)
#   model       random programs on the host backend, under AddressSanitizer, on the CUDA stand-in and, several threads
#               at once, under ThreadSanitizer
#   sweep       every injection of a fault, on the host backend, under AddressSanitizer and on the CUDA stand-in
#   sanitizers  the stress programs under ThreadSanitizer and AddressSanitizer, random programs under Valgrind
#   soak        the conformance suite of the host backend and of the CUDA stand-in, and the stress programs, again and
#               again
# Each part ends with "PART: N passed, N failed, N skipped", the script with their sum. Logs are in build/logs/nightly-*.log.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

refuse() {
  say "nightly.sh: $*" >&2
  exit 2
}
is_number() { case $1 in '' | *[!0-9]* | 0*) return 1 ;; esac }

minutes=60 seed=$(date +%Y%m%d)000000 parts=''
while [ $# -gt 0 ]; do
  case $1 in
  --help | -h) sed -n '6,16s/^# //p' "$0" && exit 0 ;;
  --minutes | --seed)
    is_number "${2:-}" || refuse "$1 wants a number above 0, not ${2:-nothing}"
    case $1 in --minutes) minutes=$2 ;; *) seed=$2 ;; esac
    shift
    ;;
  model | sweep | sanitizers | soak) parts="${parts:+$parts }$1" ;;
  *) refuse "no part or option $1; --help has all" ;;
  esac
  shift
done
: "${parts:=model sweep sanitizers soak}"

# -- time: each part that is bounded by it has a share, and each of its programs one of that --

bounded=0
for part in $parts; do [ "$part" = sweep ] || bounded=$((bounded + 1)); done
# share PROGRAMS: the seconds of each of so many programs of a part.
share() {
  seconds=$((minutes * 60 / bounded / $1))
  [ "$seconds" -ge 1 ] || seconds=1
}

# -- one program --

# runs WHAT LOG COMMAND...: counts one check, and shows the last line that the command printed.
runs() {
  what=$1 log=$logs/nightly-$2.log
  shift 2
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    say "  ok    $what: $(tail -n 1 "$log")"
  else
    failed=$((failed + 1))
    say "  FAIL  $what; $log has all of it:"
    tail -n 60 "$log" | sed 's/^/        /'
  fi
}

# Older sanitizers cannot cope with much randomness in the address space.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

# again SECONDS COMMAND...: runs it until the time is over or it fails.
again() {
  limit=$(($(date +%s) + $1)) times=0
  shift
  while [ "$(date +%s)" -lt "$limit" ]; do
    "$@" || return
    times=$((times + 1))
  done
  say "$times times"
}

# -- the parts --

model() {
  share 10
  for preset in host asan-ubsan cuda-sim; do
    random=build/$preset/tests/random
    runs "$preset, alone" "model-$preset-alone" "$random" --seconds "$seconds" --seed "$seed" --operations 1000 --quiet
    runs "$preset, with faults" "model-$preset-faults" "$random" --seconds "$seconds" --seed "$seed" --operations 1000 \
      --rate 60 --quiet
    runs "$preset, 4 threads" "model-$preset-threads" "$random" --seconds "$seconds" --seed "$seed" --operations 1000 \
      --threads 4 --quiet
  done
  # shellcheck disable=SC2086 # a list of words
  runs "tsan, 4 threads" model-tsan $steady build/tsan/tests/random --seconds "$seconds" --seed "$seed" \
    --operations 1000 --threads 4 --quiet
}

sweep() {
  for preset in host asan-ubsan cuda-sim; do
    runs "$preset" "sweep-$preset" "build/$preset/tests/sweep"
  done
}

sanitizers() {
  share 3
  # shellcheck disable=SC2086 # a list of words
  runs "stress under ThreadSanitizer" sanitizers-tsan $steady build/tsan/tests/stress "$seconds"
  runs "stress under AddressSanitizer" sanitizers-asan build/asan-ubsan/tests/stress "$seconds"
  # Valgrind runs one thread at a time: what waits for another one waits longer.
  runs "random programs under Valgrind" sanitizers-valgrind valgrind --quiet --error-exitcode=1 --trace-children=yes \
    build/host/tests/random --seconds "$seconds" --seed "$seed" --rate 60 --patience 300 \
    --quiet
}

soak() {
  share 3
  for preset in host cuda-sim; do
    runs "conformance on $preset" "soak-$preset" again "$seconds" "build/$preset/tests/conformance" --jobs 2 --quiet
  done
  runs "stress on host" soak-stress build/host/tests/stress "$seconds"
}

# -- all of it --

leg nightly
need_compiler
need_criterion
case $parts in *sanitizers*) need valgrind:valgrind ;; esac
# Only what the parts run is built.
presets=host
case $parts in *model* | *sweep* | *sanitizers*) presets="$presets asan-ubsan" ;; esac
case $parts in *model* | *sweep* | *soak*) presets="$presets cuda-sim" ;; esac
case $parts in *model* | *sanitizers*) presets="$presets tsan" ;; esac
for preset in $presets; do
  quiet "configure-$preset" cmake --preset "$preset"
  quiet "build-$preset" cmake --build --preset "$preset"
done
say "nightly: $parts; seeds from $seed on"
total_passed=0 total_failed=0
for part in $parts; do
  passed=0 failed=0
  say "nightly: $part"
  "$part"
  say "$part: $passed passed, $failed failed, 0 skipped"
  total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
done
passed=$total_passed failed=$total_failed
finish
