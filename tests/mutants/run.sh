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
table=$here/mutants.txt
passed=0 failed=0 skipped=0
mkdir -p "$folder"

# rows: "name|breaks|killers|controls" of those that concern the backend, without spaces around the bars.
rows() {
  sed -e 's/ *| */|/g' "$table" | awk -F '|' -v backend="$backend" '
    /^#|^@|^$/ || NF != 5 { next }
    $2 == "*" || $2 == backend { print $1 "|" $3 "|" $4 "|" $5 }'
}

# pattern TESTS: what makes Criterion run these, in each contract that they have.
pattern() {
  printf '%s\n' "$1" | tr ' ' '\n' | sed -e '/^-*$/d' -e 's|::|/|' -e "s/\$/?($contracts)/" | paste -s -d '|' -
}

# verdict NAME KILLERS CONTROLS: runs one mutant and prints what comes of it.
verdict() {
  rm -f "$folder/$1.json"
  WARMPOOL_MUTANT=$1 timeout -k 5 120 "$program" --filter "@($(pattern "$2 $3"))" --jobs "$jobs" --timeout 20 \
    --verbose=1 --color=never --short-filename --json="$folder/$1.json" >"$folder/$1.log" 2>&1 || true
  [ -e "$folder/$1.json" ] || : >"$folder/$1.json"
  said=$(awk -v killers="$2" -v controls="$3" -f "$here/judge.awk" "$folder/$1.json")
  # Where nobody is to notice, a fixture does not either: what it finds fails no test.
  if [ "$2" = - ] && grep -q 'Assertion Failed' "$folder/$1.log"; then
    said="FAIL an assertion failed, see $folder/$1.log"
  fi
  printf '%s\n' "$said"
}

count() { # NAME VERDICT REASON
  case $2 in
  ok) passed=$((passed + 1)) ;;
  skip) skipped=$((skipped + 1)) ;;
  *) failed=$((failed + 1)) ;;
  esac
  printf '  %-4s  %-24s %s\n' "$2" "$1" "$3"
}

# What is wrong with the table: a mutant without a control, or a suite that no mutant concerns.
check_table() {
  awk -F '|' '!/^#|^@|^$/ && NF != 5 { print "line " NR " is no row" }' "$table"
  rows | awk -F '|' '$3 != "-" && $4 == "-" { print $1 " has no control" }'
  rows | cut -d '|' -f 3 | tr ' ' '\n' | sed -n 's/::.*//p' >"$folder/named"
  sed -n 's/^@ *\([a-z_]*\):.*/\1/p' "$table" >>"$folder/named"
  "$program" --list --color=never | sed -n 's/^\([a-z_]*\): [0-9]* tests*.*/\1/p' | sort >"$folder/suites"
  sort -u "$folder/named" | comm -23 "$folder/suites" - | sed 's/^/no mutant concerns the suite /'
}

flaws=$(check_table)
if [ -n "$flaws" ]; then
  count table FAIL "$(printf '%s\n' "$flaws" | paste -s -d ';' -)"
fi

rows >"$folder/rows"
# First without a mutant: every test that the table names passes.
named=$(cut -d '|' -f 3,4 "$folder/rows" | sed 's/|/ /' | tr ' ' '\n' | sed '/^-*$/d' | sort -u | paste -s -d ' ' -)
said=$(verdict none - "$named")
count none "${said%% *}" "${said#* }"
while IFS='|' read -r name breaks killers controls; do
  said=$(verdict "$name" "$killers" "$controls" </dev/null)
  count "$name" "${said%% *}" "$breaks: ${said#* }"
done <"$folder/rows"
printf '%s %s %s\n' "$passed" "$failed" "$skipped"
