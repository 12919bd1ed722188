# shellcheck shell=sh disable=SC2034,SC2154 # ci/gpu.sh sources this, and sets what is read here
# SPDX-License-Identifier: Apache-2.0
# How ci/gpu.sh runs a part: in units, of which as many run at once as there is room for, the longest first. What came of
# each is a line of the record, written when it ends, so that a call which is cut off loses what ran at that moment only:
#
#   PRESET COMMIT PART UNIT PASSED FAILED SKIPPED SECONDS
#
# The last line of a unit counts. With "-" for the unit: how long the part took on the clock, in each call.
#
# A part NAME has plan_NAME, which prints its units, a line "MODE SECONDS UNIT [WORD...]" for each, with what it is
# likely to take; unit_NAME UNIT WORDS SLOT, which runs one, sets p, f and s, and prints what is to be seen of it; and,
# if it likes, first_NAME, which may note units before the others run, and after_NAME. MODE is
#   beside     others may run at the same time;
#   alone      it needs the device for itself;
#   two, two-alone   the same, for what needs a second device;
#   skip, fail       nothing runs: the words say why.

# limited SECONDS COMMAND...: so that nothing hangs for ever, and nothing outlives this call.
limited() {
  limit=$1
  [ "$limit" -le "$(left)" ] || limit=$(left)
  [ "$limit" -gt 0 ] || limit=1
  shift
  timeout -k 5 "$limit" "$@"
}

function_of() { say "$1" | tr - _; }

# note UNIT PASSED FAILED SKIPPED SECONDS: one write, which others do not break up.
note() { printf '%s\n' "$preset $commit $part $*" >>"$record"; }

# durations_of RECORD: of any commit, with which the longest units are found.
durations_of() { awk 'NF == 8 && $4 != "-" && $6 == 0 { print $1, $3, $4, $8 }' "$1"; }

# believe FILE: takes over what a record has of this commit.
believe() {
  awk -v commit="$commit" 'NF == 8 && $2 == commit' "$1" >"$work/believed"
  others=$(grep -vc '^#' "$1" || true)
  others=$((others - $(wc -l <"$work/believed")))
  [ "$others" -eq 0 ] || say "gpu: $others lines of $1 are of another commit than $commit, and not believed"
}

# state_of PLAN: the plan's lines with what is known of each in front: todo, done or skip, and the better of the
# durations that there are. A unit that failed is to do.
state_of() {
  awk -v preset="$preset" -v part="$part" -v has_two="$has_two" -v durations="$work/durations" '
    FILENAME == durations {
      if ($2 == part && ($1 == preset || !(preset SUBSEP $3 in known))) { seconds[$3] = $4; known[$1, $3] = 1 }
      next
    }
    FILENAME == ARGV[2] {
      if ($1 == preset && $3 == part) { is_done[$4] = $6 == 0; ran[$4] = 1 }
      next
    }
    {
      if ($1 ~ /^two/ && has_two == "no") $0 = "skip 0 " $3 " a second device is needed"
      if ($3 in seconds && $1 != "skip") $2 = seconds[$3]
      print ($1 == "skip" ? "skip" : $1 == "fail" ? "fail" : is_done[$3] ? "done" : "todo"), $0
    }' "$work/durations" "$record" "$1"
}

# work_off QUEUE SLOT: takes units of the queue until there are none, or no time. Who makes the file has the unit.
work_off() {
  number=0
  while read -r mode likely unit words; do
    number=$((number + 1))
    set -C
    if ! true 2>/dev/null >"$1.$number"; then
      set +C
      continue
    fi
    set +C
    [ "$likely" -le "$(left)" ] || continue # one that is shorter may still come to its end
    begun=$(date +%s) p=0 f=0 s=0
    "unit_$function" "$unit" "$words" "$2" </dev/null >"$1.$number" 2>&1
    # What fails when the time is over was stopped, and is to run again.
    if [ "$f" -gt 0 ] && [ "$(left)" -le 0 ]; then continue; fi
    note "$unit" "$p" "$f" "$s" $(($(date +%s) - begun))
    [ ! -s "$1.$number" ] || printf '%s\n' "$(cat "$1.$number")"
  done <"$1"
}

# phase MODE WORKERS: the units of this mode, from the longest to the shortest.
phase() {
  queue=$work/$part.$1
  sed -n "s/^todo \($1 \)/\1/p" "$work/$part.states" | sort -s -k 2,2rn >"$queue"
  [ -s "$queue" ] || return 0
  case $1 in two*) see_devices 2 ;; *) see_devices 1 ;; esac
  slot=0 workers=''
  while [ "$slot" -lt "$2" ]; do
    work_off "$queue" "$slot" &
    workers="$workers $!"
    slot=$((slot + 1))
  done
  for worker in $workers; do wait "$worker" || true; done
  workers=''
}

# count_part: passed, failed, skipped and undone of the whole part, in this call and in earlier ones.
count_part() {
  awk -v preset="$preset" -v part="$part" '
    FILENAME == ARGV[1] {
      if ($1 != preset || $3 != part) next
      if ($4 == "-") { wall += $8; next }
      p[$4] = $5; f[$4] = $6; s[$4] = $7
      next
    }
    $1 == "skip" { skipped++; next }
    $1 == "fail" { failed++; next }
    !($4 in p) { undone++; next }
    { passed += p[$4]; failed += f[$4]; skipped += s[$4] }
    END { print passed + 0, failed + 0, skipped + 0, undone + 0, wall + 0 }' "$record" "$work/$part.states"
}

run_part() {
  part=$1 function=$(function_of "$1") part_started=$(date +%s)
  say "gpu: $part"
  "plan_$function" >"$work/$part.plan"
  # What is known was judged when it ran; what failed then is not counted before it has run again.
  state_of "$work/$part.plan" >"$work/$part.states"
  awk -v preset="$preset" -v part="$part" '
    FILENAME == ARGV[1] { if ($1 == "todo") again[$4] = 1; next }
    !($1 == preset && $3 == part && ($4 in again))' "$work/$part.states" "$record" >"$work/record"
  cat "$work/record" >"$record"
  earlier=$(grep -c '^done ' "$work/$part.states" || true)
  [ "$earlier" -eq 0 ] || say "$part: $earlier units were done in an earlier call"
  sed -n 's/^fail fail [^ ]* [^ ]* /  FAIL  /p' "$work/$part.states"
  if command -v "first_$function" >/dev/null; then
    "first_$function"
    state_of "$work/$part.plan" >"$work/$part.states"
  fi
  phase beside "$jobs"
  phase alone 1
  phase two "$jobs"
  phase two-alone 1
  note - 0 0 0 $(($(date +%s) - part_started))
  if command -v "after_$function" >/dev/null; then "after_$function"; fi
  sed -n 's/^skip skip [^ ]* [^ ]* //p' "$work/$part.states" | sort | uniq -c |
    while read -r count why; do say "$part: skipped: $count: $why"; done
  counts=$(count_part)
  say "$part $counts" >>"$work/counts"
  read -r p f s undone wall <<END
$counts
END
  [ "$undone" -eq 0 ] || say "$part: $undone units are not done, for the time was over"
  say "$part: $p passed, $f failed, $s skipped"
}
