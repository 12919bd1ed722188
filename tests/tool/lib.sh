# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the scripts of tests/tool share: a folder to work in, which is the current one from here on, and a count of checks.
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work" || exit 2
passed=0 failed=0

# check WHAT COMMAND...: counts one check, and shows the command's output where it fails.
check() {
  what=$1
  shift
  if "$@" >check.log 2>&1; then
    passed=$((passed + 1))
    printf '  ok    %s\n' "$what"
  else
    failed=$((failed + 1))
    printf '  FAIL  %s\n' "$what"
    head -n 40 check.log | sed 's/^/        /'
  fi
}
