# SPDX-License-Identifier: Apache-2.0
# Reads Criterion's JSON report of one mutant and prints "VERDICT REASON...", the verdict being ok, FAIL or skip.
# killers: tests that must fail by an assertion; controls: tests that must pass. "suite::test" stands for both contracts
# of a test that has them.

function entries(list, kind,   part, n, i) {
  n = split(list, part, " ")
  for (i = 1; i <= n; i++) {
    if (part[i] == "-") continue
    role[part[i]] = kind
  }
}

function complain(text) { complaints = complaints (complaints == "" ? "" : "; ") text }

function judge(test, status,   entry, both) {
  entry = both = test
  sub(/__(checked|declared)$/, "", both)
  if (both in role) met[both] = 1
  if (!(entry in role)) entry = both
  if (!(entry in role)) return
  met[entry] = 1
  if (status == "SKIPPED") {
    skipped[role[entry]]++
  } else if (status == "ERRORED") {
    complain(test " crashed or timed out")
  } else if (role[entry] == "killer" && status != "FAILED") {
    complain(test " did not notice")
  } else if (role[entry] == "killer" && !by_itself) {
    complain("of " test " only the fixture noticed")
  } else if (role[entry] == "control" && status != "PASSED") {
    complain("the control " test " failed")
  } else {
    good[role[entry]]++
  }
}

BEGIN {
  entries(killers, "killer")
  entries(controls, "control")
}

/^      "name": / { suite = value($0) }
/^          "name": / { name = value($0) }
/^          "status": / {
  status = value($0)
  by_itself = was_left_out = 0
}
# Not selected, or of the other contract; a test that skips itself says why.
/^          "messages": \["The test was skipped\."\]/ { was_left_out = 1 }
# What the fixture finds after every test says nothing about this one.
/^            "/ && !/ did not go back"| were left live"|bytes are pending in the end"/ { by_itself = 1 }
/^        }/ { if (!was_left_out) judge(suite "::" name, status) }
/^}/ { complete = 1 }

function value(line) {
  sub(/^[^:]*: "/, "", line)
  sub(/".*/, "", line)
  return line
}

END {
  if (!complete) {
    complain("no report: the run was ended or crashed")
  } else {
    for (entry in role) if (!(entry in met)) complain("there is no test " entry)
  }
  if (complaints != "") {
    print "FAIL", complaints
  } else if (killers != "-" && good["killer"] == 0) {
    print "skip", "what would notice is skipped here"
  } else {
    verdict = good["killer"] + 0 " noticed, " good["control"] + 0 " others passed"
    if (skipped["killer"] + skipped["control"] > 0) verdict = verdict ", " skipped["killer"] + skipped["control"] " skipped"
    print "ok", verdict
  }
}
