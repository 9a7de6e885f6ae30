#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests of the tests. For every exercise: the stub scores 0, the solution and every right_* score 100 %, every wrong_* less,
# with its mistake's name in the report, and so do an empty function and a constant. And docs/dev/exercise_tests.md is the
# table of all of that.
#
# usage: tests/grader/test_exercises.sh [--sample | --solutions] [--times N] [PATTERN] | --all-of-them | --write
#   PATTERN         the answers to the exercises whose id matches this extended regular expression (without one: to all)
#   --sample        the solutions, and a fifth of all other answers: others each day and after each change (tests/support/tap.sh). So
#                   `make test` runs it
#   --solutions     the stubs and the solutions alone
#   --times N       each answer is built once and judged N times, with other inputs: is each verdict what it has to be, and does
#                   no other name stand before a wrong answer's own? (Which tests fail first hangs on the inputs.)
#   --all-of-them   what is asked of the exercises together: enough answers, the table
#   --write         writes the table, and checks nothing
# One run for some exercises each, so that none lasts long on a slow machine:
# run check: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --solutions ^(03_1|20_1)_
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^0[1-4]
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^0[56]
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^07
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^(0[89]|1[01])
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^1[2-9]
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^20
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^2[12]
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^23
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^24
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^2[56]
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^27
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^(28|29|30)
# run test: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --sample ^3[1-9]
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^0[1-4]
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^0[56]
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^07
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^(0[89]|1[01])
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^1[2-9]
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^20
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^2[12]
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^23
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^24
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^2[56]
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^27
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^(28|29|30)
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- ^3[1-9]
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 -- --all-of-them
# timeout: 600
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
what=answers
pattern=
often=
solutions=
case ${1:-} in
--sample)
  sample=yes
  sampled_code=$(code_state)
  shift
  ;;
--solutions)
  solutions=yes
  shift
  ;;
esac
if [ "${1:-}" = --times ]; then
  often="--times ${2:?--times needs a number}"
  shift 2
fi
case ${1:-} in
--write | --all-of-them) what=${1#--} ;;
*) pattern=${1:-} ;;
esac
export FERRY_WORK=$work/none FERRY_SIM_DEVICES=${FERRY_SIM_DEVICES:-2}
jobs_at_once=${TEST_JOBS:-2}

