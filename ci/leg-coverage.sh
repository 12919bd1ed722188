#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How many lines of src/common the tests reach.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
minimum=95
report=$logs/coverage.txt

covered() {
  gcovr --root . --filter 'src/common/' --fail-under-line "$minimum" --output "$report" build/coverage && return
  cat "$report"
  return 1
}

leg coverage
need_compiler
need_criterion
need gcovr:gcovr
build_preset coverage
find build/coverage -name '*.gcda' -delete
check "the tests pass" ctest --preset coverage
check "at least $minimum % of the lines of src/common are reached" covered
grep '^TOTAL' "$report" || true
finish
