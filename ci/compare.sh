#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the library of the working tree answers as another version does: the same random programs run on both, one thread
# each, and what each call answered is compared: its status, which block and offset an address is, counters and reports.
# usage: sh ci/compare.sh REF|DIR [--preset host|cuda-sim] [--seed N] [--seeds N] [--operations N] [--expected FILE]
# REF is a commit; DIR a folder with the sources of one, for a machine without git. The programs are those of --seeds seeds
# (default: 3000) from --seed on (default: 1), of --operations operations (default: 400). A kind of difference that FILE
# (default: ci/compare-expected.txt) has is expected. What differs in a seed after its first difference follows from that,
# and is not looked at. The programs and the rig are today's, compiled with each version's headers; names that differ
# between the two are in tests/random/names.h.
# Exit status: 0, no difference that is not expected; 1, there is one, or a program goes wrong; 2, it could not be found out.
set -eu
refuse() {
  printf 'compare.sh: %s\n' "$*" >&2
  exit 2
}
usage() { sed -n '5s/^# //p' "$0"; }

what='' preset=host first=1 seeds=3000 operations=400 expected=''
while [ $# -gt 0 ]; do
  case $1 in
  --help | -h) usage && exit 0 ;;
  --preset | --seed | --seeds | --operations | --expected) [ $# -gt 1 ] || refuse "a value is missing after $1" ;;
  -*) refuse "no option $1; --help has all" ;;
  *)
    [ -z "$what" ] || refuse "one version is compared, not $what and $1"
    what=$1
    shift
    continue
    ;;
  esac
  case $1 in
  --preset) preset=$2 ;;
  --seed) first=$2 ;;
  --seeds) seeds=$2 ;;
  --operations) operations=$2 ;;
  # What is relative is so to where the caller is.
  --expected) case $2 in /*) expected=$2 ;; *) expected=$PWD/$2 ;; esac ;;
  esac
  shift 2
done
[ -n "$what" ] || refuse "give a commit, or a folder with warmpool's sources; --help says more"
case $preset in host | cuda-sim) ;; *) refuse "no preset $preset; there are host and cuda-sim" ;; esac
case $first,$seeds,$operations in
*[!0-9,]* | 0* | *,0* | *,,* | ,* | *,) refuse "--seed, --seeds and --operations want numbers above 0" ;;
esac
case $what in /*) ;; *) [ ! -d "$what" ] || what=$PWD/$what ;; esac
cd "$(dirname "$0")/.."
: "${expected:=ci/compare-expected.txt}"
[ -r "$expected" ] || refuse "there is no $expected"
command -v python3 >/dev/null || refuse "python3 is missing; on Debian or Ubuntu:  apt-get install python3"
for program in cmake ninja cc; do
  command -v "$program" >/dev/null || refuse "$program is missing; on Debian or Ubuntu:  apt-get install cmake ninja-build gcc"
done
. ci/lib.sh
. ci/old-tree.sh
rig=tests/rig/host.c cuda=''
if [ "$preset" = cuda-sim ]; then
  # With the header that the stand-in is built with.
  toolkit=$(cuda_toolkit)
  rig=tests/rig/cuda.c cuda="-isystem ${toolkit:-$PWD/tests/cudart_sim}/include"
fi

# build WHAT: the library of that version, and the program with it. Sets `program` and `commit`.
build() {
  old_tree "$1" "$preset" || exit 2
  program=$old_build/random commit=${old_commit:-$1}
  # shellcheck disable=SC2086 # lists of words
  cc -std=c11 -O2 -pthread $old_cflags $cuda -I tests/random -I tests/rig \
    -I "$old_source/src/common" -I "$old_source/src/host" -DWARMPOOL_SIMULATED=1 \
    tests/random/*.c tests/rig/watched.c tests/rig/lazily.c tests/rig/addresses.c "$rig" -o "$program" $old_libs \
    >"$program.log" 2>&1 && return
  tail -n 20 "$program.log" >&2
  refuse "tests/random does not compile with $1: a name that differs between the two goes into tests/random/names.h"
}

build "$what"
old=$program old_version=$commit
build "$PWD"
printf 'old: %s\nnew: %s\n' "$old_version" "$commit"
exec python3 -B ci/compare.py "$old" "$program" --seed "$first" --seeds "$seeds" --operations "$operations" \
  --expected "$expected"
