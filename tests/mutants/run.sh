#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh PROGRAM BACKEND FOLDER [JOBS [CONTRACT]]: runs the mutants of mutants.txt that concern BACKEND with PROGRAM (the
# build's tests/mutants), its reports going to FOLDER. CONTRACT, checked or declared, leaves tests of the other one out. A
# line for each mutant; the last line is "PASSED FAILED SKIPPED".
set -eu
LC_ALL=C
export LC_ALL
program=$1 backend=$2 folder=$3 jobs=${4:-1} contracts=__checked\|__declared
[ $# -lt 5 ] || contracts=__$5
here=$(dirname "$0")
# shellcheck source=tests/mutants/rows.sh
. "$here/rows.sh"
passed=0 failed=0 skipped=0
mkdir -p "$folder"

count() { # NAME VERDICT REASON
  case $2 in
  ok) passed=$((passed + 1)) ;;
  skip) skipped=$((skipped + 1)) ;;
  *) failed=$((failed + 1)) ;;
  esac
  printf '  %-4s  %-32s %s\n' "$2" "$1" "$3"
}

flaws=$(check_table)
if [ -n "$flaws" ]; then
  count table FAIL "$(printf '%s\n' "$flaws" | paste -s -d ';' -)"
fi

rows >"$folder/rows"
# First without a mutant: every test that the table names passes in the caching that it names it for.
for caching in lanes driver; do
  named=$(awk -F '|' -v caching="$caching" '$2 == caching { print $4 " " $5 }' "$folder/rows" | tr ' ' '\n' |
    sed '/^-*$/d' | sort -u | paste -s -d ' ' -)
  [ -n "$named" ] || continue
  said=$(verdict none "$caching" - "$named")
  count "none, $caching" "${said%% *}" "${said#* }"
done
while IFS='|' read -r name caching breaks killers controls; do
  said=$(verdict "$name" "$caching" "$killers" "$controls" </dev/null)
  count "$name, $caching" "${said%% *}" "$breaks: ${said#* }"
done <"$folder/rows"
printf '%s %s %s\n' "$passed" "$failed" "$skipped"
