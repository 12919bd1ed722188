#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The stand-ins for AMD's HSA runtime and comgr: their own checks, on HSA and below the HIP runtime of this system,
# plainly and under the sanitizers.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

# build_softhsa NAME OPTION...: in build/NAME.
build_softhsa() {
  name=$1
  shift
  quiet "configure-$name" cmake -S tests/softhsa -B "build/$name" -G Ninja -DCMAKE_C_FLAGS=-Werror "$@"
  quiet "build-$name" cmake --build "build/$name"
}

# in_folder FOLDER ctest --preset NAME OPTION...: for run_tests; that project has no presets.
in_folder() {
  folder=$1
  shift 4
  ctest --test-dir "$folder" "$@"
}

exports() { nm -D --defined-only "build/softhsa/runtime/$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }

# Nothing but what the name says, for everything else in the process sees it.
exports_only() { exports "$1" | refuses grep -vE "$2"; }

# What the HIP runtime of this system is linked with, and what it looks up by name.
has_what_hip_needs() {
  nm -D --undefined-only "$hip" | awk '$2 ~ /^hsa_/ { sub(/@.*/, "", $2); print $2 }' | sort >"$logs/softhsa-linked"
  exports libhsa-runtime64.so.1 | comm -23 "$logs/softhsa-linked" - >"$logs/softhsa-missing"
  strings "$hip" | grep -E '^amd_comgr_[a-z]' | sort -u >"$logs/softhsa-looked-up"
  exports libamd_comgr.so.2 | comm -23 "$logs/softhsa-looked-up" - >>"$logs/softhsa-missing"
  [ -s "$logs/softhsa-linked" ] && [ -s "$logs/softhsa-looked-up" ] && refuses grep . "$logs/softhsa-missing"
}

runs_often() {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    timeout 30 build/softhsa/check/softhsa_check_hip || return 1
  done
}

leg softhsa
need_compiler
need_criterion
need nm:binutils /usr/include/hsa/hsa_ext_amd.h:libhsa-runtime-dev /usr/include/amd_comgr.h:libamd-comgr-dev \
  /usr/include/hip/hip_runtime_api.h:libamdhip64-dev
build_softhsa softhsa -DCMAKE_BUILD_TYPE=RelWithDebInfo
hip=$(sed -n 's/^AMDHIP_LIBRARY:FILEPATH=//p' build/softhsa/CMakeCache.txt)
run_tests softhsa in_folder build/softhsa
check "libhsa-runtime64 exports hsa_ and softhsa_ only" exports_only libhsa-runtime64.so.1 '^(hsa|softhsa)_'
check "libamd_comgr exports amd_comgr_ only" exports_only libamd_comgr.so.3 '^amd_comgr_'
check "everything that $hip needs is there" has_what_hip_needs
check "twenty runs in a row" runs_often
build_softhsa softhsa-asan -DCMAKE_BUILD_TYPE=Debug -DSOFTHSA_SANITIZE=address,undefined
run_tests softhsa-asan in_folder build/softhsa-asan
build_softhsa softhsa-tsan -DCMAKE_BUILD_TYPE=Debug -DSOFTHSA_SANITIZE=thread
run_tests softhsa-tsan in_folder build/softhsa-tsan
finish
