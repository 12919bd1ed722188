# shellcheck shell=sh
# shellcheck disable=SC2154 # who sources this sets what is read here
# SPDX-License-Identifier: Apache-2.0
# What run.sh and ci/gpu.sh share of mutants.txt. Who sources this has set here (this folder), program (the build's
# tests/mutants), backend, folder (for reports), contracts (a pattern of the suffixes that count) and jobs.
table=$here/mutants.txt

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

# verdict NAME CACHING KILLERS CONTROLS [REPORT [SECONDS]]: runs one mutant and prints what comes of it.
verdict() {
  report=$folder/${5:-$1-$2}.json log=$folder/${5:-$1-$2}.log
  rm -f "$report"
  WARMPOOL_MUTANT=$1 WARMPOOL_TEST_CACHING=$2 timeout -k 5 "${6:-240}" "$program" --filter "@($(pattern "$3 $4"))" \
    --jobs "$jobs" --timeout 45 --verbose=1 --color=never --short-filename --json="$report" >"$log" 2>&1 || true
  [ -e "$report" ] || : >"$report"
  said=$(awk -v killers="$3" -v controls="$4" -f "$here/judge.awk" "$report")
  # Where nobody is to notice, a fixture does not either: what it finds fails no test.
  if [ "$3" = - ] && grep -q 'Assertion Failed' "$log"; then said="FAIL an assertion failed, see $log"; fi
  printf '%s\n' "$said"
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
