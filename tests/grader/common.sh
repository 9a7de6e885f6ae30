# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of ./ferry share: a copy of the command in a folder of their own, so that a build beside them does not take it
# away; results as TAP. Sourced by them.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (sanitized builds do without it)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$ferry" "$work/ferry"
ferry=$work/ferry
export NO_COLOR=1

# Whether a report on all or one of the tests says that each failed, or that there is nothing to run.
none_passed() { # REPORT
  [[ $1 =~ '✗ '([0-9]+)' of '([0-9]+)' tests fail' ]] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ] || [[ $1 == *'✗ compile error'* ]]
}

tests_of() { # EXERCISE: how many hidden tests it has
  sed -n '/^    \.tests =/,$p' "tests/hidden/$1/check.c" | grep -oE '\{(\.name = )?"' | wc -l
}

# ./ferry runs answers with no protection only when it is told to. Where nothing else can be had, the tests tell it to, and say so.
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$work"
fi
if ! TMPDIR=$work "$ferry" doctor | grep -q 'ok  *sandbox'; then
  echo "# no way of shutting answers in can be had here: they run with --sandbox none ($(TMPDIR=$work "$ferry" doctor |
    sed -n 's/.*MISSING *sandbox *//p'))"
  mv "$ferry" "$ferry.real"
  cat >"$ferry" <<'END'
#!/bin/sh
case "${1:-} $*" in
*--sandbox*) ;;
run* | watch* | grade* | doctor* | adopt*)
  command=$1
  shift
  exec "$0.real" "$command" --sandbox none "$@"
  ;;
esac
exec "$0.real" "$@"
END
  chmod 755 "$ferry"
fi

# Every cgroup of an answer where a grader started here makes them: in the cgroup it is in itself, or above it.
answer_cgroups() {
  local names path top at
  while IFS=: read -r _ names path; do
    for top in "/sys/fs/cgroup/$names" /sys/fs/cgroup /sys/fs/cgroup/unified; do
      at=$path
      while find "$top$at" -maxdepth 1 -name 'ferry-answer-*' 2>/dev/null; [ -n "$at" ]; do
        at=${at%/*}
      done
    done
  done </proc/self/cgroup
}

# Those of graders that have ended which the next graders do not remove. A process that was killed may still be exiting when the first of
# them looks, which then leaves its cgroup to the second; and a grader beside this test may end between the two looks here.
cgroups_left() {
  local left group pid
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$ferry" doctor >/dev/null
    left=$(answer_cgroups | while IFS= read -r group; do
      pid=${group##*ferry-answer-}
      [ -d "/proc/${pid%%-*}" ] || [ ! -d "$group" ] || echo "$group"
    done)
    [ -n "$left" ] || break
    sleep 0.5
  done
  echo "$left"
}
