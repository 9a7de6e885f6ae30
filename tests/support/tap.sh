# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Results of tests in bash as TAP: sourced by them. `result` counts in `count` and `failed`; `finish` ends the test. Where a test
# sets `reads_with_python`, a result that python3 was missing for is a skip.
count=0 failed=0 reads_with_python=

skip_all() { # WHY
  echo "ok 1 - $(basename "$0") # SKIP $1"
  echo 1..1
  exit 0
}

result() { # STATUS NAME [WHY]
  count=$((count + 1))
  if [ "$1" = 0 ]; then
    echo "ok $count - $2"
  elif [ -n "$reads_with_python" ] && [[ ${3:-} == *'python3: command not found'* ]]; then
    echo "ok $count - $2 # SKIP python3, which reads the files of results here, is not installed"
  else
    echo "not ok $count - $2 - ${3:-}"
    failed=$((failed + 1))
  fi
}

skip() { # NAME WHY
  count=$((count + 1))
  echo "ok $count - $1 # SKIP $2"
}

# Samples. Where a test sets `sample`, in_sample says whether the item NAME is tried today. A seventh is drawn by name and day, so that
# seven days in a row try every item, whatever changes. One in twelve is drawn by the item's state, which standard input and $sampled_code
# give: a change there draws others at once. FERRY_TEST_DAY=N repeats the sample of day N. The number of the others is in $left_out.
sample='' sampled_code='' left_out=0
sample_day=${FERRY_TEST_DAY:-$(($(date +%s) / 86400))}
in_sample() { # NAME
  local name state
  [ -z "$sample" ] && return 0
  name=$(cksum <<<"$1")
  [ $(((${name%% *} + sample_day) % 7)) = 0 ] && return 0
  state=$({ echo "$1 $sampled_code" && cat; } | cksum)
  [ $((${state%% *} % 12)) = 0 ] && return 0
  left_out=$((left_out + 1))
  return 1
}

# What verdicts and findings depend on besides the item: the simulator with cu2cpp, the inspector, the grader.
code_state() {
  find core/sim core/inspect tests/grader -name '*.[ch]' -o -name '*.cu' | LC_ALL=C sort | xargs cat | cksum
}

sample_note() { # WHAT, HOW TO TRY ALL
  [ -z "$sample" ] || skip "$left_out $1" "the sample of day $sample_day leaves them out (FERRY_TEST_DAY=$sample_day repeats it); all: $2"
}

says() { # NAME STATUS TEXT COMMAND...: the command ends with that status and its output has that text
  local name=$1 status=$2 text=$3 output ended
  shift 3
  output=$("$@" 2>&1)
  ended=$?
  [ $ended = "$status" ] && [[ $output == *"$text"* ]]
  result $? "$name" "status $ended, said: $(head -c 300 <<<"$output" | tr '\n' ' ')"
}

finish() {
  echo "1..$count"
  [ $failed = 0 ]
}
