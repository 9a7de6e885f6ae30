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

# Where a test sets `sample`: is this one of the quarter that is tried? It hangs on what comes from standard input, so that others are
# as soon as that changes. Of the rest the number is in $left_out.
sample='' left_out=0
in_sample() {
  local sum
  [ -z "$sample" ] && return 0
  sum=$(cksum)
  [ $((${sum%% *} % 4)) = 0 ] && return 0
  left_out=$((left_out + 1))
  return 1
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
