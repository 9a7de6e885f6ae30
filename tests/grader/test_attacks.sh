#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile answers: each gets 0 points with the status that it says in its first line, nothing of it is left behind, and the
# answer graded after them is graded as ever. At every level of the sandbox that can be had here, as root and as another user.
#
# usage: tests/grader/test_attacks.sh [--sample] [ATTACK [LEVELS]]
#   --sample   every attack at the first level that can be had, the one that learners get, and a fifth of them at each other level: others
#              each day and after each change (tests/support/tap.sh). So `make test` runs it
# run test: FERRY_CUDA=sim -- --sample
# run all: FERRY_CUDA=sim
# timeout: 1200
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
want_sample= first_level=yes
if [ "${1:-}" = --sample ]; then
  want_sample=yes
  sampled_code=$(code_state)
  shift
fi
root=$PWD
chmod 755 "$work"
export FERRY_ANSWER_MEMORY_MB=512 FERRY_WORK=$work/none

# Folders and processes of answers that are still there.
left_behind() {
  find "$TMPDIR" -mindepth 1
  for link in /proc/[0-9]*/exe; do
    case $(readlink "$link" 2>/dev/null) in
    "$TMPDIR"/ferry-answer-*/program*) echo "process ${link%/exe}" ;;
    esac
  done
}

# Lines that have a control character in them, alone or as UTF-8, or that are no UTF-8.
control_characters() { # TEXT
  LC_ALL=C.UTF-8 grep -naP '[\x00-\x08\x0b-\x1f\x7f-\x{9f}]' <<<"$1" || LC_ALL=C.UTF-8 grep -naxv '.*' <<<"$1"
}

