# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the scripts of tests/tool share: a folder to work in, which is the current one from here on, checks, and their count.
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

# ends STATUS COMMAND...: the command ends with this status; what it says stays in out and err, and is shown if not.
ends() {
  wanted=$1 got=0
  shift
  "$@" >out 2>err || got=$?
  [ "$got" -eq "$wanted" ] && return
  echo "status $got, not $wanted; its output:"
  cat out err
  return 1
}

# has FILE LINE: the file has this line, blanks squeezed; lacks FILE TEXT: it does not have the text anywhere.
has() { tr -s ' ' <"$1" | sed 's/^ //; s/ $//' | grep -qxF -e "$2" || { cat "$1" && return 1; }; }
lacks() { ! grep -F -e "$2" "$1"; }

# refuses STATUS TEXT COMMAND...: ends with the status, nothing on stdout, and one line on stderr that has the text.
refuses() {
  status=$1 text=$2
  shift 2
  ends "$status" "$@" || return 1
  cat out err
  [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$text" err
}
