# shellcheck shell=sh disable=SC2034,SC2154 # ci/gpu.sh sources this, and sets what is read here
# SPDX-License-Identifier: Apache-2.0
# The parts of ci/gpu.sh, but for the sanitizer. ci/gpu-units.sh says what a part is made of.

# -- facts and conformance: a unit is a test, in a process of Criterion's of its own --

# tests_of PROGRAM: a line "SUITE::TEST" for each.
tests_of() {
  "$bin/$1" --list --color=never | awk '
    /^[a-z_]*: [0-9]* tests?/ { suite = $1; sub(/:/, "", suite); next }
    { sub(/^[^a-z]*/, ""); if ($0 != "") print suite "::" $0 }'
}

# needs: which tests cannot run beside others on one device, from their sources.
needs() {
  set -- tests/facts/*.c
  for file in tests/conformance/*.c; do [ "$file" = tests/conformance/conformance.c ] || set -- "$@" "$file"; done
  awk -f ci/gpu-tests.awk "$@"
}

plan_tests() { # PROGRAM
  tests_of "$1" | awk '
    FILENAME == ARGV[1] { need[$1] = $2; next }
    {
      base = $1
      sub(/__(checked|declared)$/, "", base)
      print (base in need ? need[base] : "beside"), 2, $1
    }' "$work/needs" -
}

unit_test() { # PROGRAM UNIT
  log=$out/$part/$2.log status=0
  limited 150 "$bin/$1" --verbose=1 --color=never --short-filename --jobs 1 --filter "${2%%::*}/${2##*::}" --timeout 90 \
    >"$log.all" 2>&1 || status=$?
  grep -v 'Test is disabled' "$log.all" >"$log" || true
  rm -f "$log.all"
  counts=$(sed -n 's/.*Synthesis: Tested: .*Passing: \([0-9]*\) .*Failing: \([0-9]*\) .*/\1 \2/p' "$log")
  p=${counts%% *} f=${counts##* } s=$(grep -c '^\[SKIP\]' "$log" || true)
  : "${p:=0}" "${f:=0}"
  if grep -Eq "$fixture_failures" "$log"; then f=$((f + 1)); fi
  # Stopped at its limit, crashed, or nothing ran.
  if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((p + s)) -eq 0 ]; }; then f=1; fi
  # What runs here was planned not to need more than there is.
  if [ "$s" -gt 0 ] && grep -q '^\[SKIP\].*: needs' "$log"; then f=1 s=0; fi
  [ "$s" -eq 0 ] || sed -n "s/^\\[SKIP\\] /$part: skipped: /p" "$log"
  if [ "$f" -eq 0 ]; then
    rm -f "$log"
    return
  fi
  say "  FAIL  $2: exit status $status (124: stopped after its limit)"
  grep -vE '^\[(====|RUN )' "$log" | head -n 30
}

# together PROGRAM: the tests one after another in one process, for on a GPU a context takes longer than most of them
# (tests/together). One that does not pass ends the process, and has one of its own later, under Criterion.
together() {
  [ -x "$bin/$1_together" ] || return 0
  list=$work/$part.together processes=0 before=$(wc -l <"$record")
  awk '$1 == "todo" && $2 !~ /^two/ { print $4 }' "$work/$part.states" >"$list"
  see_devices 1
  while [ -s "$list" ] && [ "$(left)" -gt 5 ]; do
    processes=$((processes + 1))
    limited "$(left)" "$bin/$1_together" "$list" >"$work/together" 2>"$work/together.err" || true
    awk '$1 == "pass" { print $2, int($3 + 0.5) }' "$work/together" | while read -r unit seconds; do
      note "$unit" 1 0 0 "$seconds"
    done
    last=$(sed -n 's/^begin //p' "$work/together" | tail -n 1)
    [ -n "$last" ] || break
    awk -v last="$last" 'is_later; $0 == last { is_later = 1 }' "$list" >"$list.rest"
    mv "$list.rest" "$list"
  done
  say "$part: $(($(wc -l <"$record") - before)) tests passed in $processes processes; each of the others has its own"
}

