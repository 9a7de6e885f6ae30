#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the test programs and the shell tests, and counts. `tests/run.sh --help` says how.
#
# A line `// run: NAME=VALUE ... [-- ARGUMENTS]` in a test's source (`# run:` in a shell test) is one run of it with
# that environment; a test without such a line runs once with FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy. Each run belongs to suites:
#   // run: ...        test and all
#   // run check: ...  check, test and all
#   // run test: ...   test alone, where `all` has a longer form of it
#   // run all: ...    all alone
# A line `// timeout: SECONDS` replaces the usual limit.
set -u
cd "$(dirname "$0")/.." || exit 1

usage() {
  cat <<'END'
usage: tests/run.sh [--build DIR] [--with WORD] [--suite SUITE] [--nightly] [--gpu] [--results FILE STAGE] [--list] [--help] [PATTERN]
  PATTERN      only the runs whose name (path and settings) matches this extended regular expression
  --build DIR  where the test programs are (default: build)
  --with WORD  only the C and CUDA tests whose source has the line `// WORD`
  --suite SUITE  check: the quick tests, a minute; test: all but the slowest, with samples (default); all: everything but --nightly
  --nightly    those of tests/nightly instead, one at a time: they take hours
  --gpu        only what a GPU can show: runs for other devices are left out, settings of the simulator dropped, and each program
               runs once with the same arguments. FERRY_CUDA is real unless it is set
  --results FILE STAGE  append each test's result to FILE as its program ends: STAGE, run, test, result, seconds and reason,
               separated by tabs
  --list       print the names of the runs, and run nothing
environment: TEST_JOBS (programs at a time; default 2, or 1 on one core), TEST_TIMEOUT (seconds per program; default
  300), TEST_UNDER (a command to run each program under), OMP_NUM_THREADS, NO_COLOR. Shell tests find the programs through FERRY_BUILD.
END
}

build=build
with=
gpu=
results=
stage=
pattern=
list=
nightly=
suite=test
while [ $# -gt 0 ]; do
  case $1 in
  --build)
    build=${2:?--build needs a directory}
    shift
    ;;
  --with)
    with=${2:?--with needs a word}
    shift
    ;;
  --gpu) gpu=1 ;;
  --results)
    results=${2:?--results needs a file and a stage}
    stage=${3:?--results needs a file and a stage}
    shift 2
    ;;
  --nightly) nightly=1 ;;
  --suite)
    suite=${2:-}
    case $suite in check | test | all) ;; *)
      echo "tests/run.sh: --suite takes check, test or all, not '$suite'" >&2
      exit 2
      ;;
    esac
    shift
    ;;
  --list) list=1 ;;
  --help | -h)
    usage
    exit 0
    ;;
  -*)
    echo "tests/run.sh: unknown option $1" >&2
    usage >&2
    exit 2
    ;;
  *) pattern=$1 ;;
  esac
  shift
done

red='' green='' yellow='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  red=$'\033[31m' green=$'\033[32m' yellow=$'\033[33m' plain=$'\033[0m'
fi

# ---- what there is to run: three arrays, one element per run ---------------------------------------------------------

sources=() programs=() settings=()

in_suite() { # WORD: may a run whose line says `run WORD:` (or `run:`) be run now?
  case $suite/$1 in
  check/check | test/ | test/check | test/test | all/ | all/check | all/all) return 0 ;;
  *) return 1 ;;
  esac
}

add_runs() { # SOURCE PROGRAM
  local found=0 word line
  while IFS='|' read -r word line; do
    found=1
    in_suite "$word" || continue
    case ${TEST_UNDER:+under}$line in
    under*FERRY_CUDA=off*) continue ;; # a tool for CUDA programs has nothing to look at there
    esac
    sources+=("$1") programs+=("$2") settings+=("$line")
  done < <(sed -nE 's@^(//|#) run ?(check|test|all|):[[:space:]]*(.*)$@\2|\3@p' "$1")
  if [ $found = 0 ] && in_suite ''; then
    sources+=("$1") programs+=("$2") settings+=("FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy")
  fi
}

while IFS= read -r source; do
  case $source in
  *.sh)
    [ -x "$source" ] || {
      echo "tests/run.sh: $source is not executable: chmod +x" >&2
      exit 2
    }
    if [ -z "$with" ]; then
      add_runs "$source" "$source"
    fi
    ;;
  *)
    if [ -z "$with" ] || grep -qE "^// $with" "$source"; then
      add_runs "$source" "$build/${source%.*}"
    fi
    ;;
  esac
