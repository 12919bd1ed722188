#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks bench/compare.py and bench/plot.sh on small result files made here: what they show, and how they refuse.
# usage: sh tests/tool/scripts.sh [FOLDER]: where the two scripts are (default: bench)
# The last line is "bench-scripts: N passed, N failed"; the exit status is 0 if none failed.
set -u
unset PYTHONDONTWRITEBYTECODE # that plot.sh leaves nothing behind is checked
bench=$(cd "${1:-$(dirname "$0")/../../bench}" && pwd) || exit 2
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"

compare() { python3 -B "$bench/compare.py" "$@"; }
plot() { sh "$bench/plot.sh" "$@"; }

# -- the files --

# file GPU RESULT...: a result file on stdout.
file() {
  printf '{"warmpool":"0.1.0","machine":"Linux x86_64, 16 x Processor","gpu":"%s","driver":"580.1, CUDA 13.0",' "$1"
  printf '"backend":"cuda","date":"2026-11-29T16:34:55Z","command":"warmpool bench --json","results":['
  shift
  comma=
  for result in "$@"; do
    printf '%s\n%s' "$comma" "$result"
    comma=,
  done
  printf ']}\n'
}

# result CASE MODE BYTES SYNC THREADS MEDIAN P99 [PAIRS]
result() {
  printf '{"backend":"cuda","device":0,"case":"%s","mode":"%s","bytes":%s,"sync":%s,' "$1" "$2" "$3" "$4"
  printf '"threads":%s,"samples":200,"ns_median":%s,"ns_p99":%s,"operations":200,' "$5" "$6" "$7"
  printf '"driver_allocs":200,"driver_frees":200%s}' "${8:+,\"pairs_per_second\":$8}"
}

cold=$(result per-alloc cold 1048576 true 1 91300.0 99000.1)
driver=$(result per-alloc driver 1048576 true 1 6000 6500)
delegate=$(result per-alloc delegate 1048576 true 1 3000 3500 9) # only the case threads is to be drawn with pairs
same=$(result per-alloc same 4096 false 1 800 2500000)
null=$(result per-alloc nothing 4096 false 1 null null)
threads1=$(result threads driver 1024 false 1 2500 2600 400000)
threads12=$(result threads driver 1024 false 12 40000 41000 400000)
malloc1=$(result threads malloc 1024 false 1 20 21 50000000)
malloc12=$(result threads malloc 1024 false 12 20 21 800000000)
file "NVIDIA H200" "$cold" "$driver" "$delegate" "$same" "$null" "$threads1" "$threads12" "$malloc1" "$malloc12" >a.json
shorter=$(result per-alloc cold 1048576 true 1 37883.8 40000)
longer=$(result per-alloc driver 1048576 true 1 12000 1)
unsynced=$(result per-alloc delegate 1048576 false 1 2000 2100)
file "NVIDIA H200" "$shorter" "$longer" "$same" "$null" "$unsynced" >b.json
file "NVIDIA A100" "$cold" >other-gpu.json
file "NVIDIA H200" "$cold" "$(result per-alloc cold 1048576 true 1 45650 50000)" >twice.json
file "NVIDIA H200" "$(result release idle 5509120 false 1 28000000 29000000)" >release.json
file "NVIDIA H200" "$(result per-alloc cold 4096 false 1 null null)" >null.json
file "NVIDIA H200" "$threads1" "$malloc1" >threads.json
# Every mode, in another order than the plots have.
modes="cold driver delegate delegate-checked lanes lanes-checked malloc mimalloc"
set --
for mode in mimalloc lanes-checked lanes malloc delegate-checked delegate driver cold; do
  set -- "$@" "$(result per-alloc "$mode" 4096 true 1 3000 3500)" "$(result per-alloc "$mode" 4096 false 1 300 350)" \
    "$(result threads "$mode" 1024 false 1 300 350 3000000)" "$(result threads "$mode" 1024 false 16 600 650 20000000)"
done
file "NVIDIA H200" "$@" >modes.json
# shellcheck disable=SC2016 # nothing is to be expanded
file 'A \"B\" \u0027C\u0027 `id` $HOME <D> & E_F^2 \\n %s' "$cold" "$threads1" >names.json
file "NVIDIA H200" >empty.json
printf '{"case":1' >broken.json
printf '\377\376' >binary.json
printf '[1]\n' >list.json
printf '{"passed":1}\n' >no-results.json
file "NVIDIA H200" '{"case":"per-alloc","mode":"cold","bytes":4096,"sync":1,"threads":1}' >wrong-type.json
mkdir folder

# -- compare.py --

