#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks ci/gpu.sh on programs made here that stand for the tests: what a cut-off call leaves, how the next one goes on, and
# which record is believed. What runs at once, alone and with two devices is seen in what the programs write down.
# usage: sh tests/tool/gpu.sh [FOLDER]: the folder ci with the script (default: that of this tree)
# The last line is "gpu-script: N passed, N failed"; the exit status is 0 if none failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
ci=$(cd "${1:-$root/ci}" && pwd) || exit 2
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"
unset WARMPOOL_COMMIT WARMPOOL_HOST_DEVICES CUDA_VISIBLE_DEVICES CRITERION_PREFIX

# -- a tree with sources of tests, and programs that say what Criterion would --

mkdir -p tree/ci tree/tests/facts tree/tests/conformance tree/tests/mutants tree/fakes bin
cp "$ci"/*.sh "$ci"/*.awk tree/ci
cp "$root"/tests/mutants/*.sh "$root"/tests/mutants/*.awk tree/tests/mutants
echo "sanitizer last_close::spans it hangs" >tree/ci/skips.txt
echo "last_close::beside__declared to see one" >tree/ci/gpu-sanitizer.txt
cat >tree/tests/facts/facts.c <<'END'
Test(pool, one) { touch(); }
Test(pool, two) { touch(); }
Test(pool, three) { touch(); }
END
cat >tree/tests/conformance/suite.c <<'END'
static void fill(void) {
  size_t all = device_total(0);
}
BOTH_CONTRACTS(last_close, beside) {
  touch();
}
BOTH_CONTRACTS(last_close, fills) {
  fill();
}
Test(last_close, spans) {
  need_devices(2);
}
END
cat >tree/tests/mutants/mutants.txt <<'END'
one | * | both | one thing | last_close::beside | last_close::fills
two | * | lanes | another | last_close::spans | last_close::beside
END
# A program: its tests are in the file beside it, each with its suite. While one runs, a file in running/ has its name.
cat >tree/fakes/program <<'END'
#!/bin/sh
name=$(basename "$0")
case $* in
*--list*)
  awk -F :: '$1 != suite { suite = $1; print suite ": 9 tests" } { print "├── " $2 }' "fakes/$name.tests" && exit
  ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
  --filter) filter=$2 && shift ;;
  --json=*) json=${1#--json=} ;;
  esac
  shift
done
if [ "$name" = mutants ]; then
  sh fakes/report "$WARMPOOL_MUTANT" >"$json"
  exit
fi
test=${filter%%/*}::${filter##*/}
touch "running/$test"
echo "$test devices=$CUDA_VISIBLE_DEVICES caching=${WARMPOOL_TEST_CACHING:-none} beside=$(ls running | wc -l)" >>ran
if [ -e "slow/$test" ]; then sleep "$(cat "slow/$test")"; else sleep 0.1; fi
rm -f "running/$test"
if [ -e "fails/$test" ]; then passing=0 failing=1; else passing=1 failing=0; fi
echo "[====] Synthesis: Tested: 1 | Passing: $passing | Failing: $failing | Crashing: 0 " >&2
exit "$failing"
END
# What the mutants' program reports: the tests that notice.
cat >tree/fakes/report <<'REPORT'
for test in beside fills spans; do
  for kind in checked declared; do echo "$1 last_close ${test}__$kind"; done
done | awk '
  function status(test) { return $1 == "one" && test ~ /beside/ || $1 == "two" && test ~ /spans/ ? "FAILED" : "PASSED" }
  BEGIN { print "{\n      \"name\": \"last_close\"," }
  {
    printf "          \"name\": \"%s\",\n          \"status\": \"%s\"\n            \"it is so\"\n        }\n", $3, status($3)
  }
  END { print "}"; }'
