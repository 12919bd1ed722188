# SPDX-License-Identifier: Apache-2.0
# Counts the tests in the output of `ctest --verbose`: first a line "PASSED FAILED", then the name of each skipped one.
# Criterion programs count by their tests, others as one. A Criterion program that failed although none of its tests did
# (a leak, a crash before the end) counts as one failure more.

/^[0-9]+: .*Synthesis: Tested: / {
  id = $1
  split($0, part, "|")
  sub(/.*: /, "", part[2])
  sub(/.*: /, "", part[3])
  passed += part[2]
  failed += part[3]
  counted[id] = 1
  failures[id] = part[3] + 0
}

/^[0-9]+: \[SKIP\] / {
  sub(/:$/, "", $3)
  skips[++skipped] = $3
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  id = $0
  sub(/^[^#]*#/, "", id)
  sub(/:.*/, ":", id)
  good = / Passed +[0-9.]+ sec/
  if (good && !(id in counted)) passed++
  if (!good && failures[id] == 0) failed++
}

END {
  print passed + 0, failed + 0
  for (i = 1; i <= skipped; i++) print skips[i]
}