check "two files are compared" ends 0 compare a.json b.json
cp out two
check "a file is introduced" has two "A a.json: warmpool 0.1.0, cuda backend, 2026-11-29T16:34:55Z"
check "with its GPU and driver" has two "NVIDIA H200; driver: 580.1, CUDA 13.0"
check "and its machine" has two "Linux x86_64, 16 x Processor"
check "a shorter time is faster" has two "per-alloc cold 1 MiB yes 1 91.30 us 37.88 us 2.41 x faster 99.00 us 40.00 us"
check "a longer time is slower" has two "per-alloc driver 1 MiB yes 1 6.00 us 12.00 us 0.50 x slower 6.50 us 1.0 ns"
check "equal times are the same" has two "per-alloc same 4 KiB no 1 800.0 ns 800.0 ns 1.00 x same 2.50 ms 2.50 ms"
check "what was not measured has no ratio" has two "per-alloc nothing 4 KiB no 1 - - - - -"
check "what A has alone is listed" has two "threads, malloc, 1 KiB, no sync, threads 12: 20.0 ns"
check "another case is compared" ends 0 compare release.json release.json
check "with its bytes, exactly" has out "release idle 5380 KiB no 1 28.00 ms 28.00 ms 1.00 x same 29.00 ms 29.00 ms"
check "sync is part of what is matched" has two "per-alloc, delegate, 1 MiB, no sync, threads 1: 2.00 us"
check "one machine: no warning" lacks two warning
check "two machines are compared" ends 0 compare a.json other-gpu.json
check "with a warning" has out "warning: another gpu in B than in A: the ratios mix machines"
check "a result may be there twice" ends 0 compare a.json twice.json
check "the last one counts" has out "per-alloc cold 1 MiB yes 1 91.30 us 45.65 us 2.00 x faster 99.00 us 50.00 us"
check "which is said" has out "note: results that B has more than once: 1; the last of each counts"

check "the modes of a file are compared" ends 0 compare a.json --against driver
cp out modes
tr -s " " <modes >squeezed
check "faster than the mode" has modes "per-alloc delegate 1 MiB yes 1 6.00 us 3.00 us 2.00 x faster 6.50 us 3.50 us"
check "slower than the mode" has modes "per-alloc cold 1 MiB yes 1 6.00 us 91.30 us 0.066 x slower 6.50 us 99.00 us"
check "each with its number of threads" \
  has modes "threads malloc 1 KiB no 12 40.00 us 20.0 ns 2000 x faster 41.00 us 21.0 ns"
check "the mode itself is no row" lacks squeezed "per-alloc driver"
check "all modes are compared" ends 0 compare modes.json --against lanes
for mode in delegate lanes-checked mimalloc; do
  check "$mode beside lanes" has out "threads $mode 1 KiB no 16 600.0 ns 600.0 ns 1.00 x same 650.0 ns 650.0 ns"
done
check "what has no such mode beside it is listed" has modes "per-alloc, same, 4 KiB, no sync, threads 1: 800.0 ns"

# json EXPRESSION: the object in out is JSON for which this Python expression holds.
json() { python3 -c "import json, sys; o = json.load(open('out')); sys.exit(0 if $1 else f'not so: {o}')"; }
check "two files, as JSON" ends 0 compare --json a.json b.json
check "with ratios" json "abs(o['results'][0]['ratio'] - 2.41) < 0.001 and o['results'][0]['mode'] == 'cold'"
check "with both times" json "[o['results'][1][f]['ns_median'] for f in 'ab'] == [6000, 12000]"
check "null where there is no ratio" json "o['results'][3]['ratio'] is None"
check "with what is in one only" json "len(o['only_a']) == 5 and len(o['only_b']) == 1"
check "with what the files are" json "o['b']['file'] == 'b.json' and o['a']['gpu'] == 'NVIDIA H200'"
check "modes, as JSON" ends 0 compare a.json --against driver --json
check "with ratios" json "[r['ratio'] for r in o['results'] if r['mode'] == 'delegate'] == [2]"

check "nothing in common" refuses 1 "have no result in common" compare a.json release.json
check "no results" refuses 1 "have no result in common" compare a.json empty.json
check "no such mode" refuses 1 'with mode "lanes"; its modes are: cold, delegate, driver, malloc' \
  compare a.json --against lanes
check "a missing file" refuses 2 "none.json: No such file" compare a.json none.json
check "a folder" refuses 2 "folder: Is a directory" compare folder b.json
check "no JSON" refuses 2 "broken.json: not JSON" compare broken.json b.json
check "no text" refuses 2 "binary.json: not JSON" compare a.json binary.json
check "no object" refuses 2 'list.json: no "results"' compare a.json list.json
check "no results in it" refuses 2 'no-results.json: no "results"' compare no-results.json --against driver
check "a result of the wrong shape" refuses 2 'result 1 has no "sync"' compare a.json wrong-type.json
check "no argument" refuses 2 "required: A.json" compare
check "one file alone" refuses 2 "give either two files" compare a.json
check "two files and a mode" refuses 2 "give either two files" compare a.json b.json --against driver
check "three files" refuses 2 "unrecognized arguments: c.json" compare a.json b.json c.json
check "an unknown option" refuses 2 "unrecognized arguments: --jso" compare a.json b.json --jso
check "help" ends 0 compare --help
check "has the usage" grep -q '^usage: compare.py' out

# -- plot.sh --

