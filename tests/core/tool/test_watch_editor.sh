#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which editor opens an exercise, and that ./ferry watch opens the next one after a pass. The editors are scripts that write down their
# arguments.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 240
# shellcheck disable=SC2016 # the scripts and names with a $ are to stay as they are
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
export FERRY_WORK=$work/mine opened=$work/opened
mkdir "$work/bin"
for name in own code visual editor; do
  printf '#!/bin/sh\necho "%s $*" >>"$opened"\n' $name >"$work/bin/$name"
  chmod +x "$work/bin/$name"
done
unset VISUAL EDITOR TERM_PROGRAM
"$ferry" start pytorch >/dev/null
watcher=
trap '[ -z "$watcher" ] || kill "$watcher" 2>/dev/null; tmux -L watch kill-server 2>/dev/null; rm -rf "$work"' EXIT

# ---- ./ferry edit ----------------------------------------------------------------------------------------------------------------

file=$FERRY_WORK/03_1_create_on_the_device.c
edits() { # NAME WORDS [VARIABLE=VALUE...] -- ARGUMENTS...
  local name=$1 words=$2 environment=()
  shift 2
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  shift
  rm -f "$opened"
  env "${environment[@]}" PATH="$work/bin:$PATH" "$ferry" edit 3.1 "$@" >"$work/out" 2>&1
  [ "$(cat "$opened" 2>/dev/null)" = "$words $file" ]
  result $? "$name" "$(cat "$opened" "$work/out" 2>&1 | tr '\n' ' ')"
}
edits 'edit: --edit-cmd, with an option' 'own --wait' EDITOR=editor -- --edit-cmd 'own --wait'
edits 'edit: VISUAL before EDITOR' visual VISUAL=visual EDITOR=editor TERM_PROGRAM=vscode --
edits 'edit: EDITOR' 'editor -x' EDITOR='editor -x' TERM_PROGRAM=vscode --
edits "edit: VS Code in its own terminal" code TERM_PROGRAM=vscode --
says 'edit: without any, what to do' 2 'export EDITOR=vim, or name it: --edit-cmd CMD' "$ferry" edit 3.1
says 'edit: --edit-cmd without a command' 2 'needs a command' "$ferry" edit 3.1 --edit-cmd
says 'edit: an option that is not there' 2 'Did you mean --edit-cmd?' "$ferry" edit --edit-cm

# ---- ./ferry watch ---------------------------------------------------------------------------------------------------------------

watches() { # [VARIABLE=VALUE...] -- ARGUMENTS...
  local environment=()
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  shift
  rm -f "$opened"
  : >"$work/watched" # here, since what runs beside may be later than the first look at it
  env "${environment[@]}" PATH="$work/bin:$PATH" timeout 200 "$ferry" watch 3.1 "$@" >"$work/watched" 2>&1 &
  watcher=$!
}
soon() { # COMMAND...: within a time that is long enough for a busy machine
  local i
  for ((i = 0; i < 400; i++)); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}
said() { # TIMES TEXT
  [ "$(grep -cF "$2" "$work/watched")" -ge "$1" ]
}
has_opened() { # FILE
  grep -qxF "$1" "$opened" 2>/dev/null
}
ends() {
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null
  watcher=
}

watches -- --edit-cmd 'own -r'
soon has_opened "own -r $file"
result $? 'watch opens the exercise' "$(tail -n 3 "$work/watched" | tr '\n' ' ')"
soon said 1 'waiting for the next save'
cp solutions/03_1_create_on_the_device.c "$file"
soon said 1 'opened in your editor: 3.2'
soon has_opened "own -r $(echo "$FERRY_WORK"/03_2_*.c)"
result $? 'watch opens the next exercise after a pass' "$(tail -n 5 "$work/watched" | tr '\n' ' ')"
grep -qF 'Next: 3.2' <("$ferry" next)
result $? 'which ./ferry then names, too' "$("$ferry" next | head -n 1)"
cp solutions/03_1_create_on_the_device.c "$file"
soon said 3 'waiting for the next save' && [ "$(wc -l <"$opened")" = 2 ]
result $? 'another pass of the same exercise opens nothing' "$(tr '\n' ' ' <"$opened")"
ends

"$ferry" reset 3.1 >/dev/null
watches TERM_PROGRAM=vscode --
soon has_opened "code $file"
result $? "watch opens it in VS Code, in VS Code's terminal" "$(tail -n 3 "$work/watched" | tr '\n' ' ')"
ends
watches -- --edit-cmd no-such-editor
soon said 1 'the editor did not open: "no-such-editor" ended with status 127'
result $? 'an editor that is not there' "$(tail -n 3 "$work/watched" | tr '\n' ' ')"
ends

# The sandbox ends every process below ./ferry watch; an editor that stays is not among them.
printf '#!/bin/sh\necho $$ >"$opened"\nexec sleep 100\n' >"$work/bin/stays"
chmod +x "$work/bin/stays"
watches -- --edit-cmd stays --sandbox landlock
soon said 1 'waiting for the next save' && soon test -s "$opened"
pid=$(cat "$opened" 2>/dev/null)
if grep -q 'no sandbox is available' "$work/watched"; then
  skip 'an editor outlives the tests of an answer' 'Landlock is not available'
else
  kill -0 "$pid" 2>/dev/null
  result $? 'an editor outlives the tests of an answer' "$(tail -n 3 "$work/watched" | tr '\n' ' ')"
fi
ends
[ -n "$pid" ] && kill -0 "$pid" 2>/dev/null
result $? 'and ./ferry watch' "process $pid"
[ -z "$pid" ] || kill "$pid" 2>/dev/null

# ---- $EDITOR, which takes the terminal ---------------------------------------------------------------------------------------------

if command -v tmux >/dev/null; then
  unset TMUX
  rm -f "$opened"
  export TMUX_TMPDIR=$work TERM=screen
  cp solutions/03_1_create_on_the_device.c "$file"
  tmux -L watch -f /dev/null new-session -d -s view -x 80 -y 40 "EDITOR=$work/bin/editor LC_ALL=C.UTF-8 $ferry watch 3.1"
  shown() { tmux -L watch capture-pane -p -t view 2>&1 | grep -qF "$1"; }
  soon shown 'n next exercise in your editor' && ! [ -e "$opened" ]
  result $? 'watch: after a pass, n goes on in $EDITOR' "$(tmux -L watch capture-pane -p -t view 2>&1 | tail -n 5)"
  tmux -L watch send-keys -t view n
  soon has_opened "editor $(echo "$FERRY_WORK"/03_2_*.c)"
  result $? 'watch: n opens the next exercise in $EDITOR' "$(cat "$opened" 2>&1)"
  soon shown '3.2'
  result $? 'and then checks it'
else
  skip 'watch: n opens the next exercise in $EDITOR' 'tmux is not installed'
fi
finish
