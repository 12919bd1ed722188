#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything there is to test: all legs, or those named as arguments. The last line is their sum.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
[ $# -gt 0 ] || set -- host cuda-sim mutants asan tsan coverage lint tool softhsa hip hip-nvidia package
mkdir -p "$logs"

passed=0 failed=0 skipped=0 number=0 lines=
for name in "$@"; do
  number=$((number + 1))
  say "[$number/$#] $name"
  started=$(date +%s)
  status=0
  sh "ci/leg-$name.sh" >"$logs/$name.log" 2>&1 || status=$?
  elapsed=$(($(date +%s) - started))
  line=$(tail -n 1 "$logs/$name.log")
  case $line in
  "$name: "*" passed, "*" failed, "*" skipped") ;;
  *) line="$name: 0 passed, 1 failed, 0 skipped" ;;
  esac
  read -r _ p _ f _ s _ <<EOF
$line
EOF
  # What a leg says of its parts, such as versions, and of what could not be had.
  grep -E "^$name-[^:]*: [0-9]+ passed, |^$name: SKIPPED" "$logs/$name.log" | sed 's/^/  /' || true
  if [ "$status" -ne 0 ]; then
    sed '$d' "$logs/$name.log" | tail -n 100
    [ "$f" -gt 0 ] || f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  say "$line  ($elapsed s)"
  lines="$lines$line
"
done
say ""
printf '%s' "$lines"
say "total: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