# Definitions for the prototypes in an answer.h of what the exercise asks for: with an empty body (every result 0), or with a
# constant for a result.
generic() { # empty|constant HEADER FUNCTIONS
  echo '#include "ferry.h"'
  awk -v what="$1" -v functions="$3" '
    /^ *\/\/|^#/ { next }
    { sub(/ *\/\/.*/, ""); text = text " " $0 }
    END {
      n = split(text, parts, ";")
      for (i = 1; i < n; i++) {
        part = parts[i]
        if (part !~ /\(/ || part ~ /typedef|struct|enum/) continue
        type = name = part
        sub(/ *\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        if (index(functions, "\"" name "\"") == 0) continue
        sub(/[A-Za-z_0-9]+ *\(.*/, "", type)
        gsub(/^ +| +$/, "", type)
        value = "0"
        if (type == "void") value = ""
        else if (what == "constant" && type ~ /FyTensor *\*/) value = "fy_ones(fy_shape(3, 3))"
        else if (what == "constant" && type !~ /\*|^Fy/) value = "1"
        else if (type ~ /^Fy/ && type !~ /\*/) value = "(" type "){0}"
        printf "%s {\n  return %s;\n}\n", part, value
      }
    }' "$2"
}

is_open() { # EXERCISE: "make it faster"
  grep -q '^ *\.open = true' "tests/hidden/$1/check.c"
}

# A right answer to a performance challenge says in its first line how many stars it has, "// stars: 2"; the solution takes the reference's time.
wrong_score() { # EXERCISE FILE REPORT
  local wanted got
  wanted=$(sed -n '1s@^// stars: @@p' "$2")
  got=$(sed -n 's@^  stars: \(\**\).*@\1@p' "$3" | sort -u)
  if [[ $2 == solutions/* ]]; then
    tr -s ' \n' ' ' <"$3" | grep -q ' 1\.00 times as fast as the reference' ||
      echo "the reference has another time than check.c says: $(grep -A 2 'modeled, not measured' "$3" | tr '\n' ' ')"
  elif [ "${#got}" != "$wanted" ]; then
    echo "${#got} stars, and its first line says ${wanted:-nothing}: $(grep -A 2 'modeled, not measured' "$3" | tr '\n' ' ')"
  fi
}

# The mistakes that a report names, as facts or as likely.
names_in() { # REPORT
  sed -nE 's@^  (mistake|this looks like): @@p' "$1"
}

# A right answer may say in its first line which star it does not have, "// missing star: MISTAKE".
wrong_star() { # FILE REPORT
  local missing
  missing=$(sed -n '1s@^// missing star: @@p' "$1")
  [ -z "$missing" ] || tr -s ' \n' ' ' <"$2" | grep -qF "☆" ||
    echo "it has all its stars, and its first line says that one is missing"
  [ -z "$missing" ] || tr -s ' \n' ' ' <"$2" | grep -qF " $missing: " ||
    echo "the report does not say why a star is missing: \"$missing\"; but: $(grep -A 3 '☆' "$2" | tr -s ' \n' ' ')"
}

# A name that is not the answer's mistake may not stand before it, unless a line "// also: NAME" below the first says that it makes that
# one, too.
wrong_name() { # FILE MISTAKE REPORT
  local before
  before=$(names_in "$3" | awk -v mistake="$2" '$0 == mistake { exit } { print }' |
    grep -vxF "$(sed -n 's@^// also: @@p' "$1")" | sort -u | tr '\n' ';')
  [ -z "$before" ] || echo "before \"$2\" the report names: $before"
}

# Up to the first test that fails, and no further where that has the mistake's name (or there is none to be had): most of the work
# on wrong answers would be spent on the tests after it.
run_up_to() { # EXERCISE FILE REPORT MISTAKE
  if [ -n "$often" ]; then
    "$ferry" run "$1" --file "$2" --all $often >"$3" 2>&1
    return
  fi
  "$ferry" run "$1" --file "$2" --first >"$3" 2>&1
  if [ -n "$4" ] && ! names_in "$3" | grep -qxF "$4"; then
    "$ferry" run "$1" --file "$2" --all >"$3" 2>&1
  fi
}

# What is wrong about a report, or nothing.
why_not() { # EXERCISE FILE KIND MISTAKE REPORT
  local exercise=$1 file=$2 kind=$3 mistake=$4 report=$5 output passed all why=''
  read -r passed all < <(sed -nE 's/^(✓ )?([0-9]+) of ([0-9]+) tests passed.*/\2 \3 0/p; s/^✗ ([0-9]+) of ([0-9]+) tests fail.*/0 \2 \1/p' "$report" |
    awk '{ passed += $3 ? $2 - $3 : $1; all += $2 } END { if (NR) print passed, all }')
  if [ -z "${passed:-}" ] && grep -q '^✗ compile error' "$report"; then
    passed=0 all=1
  fi
  output="${passed:-?} of ${all:-?} tests"
  if [ -z "${passed:-}" ] && [ "$kind" != refused ]; then # as after a fault of the check's own
    printf 'no verdict: %s' "$(tail -n 4 "$report" | tr '\n' ' ')"
    return
  fi
  case $kind in
  stub)
    if is_open "$exercise"; then # right, and slow: the time that ratios are of is what it takes
      if [ "${passed:-1}" = "${all:-1}" ]; then
        why='the stub passes'
      elif ! tr -s ' \n' ' ' <"$report" | grep -q ' 1\.00 times as fast as the original file'; then
        why="the original file has a different time than check.c states: $(grep -A 1 'modeled, not measured' "$report" | tr '\n' ' ')"
      fi
    elif [ "${passed:-1}" != 0 ]; then
      why="the stub scores $output: $(sed -n 's/^  ok  *//p' "$report" | tr '\n' ',')"
    elif grep -q '^✗ compile error' "$report"; then
      why='the stub does not compile'
    fi
    ;;
  right)
    if [ "${passed:-0}" != "${all:-1}" ]; then
      why="$output; $(grep -m 1 -A 3 '^  [a-z ]*  *[a-z]' <(grep -v '^  ok' "$report") | tr '\n' ' ' | head -c 400)"
    elif is_open "$exercise"; then
      why=$(wrong_score "$exercise" "$file" "$report")
    else
      why=$(wrong_star "$file" "$report")
    fi
    ;;
  refused)
    if ! tr -s " \n" " " <"$report" | grep -qF "$mistake"; then
      why="the compiler does not say \"$mistake\" ($output)"
    fi
    ;;
  wrong)
    if [ "${passed:-1}" = "${all:-1}" ]; then
      why='it passes'
    elif grep -q '^✗ compile error' "$report"; then
      why='it does not compile'
    elif [ -z "$mistake" ]; then
      why='its first line is not "// mistake: NAME"'
    elif ! names_in "$report" | grep -qxF "$mistake"; then
      why="the report does not name \"$mistake\" ($output), but: $(names_in "$report" | sort -u | tr '\n' ';')"
    elif [ -n "$often" ]; then
      why=$(wrong_name "$file" "$mistake" "$report")
    fi
    ;;
  host) # in whichever words the exercise has for it
    if [ "${passed:-1}" = "${all:-1}" ]; then
      why='it passes'
    elif ! names_in "$report" | grep -qE '^((computed|finished) on the host|data not copied with cudaMemcpy)$'; then
      why="the report does not name it ($output): $(names_in "$report" | tr '\n' ';') $(grep -m 1 'error' "$report")"
    fi
    ;;
  generic)
    if [ "${passed:-1}" = "${all:-1}" ]; then
      why='it passes'
    elif grep -q '^✗ compile error' "$report"; then
      why="it does not compile: $(sed -n '3,6p' "$report" | tr '\n' ' ')"
    fi
    ;;
  esac
  printf '%s' "$why"
}