# Root works in a mount namespace apart, so that a bug of the sandbox cannot reach the machine's own mounts.
apart=()
if [ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null; then
  apart=(unshare -m --propagation private)
fi

as_user() { # USER COMMAND...: the command as that user, `-` being who we are
  local user=$1
  shift
  if [ "$user" = - ]; then
    "${apart[@]}" "$@"
  else
    "${apart[@]}" setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
  fi
}

right_answer() { # USER: whether it is graded as ever
  as_user "$1" "$ferry" run 03_1_create_on_the_device --sandbox "$level" --file solutions/03_1_create_on_the_device.c --test 'on a GPU' >/dev/null
}

# What an attack uses up may be missing to the next answer of its user. (All others change what anybody's next answer would meet, and
# one right answer follows them all.)
uses_up() { # NAME
  [[ $1 == *bomb || $1 == memory_* || $1 == disk_* || $1 == processes || $1 == *descriptors || $1 == daemon ]]
}

judge_attack() { # USER FILE: prints "0 NAME" or "1 NAME WHY", separated by tabs
  local name status expected output got seconds
  name=$(basename "$2" .c)
  export TMPDIR=$work/$1-$name-$level
  mkdir -m 1777 "$TMPDIR"
  expected=$(sed -n '1s@^// status: @@p' "$2")
  sed "s|@ROOT@|$root|; s|@WORK@|$work|" "$2" | cat - tests/grader/attacks/tail.inc >"$work/$1-$name.c"
  chmod 644 "$work/$1-$name.c"
  seconds=$(sed -n '2s@^// seconds: @@p' "$2")
  export FERRY_ANSWER_SECONDS=${seconds:-2}
  output=$(as_user "$1" timeout 60 "$ferry" run 03_1_create_on_the_device --sandbox "$level" --file "$work/$1-$name.c" --test 'on a GPU' 2>&1)
  status=$?
  got=$(sed -n 's/^test "on a GPU": //p; s/^✗ \(compile error\)$/\1/p' <<<"$output" | head -n 1)
  if [ $status != 1 ]; then
    printf '1\t%s\t%s\n' "$name" "the grader ended with $status: $(tail -n 3 <<<"$output" | tr '\n' ' ')"
  elif [[ " $expected " != *"$got"* ]] || [ -z "$got" ]; then
    printf '1\t%s\t%s\n' "$name" "expected $expected, got '$got'"
  elif grep -q 'can be rewritten\|got hold of' <<<"$output"; then
    printf '1\t%s\t%s\n' "$name" "$(grep 'can be rewritten\|got hold of' <<<"$output" | head -n 1)"
  elif [ -n "$(control_characters "$output")" ]; then
    printf '1\t%s\t%s\n' "$name" "it commands the terminal: $(control_characters "$output" | head -n 1 | cat -v)"
  elif [ ${#output} -gt 200000 ]; then
    printf '1\t%s\t%s\n' "$name" "a report of ${#output} bytes"
  elif [ -n "$(left_behind)" ]; then
    printf '1\t%s\t%s\n' "$name" "left behind: $(left_behind | head -n 3 | tr '\n' ' ')"
  elif uses_up "$name" && ! right_answer "$1"; then
    printf '1\t%s\t%s\n' "$name" 'the right answer after it does not pass'
  else
    printf '0\t%s (%s)\n' "$name" "$got"
  fi
}

# ---- each way of shutting an answer in, as root and as another user ----------------------------------------------------------

# Attacks that a level cannot hold off, and why. README.md says the same to instructors.
not_held_off() { # USER NAME: the reason, nothing when it is held off
  local same_user=1
  if [ "$1" = - ] && [ "$(id -u)" = 0 ]; then
    same_user=
  fi
  if [ "$2" = unix_socket ] && [ -z "$server" ]; then
    echo 'python3, which listens at a socket here, is not installed'
    return
  fi
  if [ "$2" = memory_in_sockets ] && ! as_user "$1" "$ferry" doctor --sandbox "$level" | grep -q 'a cgroup counts'; then
    echo 'only a cgroup counts what is in sockets'
    return
  fi
  case $level/$2/$same_user in
  none/incbin_solution/* | none/include_solution/* | none/include_hidden_test*/* | none/read_solution/*)
    echo 'nothing hides the files here'
    ;;
  none/proc_self_mem/*) echo 'nothing hides /proc here' ;;
  none/disk_names/*) echo 'nothing bounds the number of files here' ;;
  none/bounding_set/1 | landlock/bounding_set/1) echo 'a user without capabilities keeps the set, which gives nothing without new privileges' ;;
  none/program_replaced/1) echo 'the answer is the same user as its grader' ;;
  none/kill_parents/1) echo 'the answer is the same user as its grader' ;;
  landlock/kill_parents/1)
    as_user "$1" "$ferry" doctor --sandbox landlock | grep -q 'no signals to others' ||
      echo 'Landlock of this kernel does not hold off signals'
    ;;
  esac
}

run_level() { # USER LEVEL
  local user=$1 number=0 file name why jobs_at_once=6
  level=$2
  if [ "$(id -u)" != 0 ]; then
    jobs_at_once=1 # all are one user, whose processes are limited in their number
  fi
  : >"$work/results"
  for file in tests/grader/attacks/${only:-}*.c; do
    name=$(basename "$file" .c)
    in_sample "$level $name" <"$file" || continue
    why=$(not_held_off "$user" "$name")
    if [ -n "$why" ]; then
      skip "$level: $name" "$why"
      continue
    fi
    while [ "$(jobs -rp | wc -l)" -ge $jobs_at_once ]; do # most of them wait for their time limit
      wait -n
    done
    number=$((number + 1))
    judge_attack "$([ "$user" = - ] && echo - || echo $((user + number)))" "$file" >>"$work/results" &
  done
  wait
  while IFS=$'\t' read -r status name why; do
    result "$status" "$level: $name" "$why"
  done < <(sort "$work/results")
  right_answer "$user"
  result $? "$level: a right answer after them" 'it does not pass'
  if [ "$level" = none ] && { [ "$user" != - ] || [ "$(id -u)" != 0 ]; }; then
    skip "$level: nothing in /tmp" "/tmp is the machine's here, and what the same user left is not known"
  else
    why=$(find /tmp /dev/shm -maxdepth 1 -name 'ferry-attack*')
    [ -z "$why" ]
    result $? "$level: nothing in /tmp" "$why"
  fi
  find /tmp /dev/shm -maxdepth 1 -name 'ferry-attack*' -delete 2>/dev/null
}

try_level() { # USER LEVEL
  local line
  echo "# $2, as $([ "$1" = - ] && echo "user $(id -u)" || echo "another user")"
  line=$(as_user "$1" "$ferry" doctor --sandbox "$2" | grep -m 1 '^  [a-zA-Z]*  *sandbox ')
  if [[ $line == *ok*"sandbox"*"$2: "* ]]; then
    if [ -n "$first_level" ]; then sample= first_level=; else sample=$want_sample; fi
    run_level "$1" "$2"
  else
    skip "$2: attacks" "${line#*sandbox }"
  fi
}

# A server outside, which everybody may reach who may reach its path.
server=
if command -v python3 >/dev/null; then
  python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen(64)
while True:
    s.accept()' "$work/socket" &
  server=$!
  disown
  trap 'kill $server; rm -rf "$work"' EXIT
  for _ in $(seq 100); do
    [ -S "$work/socket" ] && break
    sleep 0.05
  done
fi

only=${1:-}
levels=${2:-namespaces user bubblewrap landlock none}
user=$((100000 + $$ % 100000 * 100)) # and the numbers after it: nobody's
if [ "$(id -u)" != 0 ]; then
  user=-
elif ! as_user $user test -x "$ferry" 2>/dev/null || ! as_user $user test -r "$root/core/ferry.h" 2>/dev/null; then
  user=-
  echo "# what is not root cannot reach $work or $root: every level as root alone"
fi
for one in $levels; do
  case $one/$(id -u)/$user in
  namespaces/* | */-) try_level - "$one" ;;
  landlock/0/* | none/0/*) # for root, what being root could change; test_places.sh has more of it
    if [ -z "$only" ]; then
      for only in identity bounding_set disk fork_bomb kill_parents memory_without proc read_solution; do
        try_level - "$one"
      done
      only=
    fi
    try_level "$user" "$one"
    ;;
  *) try_level "$user" "$one" ;;
  esac
done

# Root that may not do everything: less is permitted, or nothing, but an answer is never root.
if [ "$(id -u)" = 0 ]; then
  export TMPDIR=$work/less
  mkdir -m 1777 "$TMPDIR"
  cat tests/grader/attacks/identity.c tests/grader/attacks/tail.inc >"$work/identity.c"
  chmod 644 "$work/identity.c"
  for less in sys_admin sys_admin,sys_chroot,net_admin,kill,setpcap; do
    output=$(setpriv --bounding-set "-${less//,/,-}" "$ferry" run 3.1 --file "$work/identity.c" 2>&1)
    [[ $output != *'got hold'* ]] && { none_passed "$output" || [[ $output == *'grader error'* ]]; }
    result $? "root without $less" "$(grep 'got hold\|tests fail\|tests passed' <<<"$output" | head -n 2 | tr '\n' ' ')"
  done
  for level in "${levels%% *}" none; do
    says "root that cannot become another user, $level" 3 'grader error' setpriv --bounding-set -setuid,-setgid "$ferry" run 3.1 --sandbox "$level" \
      --file solutions/03_1_create_on_the_device.c
  done
  [ -z "$(left_behind)" ]
  result $? 'nothing is left of these' "$(left_behind)"
  unset TMPDIR
fi

# Sources that are no plain files.
ln -s "$root/solutions/03_1_create_on_the_device.c" "$work/link.c"
mkfifo "$work/pipe.c"
for name in link pipe; do
  timeout 20 "$ferry" run 03_1_create_on_the_device --file "$work/$name.c" 2>&1 | grep -q 'not a regular file'
  result $? "$name" 'it was read'
done

sample=$want_sample
sample_note attacks 'tests/grader/test_attacks.sh'

# A level is what was asked for, or there is no run.
"$ferry" run 3.1 --file solutions/03_1_create_on_the_device.c --sandbox mill 2>&1 | grep -q 'sandbox takes'
result $? 'a level that there is not' 'it was taken'
why=$(diff <("$ferry" grade --answers solutions --only 3.1 | grep '^Protections') \
  <(FERRY_SANDBOX=none "$ferry" grade --answers solutions --only 3.1 | grep '^Protections'))
result $? 'no level from the environment' "$why"

# Of cgroups, those of graders that have ended; each grader removes what one that was killed has left (another test kills some).
why=$(cgroups_left)
[ -z "$why" ]
result $? 'no cgroup is left' "$why"

finish