check "no argument to plot" refuses 2 "give RESULT.json" plot
check "too many arguments to plot" refuses 2 "give RESULT.json" plot a.json b c
check "an unknown option of plot" refuses 2 "unknown option --no" plot --no
mkdir bin
for program in sh dirname python3; do ln -s "$(command -v "$program")" "bin/$program"; done
without_gnuplot() { PATH=$work/bin "$work/bin/sh" "$bench/plot.sh" a.json; }
check "gnuplot is missing" refuses 2 "apt-get install gnuplot-nox" without_gnuplot

if command -v gnuplot >/dev/null; then
  # small FILE: an SVG image of less than 60 KB.
  small() { [ "$(wc -c <"$1")" -lt 60000 ] && python3 -c "
import sys, xml.etree.ElementTree as tree
sys.exit(tree.parse(sys.argv[1]).getroot().tag != '{http://www.w3.org/2000/svg}svg')" "$1"; }
  # texts FILE: the texts of an SVG image, one a line.
  texts() { python3 -c "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
for text in root.iter('{http://www.w3.org/2000/svg}text'): print(''.join(text.itertext()).strip())" "$1"; }
  shows() { texts "$1" >shown && has shown "$2"; }
  quiet() { [ ! -s err ] || { cat err && return 1; }; }

  check "a file is drawn" ends 0 plot a.json new/plots
  check "without a word on stderr" quiet
  check "the names are said" cmp -s out - <<'END'
new/plots/per-alloc.svg
new/plots/threads.svg
END
  where="NVIDIA H200; driver: 580.1, CUDA 13.0; 2026-11-29"
  for case in per-alloc threads; do
    check "$case.svg is a small SVG" small "new/plots/$case.svg"
    check "$case.svg says where and when" shows "new/plots/$case.svg" "$where"
    check "$case.svg has its modes" shows "new/plots/$case.svg" driver
  done
  check "per-alloc.svg has its groups" shows new/plots/per-alloc.svg "1 MiB"
  check "per-alloc.svg has its times" shows new/plots/per-alloc.svg 91.3
  check "per-alloc.svg leaves out what was not measured" lacks new/plots/per-alloc.svg nothing
  check "threads.svg has its numbers of threads" shows new/plots/threads.svg 12
  check "threads.svg has no mode of the other case" lacks new/plots/threads.svg delegate
  check "all modes are drawn" ends 0 plot modes.json all
  check "quietly" quiet
  # legend FILE: the modes are there, each once, in their order; colours FILE: each has a colour of its own.
  legend() { texts "$1" | grep -xE "$(echo "$modes" | tr ' ' '|')" | tr '\n' ' ' | grep -xF "$modes "; }
  colours() {
    python3 -B -c "
import re, sys
sys.path.insert(0, '$bench')
from plot_data import STYLES
found = re.findall(r'rgb\( *(\d+), *(\d+), *(\d+)\)', open('$1').read())
drawn = {'#%02X%02X%02X' % tuple(map(int, colour)) for colour in found}
wanted = [STYLES[mode][0] for mode in '$modes'.split()]
sys.exit(0 if len(set(wanted)) == 8 and drawn >= set(wanted) else f'{wanted} in {drawn}')"
  }
  for case in per-alloc threads; do
    check "$case.svg has a legend of all modes" legend "all/$case.svg"
    check "and a colour for each" colours "all/$case.svg"
  done
  echo "print 'mine'" >.gnuplot
  check "it is drawn again" ends 0 env HOME="$work" sh "$bench/plot.sh" a.json again
  check "without the user's settings" quiet
  check "with the same per-alloc.svg" cmp new/plots/per-alloc.svg again/per-alloc.svg
  check "with the same threads.svg" cmp new/plots/threads.svg again/threads.svg
  check "odd names are drawn" ends 0 plot names.json odd
  check "quietly" quiet
  check "and not obeyed" \
    shows odd/threads.svg "A \"B\" 'C' \`id\` \$HOME <D> & E_F^2 \\n %s; driver: 580.1, CUDA 13.0; 2026-11-29"
  check "one case alone is drawn" ends 0 plot threads.json one
  check "which is said of the other" has out "plot.sh: no per-alloc in threads.json: no per-alloc.svg"
  check "which has no file" test ! -e one/per-alloc.svg
  check "but the one has" small one/threads.svg
  (cd folder && plot ../threads.json >/dev/null 2>&1)
  check "the default is the current folder" test -s folder/threads.svg
  check "no case that is drawn" ends 1 plot release.json none
  check "says so" has err "plot.sh: nothing to draw in release.json"
  check "and makes no folder" test ! -e none
  check "nulls are not drawn" ends 1 plot null.json none
  check "a missing file is not drawn" refuses 2 "none.json: No such file" plot none.json
  check "no JSON is not drawn" refuses 2 "broken.json: not JSON" plot broken.json
  check "no results are not drawn" refuses 2 'no-results.json: no "results"' plot no-results.json
  check "a file is no folder" refuses 2 "cannot make the folder b.json" plot a.json b.json
  check "nothing is left among the scripts" test ! -e "$bench/__pycache__"
else
  echo "  gnuplot is not here: what plot.sh draws is not checked (apt-get install gnuplot-nox)"
  failed=$((failed + 1))
fi

printf 'bench-scripts: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