# The reports of one that was judged several times, each in a file of its own.
parts_of() { # REPORT
  if grep -qE '^run [0-9]+ of [0-9]+, ' "$1"; then
    awk -v report="$1" '/^run [0-9]+ of [0-9]+, / { part = report "." $2 } part { print >part }' "$1"
    ls -v "$1".*
  else
    echo "$1"
  fi
}

judge() { # EXERCISE FILE KIND [MISTAKE]: one line, "STATUS<tab>NAME<tab>WHY"
  local exercise=$1 file=$2 kind=$3 mistake=${4:-} why='' report part
  report=$(mktemp -p "$work")
  case $kind/$file in
  wrong/* | generic/*) run_up_to "$exercise" "$file" "$report" "$mistake" ;;
  stub/* | right/solutions/*) "$ferry" run "$exercise" --file "$file" --all --devices 1,2,4 $often >"$report" 2>&1 ;;
  refused/*) "$ferry" run "$exercise" --file "$file" --all >"$report" 2>&1 ;; # the compiler says it once
  *) "$ferry" run "$exercise" --file "$file" --all $often >"$report" 2>&1 ;;
  esac
  for part in $(parts_of "$report"); do
    why=$(why_not "$exercise" "$file" "$kind" "$mistake" "$part")
    if [ -n "$why" ]; then
      [ "$part" = "$report" ] || why="run ${part##*.}: $why"
      break
    fi
  done
  rm -f "$report" "$report".*
  printf '%s\t%s\t%s\n' "$([ -z "$why" ] && echo 0 || echo 1)" \
    "$exercise: $kind $(basename "$file")" "$why"
}

# For a kernel: functions that do nothing; a kernel that does nothing; a loop on the CPU, and a kernel beside it for the count.
generic_kernel() { # empty|idle HEADER; alibi WRONG_CPU
  case $1 in
  empty | idle)
    echo '#include <cuda_runtime.h>'
    echo '__global__ void idle(void) {'
    echo '}'
    sed '/^#\|^ *\/\//d' "$2" | tr '\n' ' ' | grep -oE 'extern "C" void [a-z_]+_on_device\([^)]*\)' |
      sed "s|\$| { $([ "$1" = idle ] && echo 'idle<<<1, 32>>>();') }|"
    ;;
  alibi)
    awk '/^extern "C"/ && !found { print "__global__ void alibi(void) {\n}\n"; found = 1 }
      { print }
      /\) \{$/ && found == 1 { print "  alibi<<<1, 1>>>();"; found = 2 }' "$2"
    ;;
  esac
}

# ---- all of them, some at a time -------------------------------------------------------------------------------------------

later() { # judge's arguments
  while [ "$(jobs -rp | wc -l)" -ge "$jobs_at_once" ]; do
    wait -n
  done
  number=$((number + 1))
  judge "$@" >"$work/verdict.$number" &
}

mistake_of() { # FILE: the name in its first line
  sed -nE '1s@^// mistake: (.*[^ ]) *$@\1@p' "$1"
}

number=1000
matching() { # PATTERN: the exercises whose id matches
  "$ferry" list --ids | sort | grep -E -- "$1"
}
judge_answers() { # EXERCISE
  local exercise=$1 hidden solution file what
  hidden=tests/hidden/$exercise
  solution=$(ls solutions/"$exercise".* 2>/dev/null | head -n 1)
  later "$exercise" "$solution" right
  if [ -n "$solutions" ] || in_sample "$exercise stub" <"$hidden/check.c"; then
    later "$exercise" "exercises/$(basename "$solution")" stub
  fi
  [ -z "$solutions" ] || return 0
  for file in "$hidden"/right_*; do
    in_sample "$file" < <(cat "$hidden/check.c" "$file") && later "$exercise" "$file" right
  done
  for file in "$hidden"/wrong_*; do
    in_sample "$file" < <(cat "$hidden/check.c" "$file") && later "$exercise" "$file" wrong "$(mistake_of "$file")"
  done
  for file in "$hidden"/refused_*; do # by nvcc, and so by the simulator; its first line is what is said then
    [ -e "$file" ] && in_sample "$file" <"$file" && later "$exercise" "$file" refused "$(sed -n '1s@^// compile error: @@p' "$file")"
  done
  in_sample "$exercise generic" <"$hidden/check.c" || return 0
  if [ -e "$hidden/answer.h" ] && [ "${solution##*.}" = c ]; then
    for what in empty constant; do
      generic $what "$hidden/answer.h" "$(sed -nE 's/^ *\.functions = //p' "$hidden/check.c")" >"$work/$exercise.$what.c"
      later "$exercise" "$work/$exercise.$what.c" generic
    done
  fi
  if [ "${solution##*.}" = cu ]; then
    for what in empty idle; do
      generic_kernel $what "$hidden/answer.h" >"$work/$exercise.$what.cu"
      later "$exercise" "$work/$exercise.$what.cu" generic
    done
    generic_kernel alibi "$hidden/wrong_cpu.cu" >"$work/$exercise.alibi.cu"
    later "$exercise" "$work/$exercise.alibi.cu" host
  fi
}

if [ "$what" = answers ]; then
  exercises=$(matching "$pattern")
  [ -n "$exercises" ]
  result $? "there are exercises that match '$pattern'" "\`./ferry list\` shows all"
  for exercise in $exercises; do
    judge_answers "$exercise"
  done
  wait
  while IFS=$'\t' read -r status name why; do
    result "$status" "$name" "$why"
  done < <(cat "$work"/verdict.* 2>/dev/null)
  sample_note answers "tests/grader/test_exercises.sh '$pattern'"
fi

# ---- how many there are, and the table -------------------------------------------------------------------------------------

table() {
  cat <<'END'
# How the exercises' tests were tested

Each exercise has hidden tests. They must accept every correct answer, reject every wrong answer, and name the mistake. To check
this, we run them against many answers:

| answers | required result |
| --- | --- |
| the stub (the file that a learner starts with) | a score of 0 |
| the solution and other right answers | 100 % |
| wrong answers, each with a typical misconception | at least one failed test, and a report that names the mistake |
| functions that do nothing or return a constant (not in the table) | at least one failed test |
| in kernel exercises: kernels that do nothing, and a loop on the host instead of a kernel (not in the table) | at least one failed test |

`tests/grader/test_exercises.sh` runs all answers, and `--write` creates this page. `make test` judges all solutions, and each day
a different fifth of the other answers.

The answers run on two simulated devices, which is the default of `./ferry`, or on as many devices as a test needs. Solutions and
stubs also run on one and on four devices. The tests find a mistake with a * only if there are several devices. On a machine with
one real GPU they do not find it, and the report says that tests were skipped.

| exercise | lesson | kind | tests | right answers | wrong answers, by the mistake that is named |
| --- | --- | --- | --- | --- | --- |
END
  local exercise title
  for exercise in $("$ferry" list --ids | sort); do
    title=$(sed -nE 's/^ *\.title = "(.*)",$/\1/p' "tests/hidden/$exercise/check.c")
    printf '| `%s` %s | %s | %s | %s | %s | %s |\n' "$exercise" "$title" \
      "$(sed -nE 's/^ *\.chapter = ([0-9]+),$/\1/p' "tests/hidden/$exercise/check.c")" \
      "$(sed -nE 's/^ *\.kind = "(.*)",$/\1/p' "tests/hidden/$exercise/check.c")" \
      "$(tests_of "$exercise")" \
      "$((1 + $(find "tests/hidden/$exercise" -name 'right_*' | wc -l)))" \
      "$(awk 'FNR == 1 { if (mistake) print mistake; sub(/^\/\/ mistake: /, ""); mistake = $0 }
          FNR == 2 && /^\/\/ devices: / { mistake = mistake " \\*" }
          END { print mistake }' "tests/hidden/$exercise"/wrong_* | sort | uniq -c |
        sed -E 's/^ +1 (.*)/\1/; s/^ +([0-9]+) (.*)/\2 (\1)/' | paste -sd ';' | sed 's/;/; /g')"
  done
  cat <<'END'

## Mutation tests

Could an answer be wrong in a way that nobody wrote down? `make mutants` changes one line of a solution or of another right answer,
and runs the hidden tests on the result, which is a *mutant* (`tests/mutants/README.md`). There are three outcomes:

| outcome | meaning |
| --- | --- |
| killed | At least one test fails, or the mutant crashes, hangs or exceeds a limit. |
| survived | All tests pass. |
| equivalent | All tests pass, and the mutant is still correct. Either `tests/mutants/equivalent.txt` states the reason, or the compiler generates the same code. |

The score is killed / (killed + survived). The table shows a random sample of all possible mutants:

| exercise | killed | survived | equivalent | score |
| --- | --- | --- | --- | --- |
END
  awk '/^[0-9]/ {
      printf "| `%s` | %d | %d | %d | %.0f %% |\n", $1, $2, $3, $4, 100 * $2 / ($2 + $3)
      killed += $2; survived += $3; equivalent += $4
    }
    END { printf "| all | %d | %d | %d | %.1f %% |\n", killed, survived, equivalent, 100 * killed / (killed + survived) }' \
    tests/mutants/scores.txt
}

if [ "$what" = write ]; then
  table >docs/dev/exercise_tests.md
  python3 tests/grader/exercise_index.py >docs/exercises.md
fi
if [ "$what" = all-of-them ]; then
  runs=$(sed -nE 's/^# run test: .* -- --sample (\^.*)/\1/p' "$0" | paste -sd '|')
  left_out=$(matching . | grep -vE -- "$runs" | paste -sd ' ')
  [ -z "$left_out" ]
  result $? 'each exercise is in one of the runs at the top of this file' "$left_out"
  for exercise in $(matching .); do
    wrong=$(find "tests/hidden/$exercise" -name 'wrong_*' | wc -l)
    right=$(find "tests/hidden/$exercise" -name 'right_*' | wc -l)
    tr -s '\n ' ' ' <"tests/hidden/$exercise/check.c" | grep -qE '\.after_pass = ("[^"]*" )*"[^"]*[.]",' ||
      result 1 "$exercise: a sentence after a pass" 'no .after_pass in its check.c, or it does not end with a period'
    if [ "$wrong" -lt 6 ] || [ "$right" -lt 1 ]; then
      result 1 "$exercise: enough answers" "$right other right answers and $wrong wrong ones; 1 and 6 at least"
    fi
  done
  table | diff docs/dev/exercise_tests.md - >"$work/difference"
  result $? 'docs/dev/exercise_tests.md is the table' "tests/grader/test_exercises.sh --write makes it: $(head -n 4 "$work/difference" | tr '\n' ' ')"
  python3 tests/grader/exercise_index.py | diff docs/exercises.md - >"$work/difference"
  result $? 'docs/exercises.md has all exercises' "tests/grader/test_exercises.sh --write makes it: $(head -n 4 "$work/difference" | tr '\n' ' ')"
  "$ferry" cut --check >/dev/null 2>"$work/cut"
  result $? 'exercises/ is cut from solutions/' "./ferry cut makes it: $(head -n 2 "$work/cut" | tr '\n' ' ')"
fi
finish
