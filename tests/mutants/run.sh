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

# rows: "name|caching|breaks|killers|controls" of those that concern the backend, without spaces around the bars; what
# is to run in both cachings, twice.
rows() {
  sed -e 's/ *| */|/g' "$table" | awk -F '|' -v backend="$backend" '
    /^#|^@|^$/ || NF != 6 { next }
    index("," $2 ",", "," backend ",") == 0 && ($2 != "*" || backend ~ /^hip-/) { next }
    $3 != "driver" { print $1 "|lanes|" $4 "|" $5 "|" $6 }
    $3 != "lanes" { print $1 "|driver|" $4 "|" $5 "|" $6 }'
}

# pattern TESTS: what makes Criterion run these, in each contract that they have.
pattern() {
  printf '%s\n' "$1" | tr ' ' '\n' | sed -e '/^-*$/d' -e 's|::|/|' -e "s/\$/?($contracts)/" | paste -s -d '|' -
}

# verdict NAME CACHING KILLERS CONTROLS: runs one mutant and prints what comes of it.
verdict() {
  report=$folder/$1-$2.json log=$folder/$1-$2.log
  rm -f "$report"
  WARMPOOL_MUTANT=$1 WARMPOOL_TEST_CACHING=$2 timeout -k 5 240 "$program" --filter "@($(pattern "$3 $4"))" \
    --jobs "$jobs" --timeout 45 --verbose=1 --color=never --short-filename --json="$report" >"$log" 2>&1 || true
  [ -e "$report" ] || : >"$report"
  said=$(awk -v killers="$3" -v controls="$4" -f "$here/judge.awk" "$report")
  # Where nobody is to notice, a fixture does not either: what it finds fails no test.
  if [ "$3" = - ] && grep -q 'Assertion Failed' "$log"; then said="FAIL an assertion failed, see $log"; fi
  printf '%s\n' "$said"
}

count() { # NAME VERDICT REASON
  case $2 in
  ok) passed=$((passed + 1)) ;;
  skip) skipped=$((skipped + 1)) ;;
  *) failed=$((failed + 1)) ;;
  esac
  printf '  %-4s  %-32s %s\n' "$2" "$1" "$3"
}

# What is wrong with the table: a mutant without a control, or a suite that no mutant concerns.
check_table() {
  awk -F ' *[|] *' '!/^#|^@|^$/ && (NF != 6 || $3 !~ /^(lanes|driver|both)$/) { print "line " NR " is no row" }' "$table"
  rows | awk -F '|' '$4 != "-" && $5 == "-" { print $1 " has no control" }'
  case $backend in hip-*) return ;; esac
  rows | cut -d '|' -f 4 | tr ' ' '\n' | sed -n 's/::.*//p' >"$folder/named"
  sed -n 's/^@ *\([a-z_]*\):.*/\1/p' "$table" >>"$folder/named"
  "$program" --list --color=never | sed -n 's/^\([a-z_]*\): [0-9]* tests*.*/\1/p' | sort >"$folder/suites"
  sort -u "$folder/named" | comm -23 "$folder/suites" - | sed 's/^/no mutant concerns the suite /'
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