plan_facts() { plan_tests facts; }
first_facts() { together facts; }
unit_facts() { unit_test facts "$1"; }
plan_conformance() { plan_tests conformance; }
first_conformance() { WARMPOOL_TEST_CACHING=lanes && export WARMPOOL_TEST_CACHING && together conformance; }
unit_conformance() { WARMPOOL_TEST_CACHING=lanes && export WARMPOOL_TEST_CACHING && unit_test conformance "$1"; }
plan_conformance_driver() { plan_tests conformance; }
first_conformance_driver() { WARMPOOL_TEST_CACHING=driver && export WARMPOOL_TEST_CACHING && together conformance; }
unit_conformance_driver() { WARMPOOL_TEST_CACHING=driver && export WARMPOOL_TEST_CACHING && unit_test conformance "$1"; }

# -- mutants: a unit is a row, or a suite of the tests that rows name, without a mutant; the latter not on a device, where
# the parts of the conformance suite say the same, and each test costs a context --

# In one stream contract: what tells the two apart is the library, not the driver.
prepare_mutants() {
  here=tests/mutants program=$bin/mutants folder=$out/mutants contracts=__checked
  . tests/mutants/rows.sh
}

# A row whose killers all need a second device needs one; of others, those are skipped by themselves where there is none.
plan_mutants() {
  prepare_mutants
  flaws=$(check_table)
  [ -z "$flaws" ] || say "fail 0 table $(say "$flaws" | paste -s -d ';' -)"
  rows | awk -F '|' -v has_two="$has_two" -v has_device="$has_device" '
    function need_of(test) { sub(/__(checked|declared)$/, "", test); return test in need ? need[test] : "beside" }
    FILENAME == ARGV[1] { split($0, word, " "); need[word[1]] = word[2]; next }
    {
      killers = split($4, test, " ")
      tests = killers + split($5, control, " ")
      for (i = killers + 1; i <= tests; i++) test[i] = control[i - killers]
      all_two = killers > 0 && $4 != "-"
      any_two = is_alone = 0
      for (i = 1; i <= tests; i++) {
        if (test[i] == "-") continue
        mode = need_of(test[i])
        if (mode ~ /^two/) any_two = 1
        else if (i <= killers) all_two = 0
        if (mode ~ /alone/) is_alone = 1
        suite = test[i]
        sub(/::.*/, "", suite)
        none = "none|" $2 "|" suite "|" mode
        if (index(named[none] " ", " " test[i] " ") == 0) { named[none] = named[none] " " test[i]; count[none]++ }
      }
      mode = all_two || (any_two && has_two == "yes") ? "two" : ""
      if (is_alone) mode = mode == "" ? "alone" : mode "-alone"
      print (mode == "" ? "beside" : mode), 2 * tests, $1 "," $2, $0
    }
    END {
      for (none in named) {
        if (has_device == "yes") break
        split(none, part, "|")
        print part[4], 2 * count[none], "none," part[2] "," part[3] (part[4] == "beside" ? "" : "," part[4]),
          "none|" part[2] "|nothing|-|" substr(named[none], 2)
      }
    }' "$work/needs" -
}

unit_mutants() { # NAME,CACHING ROW
  prepare_mutants
  IFS='|' read -r name caching breaks killers controls <<END
$2
END
  limit=$(left) jobs=1
  [ "$limit" -lt 240 ] || limit=240
  said=$(verdict "$name" "$caching" "$killers" "$controls" "$1" "$limit")
  case $said in
  ok*) p=1 ;;
  skip*) s=1 ;;
  *) f=1 ;;
  esac
  printf '  %-4s  %-32s %s\n' "${said%% *}" "$1" "$breaks: ${said#* }"
}

# -- programs with a main() of their own: the exit status says whether all is well, the last line what was done --