REPORT
printf '%s\n' pool::one pool::two pool::three >tree/fakes/facts.tests
printf 'last_close::%s\n' beside__checked beside__declared fills__checked fills__declared spans >tree/fakes/conformance.tests
cp tree/fakes/conformance.tests tree/fakes/mutants.tests
cat >tree/fakes/warmpool <<'END'
#!/bin/sh
case $1 in
--help) printf 'bench CASE is\n        one of these, or all:\n          quick    is quick\n          other    is, too\n        The patterns:\n' ;;
bench) printf '{"warmpool":"1","command":"x","results":[\n{"backend":"cuda","case":"%s"},\n{"backend":"cuda","case":"%s"}]}\n' "$2" "$2" ;;
esac
END
cat >bin/cmake <<'END'
#!/bin/sh
case $* in
*--target\ help*) echo "facts: phony" ;;
*--build*) ;;
*)
  mkdir -p build/cuda-sim/tests build/cuda-sim/tools running fails slow
  echo WARMPOOL_BACKEND:STRING=cuda >build/cuda-sim/CMakeCache.txt
  for program in facts conformance mutants; do cp fakes/program build/cuda-sim/tests/$program; done
  cp fakes/warmpool build/cuda-sim/tools
  [ ! -e fakes/random ] || cp fakes/random build/cuda-sim/tests/random
  [ ! -e fakes/together ] || cp fakes/together build/cuda-sim/tests/facts_together
  chmod +x build/cuda-sim/tests/* build/cuda-sim/tools/*
  ;;
esac
END
echo 'exit 0' >bin/ninja
chmod +x bin/*
mkdir -p tree/running tree/fails tree/slow

# gpu STATUS OPTION...: a call of the script ends so; what it says is in the file out.
gpu() {
  wanted=$1 got=0
  shift
  rm -f tree/ran
  (cd tree && PATH=$work/bin:$PATH sh ci/gpu.sh --preset cuda-sim --jobs 3 --random-seconds 2 "$@") >out 2>&1 || got=$?
  [ "$got" -eq "$wanted" ] && return
  echo "status $got, not $wanted; its output:"
  cat out
  return 1
}
says() { grep -qxF -e "$1" out || { cat out && return 1; }; }
mentions() { grep -qF -e "$1" out || { cat out && return 1; }; }
ran() { [ "$(grep -c "$2" tree/ran 2>/dev/null || true)" -eq "$1" ] || { cat tree/ran && return 1; }; }
copy_record() { cp tree/build/gpu-results/record "$1"; }
not_beside() { ! grep "$1" tree/ran | grep -v ' beside=1$'; }
summary() { python3 -B -c "
import json, sys
o = json.load(open('tree/build/gpu-results/summary.json'))
sys.exit(0 if $1 else str(o))"; }

# -- whole --

check "a whole call" gpu 0 --commit one
check "its facts" says "facts: 3 passed, 0 failed, 0 skipped"
check "its conformance" says "conformance: 5 passed, 0 failed, 0 skipped"
check "its mutants" says "mutants: 8 passed, 0 failed, 0 skipped"
check "its random programs, which are not there" says "random: 0 passed, 0 failed, 1 skipped"
check "its bench" says "bench: 4 passed, 0 failed, 0 skipped"
total=$(tail -n 1 out)
check "their sum" says "total: 25 passed, 0 failed, 2 skipped"
check "each part has its commit" summary "all(p['commit'] == 'one' for p in o['parts'].values()) and len(o['parts']) == 7"
check "bench.json is all cases" python3 -B -c "
import json
assert len(json.load(open('tree/build/gpu-results/bench.json'))['results']) == 4"
check "tests see one device" ran 11 ' devices=0 '
check "but for those that need two" ran 2 '::spans devices=0,1 '
check "in either caching" ran 5 'caching=driver'
check "what fills the device is alone" not_beside fills
check "others are not" ran 0 'pool::.* beside=4'
copy_record whole
check "all of it was done" gpu 0 --commit one --resume "$work/whole"
check "and comes to the same" says "$total"
check "without a test" test ! -e tree/ran
check "another commit was not" gpu 0 --commit two --resume "$work/whole" --only facts,conformance
check "which is said" mentions "not believed"
check "and all runs" ran 8 ::
check "nor was another preset's" sh -c "sed 's/^cuda-sim/cuda/' '$work/whole' >'$work/cuda'"
check "the preset counts" gpu 0 --commit one --resume "$work/cuda" --only facts
check "and all runs" ran 3 ::
check "without a commit, the sources count" gpu 0 --only facts
check "as a checksum" mentions "commit unknown-"
copy_record sums
check "the same sources were tested" gpu 0 --only facts --resume "$work/sums"
check "and nothing runs" test ! -e tree/ran
echo "/* another */" >>tree/tests/facts/facts.c
check "others were not" gpu 0 --only facts --resume "$work/sums"
check "and all runs" ran 3 ::

# -- one device --

WARMPOOL_HOST_DEVICES=1 && export WARMPOOL_HOST_DEVICES
check "with one device" gpu 0 --commit one
check "what needs two is skipped" says "conformance: 4 passed, 0 failed, 1 skipped"
check "for that reason" says "conformance: skipped: 1: a second device is needed"
check "and so is a mutant that only they notice" says "mutants: 6 passed, 0 failed, 2 skipped"
check "without being begun" ran 0 '::spans'
copy_record single
unset WARMPOOL_HOST_DEVICES
check "a machine with two makes up for it" gpu 0 --commit one --resume "$work/single"
check "and comes to the same as one from the start" says "$total"
check "with these alone" ran 2 '::spans'

# -- failures --

touch tree/fails/pool::two
check "a failure" gpu 1 --commit one --only facts
check "is counted" says "facts: 2 passed, 1 failed, 0 skipped"
check "and named" mentions "FAIL  pool::two: exit status 1"
copy_record failed
rm tree/fails/pool::two
check "it runs again" gpu 0 --commit one --only facts --resume "$work/failed"
check "alone" ran 1 ::
check "and counts as what it is now" says "facts: 3 passed, 0 failed, 0 skipped"

# -- tests in one process --

