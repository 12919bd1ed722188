#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks ci/pace.sh and bench/pace/pace.py: on recorded times, and on programs that answer what they are told. No time is
# judged.
# usage: sh tests/tool/pace.sh [FOLDER]: where ci/ and bench/ are (default: the repository)
# The last line is "pace: N passed, N failed"; the exit status is 0 if none failed.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 2
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"

pace() { sh "$root/ci/pace.sh" "$@"; }
measure() { python3 -B "$root/bench/pace/pace.py" "$@"; }

# -- judging --

# recorded NAME OLD NEW: a file of one case.
recorded() { printf '{"results":[{"case":"one","old_ns":[%s],"new_ns":[%s]}]}\n' "$2" "$3" >"$1.json"; }
tens=10,10,10,10,10,10,10,10,10,10
recorded same $tens $tens
# Their ratios are 0.91 to 1.00; of ten the second and the ninth are the ends of the interval.
recorded faster 100,100,100,100,100,100,100,100,100,100 100,91,99,92,98,93,97,94,96,95
recorded limit $tens 10.3,10.3,10.3,10.3,10.3,10.3,10.3,10.3,10.3,10.3
recorded slower $tens 10.4,10.4,10.4,10.4,10.4,10.4,10.4,10.4,10.4,10.4
# The machine slows down to half its speed, and the versions are alike: the medians of the times alone would be 15 and 20.
recorded drift 10,10,10,10,10,20,20,20,20,20 10,10,10,10,20,20,20,20,20,20
recorded some $tens 10.4,10.4,10.4,10.4,20,9,9,9,9,9
recorded most $tens 10.4,10.4,10.4,10.4,20,10.4,9,9,9,9
recorded uneven 10,10 10
recorded none '' ''
recorded zero 0 10
printf '{"results":[]}\n' >empty.json
printf '{"results":1}\n' >number.json
printf 'text\n' >text.json

check "equal times are no slower" ends 0 pace --judge same.json
check "with their medians, ratio, interval and number" has out "one 10.0 10.0 1.000 1.000 ... 1.000 10 no slower"
check "which is said" has out "no case is slower by more than 3%"
check "shorter times are no slower" ends 0 pace --judge faster.json
check "with an interval by order" has out "one 100.0 95.5 0.955 0.920 ... 0.990 10 faster"
check "3 % are no slower" ends 0 pace --judge limit.json
check "4 % are slower" ends 1 pace --judge slower.json
check "with the case" has out "slower by more than 3%: one"
check "pairs are judged, not medians" ends 0 pace --judge drift.json
check "half of the pairs are not enough" ends 0 pace --judge some.json
check "more than half are" ends 1 pace --judge most.json
check "a missing file" refuses 2 "nowhere.json: No such file" pace --judge nowhere.json
check "no JSON" refuses 2 "text.json: not a file of ci/pace.sh" pace --judge text.json
check "no results" refuses 2 "empty.json: no results" pace --judge empty.json
check "results that are none" refuses 2 "number.json: not a file of ci/pace.sh" pace --judge number.json
check "no times" refuses 2 'without times in "old_ns"' pace --judge none.json
check "a time of nothing" refuses 2 'without times in "old_ns"' pace --judge zero.json
check "times that are no pairs" refuses 2 "more old times than new ones" pace --judge uneven.json

# How often the interval misses the median, for all numbers of pairs: by the same coins, counted in another way.
covers() {
  python3 -B -c "
import math, sys
sys.path.insert(0, '$root/bench/pace')
from pace import interval
for n in range(6, 60):
    k = interval(list(range(1, n + 1)))[0]
    assert interval(list(range(1, n + 1))) == (k, n + 1 - k)
    miss = [2 * sum(math.comb(n, i) for i in range(j)) / 2 ** n for j in (k, k + 1)]
    assert miss[0] <= 0.05 < miss[1], (n, k, miss)"
}
check "the interval is the smallest one of 95 %" covers

# -- measuring --