plan_program() { # NAME SECONDS
  if [ -x "$bin/$1" ]; then
    say "alone $(($2 + 5)) seconds-$2"
  else
    say "skip 0 $1 there is no program $bin/$1"
  fi
}

unit_program() { # NAME SECONDS ARGUMENT...
  log=$out/$1.log limit=$(($2 + 60)) status=0
  program=$bin/$1
  shift 2
  limited "$limit" "$program" "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    p=1
    tail -n 1 "$log"
  else
    f=1
    say "  FAIL  $program $*: exit status $status (124: stopped after its limit)"
    tail -n 30 "$log"
  fi
}

plan_random() { plan_program random "$random_seconds"; }
unit_random() { unit_program random "$random_seconds" --seconds "$random_seconds"; }

# -- the benchmarks: a unit is a case. Nothing is judged here: a case either comes to its end or not --

plan_bench() {
  "build/$preset/tools/warmpool" --help | awk '
    /^        [^ ].*:$/ { cases = 0 }
    cases && /^ *[a-z-]* / { print "alone 20", $1 }
    /or all:$/ { cases = 1 }'
}

unit_bench() { # CASE
  status=0
  limited 300 "build/$preset/tools/warmpool" bench "$1" --rounds 20 --traces bench/traces --json \
    >"$out/bench/$1.json" 2>"$out/bench/$1.log" || status=$?
  p=$(grep -c '^{"backend"' "$out/bench/$1.json" || true)
  [ "$status" -eq 0 ] && [ "$p" -gt 0 ] || f=1
  cat "$out/bench/$1.log"
}

# bench.json: the results of this call, which are those of one machine, with what the first has in front of them.
after_bench() {
  set -- "$out"/bench/*.json
  [ -s "$1" ] || return 0
  awk '
    FNR == 1 && NR == 1 { sub(/"command":"[^"]*"/, "\"command\":\"warmpool bench all --rounds 20 --traces bench/traces --json\""); print }
    /^\{"backend"/ { sub(/,$/, ""); sub(/\]\}$/, ""); printf "%s%s", results++ ? ",\n" : "", $0 }
    END { print "]}" }' "$@" >"$out/bench.json"
}

# What HIP's names cost: both backends by turns, each as often the first as the second, and all on one processor, for a
# process on one that is far from the GPU takes half as long again. The medians of each one's medians are in
# bench-hip.json; they are not judged either.
plan_bench_hip() { say "alone 60 turns"; }

unit_bench_hip() {
  status=0
  processor=$(taskset -cp $$ 2>/dev/null | sed -n 's/.*[:,-][[:space:]]*\([0-9][0-9]*\)$/\1/p')
  for turn in cuda-1 hip-1 hip-2 cuda-2 cuda-3 hip-3 hip-4 cuda-4 cuda-5 hip-5 hip-6 cuda-6; do
    case $turn in
    cuda-*) tool=build/$cuda_preset/tools/warmpool ;;
    hip-*) tool=build/$preset/tools/warmpool ;;
    esac
    set -- "$tool" bench per-alloc --rounds "$rounds" --json
    if [ -n "$processor" ]; then set -- taskset -c "$processor" "$@"; fi
    limited 60 "$@" >"$out/bench-hip/$turn.json" 2>"$out/bench-hip/$turn.log" || status=$?
    cat "$out/bench-hip/$turn.log"
    [ "$status" -eq 0 ] || { say "bench-hip: $turn: exit status $status" && break; }
  done
  awk -f ci/side-by-side.awk "$out"/bench-hip/*.json >"$out/bench-hip.json" || status=$?
  sed -n -e '/"lanes/!d; s/[{}"]//g; p' "$out/bench-hip.json"
  p=$(grep -c '"hip_to_cuda"' "$out/bench-hip.json" || true)
  [ "$status" -eq 0 ] && [ "$p" -gt 0 ] || f=1
}
