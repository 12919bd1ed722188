#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything there is to test: all legs, or those named as arguments, two at a time. The last line is their sum.
# usage: sh ci/test.sh [--jobs N] [LEG...]
# What a leg says is in build/logs/LEG.log, and shown when it ends: its counts, or all of it where it failed.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

# The legs in the order in which they begin, each with the seconds it takes (on two processors, beside another) and what
# it needs for itself alone: a build folder that others use, too. What takes longest begins first, and what is a link
# of the longest chain.
plan() {
  cat <<'END'
hip 450
mutants 215 build/host build/cuda-sim
tool 285 build/host
asan 250
host 60 build/host
lint 150
coverage 90
cuda-sim 75 build/cuda-sim
hip-nvidia 60
package 55
tsan 55
softhsa 30
END
}

queue=$logs/queue jobs=2
refuse() {
  say "test.sh: $*" >&2
  exit 2
}
if [ "${1:-}" = --jobs ]; then
  case ${2:-} in '' | *[!0-9]* | 0) refuse "--jobs wants a number of legs that run at once, not ${2:-nothing}" ;; esac
  jobs=$2
  shift 2
fi
# shellcheck disable=SC2046 # a list of words
[ $# -gt 0 ] || set -- $(plan | cut -d ' ' -f 1)
for name in "$@"; do
  [ -e "ci/leg-$name.sh" ] || refuse "no leg $name; there are: $(echo ci/leg-*.sh | sed 's|ci/leg-||g; s|\.sh||g')"
done

# -- what runs: words "NAME:SECONDS", the second when it began --

needs_of() { plan | awk -v name="$1" '$1 == name { $1 = $2 = ""; print }'; }

# is_free NAME: no leg that runs needs what it needs.
is_free() {
  for other in $running; do
    for thing in $(needs_of "${other%:*}"); do
      case " $(needs_of "$1") " in *" $thing "*) return 1 ;; esac
    done
  done
}

# Each leg is a session of its own, which ends as a whole where this is interrupted. When it has ended there is a file
# NAME.status.
begin() {
  rm -f "$queue/$1".*
  {
    status=0
    # shellcheck disable=SC2016 # what the inner shell replaces
    $alone sh -c 'echo $$ >"$1.session" && exec sh "$2"' - "$queue/$1" "ci/leg-$1.sh" >"$logs/$1.log" 2>&1 </dev/null ||
      status=$?
    echo "$status" >"$queue/$1.ending"
    mv "$queue/$1.ending" "$queue/$1.status"
  } &
  running="$running $1:$(date +%s)"
}

begin_some() {
  # shellcheck disable=SC2086 # lists of words
  for name in $waiting; do
    [ "$(echo $running | wc -w)" -lt "$jobs" ] || return 0
    is_free "$name" || continue
    begin "$name"
    waiting=$(for other in $waiting; do [ "$other" = "$name" ] || echo "$other"; done)
    [ -t 2 ] || say "  $name begins"
  done
}

# members SESSION: its processes. What stands in brackets is a name, in which anything may be.
members() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v session="$1" '{ id = $1; sub(/.*\) /, ""); if ($4 == session) print id }'
}

# Ends what runs: at first by asking, so that each leg cleans up.
stop() {
  trap - EXIT INT TERM HUP
  clear_line
  for signal in TERM TERM KILL; do
    ended=true
    for leg in $running; do
      session=$(cat "$queue/${leg%:*}.session" 2>/dev/null) || continue
      processes=$(members "$session")
      [ -n "$alone" ] || processes=$session
      for process in $processes; do
        ended=false
        kill -"$signal" "$process" 2>/dev/null || true
      done
    done
    $ended || sleep 1
  done
  exit "$1"
}

# -- what is said --

clear_line() { [ ! -t 2 ] || printf '\r\033[K' >&2; }

# On a terminal: what runs, and for how long.
show_running() {
  [ -t 2 ] || return 0
  now=$(date +%s) text=
  for leg in $running; do text="$text${text:+, }${leg%:*} $((now - ${leg#*:})) s"; done
  printf '\r\033[K[%s/%s] %s; to come: %s' "$number" "$of" "$text" "$(echo "$waiting" | wc -w | tr -d ' ')" >&2
}

# report NAME SECONDS: of a leg that has ended.
report() {
  number=$((number + 1))
  read -r status <"$queue/$1.status"
  line=$(tail -n 1 "$logs/$1.log")
  case $line in
  "$1: "*" passed, "*" failed, "*" skipped") ;;
  *) line="$1: 0 passed, 1 failed, 0 skipped" ;;
  esac
  read -r _ p _ f _ s _ <<END
$line
END
  if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  clear_line
  say "[$number/$of] $1: $p passed, $f failed, $s skipped  ($2 s)"
  # What a leg says of its parts, such as versions, and of what could not be had.
  grep -E "^$1-[^:]*: [0-9]+ passed, |^$1: SKIPPED" "$logs/$1.log" | sed 's/^/  /' || true
  if [ "$status" -ne 0 ]; then sed '$d' "$logs/$1.log" | tail -n 100; fi
  table="$table$(printf '%-12s %8s %8s %8s %8s' "$1" "$p" "$f" "$s" "$2")
"
}

report_ended() {
  now=$(date +%s) still=
  for leg in $running; do
    if [ -e "$queue/${leg%:*}.status" ]; then
      report "${leg%:*}" $((now - ${leg#*:}))
    else
      still="$still $leg"
    fi
  done
  running=$still
}

# -- all of it --

mkdir -p "$queue"
alone=
if have setsid && [ -e /proc/self/stat ]; then alone=setsid; fi
passed=0 failed=0 skipped=0 number=0 table='' running=''
began=$(date +%s)
# In the order of the plan; what it does not know comes last.
waiting=$({
  plan | cut -d ' ' -f 1
  printf '%s\n' "$@"
} | awk -v wanted=" $* " 'index(wanted, " " $1 " ") && !seen[$1]++')
of=$(echo "$waiting" | wc -l | tr -d ' ')
trap 'stop $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
while [ -n "$waiting$running" ]; do
  begin_some
  show_running
  sleep 1
  report_ended
done
trap - EXIT
clear_line
say ""
printf '%-12s %8s %8s %8s %8s\n' leg passed failed skipped seconds
printf '%s' "$table"
say "in $(($(date +%s) - began)) s, $jobs at a time"
say "total: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
