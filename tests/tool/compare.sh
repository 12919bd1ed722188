#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks ci/compare.sh and ci/compare.py: on programs that answer what they are told, on the library beside itself, and
# beside one that counts otherwise.
# usage: sh tests/tool/compare.sh [FOLDER]: where ci/ and the sources are (default: the repository)
# The last line is "compare: N passed, N failed"; the exit status is 0 if none failed.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 2
# shellcheck source=tests/tool/lib.sh
. "$(dirname "$0")/lib.sh"

compare() { sh "$root/ci/compare.sh" "$@"; }

# -- programs that answer what they are told --

# program NAME: for the seeds that it is asked for, the lines of NAME.lines; in every second start, where there is one, of
# NAME.other. It fails where there is a NAME.wrong, and prints that.
program() {
  cat >"$1" <<END
#!/bin/sh
while [ \$# -gt 0 ]; do
  case \$1 in --seed) first=\$2 ;; --count) count=\$2 ;; --lines) lines=\$2 ;; esac
  shift
done
echo >>$1.starts
from=$1.lines
[ ! -e $1.other ] || [ \$((\$(wc -l <$1.starts) % 2)) -eq 1 ] || from=$1.other
awk -v first="\$first" -v count="\$count" '\$1 >= first && \$1 < first + count' \$from >"\$lines"
[ ! -e $1.wrong ] || { cat $1.wrong && exit 1; }
END
  chmod +x "$1"
}
program old
program new
: >none.txt
# run [OPTION...]: the answers old.lines and new.lines are compared.
run() {
  rm -f ./*.starts
  python3 -B "$root/ci/compare.py" ./old ./new --seed 1 --seeds 300 --operations 9 --expected none.txt "$@"
}
answers() { printf '%s\n' "$@"; }
answers "1 0 open wp_delegate_open WP_OK" "2 4 allocate wp_alloc WP_OK" "2 4 allocate block 1+0 512, stream 0" \
  "2 5 trim counter steals 3" "2 5 trim report 1 2" "300 2 the end wp_runtime_destroy WP_OK" >old.lines

# differs SED-SCRIPT [OPTION...]: the new library answers so, and that is a difference.
differs() {
  sed "$1" old.lines >new.lines
  shift
  ends 1 run "$@"
}
# agrees SED-SCRIPT [OPTION...]: that is none, or it is expected.
agrees() {
  sed "$1" old.lines >new.lines
  shift
  ends 0 run "$@"
}
check "the same answers are no difference" agrees ''
check "and are counted" has out "compare: seeds 1 to 300, 6 answers: no difference"
check "another status is one" differs '2s/WP_OK/WP_ERROR_LIMIT/'
check "whose kind has both" has out "DIFFERS wp_alloc: WP_OK, now WP_ERROR_LIMIT, first in 1 seeds"
check "with its seed and the old answer" has out "seed 2: old 4 allocate: wp_alloc WP_OK"
check "and the new one" has out "new 4 allocate: wp_alloc WP_ERROR_LIMIT"
check "what follows from it in the seed is not looked at" has out "compare: seeds 1 to 300, 6 answers: 1 seeds differ"
check "another place is one" differs 's/1+0/1+512/'
check "of the kind block" has out "DIFFERS block, first in 1 seeds"
check "another count is one" differs 's/steals 3/steals 4/'
check "with the counter's name" has out "DIFFERS counter steals, first in 1 seeds"
check "another report is one" differs 's/report 1 2/report 1 3/'
check "of the kind report" has out "DIFFERS report, first in 1 seeds"
check "another call is one" differs '2s/wp_alloc/wp_prime/'
check "with both" has out "DIFFERS wp_alloc, now wp_prime, first in 1 seeds"
check "another operation is one" differs '2s/ 4 / 5 /'
check "of the kind another call" has out "DIFFERS another call, first in 1 seeds"
check "an answer that is missing is one" differs '6d'
check "which is said" has out "new no answer"
check "a counter that one library alone has is none" agrees '/steals/d'
no_answer() { sed '1s/.*/1 what/' old.lines >new.lines && ends 2 run; }
check "what is no answer is refused" no_answer
check "with the line" has err "compare.sh: not an answer of a random program: 1 what"

# -- libraries that answer in more than one way --

varies() {
  cp old.lines new.other
  agrees 's/1+0/2+0/'
}
check "what agrees in some run is no difference" varies
check "and is counted" has out \
  "compare: 1 of the seeds go one way or another on either library, and the same way in some run"
never() {
  sed 's/1+0/3+0/' old.lines >new.other
  differs 's/1+0/2+0/'
}
check "what never agrees is one" never
rm new.other

# -- what is expected --

printf '%s\n' '# a remark' '' 'block | blocks lie elsewhere' 'wp_alloc: * | it has become stricter' >kinds.txt
check "a kind that is named is expected" agrees 's/1+0/1+512/' --expected kinds.txt
check "with its reason" has out "blocks lie elsewhere"
check "and counts as a difference" has out "compare: seeds 1 to 300, 6 answers: 1 seeds differ"
check "others are not" differs 's/1+0/1+512/; 6s/WP_OK/WP_ERROR_BUSY/' --expected kinds.txt
check "and named as before" has out "DIFFERS wp_runtime_destroy: WP_OK, now WP_ERROR_BUSY, first in 1 seeds"
check "a star stands for anything" agrees '2s/WP_OK/WP_ERROR_LIMIT/' --expected kinds.txt
echo block >kinds.txt
check "a kind without a reason is refused" ends 2 run --expected kinds.txt
check "with its line" has err 'compare.sh: kinds.txt:1: no "KIND | REASON"'

# -- programs that go wrong --

echo "in the end something is left" >new.wrong
check "a program that goes wrong ends it" differs ''
check "with the library" has out "the new library goes wrong:"
check "and what it said" has out "in the end something is left"

# -- the library --

check "the library answers as itself" ends 0 compare "$root" --seeds 60
check "on the stand-in, too" ends 0 compare "$root" --seeds 60 --preset cuda-sim
# A copy that counts each steal twice.
planted=$root/build/tool/planted
plant() {
  rm -rf "$planted" && mkdir -p "$planted" && cp -R "$root/src" "$root/include" "$root/cmake" "$root/tests" \
    "$root/CMakeLists.txt" "$root/CMakePresets.json" "$planted" &&
    sed -i 's/counts.steals += request->steals;/counts.steals += 2 * request->steals;/' "$planted/src/common/refill.c" &&
    ! cmp -s "$root/src/common/refill.c" "$planted/src/common/refill.c"
}
check "a copy is made that counts otherwise" plant
check "which differs" ends 1 compare "$planted" --seeds 60
check "in that" grep -q '^DIFFERS  counter steals, first in' out
in_nothing_else() { [ "$(grep -c ^DIFFERS out)" -eq 1 ]; }
check "and in nothing else" in_nothing_else
rm -rf "$planted" "$root"/build/old/planted-*

# -- usage --

check "no argument" refuses 2 "give a commit, or a folder" compare
check "a value that is missing" refuses 2 "missing after --seeds" compare HEAD --seeds
check "an unknown option" refuses 2 "no option --what" compare HEAD --what
check "an unknown preset" refuses 2 "no preset cuda;" compare HEAD --preset cuda
check "seeds that are no number" refuses 2 "want numbers above 0" compare HEAD --seeds many
check "no seeds" refuses 2 "want numbers above 0" compare HEAD --seeds 0
check "two versions" refuses 2 "not one and two" compare one two
check "a file that there is not" refuses 2 "there is no $work/nowhere" compare HEAD --expected nowhere
check "a version that there is not" refuses 2 "no-such-version" compare no-such-version
check "help" ends 0 compare --help
check "has the usage" grep -q '^usage: sh ci/compare.sh' out

printf 'compare: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
