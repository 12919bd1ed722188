#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks bench/traces/from_torch.py on snapshots made by hand, and that the traces recorded in bench/traces replay.
# usage: sh tests/tool/recorded.sh BUILD: the folder of a build for the host
# The last line is "recorded: N passed, N failed"; the exit status is 0 if none failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
build=$(cd "$1" && pwd) || exit 2
tool=$build/tools/warmpool
WARMPOOL_HOST_MEMORY=8G WARMPOOL_HOST_DEVICES=3
export WARMPOOL_HOST_MEMORY WARMPOOL_HOST_DEVICES
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"

convert() { python3 -B "$root/bench/traces/from_torch.py" "$@"; }

# replays TRACE: in lanes and in the driver's pool, each twice to the same counts, which are those that the trace tells.
replays() {
  for caching in lanes driver; do
    for run in one two; do
      "$tool" replay "$1" --caching "$caching" --json >"$run.json" || return 1
    done
    python3 -B "$root/tests/tool/replayed.py" "$1" one.json two.json || return 1
  done
}

# is_converted NAME: the same each time, and what stdin has; what it says stays in NAME.err.
is_converted() {
  convert "$1.pickle" >"$1.csv" 2>"$1.err" && convert "$1.pickle" 2>again.err | cmp - "$1.csv" &&
    cmp "$1.err" again.err && diff - "$1.csv"
}

one_device() {
  is_converted one <<END
Thread,Time,Action,Pointer,Size,Stream,Device
1,0,open,0x0,1,0x0,0
1,2000,allocate,0x1,1000,0x0,0
1,3000,allocate,0x2,5000,0x10,0
1,4000,free,0x1,1000,0x0,0
1,5000,allocate,0x1,24,0x0,0
1,6000,free,0x2,5000,0x10,0
1,7000,allocate failure,0x0,1099511627776,0x10,0
1,7000,allocate,0x3,512,0x0,0
1,9000,allocate,0x2,7,0x0,0
1,11000,free,0x1,24,0x0,0
1,11000,free,0x3,512,0x0,0
1,11000,free,0x2,7,0x0,0
1,11000,close,0x0,1,0x0,0
END
}

devices() {
  is_converted devices <<END
Thread,Time,Action,Pointer,Size,Stream,Device
1,0,open,0x0,1,0x0,0
1,0,open,0x0,2,0x0,2
1,0,allocate,0x1,1,0x0,0
1,1000,allocate,0x2,2,0x10,2
1,2000,free,0x2,2,0x10,2
1,4000,free,0x1,1,0x0,0
1,4000,close,0x0,1,0x0,0
1,4000,close,0x0,2,0x0,2
END
}

says_what_is_missing() {
  diff - one.err <<END
13 lines, 5 allocations
1 frees of blocks that are older than the history: left out
1 frees that PyTorch completed later, when other streams were done
3 blocks live at the end: freed there
2 segment_alloc: no line
1 snapshot: no line
END
}

# Frees are where they were requested; or where they were completed, if that is all that is known.
half_of_the_frees() {
  convert requested.pickle | cmp - one.csv && convert completed.pickle >completed.csv &&
    sed 's/^1,6000,free/1,8000,free/' one.csv | sort >moved && sort completed.csv | cmp - moved && replays completed.csv
}

# A trace of a given length is that long, or a line shorter, and a complete one.
is_cut() {
  for events in 4 5 9 12 13; do
    convert one.pickle --events "$events" >cut.csv && [ "$(wc -l <cut.csv)" -le $((events + 1)) ] &&
      [ "$(wc -l <cut.csv)" -ge "$events" ] && replays cut.csv || return 1
  done
  cmp cut.csv one.csv && refuses "one.pickle: 3 lines have no room for a block" one.pickle --events 3
}

# refuses TEXT ARGUMENT...: status 2, nothing on stdout, and one line, the text, on stderr.
refuses() {
  text=$1 status=0
  shift
  convert "$@" >out 2>err || status=$?
  cat out err
  [ "$status" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$text" err
}

refuses_code() { refuses "class.pickle: this has a posix.system in it" class.pickle && [ ! -e was-run ]; }
no_pickle() {
  refuses "cut.pickle: this is no pickle: " cut.pickle && refuses "text.pickle: this is no pickle: " text.pickle &&
    refuses "/dev/null: this is no pickle: " /dev/null
}
no_snapshot() {
  refuses "list.pickle: this is no snapshot" list.pickle &&
    refuses "no-traces.pickle: this is no snapshot" no-traces.pickle &&
    refuses "empty.pickle: there is no allocation in it" empty.pickle
}
no_entries() {
  refuses "device_traces[0][1] allocates 0x10, which is allocated already" twice.pickle &&
    refuses "device_traces[0][0] has no number size" no-size.pickle &&
    refuses "device_traces[0][0] has no number time_us" no-time.pickle &&
    refuses "device_traces[0][0] has no number size" negative.pickle &&
    refuses "device_traces[0][0] has no number time_us" no-entry.pickle
}
no_file() { refuses "nowhere.pickle: No such file" nowhere.pickle && refuses ".: Is a directory" .; }

# has_facts TRACE: what it was recorded on lies beside it, and the table of the README names it.
has_facts() {
  python3 -B -c 'import json, sys
facts = json.load(open(sys.argv[1]))
print([facts[name] for name in ("gpu", "driver", "torch", "date", "command")])' "${1%.csv}.json" &&
    grep -F "| \`$(basename "$1")\` |" "$root/bench/traces/README.md"
}

python3 -B "$root/tests/tool/snapshots.py" || exit 2
check "a snapshot becomes a trace, the same each time" one_device
check "what has no line is counted" says_what_is_missing
check "the trace replays to the counts that it tells" replays one.csv
check "several devices are in the order of time" devices
check "they replay as well" replays devices.csv
check "requests or completions of frees are enough" half_of_the_frees
check "a trace that is cut is complete" is_cut
check "a pickle with code in it is refused, and the code not run" refuses_code
check "a file that is no pickle, or half of one" no_pickle
check "a pickle that is no snapshot" no_snapshot
check "entries that are none" no_entries
check "a file that is not there, or is none" no_file
for trace in "$root"/bench/traces/*.csv; do
  [ -e "$trace" ] || continue
  check "$(basename "$trace"): replays to the counts that it tells" replays "$trace"
  check "$(basename "$trace"): says what it was recorded on" has_facts "$trace"
done
printf 'recorded: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
