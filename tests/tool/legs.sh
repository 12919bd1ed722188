#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks ci/test.sh on legs that are made here: what runs at once, what is added up, and how it is interrupted.
# usage: sh tests/tool/legs.sh [FOLDER]: where ci/ is (default: the repository)
# The last line is "legs: N passed, N failed"; the exit status is 0 if none failed.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 2
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir ci
cp "$root/ci/test.sh" "$root/ci/lib.sh" ci/

# fake NAME COMMANDS: a leg that notes when it begins and when it ends.
# shellcheck disable=SC2016 # the leg expands it
fake() {
  printf 'set -eu\ncd "$(dirname "$0")/.."\n. ci/lib.sh\nleg %s\necho "+%s" >>notes\n%s\necho "-%s" >>notes\nfinish\n' \
    "$1" "$1" "$2" "$1" >"ci/leg-$1.sh"
}
run() { rm -f notes && sh ci/test.sh "$@"; }

fake one 'passed=2 skipped=1; say "one-part: 1 passed, 0 failed, 0 skipped"; sleep 2'
fake two 'passed=3; sleep 2'
fake three 'passed=4; sleep 1'
fake bad 'passed=1; failed=2; say "what went wrong"; finish'
fake ends 'say "it ends here"; exit 3'
echo 'echo nothing' >ci/leg-mute.sh
for name in host tool cuda-sim mutants; do fake $name 'passed=1; sleep 1'; done

check "legs are run" ends 0 run one two three
check "with a table" has out "leg passed failed skipped seconds"
check "of each leg" grep -qE '^one +2 +0 +1 +[0-9]+$' out
check "and the sum in the last line" test "$(tail -n 1 out)" = "total: 9 passed, 0 failed, 1 skipped"
check "a leg's parts are said" has out "one-part: 1 passed, 0 failed, 0 skipped"
# at_once: the most legs that ran at the same time.
at_once() { awk '/^[+]/ { if (++n > most) most = n } /^-/ { n-- } END { print most }' notes; }
check "two run at once" test "$(at_once)" = 2
check "the order is the one that was given" test "$(head -n 2 notes | sort | tr '\n' ' ')" = "+one +two "
check "one at a time" ends 0 run --jobs 1 one three
check "is one at a time" test "$(at_once)" = 1
check "three at a time" ends 0 run --jobs 3 one two three
check "are three" test "$(at_once)" = 3
check "a leg that is named twice runs once" ends 0 run three three
check "and counts once" test "$(tail -n 1 out)" = "total: 4 passed, 0 failed, 0 skipped"

check "a leg fails" ends 1 run three bad
check "with what it said" has out "what went wrong"
check "and the sum" test "$(tail -n 1 out)" = "total: 5 passed, 2 failed, 0 skipped"
check "a leg ends early" ends 1 run ends three
check "and has failed" grep -qE '^ends +0 +1 +0 ' out
check "a leg without a count has failed" ends 1 run mute three
check "and is in the sum" test "$(tail -n 1 out)" = "total: 4 passed, 1 failed, 0 skipped"

check "legs that share a build folder are run" ends 0 run --jobs 4 host tool cuda-sim mutants
# apart A B: they never ran at the same time.
apart() { awk -v a="$1" -v b="$2" '$0 == "+" a || $0 == "+" b { if (++n > 1) exit 1 } $0 == "-" a || $0 == "-" b { n-- }' notes; }
check "host and tool apart" apart host tool
check "host and mutants apart" apart host mutants
check "tool and mutants apart" apart tool mutants
check "cuda-sim and mutants apart" apart cuda-sim mutants
check "others beside them" test "$(at_once)" = 2

# -- interrupted: everything that a leg has started ends, in whatever process group it is --

fake long 'passed=1; timeout 600 sleep 501 & sleep 502'
sleepers() { cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0\n' '  ' | grep -cE "sleep 50[12]"; }
interrupted() { # SIGNAL STATUS
  # A job of a script ignores an interrupt, and so would what it runs.
  python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp("sh", sys.argv[1:])' \
    sh ci/test.sh long one >out 2>&1 &
  main=$! tries=0
  while [ "$(sleepers)" -eq 0 ] && [ "$tries" -lt 20 ]; do sleep 1 && tries=$((tries + 1)); done
  [ "$tries" -lt 20 ] && kill -"$1" "$main" || return 1
  status=0
  wait "$main" || status=$?
  cat out
  [ "$status" -eq "$2" ] && [ "$(sleepers)" -eq 0 ]
}
check "an interrupt ends all" interrupted INT 130
check "an end that is asked for, too" interrupted TERM 143

# -- usage --

check "a leg that there is not" refuses 2 "no leg four; there are: bad cuda-sim ends" run four
check "no number of jobs" refuses 2 "--jobs wants a number" run --jobs
check "no jobs" refuses 2 "at once, not 0" run --jobs 0

# -- packages that are missing are installed by one leg at a time --

mkdir bin
cat >bin/apt-get <<'END'
#!/bin/sh
case $* in *install*) ;; *) exit 0 ;; esac
mkdir lock || { echo "two at once" >>clash && exit 1; }
sleep 1
echo "$*" >>installed
echo >bin/thing && chmod +x bin/thing
rmdir lock
END
printf '#!/bin/sh\necho 0\n' >bin/id
chmod +x bin/apt-get bin/id
# shellcheck disable=SC2016 # the leg expands it
for name in first second; do fake $name 'PATH=$PWD/bin:$PATH; need thing:package; passed=1'; done
check "two legs want the same package" ends 0 run first second
check "one of them installs it" test "$(wc -l <installed)" = 1
check "while the other one waits" test ! -e clash

printf 'legs: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