cat >tree/fakes/together <<'END'
#!/bin/sh
echo >>together-starts
while read -r test; do
  echo "begin $test"
  [ ! -e "crashes/$test" ] || exit 139
  if [ -e "skips/$test" ]; then echo "skip $test"; else echo "pass $test 0.25"; fi
done <"$1"
END
together() {
  rm -f tree/together-starts
  gpu "$@"
}
started() { [ "$(wc -l <tree/together-starts)" -eq "$1" ]; }
mkdir tree/crashes tree/skips
check "tests that can share a process" together 0 --commit one --only facts
check "do so" says "facts: 3 tests passed in 1 processes; each of the others has its own"
check "and count" says "facts: 3 passed, 0 failed, 0 skipped"
check "without another process" test ! -e tree/ran
copy_record shared
check "and need not run again" together 0 --commit one --only facts --resume "$work/shared"
check "at all" test ! -e tree/together-starts
touch tree/crashes/pool::one tree/skips/pool::three
check "what ends the process" together 0 --commit one --only facts
check "is passed by" started 2
check "and has one of its own" ran 1 'pool::one'
check "and so has what skips" ran 1 'pool::three'
check "but nothing else" ran 2 ::
check "and all count" says "facts: 3 passed, 0 failed, 0 skipped"
touch tree/fails/pool::one
check "what fails there, too" together 1 --commit one --only facts
check "is a failure" says "facts: 2 passed, 1 failed, 0 skipped"
rm -rf tree/crashes tree/skips tree/fails/pool::one tree/fakes/together tree/build

# -- cut off --

echo 2 >tree/slow/pool::one
echo 600 >tree/slow/last_close::beside__declared
began=$(date +%s)
# On a busy machine the first units take some seconds.
check "a call that is cut off" gpu 3 --commit one --seconds 25
# However busy the machine is.
check "does not wait for what still runs" test $(($(date +%s) - began)) -le 300
check "with what is not done" says "conformance: 4 units are not done, for the time was over"
check "in the summary, too" summary "o['not_done'] > 5 and o['failed'] == 0"
check "and how to go on" mentions "--resume '$work/tree/build/gpu-results/record'"
copy_record cut
rm tree/slow/*
rm -rf tree/build
check "on a bare machine it goes on" gpu 0 --commit one --resume "$work/cut"
check "with what was not done" ran 1 'beside__declared.*caching=lanes'
check "alone" ran 0 'pool::'
check "and comes to the same as a whole call" says "$total"
cp "$work/cut" cut2
check "the longest is first" gpu 0 --commit two --resume "$work/cut2" --only facts --jobs 1
check "as it was measured" sh -c "head -n 1 tree/ran | grep '^pool::one '"

# -- random programs --

cat >tree/fakes/random <<'END'
#!/bin/sh
echo "begins $*" && sleep 1 && echo "random: 7 programs" && exit "$(cat fails/random 2>/dev/null || echo 0)"
END
check "random programs" gpu 0 --commit one --only random
check "say what they did" says "random: 7 programs"
check "and are one test" says "random: 1 passed, 0 failed, 0 skipped"
echo 1 >tree/fails/random
check "which may fail" gpu 1 --commit one --only random
check "and is not begun without the time for it" gpu 3 --commit one --only random --random-seconds 9 --seconds 9

# -- the sanitizer --

cat >bin/compute-sanitizer <<'END'
#!/bin/sh
while [ "${1#build/}" = "$1" ]; do shift; done
"$@" && echo "========= ERROR SUMMARY: $(cat fails/sanitizer 2>/dev/null || echo 0) errors"
END
chmod +x bin/compute-sanitizer
check "the sanitizer" gpu 0 --commit one --only sanitizer
check "has the tests of its list" says "sanitizer: 1 passed, 0 failed, 0 skipped"
check "or those that are chosen" gpu 0 --commit one --only sanitizer --suites .
check "but for what cannot run there" says "sanitizer: 4 passed, 0 failed, 1 skipped"
check "which is said" says "sanitizer: skipped: 1: it hangs"
echo 2 >tree/fails/sanitizer
check "an error is a failure" gpu 1 --commit one --only sanitizer
check "and shown" mentions "FAIL  last_close::beside__declared: 2 errors in 1 summaries"
echo "last_close::renamed why" >>tree/ci/gpu-sanitizer.txt
check "a test that there is not" gpu 1 --commit one --only sanitizer
check "is named" mentions "ci/gpu-sanitizer.txt: there is no last_close::renamed"
rm -f bin/compute-sanitizer
exists() {
  sed -n 's/^\([a-z_]*\)::\(.*\)__[a-z]* .*/(\1, \2)/p' "$root/ci/gpu-sanitizer.txt" >listed
  [ -s listed ] && while read -r test; do grep -qF "BOTH_CONTRACTS$test" "$root"/tests/conformance/*.c || { echo "$test" && return 1; }; done <listed
}
check "the tests of the list exist" exists

# -- how it refuses --

check "a part that there is not" gpu 2 --only what
check "a record that there is not" gpu 2 --resume "$work/none"
check "seconds that are none" gpu 2 --seconds soon
printf 'gpu-script: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
