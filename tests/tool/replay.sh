#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks `warmpool replay`: on traces of every pattern that `warmpool pattern` makes, on one that a program wrote, on
# logs of RMM's form, and on files that are broken. No time is judged.
# usage: sh tests/tool/replay.sh BUILD: the folder of a build for the host
# The last line is "replay: N passed, N failed"; the exit status is 0 if none failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
build=$(cd "$1" && pwd) || exit 2
tool=$build/tools/warmpool
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"

make_trace() { "$tool" pattern "$@"; }
count() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$2"; } # NAME FILE

# -- complete traces --

# replays TRACE ARGUMENT...: twice, and to the same counts.
replays() {
  trace=$1
  shift
  for run in one two; do "$tool" replay "$trace" --json "$@" >"$run.json" || return 1; done
  python3 -B "$root/tests/tool/replayed.py" "$trace" one.json two.json
}

in_every_way() {
  for caching in lanes driver; do
    for contract in checked declared; do
      replays "$1" --caching "$caching" --contract "$contract" || return 1
    done
  done
}

is_generated() {
  make_trace "$1" --events 2000 --seed 7 >"$1.csv" && make_trace "$1" --events 2000 --seed 7 | cmp - "$1.csv" &&
    [ "$(wc -l <"$1.csv")" -ge 2000 ] && in_every_way "$1.csv"
}

# Several threads, every action, on the default runtime, which nobody destroys.
is_written() { WARMPOOL_TRACE=written.csv "$build/tests/traced" && [ "$(wc -l <written.csv)" -gt 5000 ]; }
has_every_action() {
  for action in allocate free "free after" note prime retire trim open close; do
    grep -q "^[0-9]*,[0-9]*,$action," written.csv || return 1
  done
}

has_a_table() { "$tool" replay steady.csv | grep -E '^  reserved_peak  *[0-9]+  [0-9.]+ MiB$'; }
synchronizes() { "$tool" replay notes.csv --sync 10 --json >sync.json && [ "$(count frees sync.json)" -gt 0 ]; }
comes_to_an_end() {
  make_trace steady --events 1000000 >long.csv && "$tool" replay long.csv --json >long.json &&
    [ "$(count events long.json)" -ge 1000000 ]
}

# What is not freed is told; and so is what the device has no memory for, whose frees are nothing then.
leaves_live() {
  head -n 100 sizes.csv >cut.csv && "$tool" replay cut.csv --json >cut.json && [ "$(count left_live cut.json)" -gt 0 ]
}
is_refused() {
  for caching in lanes driver; do
    WARMPOOL_HOST_MEMORY=64M "$tool" replay burst.csv --caching "$caching" --json >full.json &&
      [ "$(count refused full.json)" -gt 10 ] && [ "$(count frees full.json)" -eq "$(count allocations full.json)" ] ||
      return 1
  done
}

# -- devices and streams --

knows_devices() {
  sed 's/,0$/,1/' steady.csv >second.csv && WARMPOOL_HOST_DEVICES=2 "$tool" replay second.csv &&
    "$tool" replay second.csv --device 0
}

# All that is freed is on streams of its own, or on shared ones, as the columns Thread and Stream say: two threads' own
# default streams have no memory in common, but one thread's, and everybody's, have.
keeps_streams_apart() {
  while read -r thread stream hits; do
    printf 'Thread,Time,Action,Pointer,Size,Stream\n1,,allocate,0x10,512,%s\n1,,free,0x10,512,%s\n' "$stream" "$stream" >own.csv
    printf '%s,,allocate,0x10,512,%s\n%s,,free,0x10,512,%s\n' "$thread" "$stream" "$thread" "$stream" >>own.csv
    "$tool" replay own.csv --json >own.json && [ "$(count hits own.json)" -eq "$hits" ] || return 1
  done <<END
1 0x2 1
2 0x2 0
2 0x0 1
2 0x1 1
2 0x7f00 1
END
}

# -- RMM's logs --

is_rmm() {
  {
    printf 'Thread,Time,Action,Pointer,Size,Stream\r\n'
    printf '21554,10:56:23:654321,allocate,0x7f3f2a000000,1000,0x0\n'
    printf '21554,10:56:23.654322,allocate failure,(nil),99999999999999,0x0\n'
    printf '21555,whatever "it is",allocate,0x7F3F2A000400,2000,0x2\r\n\n'
    printf '21554,10:56:23:654323,free,7f3f2a000000,1000,0x0\n'
    printf '21555,,free,0x7f3f2a000400,2000,0x2'
  } >rmm.csv
  "$tool" replay rmm.csv --json >rmm.json && [ "$(count events rmm.json)" -eq 5 ] &&
    [ "$(count frees rmm.json)" -eq 2 ] && [ "$(count live_peak rmm.json)" -eq 3000 ]
}

# -- broken files --

header=Thread,Time,Action,Pointer,Size,Stream,Device