done < <(if [ -n "$nightly" ]; then
  find tests/nightly -type f -name 'test_*.sh'
else
  find tests/core tests/grader -type f \( -name 'test_*.c' -o -name 'test_*.cu' \) 2>/dev/null
  find tests -type f -name 'test_*.sh' -not -path 'tests/nightly/*'
fi | LC_ALL=C sort)

# On a GPU a run is its program and its arguments, whatever the simulator is like; its mode is dropped, since tests take from it when
# work is done.
if [ -n "$gpu" ]; then
  export FERRY_CUDA=${FERRY_CUDA:-real}
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  declare -A seen=()
  for i in "${!sources[@]}"; do
    words=() kept='' run=${sources[i]} fits=1
    case ${sources[i]}:${settings[i]} in *.cu:* | *.sh:*) [[ ${settings[i]} == *FERRY_CUDA=real* ]] || fits= ;; esac
    read -ra words <<<"${settings[i]}"
    for word in ${words[@]+"${words[@]}"}; do
      case $word in
      FERRY_CUDA=off | FERRY_CUDA=sim) fits= ;;
      cuda:[0-9]) [ "${word#cuda:}" -lt "$gpus" ] || fits= ;;
      esac
      case $word in FERRY_SIM_MODE=* | FERRY_CUDA=real) ;; *) kept="$kept${kept:+ }$word" ;; esac
      case $word in FERRY_SIM_*) ;; *) run="$run $word" ;; esac
    done
    settings[i]=$kept
    if [ -z "$fits" ] || [ -n "${seen[$run]:-}" ]; then
      unset 'sources[i]' 'programs[i]' 'settings[i]'
    else
      seen[$run]=1
    fi
  done
fi

chosen=()
for i in "${!sources[@]}"; do
  name="${sources[i]}${settings[i]:+ [${settings[i]}]}"
  if [ -z "$pattern" ] || [[ $name =~ $pattern ]]; then
    chosen+=("$i")
    if [ -n "$list" ]; then
      echo "$name"
    fi
  fi
done
if [ -n "$list" ]; then
  exit 0
