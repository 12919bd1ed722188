#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws a result file of `warmpool bench CASE... --json`: per-alloc.svg and threads.svg, where it has these cases.
# Exit status: 0 something was drawn, 1 nothing, 2 wrong arguments or file, or a program is missing.
set -eu

fail() {
  printf 'plot.sh: %s\n' "$*" >&2
  exit 2
}

usage() {
  cat <<'END'
usage: sh bench/plot.sh RESULT.json [OUTPUT_FOLDER]
Draws per-alloc.svg and threads.svg into OUTPUT_FOLDER (default: the current folder).
END
}

case ${1:-} in
-h | --help) usage && exit ;;
-*) fail "unknown option $1 (see --help)" ;;
esac
if [ $# -lt 1 ] || [ $# -gt 2 ]; then fail "give RESULT.json, and an output folder if you like (see --help)"; fi
command -v python3 >/dev/null || fail "python3 is missing: apt-get install python3"
command -v gnuplot >/dev/null || fail "gnuplot is missing: apt-get install gnuplot-nox"
here=$(dirname "$0")
result=$1 output=${2:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

drawn=0
for case in per-alloc threads; do
  status=0
  # -B: no __pycache__ among the sources
  python3 -B "$here/plot_data.py" "$result" "$case" "$work/$case.svg" >"$work/$case.gnuplot" || status=$?
  case $status in
  0) ;;
  3) printf 'plot.sh: no %s in %s: no %s.svg\n' "$case" "$result" "$case" && continue ;;
  *) exit 2 ;; # it has said why
  esac
  # -d: no settings of the user's. Only a whole file goes where the last one may be.
  gnuplot -d "$work/$case.gnuplot" >&2 || fail "gnuplot could not draw $case.svg"
  mkdir -p "$output" 2>/dev/null || fail "cannot make the folder $output"
  cp "$work/$case.svg" "$output/$case.svg" 2>/dev/null || fail "cannot write $output/$case.svg"
  printf '%s\n' "$output/$case.svg"
  drawn=$((drawn + 1))
done
[ "$drawn" -gt 0 ] || { printf 'plot.sh: nothing to draw in %s\n' "$result" >&2 && exit 1; }
