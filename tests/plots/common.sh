# shellcheck shell=bash
# What the tests of benchmarks and plots share: a folder of their own, results as TAP.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${FERRY_BUILD:-build}
bench=$build/plots/bench/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NO_COLOR=1
count=0 failed=0

skip_all() { # WHY
  echo "ok 1 - $(basename "$0") # SKIP $1"
  echo 1..1
  exit 0
}

result() { # STATUS NAME [WHY]
  count=$((count + 1))
  if [ "$1" = 0 ]; then
    echo "ok $count - $2"
  else
    echo "not ok $count - $2 - ${3:-}"
    failed=$((failed + 1))
  fi
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

[ -x "$bench" ] || { echo "not ok 1 - $bench is not built"; exit 1; }
