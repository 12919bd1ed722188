# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the scripts of ci/ share. A leg sources this from the repository root, calls `leg NAME` first and `finish` last;
# whatever happens in between, its last line is "NAME: N passed, N failed, N skipped".

LC_ALL=C
export LC_ALL
logs=build/logs

say() { printf '%s\n' "$*"; }

# leg NAME: begins to count.
leg() {
  leg=$1 passed=0 failed=0 skipped=0
  mkdir -p "$logs"
  trap 'close_leg $?' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# finish: ends the leg. One that ran nothing has failed.
finish() {
  if [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]; then exit 0; fi
  exit 1
}

close_leg() {
  trap - EXIT
  # A script that stopped early has failed, whatever it had counted.
  if [ "$1" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  say "$leg: $passed passed, $failed failed, $skipped skipped"
  exit "$1"
}

# quiet NAME COMMAND...: a step of the leg, its output in a log; ends the leg where it fails.
quiet() {
  step=$1
  shift
  say "$leg: $step"
  "$@" >"$logs/$leg-$step.log" 2>&1 && return
  say "$leg: $step failed; the end of $logs/$leg-$step.log:"
  tail -n 60 "$logs/$leg-$step.log"
  exit 1
}

# check WHAT COMMAND...: counts one check, and shows how the command's output begins where it fails.
check() {
  what=$1
  shift
  if "$@" >"$logs/$leg-check.log" 2>&1; then
    passed=$((passed + 1))
    say "  ok    $what"
  else
    failed=$((failed + 1))
    say "  FAIL  $what"
    head -n 60 "$logs/$leg-check.log" | sed 's/^/        /'
  fi
}

refuses() { ! "$@"; }

# have THING: a command, an absolute path, or NAME.pc for what pkg-config knows.
have() {
  case $1 in
  /*) [ -e "$1" ] ;;
  *.pc) command -v pkg-config >/dev/null && pkg-config --exists "${1%.pc}" ;;
  *) command -v "$1" >/dev/null ;;
  esac
}

# need THING:PACKAGE...: installs the Debian packages of missing things, or says which they are. Legs run beside one
# another, and apt is one's alone: who waited for another looks again.
need() {
  missing "$@"
  [ -n "$packages" ] || return 0
  if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    say "missing here; on Debian or Ubuntu:  apt-get install$packages"
    exit 2
  fi
  mkdir -p "$logs"
  (
    if have flock; then flock 9; fi
    missing "$@"
    [ -z "$packages" ] || install_packages 9>&-
  ) 9>"$logs/apt.lock" || exit 2
}

missing() {
  packages=
  for pair in "$@"; do
    have "${pair%%:*}" || packages="$packages ${pair#*:}"
  done
}

install_packages() {
  say "installing$packages"
  # shellcheck disable=SC2086 # a list of words
  { apt-get -q -o Acquire::Retries=3 update &&
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends $packages; } \
    >"$logs/apt.log" 2>&1 && return
  tail -n 20 "$logs/apt.log"
  return 2
}

need_compiler() { need cmake:cmake ninja:ninja-build cc:gcc /usr/include/stdio.h:libc6-dev; }
need_criterion() { need pkg-config:pkg-config criterion.pc:libcriterion-dev; }

# has_gpu: an NVIDIA GPU whose driver is loaded.
has_gpu() { nvidia-smi -L >/dev/null 2>&1 || [ -e /dev/nvidiactl ]; }

# cuda_toolkit: the folder of the CUDA toolkit, or nothing.
cuda_toolkit() {
  nvcc=$(command -v nvcc || true)
  for folder in "${CUDAToolkit_ROOT:-}" "${CUDA_PATH:-}" "${CUDA_HOME:-}" "${nvcc%/bin/nvcc}" /usr/local/cuda /usr; do
    [ -n "$folder" ] && [ -e "$folder/include/cuda_runtime_api.h" ] && say "$folder" && return
  done
  return 0
}

# has_amd_gpu: an AMD GPU whose driver is loaded.
has_amd_gpu() { [ -e /dev/kfd ] && grep -qs '^simd_count [1-9]' /sys/class/kfd/kfd/topology/nodes/*/properties; }

# hip_root: the folder of a HIP runtime whose pools may keep freed memory (5.7 or newer), or nothing.
hip_root() {
  for folder in "${ROCM_PATH:-}" "${HIP_PATH:-}" /opt/rocm /usr; do
    [ -e "${folder:-/nowhere}/include/hip/hip_version.h" ] || continue
    awk '/define HIP_VERSION_MAJOR/ { major = $3 } /define HIP_VERSION_MINOR/ { minor = $3 }
      END { exit major * 100 + minor < 507 }' "$folder/include/hip/hip_version.h" && say "$folder" && return
  done
  return 0
}

# hip_headers: the folder of HIP's headers for NVIDIA, in build/hip-headers, fetched where they are not there yet; false
# where they cannot be had.
hip_headers() {
  sh ci/fetch-suite.sh trixie build/hip-headers libamdhip64-dev >"$logs/fetch-hip-headers.log" 2>&1 &&
    say "$PWD/build/hip-headers/usr"
}

# What Criterion prints when a fixture fails, which it does not count as a failure (cmake/testing.cmake has the same).
# shellcheck disable=SC2034 # read by who sources this
fixture_failures='crashed during its setup or teardown|bytes did not go back|bytes were left live|bytes are pending in the end'

# build_preset PRESET: configures and builds it in build/PRESET.
build_preset() {
  quiet configure cmake --preset "$1"
  quiet build cmake --build --preset "$1"
}

# run_tests PRESET [COMMAND...]: runs CTest, through COMMAND where there is one, and counts what ran: every Criterion
# test, and every other program as one.
run_tests() {
  preset=$1 log=$logs/$leg-ctest.log
  shift
  say "$leg: test"
  ctest_status=0
  "$@" ctest --preset "$preset" --verbose >"$log" 2>&1 || ctest_status=1
  awk -f ci/count.awk "$log" >"$logs/$leg-counts"
  read -r tests_passed tests_failed <"$logs/$leg-counts"
  [ "$tests_failed" -gt 0 ] || tests_failed=$ctest_status
  passed=$((passed + tests_passed))
  failed=$((failed + tests_failed))
  grep -E '(Passed|Failed|Timeout|Exception|Not Run|SegFault).* sec' "$log" || true
  count_skips
  [ "$tests_failed" -eq 0 ] || show_failures "$log"
  grep -q 'Test *#' "$log" || tail -n 20 "$log"
}

# test_mutants NAME BUILD BACKEND JOBS [VARIABLE=VALUE...]: the conformance suite of that build on drivers, and on a library,
# that break one promise each: whoever shall notice it notices. The output is in the log NAME, too.
test_mutants() {
  log=$logs/$1.log build=$2 backend=$3 jobs=$4
  shift 4
  if ! env "$@" sh tests/mutants/run.sh "$build/tests/mutants" "$backend" "$build/mutants" "$jobs" >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  sed '$d' "$log"
  read -r p f s <<END
$(tail -n 1 "$log")
END
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# show_failures LOG: the assertions that failed, with what they say, and what a sanitizer found.
show_failures() {
  say "$leg: from $1:"
  grep -E -A 4 '^[0-9]+: \[----\] [^ ]+:[0-9]+: ' "$1" | head -n 60 || true
  grep -E '^[0-9]+: \[FAIL\]|\*\*\*' "$1" | head -n 60 || true
  grep -E -A 20 '^[0-9]+: .*((ERROR|WARNING): .*Sanitizer|runtime error)' "$1" | head -n 80 || true
}

# count_skips: a skipped test must be in ci/skips.txt, and what is there must have been skipped.
count_skips() {
  sed 1d "$logs/$leg-counts" | sort >"$logs/$leg-skips"
  awk -v leg="$leg" '$1 == leg || $1 == "*" { print $2 }' ci/skips.txt | sort >"$logs/$leg-skips-listed"
  skipped=$((skipped + $(comm -12 "$logs/$leg-skips" "$logs/$leg-skips-listed" | wc -l)))
  comm -3 "$logs/$leg-skips" "$logs/$leg-skips-listed" >"$logs/$leg-skips-wrong"
  [ -s "$logs/$leg-skips-wrong" ] || return 0
  failed=$((failed + $(wc -l <"$logs/$leg-skips-wrong")))
  say "$leg: skipped without being listed in ci/skips.txt, or (indented) listed there without having been skipped:"
  cat "$logs/$leg-skips-wrong"
}