# is_broken LINE TEXT: what stdin has is refused: status 2, nothing on stdout, one line on stderr: "FILE:LINE: TEXT".
is_broken() {
  status=0
  cat >broken.csv
  "$tool" replay broken.csv >out 2>err || status=$?
  cat out err
  [ "$status" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qxF -e "broken.csv:$1: $2" err
}

# breaks LINE TEXT ROW...: the same for a file of these rows.
breaks() {
  line=$1 text=$2
  shift 2
  printf '%s\n' "$header" "$@" | is_broken "$line" "$text"
}

wrong_header() {
  text='the header is not "Thread,Time,Action,Pointer,Size,Stream", with or without ",Device"'
  printf 'Thread,Time,Action,Pointer,Size,Stream,Devices\n' | is_broken 1 "$text" &&
    printf 'Time,Thread,Action,Pointer,Size,Stream\n' | is_broken 1 "$text" &&
    printf '1,2,free,0x10,512,0x0\n' | is_broken 1 "$text" && is_broken 1 "$text" </dev/null
}

wrong_columns() {
  breaks 2 "there are 6 columns, and not 7" 1,2,allocate,0x10,512,0x0 &&
    breaks 3 "there are 8 columns, and not 7" 1,2,allocate,0x10,512,0x0,0 1,2,free,0x10,512,0x0,0,0 &&
    breaks 2 "there are 1 columns, and not 7" what &&
    printf '%s\n' "${header%,Device}" 1,2,allocate,0x10,512,0x0,0 | is_broken 2 "there are 7 columns, and not 6"
}

wrong_numbers() {
  breaks 2 'Thread is no number: "x"' x,2,allocate,0x10,512,0x0,0 &&
    breaks 2 'Pointer is no hexadecimal number: "0xg"' 1,2,allocate,0xg,512,0x0,0 &&
    breaks 2 'Pointer is no hexadecimal number: ""' 1,2,allocate,,512,0x0,0 &&
    breaks 2 'Size is no number: "-1"' 1,2,allocate,0x10,-1,0x0,0 &&
    breaks 2 'Size is no number: "99999999999999999999"' 1,2,allocate,0x10,99999999999999999999,0x0,0 &&
    breaks 2 'Size is no number: "5 "' "1,2,allocate,0x10,5 ,0x0,0" &&
    breaks 2 'Stream is no hexadecimal number: ""' 1,2,free,0x10,5,,0 &&
    breaks 2 'Stream is no hexadecimal number: " 1"' "1,2,free,0x10,5, 1,0" &&
    breaks 2 'Device is no number: ""' 1,2,allocate,0x10,512,0x0, &&
    breaks 2 'Device is too large: 4294967296' 1,2,allocate,0x10,512,0x0,4294967296
}

wrong_blocks() {
  breaks 2 "0x10 is not allocated" 1,2,free,0x10,512,0x0,0 &&
    breaks 4 "0x10 is not allocated" 1,2,allocate,0x10,5,0x0,0 1,2,free,0x10,5,0x0,0 1,2,free,0x10,5,0x0,0 &&
    breaks 2 "0x10 is not allocated" "1,2,free after,0x10,512,0x0,0" &&
    breaks 2 "0x10 is not allocated" 1,2,note,0x10,512,0x0,0 &&
    breaks 3 "0x10 is allocated already" 1,2,allocate,0x10,5,0x0,0 1,2,allocate,0x10,5,0x0,0
}

wrong_delegates() {
  breaks 2 "delegate 3 is not open" 1,2,close,0x0,3,0x0,0 &&
    breaks 3 "delegate 3 is open already" 1,2,open,0x0,3,0x0,0 1,2,open,0x0,3,0x0,0
}

no_text() { printf '%s\n1,2,\0\n' "$header" | is_broken 2 "this is no text"; }

no_file() {
  for file in nowhere.csv .; do
    status=0
    "$tool" replay "$file" >out 2>err || status=$?
    cat out err
    [ "$status" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "^$file: [A-Z]" err || return 1
  done
}

for pattern in steady inference streams sizes growing burst turns notes after handover; do
  check "$pattern: a trace is made, and replays to the same counts" is_generated "$pattern"
done
check "a program's trace is complete when it ends" is_written
check "it has every action" has_every_action
check "it replays to the same counts" in_every_way written.csv
check "counts and peaks come as a table" has_a_table
check "streams can be synchronised now and then" synchronizes
check "a million events come to an end" comes_to_an_end
check "blocks that the trace does not free are told" leaves_live
check "allocations that the device refuses are told" is_refused
check "devices are those of the trace, or the one that is named" knows_devices
check "streams are those of the trace" keeps_streams_apart
check "a log of RMM's replays" is_rmm
check "a header that is none" wrong_header
check "a line with too few columns, or too many" wrong_columns
check "an action that there is not" breaks 2 'there is no action "realloc"' 1,2,realloc,0x10,512,0x0,0
check "numbers that are none" wrong_numbers
check "blocks that are not there, or are there already" wrong_blocks
check "delegates that are not open, or are open already" wrong_delegates
check "a device that there is not" breaks 2 \
  "there is no device 5 here: --device N runs everything on device N" 1,2,allocate,0x10,512,0x0,5
check "a line that is no text" no_text
check "a file that is not there, or is none" no_file
printf 'replay: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
