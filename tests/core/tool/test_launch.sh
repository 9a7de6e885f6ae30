#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ferry launch`: what ranks find in their environment, marked output, a rank that fails.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (sanitized builds do without it)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OMP_NUM_THREADS MASTER_ADDR

says 'a number of ranks is needed' 2 'the number of ranks' "$ferry" launch true
says 'and a program' 2 'which program' "$ferry" launch -n 2
says 'nonsense is refused' 2 'a number of ranks from 1 to 4096' "$ferry" launch -n none true
says 'an unknown option too' 2 'there is no option --color' "$ferry" launch --color -n 2 true
says 'help' 0 'Each rank finds RANK, LOCAL_RANK, WORLD_SIZE' "$ferry" launch --help
mkdir "$work/bin"
ln -s "$(command -v sh)" "$work/bin/sh"
says 'without mpirun it says what to install' 3 'install Open MPI (Debian: openmpi-bin' env PATH="$work/bin" "$ferry" launch -n 2 true


# An mpirun that takes only the options that Open MPI 4 and Open MPI 5 both have.
cat >"$work/bin/mpirun" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
  --allow-run-as-root | --oversubscribe) shift ;;
  -n | -x | --host | --bind-to) shift 2 ;;
  -*) echo "unrecognized option $1"; exit 213 ;;
  *) break ;;
  esac
done
echo "mpirun starts $2"
END
chmod +x "$work/bin/mpirun"
for options in '-n 2' '-n 2 --hosts a,b' '-n 2 --plain'; do
  # shellcheck disable=SC2086 # options
  says "options for every Open MPI: $options" 0 'mpirun starts launch-rank' env PATH="$work/bin:$PATH" "$ferry" launch $options true
done

if ! command -v mpirun >/dev/null; then
  skip 'ranks' 'Open MPI is not installed'
  finish
  exit
fi

# shellcheck disable=SC2016 # for the ranks' shell
"$ferry" launch -n 3 sh -c 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS"' >"$work/out" 2>&1
result $? 'three ranks end well' "$(cat "$work/out")"
sort "$work/out" >"$work/sorted"
printf '[%d] %d %d 3 3 127.0.0.1 1\n' 0 0 0 1 1 1 2 2 2 | diff - "$work/sorted" >"$work/diff"
result $? 'each with its variables, and its number before the line' "$(cat "$work/diff")"
says 'arguments and spaces arrive' 0 '[0] a  b*c' "$ferry" launch -n 1 printf '%s\n' 'a  b*c'
says 'a line without an end gets one' 0 '[0] unfinished' "$ferry" launch -n 1 printf unfinished
says 'plain output' 0 'plain' "$ferry" launch --plain -n 1 echo plain
[ "$("$ferry" launch --plain -n 1 echo plain)" = plain ]
result $? 'has nothing before it'

# shellcheck disable=SC2016
failing='if [ "$RANK" = 1 ]; then exit 5; fi; sleep 20'
begin=$SECONDS
says 'the status is that of the rank that failed' 5 'ferry launch: rank 1 (process ' "$ferry" launch -n 3 sh -c "$failing"
[ $((SECONDS - begin)) -lt 12 ]
result $? 'and the others are ended' "after $((SECONDS - begin)) s"
# shellcheck disable=SC2016
says 'a rank that is killed is named with the signal' 137 'was ended by signal 9 (Killed)' \
  "$ferry" launch -n 2 sh -c 'if [ "$RANK" = 1 ]; then kill -9 $$; fi; sleep 20'
says 'a program that does not exist' 127 'no-such-program cannot be started' "$ferry" launch -n 1 no-such-program
finish
