#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the command runs may be against it: standard output is full, results go to a device or through a link, the umask is strict.
# What the user named is written or the command says why not; nothing that was there is damaged, and no answer pays for it.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp FERRY_WORK=$work/mine
solution=solutions/03_1_create_on_the_device.c

is_json() { # TEXT
  python3 -c 'import json, sys; json.loads(sys.argv[1])' "$1" 2>&1
}

grade() { # OPTIONS...
  "$ferry" grade --answers solutions --only 3.1 "$@"
}

# ---- results that are no regular files -----------------------------------------------------------------------------------------
# In a /dev apart, so that a bug here cannot replace the machine's devices.

apart() { # COMMAND: in bash, $1 being the ferry
  if [ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null; then
    # shellcheck disable=SC2016
    unshare -m --propagation private bash -c 'mkdir -p "$2/dev" && mount -t tmpfs tmpfs "$2/dev" && cp -a /dev/{null,urandom,zero,full,stdout,stderr,fd} "$2/dev" &&
      mkdir -m 1777 "$2/dev/shm" && mount --rbind "$2/dev" /dev && eval "$3"' - "$ferry" "$work" "$1"
  else
    # shellcheck disable=SC2016
    bash -c 'eval "$3"' - "$ferry" "$work" "$1"
  fi
}

for path in - /dev/stdout; do
  output=$(apart "\"\$1\" grade --answers solutions --only 3.1 --json $path 2>'$work/said'; ls -ld /dev/stdout >'$work/link'")
  why=$(is_json "$output")
  result $? "--json $path is the whole of standard output" "$why: $(head -c 200 <<<"$output")"
  grep -q '^Protections: ' "$work/said"
  result $? "--json $path: the report goes to stderr" "$(cat "$work/said")"
  grep -q '^l' "$work/link"
  result $? "--json $path leaves /dev/stdout" "$(cat "$work/link")"
done
output=$(apart "\"\$1\" grade --answers solutions --only 3.1 --csv /dev/full 2>&1; echo \"status \$?\"; ls -l /dev/full")
[[ $output == *'/dev/full cannot be written: No space left on device'*'status 3'*c?????????' '* ]]
result $? '--csv /dev/full fails and leaves it' "$output"
output=$(apart "\"\$1\" grade --answers solutions --only 3.1 --csv /dev/null >/dev/null; echo \"status \$?\"; ls -l /dev/null")
[[ $output == *'status 0'*c?????????' '* ]]
result $? '--csv /dev/null succeeds and leaves it' "$output"
mkfifo "$work/fifo"
timeout 60 cat "$work/fifo" >"$work/read" &
reader=$!
grade --json "$work/fifo" >/dev/null
wait $reader
[ -p "$work/fifo" ] && why=$(is_json "$(cat "$work/read")")
result $? 'a FIFO is written once, and stays' "$why"
says 'a folder as the results' 3 'Is a directory' grade --json "$work"

# ---- links and modes -----------------------------------------------------------------------------------------------------------

echo old >"$work/target"
ln -s "$work/target" "$work/results.json"
grade --json "$work/results.json" >/dev/null
[ -L "$work/results.json" ] && [ ! -L "$work/target" ] && grep -q '"complete": true' "$work/target"
result $? 'a link at the result path stays, and its target is replaced' "$(ls -l "$work")"
ln -s "$work/nowhere" "$work/dangling.json"
says 'a link that leads nowhere' 3 'a link to a file that does not exist' grade --json "$work/dangling.json"
if [ "$(id -u)" = 0 ]; then
  ln -s "$work/target" "$work/planted.json"
  chown -h 12345 "$work/planted.json"
  echo precious >"$work/target"
  says "another user's link" 3 'a link that belongs to another user' grade --json "$work/planted.json"
  [ "$(cat "$work/target")" = precious ]
  result $? "another user's link is not followed"
else
  skip "another user's link" 'it takes root to make one'
fi

mode_of() { # FILE
  stat -c %a "$1" 2>&1
}
for mask in 077 027 022; do
  rm -f "$work/new.json"
  (umask $mask && grade --json "$work/new.json" >/dev/null)
  [ "$(mode_of "$work/new.json")" = "$(printf '%o' $((0666 & ~0$mask)))" ]
  result $? "umask $mask: the mode of new results" "$(mode_of "$work/new.json")"
done
for mode in 600 640 664; do
  chmod $mode "$work/new.json"
  grade --json "$work/new.json" >/dev/null
  [ "$(mode_of "$work/new.json")" = $mode ]
  result $? "mode $mode: results keep their file's mode" "$(mode_of "$work/new.json")"
done

# ---- a strict umask is no answer's fault -----------------------------------------------------------------------------------------

for level in namespaces user bubblewrap landlock; do
  if ! "$ferry" doctor --sandbox $level | grep -q "ok  *sandbox  *$level: "; then
    skip "$level: umasks" 'this machine does not permit the level'
    continue
  fi
  for mask in 007 027 077 0777; do
    output=$(umask $mask && "$ferry" run 3.1 --sandbox $level --file "$solution" 2>&1)
    result $? "$level: umask $mask: the solution passes" "$output"
  done
done
(umask 077 && "$ferry" run 20.1 --file solutions/20_1_saxpy.cu >"$work/output" 2>&1)
result $? 'umask 077: a kernel passes' "$(tail -n 5 "$work/output")"

# ---- output that is lost ---------------------------------------------------------------------------------------------------------

if [ -c /dev/full ]; then
  for command in 'list' 'help' "run 3.1 --file $solution" "grade --answers solutions --only 3.1"; do
    # shellcheck disable=SC2086
    why=$("$ferry" $command 2>&1 >/dev/full)
    [ $? = 3 ] && [[ $why == *'the output could not be written: No space left on device'* ]]
    result $? "ferry $command > /dev/full" "$why"
  done
else
  skip 'output that is lost' 'there is no /dev/full'
fi

# ---- the workspace ---------------------------------------------------------------------------------------------------------------

passed() { # the numbers of the exercises that have passed
  sed -n 's/^\([0-9]*_[0-9]\)_.* passed=1 .*/\1/p' "$FERRY_WORK/.progress" | sort | paste -sd ' '
}
pass() { # NUMBERS...
  local number
  for number in "$@"; do
    cp solutions/"$number"_* "$FERRY_WORK"
    "$ferry" run "$number" >/dev/null 2>&1
  done
}
"$ferry" start >/dev/null
pass 03_2
timeout 200 "$ferry" watch 3.1 >"$work/watched" 2>&1 &
watcher=$!
for _ in $(seq 600); do
  grep -q waiting "$work/watched" && break
  sleep 0.1
done
pass 02_1 05_1
cp solutions/03_1_create_on_the_device.c "$work/saved.c"
mv "$work/saved.c" "$FERRY_WORK/03_1_create_on_the_device.c"
for _ in $(seq 600); do
  [ "$(passed)" = '02_1 03_1 03_2 05_1' ] && break
  sleep 0.1
done
kill $watcher 2>/dev/null
wait $watcher 2>/dev/null
[ "$(passed)" = '02_1 03_1 03_2 05_1' ]
result $? 'a watch keeps what others have passed meanwhile' "$(passed)"
for number in 02_1 03_1 03_2 05_1; do
  "$ferry" hint $number >/dev/null &
done
wait
[ "$(grep -c 'passed=1 .*hints=1' "$FERRY_WORK/.progress")" = 4 ]
result $? 'four commands at once lose nothing' "$(grep -v 'passed=0 gpu=0 hints=0' "$FERRY_WORK/.progress")"

progress=$FERRY_WORK/.progress
cp "$progress" "$work/whole"
line=$(grep -b '^05_1_' "$work/whole" | cut -d: -f1)
head -c $((line + 8)) "$work/whole" >"$progress"
says 'a progress that is cut is said' 0 '.progress was damaged. It is kept as' "$ferry" list
cmp -s <(head -c $((line + 8)) "$work/whole") "$progress.damaged" && [ "$(passed)" = '02_1 03_1 03_2' ]
result $? 'it is kept, and what could be read counts' "$(passed)"
why=$("$ferry" list 2>&1 >/dev/null)
[ -z "$why" ]
result $? 'it is said once' "$why"
printf 'no progress\0at all\n' >"$progress"
says 'one of other bytes is kept beside it' 0 '.progress.damaged.2' "$ferry" list
rm "$progress" && mkfifo "$progress"
says 'a FIFO is no progress' 0 'was damaged' timeout 20 "$ferry" list
[ -p "$progress.damaged.3" ]
result $? 'nor is it waited for' "$(ls -l "$FERRY_WORK"/.progress*)"

# ---- inspecting somebody else's answer --------------------------------------------------------------------------------------------

mkdir -m 1777 "$work/open" "$work/inspected"
mkdir "$work/theirs"
export TMPDIR=$work/inspected
cat >"$work/theirs/20_1_saxpy.cu" <<END
#include <cuda_runtime.h>
#include <stdio.h>
extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  FILE *file = fopen("$work/open/escaped", "w");
  if (file)
    fclose(file);
}
END
"$ferry" inspect "$work/theirs/20_1_saxpy.cu" --no-registers >"$work/output" 2>&1
[ $? = 0 ] && [ ! -e "$work/open/escaped" ] && grep -q 'No kernel was launched' "$work/output"
result $? 'an answer that is inspected writes nothing' "$(head -n 3 "$work/output")"
echo 'int main(void) { return 0; }' >>"$work/theirs/20_1_saxpy.cu"
says 'nor with a main' 2 'has the name of an answer to 20_1_saxpy, but contains a main' "$ferry" inspect "$work/theirs/20_1_saxpy.cu"
says 'unless it is said to be a program' 0 'No kernel was launched' "$ferry" inspect "$work/theirs/20_1_saxpy.cu" --no-registers --sandbox none
says 'no sandbox, no inspection' 3 'no sandbox is available' env TMPDIR="$work/nowhere" "$ferry" inspect solutions/20_1_saxpy.cu
[ -z "$(find "$TMPDIR" -mindepth 1)" ]
result $? 'nothing is left of inspections' "$(find "$TMPDIR" -mindepth 1 | head -n 3)"

