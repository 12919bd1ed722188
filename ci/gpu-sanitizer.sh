# shellcheck shell=sh disable=SC2034,SC2154 # ci/gpu.sh sources this, and sets what is read here
# SPDX-License-Identifier: Apache-2.0
# The part sanitizer of ci/gpu.sh: tests of the conformance suite under compute-sanitizer's memcheck, those of
# ci/gpu-sanitizer.txt, or those that --suites chooses. A unit is a test.

# memcheck PORT FILTER: the conformance program under the tool. Each worker of Criterion's is a process of its
# own. Tests call the driver wrongly on purpose: its refusals are no errors here, accesses are.
memcheck() {
  limited 300 "$sanitizer_tool" --tool memcheck --target-processes all --require-cuda-init no --report-api-errors no \
    --port "$1" "$bin/conformance" --filter "$2" --color=never --short-filename --jobs 1 --timeout 120
}

plan_sanitizer() {
  sanitizer_tool=$(compute_sanitizer)
  if [ ! -x "$sanitizer_tool" ]; then
    say "skip 0 sanitizer there is no compute-sanitizer here"
    return
  fi
  see_devices 1
  memcheck 49152 'last_close/comes_once__checked' >"$out/sanitizer/probe.log" 2>&1 || true
  if grep -q 'Device not supported' "$out/sanitizer/probe.log"; then
    say "skip 0 sanitizer compute-sanitizer does not support this device"
    return
  fi
  chosen_tests
}

compute_sanitizer() { command -v compute-sanitizer || say "$toolkit/bin/compute-sanitizer"; }

# chosen_tests: the plan. What ci/skips.txt lists for the sanitizer is left out; what a list names must exist.
chosen_tests() {
  plan_tests conformance >"$work/sanitizer.tests"
  sed -n 's/^sanitizer  *//p' ci/skips.txt >"$work/sanitizer.skips"
  awk -v suites="$suites" '
    { base = $1; if (FILENAME == ARGV[3]) base = $3; sub(/__(checked|declared)$/, "", base) }
    FILENAME == ARGV[1] { why = $0; sub(/^[^ ]* /, "", why); skip[$1] = why; next }
    FILENAME == ARGV[2] { if (!/^#/ && NF) listed[$1] = 1; next }
    {
      exists[base] = exists[$3] = 1
      kind = $3 ~ /__declared$/ ? "declared" : "checked"
      suite = $3
      sub(/::.*/, "", suite)
      if (suites == "" ? !($3 in listed) : (suite " " kind) !~ suites) next
      if (base in skip) print "skip 0", $3, skip[base]
      else print $1, 15, $3
    }
    END {
      for (test in skip) if (!(test in exists)) print "fail 0", test, "ci/skips.txt: there is no " test
      for (test in listed) if (!(test in exists)) print "fail 0", test, "ci/gpu-sanitizer.txt: there is no " test
    }' "$work/sanitizer.skips" ci/gpu-sanitizer.txt "$work/sanitizer.tests"
}

unit_sanitizer() { # UNIT WORDS SLOT
  status=0 log=$out/sanitizer/$1.log
  sanitizer_tool=$(compute_sanitizer)
  memcheck $((49152 + 64 * $3)) "${1%%::*}/${1##*::}" >"$log" 2>&1 || status=$?
  found=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$log" |
    awk '{ errors += $1 } END { print errors + 0 " errors in " NR " summaries" }')
  f=1
  case $status:$found in
  *" 0 summaries") ;; # it did not look
  0:"0 errors in "*) p=1 f=0 ;;
  esac
  if [ "$f" -eq 0 ]; then
    say "  ok    $1: $found"
  else
    say "  FAIL  $1: $found, exit status $status"
    grep -E '^=========|^\[FAIL\]' "$log" | head -n 30 || true
  fi
}