# program NAME FIRST LATER: answers FIRST in the first ten starts of it that measure, and LATER after that; for the case
# "two" always 10.
program() {
  cat >"$1" <<END
#!/bin/sh
number=0
while read -r command name size; do
  case \$command in
  cases) echo "one two* " ;;
  size) echo 7 ;;
  turn)
    [ "\$size" = 7 ] || exit 1
    [ "\$number" != 0 ] || { echo >>$1.starts && number=\$(wc -l <$1.starts); }
    echo "$1 \$name" >>order
    if [ "\$name" = two ]; then echo 10; elif [ "\$number" -le 10 ]; then echo $2; else echo $3; fi ;;
  esac
done
END
  chmod +x "$1"
}
program ten 10 10
program later 11 10
program never 11 11
printf '#!/bin/sh\nexit 3\n' >dies && chmod +x dies

run() { rm -f ./*.starts order && measure --old ./ten --new "./$1" --rounds 10 --out out.json --note a=b=c; }
# json EXPRESSION: the object in out.json, or its first result, is one for which this Python expression holds.
json() { python3 -c "import json; o = json.load(open('out.json')); r = o['results'][0]; assert $1, o"; }
check "two versions alike are measured" ends 0 run ten
check "with every case" has out "two 10.0 10.0 1.000 1.000 ... 1.000 10 no slower"
check "and written down" json "[r['case'] for r in o['results']] == ['one', 'two'] and r['old_ns'] == [10] * 10 == r['new_ns']"
check "with what the caller adds" json "o['a'] == 'b=c' and o['cpu'] and o['machine'] and o['date']"
check "what was written is judged" ends 0 pace --judge out.json
check "a slow case is looked at once more" ends 0 run later
check "with more rounds, which count" json "r['ratio'] == 1 and r['rounds'] == 30 and r['first_look']['ratio'] > 1.09"
check "for that case alone" json "o['results'][1]['rounds'] == 10"
check "one that stays slow is slow" ends 1 run never
check "and said to be" has out "slower by more than 3%: one"
# In the first eight turns each is the first of a pair as often as the second.
alternates() { head -n 8 order | cut -d ' ' -f 1 | tr '\n' ' ' | grep -x "ten never never ten ten never never ten "; }
check "who begins changes" alternates
only_one() { measure --old ./ten --new ./ten --rounds 10 --only one && refute two out; }
refute() { ! grep "^$1" "$2"; }
check "one case alone" ends 0 only_one
check "a case that there is not" refuses 2 'no case "three"; there are: one, two' measure --old ./ten --new ./ten --only three
check "a program that ends" refuses 2 "has ended at the command" measure --old ./ten --new ./dies
check "a program that is not there" refuses 2 "nowhere: No such file" measure --old ./ten --new ./nowhere
check "too few rounds" refuses 2 "10 or more, not 9" measure --old ./ten --new ./ten --rounds 9
check "a file that cannot be written" ends 2 measure --old ./ten --new ./ten --only one --out nowhere/out.json
check "is named" has err "pace.py: nowhere/out.json: No such file or directory; give --out a file that can be written"

# -- usage --

check "no argument" refuses 2 "give a commit, or a folder" pace
check "a value that is missing" refuses 2 "missing after --rounds" pace HEAD --rounds
check "an unknown option" refuses 2 "no option --what" pace HEAD --what
check "an unknown preset" refuses 2 "no preset what" pace HEAD --preset what
check "rounds that are no number" refuses 2 "wants a number, not many" pace HEAD --rounds many
check "two versions" refuses 2 "not one and two" pace one two
check "a version and a file" refuses 2 "leave HEAD out" pace HEAD --judge same.json
check "a version that there is not" refuses 2 "no-such-version" pace no-such-version
check "a folder that is another" refuses 2 "folder with warmpool's sources" sh -c "cd '$root' && sh ci/pace.sh docs"
# Where there is no git at all.
without_git() {
  mkdir -p bare/ci && cp "$root/ci/pace.sh" "$root/ci/old-tree.sh" bare/ci/ && GIT_DIR=/nowhere sh bare/ci/pace.sh HEAD
}
check "a commit without git" refuses 2 "there is no git here to ask for a commit: give a folder" without_git
check "help" ends 0 pace --help
check "has the usage" grep -q '^usage: sh ci/pace.sh' out

printf 'pace: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