# ---- learners' names -----------------------------------------------------------------------------------------------------------------

names=$work/names
mkdir "$names"
for name in ada $'zz\nmallory: 1.00 of 1 points (100 %)' $'a\001' 'a\x01' $'tab\there'; do
  mkdir "$names/$name"
  cp tests/hidden/03_1_create_on_the_device/wrong_left.c "$names/$name/03_1_create_on_the_device.c"
done
ln -s "$names/ada" "$names/linked"
ln -s "$work/nowhere" "$names/dangling"
ln -s "$PWD/$solution" "$names/notes.txt"
"$ferry" grade --class "$names" --only 3.1 --json "$work/names.json" --csv "$work/names.csv" >"$work/output" 2>"$work/said"
! grep -q '^mallory' "$work/output" && grep -qF 'zz\x0amallory: 1.00 of 1 points (100 %)' "$work/output"
result $? 'a line break in a name begins no line' "$(cat "$work/output")"
grep -qF 'tab\x09here/' "$work/output"
result $? 'a tab in a name is text' "$(cat "$work/output")"
why=$(python3 -c 'import csv, json, sys
names = [l["name"] for l in json.load(open(sys.argv[1]))["learners"]]
rows = [r["learner"] for r in csv.DictReader(open(sys.argv[2], newline=""))]
assert names == rows and len(set(names)) == 5 and "\n" not in "".join(names), (names, rows)' "$work/names.json" "$work/names.csv" 2>&1)
result $? 'each name is shown as no other is' "$why"
says 'a merge takes them' 1 'ada: ' "$ferry" grade --merge "$work/names.json" --class "$names"
[ "$(grep -c 'is a symbolic link, so this learner is not graded' "$work/said")" = 2 ] && grep -q names/linked "$work/said" && grep -q names/dangling "$work/said"
result $? 'links in place of folders are named' "$(cat "$work/said")"

# ---- the grader's own limits ---------------------------------------------------------------------------------------------------------

limited() { # ULIMIT'S OPTIONS: the solution, judged with them
  # shellcheck disable=SC2086
  (ulimit $1 && shift && "$ferry" run 3.1 --file "$solution" 2>&1)
}
for limits in '-n 16' '-v 1000000' '-v 60000' '-d 100000' '-s 128' '-f 100' '-t 1'; do
  output=$(limited "$limits")
  [ $? = 3 ] && [[ $output == *"ulimit ${limits% *} allows "*' is needed'* ]] && [[ $output != *'--sandbox none'* ]]
  result $? "ulimit $limits is a grader error that says what is needed" "$output"
done
for limits in '-S -n 16' '-S -s 128' '-S -v 100000000' '-S -t 20'; do
  output=$(limited "$limits")
  result $? "ulimit $limits is raised" "$output"
done
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  # shellcheck disable=SC2016
  says 'no /proc is a grader error that says so' 3 '/proc is missing' unshare -m --propagation private \
    bash -c 'mount -t tmpfs tmpfs /proc && "$@"' - "$ferry" run 3.1 --file "$solution"
  # shellcheck disable=SC2016
  says 'a full disk is said' 3 'could not be copied: No space left on device' unshare -m --propagation private \
    bash -c 'mkdir "$1/full" && mount -t tmpfs -o size=8k,mode=1777 tmpfs "$1/full" && dd if=/dev/zero of="$1/full/all" 2>/dev/null
      TMPDIR=$1/full "${@:2}"' - "$work" "$ferry" run 3.1 --file "$solution"
else
  skip 'no /proc, a full disk' 'it takes root to mount'
fi

# ---- a neighbor that takes the processors -----------------------------------------------------------------------------------------
# Of a class, an answer that waits until it is run a second time stands for one that had no processor: it is run again after the others,
# alone. One that was alone from the start is not.

mkdir -m 1777 "$work/seen"
mkdir "$work/class" "$work/class"/{ada,bob}
cp "$solution" "$work/class/bob"
cat >"$work/waits.h" <<'END'
#include <fcntl.h>
#include <unistd.h>
static void wait_the_first_time(const char *mark) {
  if (open(mark, O_CREAT | O_EXCL | O_WRONLY, 0666) >= 0)
    pause();
}
END
{ cat "$work/waits.h"; sed "s|^FyTensor \*offset_grid(.*{$|&\n  wait_the_first_time(\"$work/seen/MARK\");|" "$solution"; } >"$work/waits.c"
sed 's/MARK/ada/' "$work/waits.c" >"$work/class/ada/03_1_create_on_the_device.c"
class() { # OPTIONS...: of each learner, how many tests have passed
  rm -f "$work"/seen/*
  FERRY_ANSWER_SECONDS=5 "$ferry" grade --class "$work/class" --only 3.1 --sandbox none --json "$work/class.json" "$@" >"$work/said"
  python3 -c 'import json, sys
print(*(l["name"] + " " + l["exercises"][0]["status"] for l in json.load(open(sys.argv[1]))["learners"]), sep=", ")' "$work/class.json" 2>&1
}
why=$(class --jobs 2)
[ "$why" = 'ada pass, bob pass' ] && grep -q '^Repeating answers that timed out' "$work/said"
result $? 'what had no processor is run again, alone' "$why: $(cat "$work/said")"
why=$(class --jobs 1)
[ "$why" = 'ada timeout, bob pass' ] && ! grep -q '^Repeating answers that timed out' "$work/said"
result $? 'what was alone is not run again' "$why: $(cat "$work/said")"

finish