fi
if [ ${#chosen[@]} = 0 ]; then
  echo "no test${pattern:+ matches $pattern}"
  echo '0 passed, 0 failed'
  exit 1
fi

# ---- one run ---------------------------------------------------------------------------------------------------------

cores=$(env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)
jobs_at_once=${TEST_JOBS:-$((cores > 1 && !${nightly:-0} ? 2 : 1))}
# At least two threads, so that parallel code is tested as such; waiting threads sleep, so that two programs at once on
# two cores do not starve each other.
threads=$((cores / jobs_at_once))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((threads > 2 ? threads : 2))}
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export FERRY_BUILD=$build CMOCKA_MESSAGE_OUTPUT=stdout
[ -n "$gpu" ] || unset FERRY_SIM_DEVICES FERRY_SIM_MODE

work=$(mktemp -d)
export FERRY_CONV_COSTS=${FERRY_CONV_COSTS:-off} # the same algorithms on every machine, and nothing written to its caches
export XDG_DATA_HOME=$work/data # empty: data sets that the user fetched change what chapters print
declare -A run_of_pid=()
stop() {
  if [ ${#run_of_pid[@]} -gt 0 ]; then
    kill "${!run_of_pid[@]}" 2>/dev/null
    wait
  fi
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

run_one() { # INDEX: leaves its output, results and seconds in $work
  local i=$1 environment=() arguments=() limit status crash='' start=$EPOCHREALTIME word to=environment
  for word in ${settings[i]}; do
    if [ "$word" = -- ] && [ $to = environment ]; then
      to=arguments
    elif [ $to = arguments ]; then
      arguments+=("$word")
    else
      environment+=("$word")
    fi
  done
  limit=$(sed -nE 's@^(//|#) timeout:[[:space:]]*([0-9]+).*@\2@p' "${sources[i]}" | head -n 1)
  limit=${limit:-300}
  if [ "${TEST_TIMEOUT:-0}" -gt "$limit" ]; then
    limit=$TEST_TIMEOUT
  fi
  if [ -x "${programs[i]}" ]; then
    env "${environment[@]}" timeout -k 5 "$limit" ${TEST_UNDER:-} "${programs[i]}" "${arguments[@]}" >"$work/$i.out" 2>&1 </dev/null &
    local child=$!
    trap 'kill $child 2>/dev/null; exit 143' TERM
    { wait $child; } 2>/dev/null # bash announces crashes there
    status=$?
  else
    status=127
    echo "${programs[i]} is not there: was it built?" >"$work/$i.out"
  fi
  if [ $status -gt 128 ] && [ $status != 137 ]; then
    crash="crashed (SIG$(kill -l $((status - 128))))"
  fi
  awk -f .ci/build/parse-tests.awk -v status=$status -v limit="$limit" -v crash="$crash" "$work/$i.out" >"$work/$i.results"
  awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }' >"$work/$i.seconds"
}

# ---- all of them, and a line for each as it ends ---------------------------------------------------------------------

passed=0 failed=0 skipped=0
failures=()

report() { # INDEX
  local i=$1 p f s color=$green
  read -r p f s < <(awk '{ n[$1]++ } END { print n["passed"] + 0, n["failed"] + 0, n["skipped"] + 0 }' "$work/$i.results")
  if [ -n "$results" ]; then
    awk -F '\t' -v OFS='\t' -v stage="$stage" -v run="${sources[i]}${settings[i]:+ [${settings[i]}]}" -v seconds="$(cat "$work/$i.seconds")" \
      '{ print stage, run, $2, $1, seconds, $3 }' "$work/$i.results" >>"$results"
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  if [ "$f" -gt 0 ]; then
    color=$red
    failures+=("$i")
  elif [ "$s" -gt 0 ]; then
    color=$yellow
  fi
  printf '%s%-6s%s %6s s  %s%s%s\n' "$color" "$([ "$f" -gt 0 ] && echo FAILED || echo ok)" "$plain" \
    "$(cat "$work/$i.seconds")" "${sources[i]}${settings[i]:+ [${settings[i]}]}: $p passed" \
    "$([ "$f" -gt 0 ] && echo ", $f failed")" "$([ "$s" -gt 0 ] && echo ", $s skipped")"
}

reap() {
  local pid
  wait -n -p pid "${!run_of_pid[@]}"
  report "${run_of_pid[$pid]}"
  unset "run_of_pid[$pid]"
}

began=$SECONDS
for i in "${chosen[@]}"; do
  while [ ${#run_of_pid[@]} -ge "$jobs_at_once" ]; do
    reap
  done
  run_one "$i" &
  run_of_pid[$!]=$i
done
while [ ${#run_of_pid[@]} -gt 0 ]; do
  reap
done

# ---- what failed, what was skipped, and the counts -------------------------------------------------------------------

for i in "${failures[@]}"; do
  printf '\n%s---- %s%s\n' "$red" "${sources[i]}${settings[i]:+ [${settings[i]}]}" "$plain"
  awk -F '\t' '$1 == "failed" { printf "not ok %s%s\n", $2, $3 == "" ? "" : " - " $3 }' "$work/$i.results"
  echo '  its output (the last 60 lines):'
  tail -n 60 "$work/$i.out" | sed 's/^/  | /'
  echo "  again: ${settings[i]%%-- *} ${programs[i]}$(case ${settings[i]} in *'-- '*) echo " ${settings[i]#*-- }" ;; esac)"
done

if [ $skipped -gt 0 ]; then
  printf '\nskipped:\n'
  for i in "${chosen[@]}"; do
    awk -F '\t' -v source="${sources[i]}" \
      '$1 == "skipped" { printf "  %s: %s%s\n", source, $2, $3 == "" ? "" : " - " $3 }' "$work/$i.results"
  done | sort | uniq -c | sed -E 's/^ +1 +/  /; s/^ +([0-9]+) +(.*)/  \2 (\1 runs)/'
fi

printf '\n%s runs in %s s, %s at a time with %s threads each\n' "${#chosen[@]}" "$((SECONDS - began))" "$jobs_at_once" \
  "$OMP_NUM_THREADS"
echo "$passed passed, $failed failed$([ $skipped -gt 0 ] && echo ", $skipped skipped")"
[ $failed = 0 ]
