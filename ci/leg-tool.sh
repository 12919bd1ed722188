#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command line tool: what it shows, how it refuses, that its cases come to their ends, the scripts that read its
# results, and ci/gpu.sh. No time is judged.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
work=$PWD/build/tool-check
tool=$PWD/build/host/tools/warmpool

# refuses_clearly TEXT ARGUMENT...: status 2, nothing on stdout, one line on stderr, which has the text.
refuses_clearly() {
  text=$1 status=0
  shift
  "$tool" "$@" >"$work/out" 2>"$work/err" || status=$?
  cat "$work/out" "$work/err"
  [ "$status" -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -e "$text" "$work/err"
}

shows() { # TEXT COMMAND...
  text=$1
  shift
  "$@" | grep -F -e "$text"
}

helps() {
  for case in $cases; do shows "$case" "$tool" --help || return 1; done
}

# measures CASE: as JSON, with every field and every mode, and as a table. The two runs are beside each other.
measures() {
  "$tool" bench "$1" --rounds 1 >"$work/$1.txt" &
  table=$!
  json=0
  "$tool" bench "$1" --rounds 1 --json >"$work/$1.json" || json=$?
  wait "$table" && [ "$json" -eq 0 ] && python3 -B tests/tool/fields.py "$work/$1.json" "$1" && grep "^$1: " "$work/$1.txt"
}

full_disk_is_told() {
  status=0
  "$tool" info --json >/dev/full 2>"$work/err" || status=$?
  [ "$status" -eq 1 ] && grep "could not be written" "$work/err"
}

has_one_device_more() {
  WARMPOOL_HOST_DEVICES=2 "$tool" info --json >"$work/info.json" &&
    python3 -B -c 'import json, sys; sys.exit(len(json.load(open(sys.argv[1]))["devices"]) != 2)' "$work/info.json" &&
    WARMPOOL_HOST_DEVICES=2 "$tool" bench delegates --device 1 --rounds 1 --json | grep '"device":1,'
}

# only PATTERN WANTED TEXT: what matches the pattern in the text is wanted, and there is some.
only() {
  printf '%s\n' "$3" | grep -oE "$1" >"$work/found" && ! grep -vxF "$2" "$work/found"
}

# What a release gives back, and what a neighbour keeps, is no matter of time.
gives_back() { only '"reserved_after":[0-9]*' '"reserved_after":0' "$(grep -v '"mode":"pending-no-wait"' "$work/release.json")"; }
finishes_later() { only '"reserved_later":[0-9]*' '"reserved_later":0' "$(cat "$work/release.json")"; }
leaves_the_cache() { grep '"cache_before":268435456,"cache_after":268435456' "$work/cotenant.json"; }
# A declared capture has memory of the pool and none of the driver's for graphs, which our release leaves to others.
captures_use_the_pool() {
  python3 -B -c '
import json, sys
mib = 1 << 20
results = {(r["case"], r["mode"]): r for r in json.load(open(sys.argv[1]))["results"]}
ours, theirs = results["graph", "capture-memory"], results["graph", "driver-memory"]
print(ours, theirs)
held = {mode: results["graph-neighbour", mode]["graph_reserved"]
        for mode in ("undisturbed", "driver-memory", "capture-memory")}
print(held)
sys.exit(not (ours["graph_reserved"] == 0 and ours["pool_reserved"] >= 64 * mib and theirs["graph_reserved"] >= 64 * mib
              and held["capture-memory"] == held["undisturbed"] >= 64 * mib > held["driver-memory"]))' "$work/graph.json"
}
# The most that was reserved holds the largest delegate, and is no less than the library and the driver say.
peaks_are_true() {
  python3 -B -c '
import json, sys
results = [r for r in json.load(open(sys.argv[1]))["results"] if r["case"] == "footprint"]
most = [max(r["reserved_peak"], r["driver_reserved_most"]) for r in results]
print(results)
sys.exit(not all(m >= r["largest_bytes"] and abs(r["peak_ratio"] - m / r["largest_bytes"]) < 0.001
                 for r, m in zip(results, most)))' "$work/footprint.json"
}
has_the_pattern() { grep "^footprint-pattern: " "$work/footprint.txt"; }
# What lanes have served once, they serve again without the driver; where streams are declared, without a call of it.
lanes_ask_for_nothing() {
  grep -h '"mode":"lanes' "$work/per-alloc.json" "$work/delegates.json" "$work/footprint.json" |
    grep -vE '"case":"footprint(-[a-oq-z][a-z]*)?",' >"$work/lanes" # those that begin cold
  [ "$(wc -l <"$work/lanes")" -ge 16 ] && refuses grep -v '"driver_allocs":0,"driver_frees":0' "$work/lanes"
}
declared_lanes_call_nothing() {
  [ "$(grep -c '"mode":"lanes",.*"\(calls_per_pair\|vendor_calls\)":' "$work/lanes")" -eq 8 ] &&
    [ "$(grep -cE '"mode":"lanes",.*"(calls_per_pair|vendor_calls)":0[,}]' "$work/lanes")" -eq 8 ]
}
# One pair asks the driver for one allocation, and for one free; in lanes it may ask for less.
counts() {
  sed -n '/"mode":"lanes/d; s/.*"operations":\([0-9]*\),"driver_allocs":\([0-9]*\),"driver_frees":\([0-9]*\).*/\1 \2 \3/p' \
    "$work/per-alloc.json" >"$work/counts"
  [ -s "$work/counts" ] && refuses grep -vE '^([1-9][0-9]*) \1 \1$' "$work/counts"
}

# What ci/pace.sh runs, as it runs it; what it finds is a matter of time.
paces() {
  status=0
  sh ci/pace.sh "$PWD" --rounds 10 --only heap --out "$work/pace.json" || status=$?
  [ "$status" -lt 2 ] && grep '"case": "heap"' "$work/pace.json"
}
every_case_has_a_turn() (
  . ci/old-tree.sh
  old_tree "$PWD" host
  echo cases | "$old_build/pace" | tr -d '*' | tr ' ' '\n' | sed -n 's/.\{1,\}/turn & 4/p' >"$work/turns"
  "$old_build/pace" <"$work/turns" >"$work/times"
  cat "$work/turns" "$work/times"
  [ "$(wc -l <"$work/turns")" -eq 12 ] && [ "$(grep -cE '^[0-9.]+$' "$work/times")" -eq 12 ]
)
compiles_quietly() {
  cc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only -I include -I build/host/include \
    bench/pace/pace.c
}

# count_script NAME: of checks that counted themselves; their output is in a log.
count_script() {
  log=$logs/tool-$1.log
  say "tool: $1"
  sed '$d' "$log"
  read -r _ p _ f _ <<END
$(tail -n 1 "$log")
END
  passed=$((passed + p)) failed=$((failed + f))
}

leg tool
need_compiler
need_criterion
need python3:python3 gnuplot:gnuplot-nox
build_preset host
rm -rf "$work"
mkdir -p "$work"
cases="per-alloc delegates release cotenant threads footprint graph capture"
check "--help names every case" helps
check "--version names the backend" shows "host backend" "$tool" --version
check "info shows the device" shows "device 0" "$tool" info
check "info and bench know more devices" has_one_device_more
check "no command" refuses_clearly "a command is missing"
check "a command that there is not" refuses_clearly "no command what" what
check "no case" refuses_clearly "wants a case" bench --json
check "a case that there is not" refuses_clearly "no case what" bench per-alloc what
check "an option that there is not" refuses_clearly "no option --what" bench per-alloc --what
check "an option of another command" refuses_clearly "no option --device" info --device 0
check "a letter that is no option" refuses_clearly "no option -x" bench -xy
check "a value that is missing" refuses_clearly "missing after --device" bench per-alloc --device
check "a device that is no number" refuses_clearly "not one" bench per-alloc --device one
check "a device that there is not" refuses_clearly "no device 7" bench per-alloc --device 7
check "rounds that are too few" refuses_clearly "not 0" bench per-alloc --rounds 0
check "no file to replay" refuses_clearly "wants a file" replay --json
check "two files to replay" refuses_clearly "no two.csv" replay one.csv two.csv
check "a caching that there is not" refuses_clearly "lanes or driver, not disk" replay one.csv --caching disk
check "a contract that there is not" refuses_clearly "checked or declared, not oral" replay one.csv --contract oral
check "a device to replay on that there is not" refuses_clearly "no device 7" replay one.csv --device 7
check "a number of events that is none" refuses_clearly "wants a number, not often" replay one.csv --sync often
check "an option that replay has not" refuses_clearly "no option --rounds" replay one.csv --rounds 3
check "info with a word too many" refuses_clearly "takes no more" info more
for case in $cases; do check "bench $case" measures "$case"; done
check "output that cannot be written is a failure" full_disk_is_told
check "a release gives everything back" gives_back
check "one that does not wait is finished later" finishes_later
check "the neighbour's cache is untouched" leaves_the_cache
check "a declared capture leaves graph memory alone" captures_use_the_pool
check "the driver's allocations are counted" counts
check "lanes ask the driver for nothing twice" lanes_ask_for_nothing
check "declared lanes make no driver call" declared_lanes_call_nothing
check "a footprint has the pattern beside it" has_the_pattern
check "its peaks are those of library and driver" peaks_are_true
check "the program of ci/pace.sh compiles quietly" compiles_quietly
check "two versions are compared" paces
check "each of its cases has a turn" every_case_has_a_turn
# Of these, each has a folder of its own: they run beside one another.
sh tests/tool/scripts.sh >"$logs/tool-scripts.log" 2>&1 &
sh tests/tool/gpu.sh >"$logs/tool-gpu.log" 2>&1 &
sh tests/tool/pace.sh >"$logs/tool-pace.log" 2>&1 &
sh tests/tool/compare.sh >"$logs/tool-compare.log" 2>&1 &
sh tests/tool/legs.sh >"$logs/tool-legs.log" 2>&1 &
sh tests/tool/replay.sh build/host >"$logs/tool-replay.log" 2>&1 &
sh tests/tool/recorded.sh build/host >"$logs/tool-recorded.log" 2>&1 &
wait
for script in scripts gpu pace compare legs replay recorded; do count_script "$script"; done
finish
