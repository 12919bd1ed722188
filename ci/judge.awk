# SPDX-License-Identifier: Apache-2.0
# Judges the verbose output of Criterion programs by a list of gaps (ci/gaps-hip.txt). Called as
#   awk -v version=6.4 -f ci/judge.awk GAPS LOG... [again=1 LOG]
# What the last log says of a test replaces what was said before. First prints "PASSED FAILED SKIPPED", then what went
# against the list. A gap, and a skip that the list has, counts as
# skipped. Only the gaps of suites that the logs name are asked for.

function is_for(versions, list, count, i) {
  if (versions == "*") return 1
  count = split(versions, list, ",")
  for (i = 1; i <= count; i++)
    if (list[i] == version) return 1
  return 0
}

function complain(text) { complaints[++failed] = text }

# The number of the first gap for the test, or 0.
function gap_of(test, i) {
  for (i = 1; i <= gaps; i++)
    if (test ~ pattern[i]) {
      answered[i] = 1
      return i
    }
  return 0
}

FILENAME == ARGV[1] {
  if (/^#/ || NF == 0) next
  often = sub(/^[?]/, "", $1)
  if (NF < 4 || $3 !~ /^H[0-9]+$/) complain("a gap without version, test, fact and reason: " $0)
  if (!is_for($1)) next
  name[++gaps] = $2
  gsub(/[*]/, ".*", $2)
  pattern[gaps] = "^" $2 "$"
  sometimes[gaps] = often
  next
}

FNR == 1 && !again { logs++ }
again && /^\[RUN \] / { result[$3] = "[RUN]" }
/^\[SKIP\] .*Test is disabled/ { next } # left out by a filter
/^\[(PASS|FAIL|SKIP)\] / {
  test = $2
  sub(/:$/, "", test)
  if (!(test in result)) order[++tests] = test
  # A fixture that failed before weighs more than the test's own success.
  if (result[test] != "[FAIL]") result[test] = $1
  suite = test
  sub(/::.*/, "", suite)
  has_suite[suite] = 1
}
/The test `[^`]*` crashed during its setup or teardown/ {
  test = $0
  sub(/.*The test `/, "", test)
  sub(/`.*/, "", test)
  if (!(test in result)) order[++tests] = test
  result[test] = "[FAIL]"
}
/(bytes were left live|bytes are pending in the end|bytes did not go back)/ && match($0, /[a-z_]+::[a-z_0-9]+/) {
  test = substr($0, RSTART, RLENGTH)
  if (!(test in result)) order[++tests] = test
  result[test] = "[FAIL]"
}
/Synthesis: Tested: [1-9]/ && !again { ended++ }

END {
  if (ended != logs || logs == 0) complain("of " logs + 0 " programs " ended + 0 " came to their end")
  for (i = 1; i <= tests; i++) {
    test = order[i]
    gap = gap_of(test)
    if (result[test] == "[PASS]") {
      if (!gap || sometimes[gap]) passed++
      else complain("passed, though it is a gap: " test)
    } else if (gap) skipped++
    else complain((result[test] == "[SKIP]" ? "skipped, and is no gap: " : "failed: ") test)
  }
  for (i = 1; i <= gaps; i++) {
    suite = name[i]
    sub(/::.*/, "", suite)
    if (suite in has_suite && !answered[i]) complain("a gap, but there is no such test: " name[i])
  }
  print passed + 0, failed + 0, skipped + 0
  for (i = 1; i <= failed; i++) print complaints[i]
}
