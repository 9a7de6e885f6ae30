#!/usr/bin/env bash
# Hostile answers: each gets 0 points with the status that it says in its first line, nothing of it is left behind, and the
# answer graded after it is graded as ever. As root and, where there is a way to become one, as another user.
# run: FERRY_CUDA=sim
# timeout: 600
set -u
cd "$(dirname "$0")/../.." || exit 1
ferry=${FERRY_BUILD:-build}/ferry
if [ ! -x "$ferry" ]; then
  echo "ok 1 - attacks # SKIP $ferry is not built (sanitized builds do without it)"
  echo 1..1
  exit 0
fi
root=$PWD
work=$(mktemp -d)
chmod 755 "$work"
cp "$ferry" "$work/ferry" # so that a build beside this does not take it away
ferry=$work/ferry
trap 'rm -rf "$work"' EXIT
export FERRY_ANSWER_MEMORY_MB=512 FERRY_WORK=$work/none NO_COLOR=1
count=0 failed=0

result() { # STATUS NAME [WHY]
  count=$((count + 1))
  if [ "$1" = 0 ]; then
    echo "ok $count - $2"
  else
    echo "not ok $count - $2 - ${3:-}"
    failed=$((failed + 1))
  fi
}

# Folders and processes of answers that are still there.
left_behind() {
  find "$TMPDIR" -mindepth 1
  find /tmp /dev/shm -maxdepth 1 -name 'ferry-attack*'
  for link in /proc/[0-9]*/exe; do
    case $(readlink "$link" 2>/dev/null) in
    "$TMPDIR"/ferry-answer-*/program*) echo "process ${link%/exe}" ;;
    esac
  done
}

as_user() { # USER COMMAND...: the command as that user, `-` being who we are
  local user=$1
  shift
  if [ "$user" = - ]; then
    "$@"
  else
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
  fi
}

judge_attack() { # USER FILE: prints "0 NAME" or "1 NAME WHY", separated by tabs
  local name status expected output got seconds
  name=$(basename "$2" .c)
  export TMPDIR=$work/$1-$name
  mkdir -m 1777 "$TMPDIR"
  expected=$(sed -n '1s@^// status: @@p' "$2")
  sed "s|@ROOT@|$root|" "$2" | cat - tests/grader/attacks/tail.inc >"$work/$1-$name.c"
  chmod 644 "$work/$1-$name.c"
  seconds=$(sed -n '2s@^// seconds: @@p' "$2")
  export FERRY_ANSWER_SECONDS=${seconds:-2}
  output=$(as_user "$1" timeout 60 "$ferry" run 10_made_there --file "$work/$1-$name.c" --test 'on a GPU' 2>&1)
  status=$?
  got=$(sed -n 's/^  \([a-z ]*[a-z]\)  *on a GPU$/\1/p; s/^\(compile error\)$/\1/p' <<<"$output" | head -n 1)
  if [ $status != 1 ]; then
    printf '1\t%s\t%s\n' "$name" "the grader ended with $status: $(tail -n 3 <<<"$output" | tr '\n' ' ')"
  elif [[ " $expected " != *"$got"* ]] || [ -z "$got" ]; then
    printf '1\t%s\t%s\n' "$name" "expected $expected, got '$got'"
  elif grep -q 'can be rewritten\|got hold of' <<<"$output"; then
    printf '1\t%s\t%s\n' "$name" "$(grep 'can be rewritten\|got hold of' <<<"$output" | head -n 1)"
  elif [ ${#output} -gt 200000 ]; then
    printf '1\t%s\t%s\n' "$name" "a report of ${#output} bytes"
  elif [ -n "$(left_behind)" ]; then
    printf '1\t%s\t%s\n' "$name" "left behind: $(left_behind | head -n 3 | tr '\n' ' ')"
  elif ! as_user "$1" "$ferry" run 10_made_there --file solutions/10_made_there.c --test 'on a GPU' >/dev/null; then
    printf '1\t%s\t%s\n' "$name" 'the right answer after it does not pass'
  else
    printf '0\t%s (%s)\n' "$name" "$got"
  fi
}

# Hostile code is let loose only where it is somebody else than root, or in a process tree of its own.
if [ "$(id -u)" = 0 ] && ! "$ferry" doctor | grep -qE 'another user|own process tree'; then
  echo "ok 1 - attacks # SKIP root without namespaces and without another user: they would run as root"
  echo 1..1
  exit 0
fi

users=(-)
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$ferry" 2>/dev/null; then
  users+=(65534)
fi
for user in "${users[@]}"; do
  echo "# as $([ "$user" = - ] && id -un || echo "user $user")"
  for file in tests/grader/attacks/${1:-}*.c; do
    while [ "$(jobs -rp | wc -l)" -ge 3 ]; do # most of them wait for their time limit
      wait -n
    done
    judge_attack "$user" "$file" >>"$work/results.$user" &
  done
  wait
  while IFS=$'\t' read -r status name why; do
    result "$status" "$name" "$why"
  done <"$work/results.$user"
done

# Sources that are no plain files.
ln -s "$root/solutions/10_made_there.c" "$work/link.c"
mkfifo "$work/pipe.c"
for name in link pipe; do
  timeout 20 "$ferry" run 10_made_there --file "$work/$name.c" 2>&1 | grep -q 'not a plain file'
  result $? "$name" 'it was read'
done

# A link where the results go: the link is replaced, what it led to is as it was.
mkdir "$work/answers"
echo precious >"$work/target"
ln -s "$work/target" "$work/results.json"
"$ferry" grade --answers "$work/answers" --only 10 --json "$work/results.json" >/dev/null
[ "$(cat "$work/target")" = precious ] && [ ! -L "$work/results.json" ] && grep -q '"missing"' "$work/results.json"
result $? 'a link at the result path' 'it was followed'

echo "1..$count"
[ $failed = 0 ]
