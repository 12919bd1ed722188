#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the library of the working tree is slower than another version: old and new are measured in turns.
# usage: sh ci/pace.sh REF|DIR [--preset PRESET] [--rounds N] [--only CASE,...] [--out FILE]
#        sh ci/pace.sh --judge FILE
# REF is a commit; DIR a folder with the sources of one, for a machine without git. PRESET is host (the default), cuda-sim,
# cuda, hip, or hip-nvidia with WARMPOOL_HIP_ROOT set. The cases are in bench/pace/pace.c, and how they are judged in
# bench/pace/pace.py. All figures go to FILE (default: build/pace/PRESET.json), which --judge looks at again.
# Exit status: 0, no case is slower by more than 3 %; 1, one is; 2, it could not be found out.
set -eu
refuse() {
  printf 'pace.sh: %s\n' "$*" >&2
  exit 2
}
usage() { sed -n '4,5s/^# //p' "$0"; }

command=$*
[ $# -gt 0 ] || refuse "give a commit, or a folder with warmpool's sources; --help says more"
what='' preset=host rounds='' only='' out='' judged=''
while [ $# -gt 0 ]; do
  case $1 in
  --help | -h) usage && exit 0 ;;
  --preset | --rounds | --only | --out | --judge) [ $# -gt 1 ] || refuse "a value is missing after $1" ;;
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
  --rounds) rounds=$2 ;;
  --only) only=$2 ;;
  # What is relative is so to where the caller is.
  --out) case $2 in /*) out=$2 ;; *) out=$PWD/$2 ;; esac ;;
  --judge) case $2 in /*) judged=$2 ;; *) judged=$PWD/$2 ;; esac ;;
  esac
  shift 2
done
case $preset in host | cuda-sim | cuda | hip | hip-nvidia) ;; *) refuse "no preset $preset; there are host, cuda-sim, cuda, hip, hip-nvidia" ;; esac
case $rounds in *[!0-9]*) refuse "--rounds wants a number, not $rounds" ;; esac
[ -n "$what$judged" ] || refuse "give a commit, or a folder with warmpool's sources; --help says more"
[ -z "$what" ] || [ -z "$judged" ] || refuse "--judge looks at a file, and measures nothing: leave $what out"
case $what in /* | '') ;; *) [ ! -d "$what" ] || what=$PWD/$what ;; esac

cd "$(dirname "$0")/.."
command -v python3 >/dev/null || refuse "python3 is missing; on Debian or Ubuntu:  apt-get install python3"
[ -z "$judged" ] || exec python3 -B bench/pace/pace.py --judge "$judged"
for program in cmake ninja cc; do
  command -v "$program" >/dev/null || refuse "$program is missing; on Debian or Ubuntu:  apt-get install cmake ninja-build gcc"
done
. ci/old-tree.sh

# build WHAT: the library of that version, and the program with it. Sets `program` and `commit`.
build() {
  old_tree "$1" "$preset" || exit 2
  program=$old_build/pace commit=${old_commit:-$1}
  # shellcheck disable=SC2086 # lists of words
  cc -std=c11 -O2 $old_cflags bench/pace/pace.c -o "$program" $old_libs >"$program.log" 2>&1 && return
  tail -n 20 "$program.log" >&2
  refuse "bench/pace/pace.c does not compile with $1: a name that differs between the two goes into bench/pace/names.h"
}

mkdir -p build/pace
: "${out:=$PWD/build/pace/$preset.json}"
build "$what"
old=$program old_version=$commit
build "$PWD"
printf 'old: %s\nnew: %s\n' "$old_version" "$commit"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) || gpu=
[ -z "$gpu" ] || [ "$preset" = host ] || [ "$preset" = cuda-sim ] || set -- --note "gpu=$gpu"
status=0
python3 -B bench/pace/pace.py --old "$old" --new "$program" --note "command=sh ci/pace.sh $command" \
  --note "preset=$preset" --note "old=$old_version" --note "new=$commit" --out "$out" \
  ${rounds:+--rounds "$rounds"} ${only:+--only "$only"} "$@" || status=$?
[ "$status" -gt 1 ] || printf 'all figures: %s\n' "$out"
exit "$status"
