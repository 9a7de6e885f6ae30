#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The interactive view of ./ferry step: keys go to it in a terminal of tmux, and its screen is looked at.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
views=${FERRY_BUILD:-build}/tests/core/step/step_views
command -v tmux >/dev/null || skip_all 'tmux, in which the view runs here, is not installed'
work=$(mktemp -d)
"$views" sample >"$work/record.json"
case $("$views" terminal "$work/record.json" 0 </dev/null 2>&1) in
*libncurses-dev*) skip_all 'this build is without ncurses (libncurses-dev)' ;;
esac
export TMUX_TMPDIR=$work TERM=screen
unset TMUX
server=0
tm() { tmux -L "step$server" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null; rm -rf "$work"' EXIT

begin() { # AT [VARIABLE=VALUE]: a view of 80 x 24; the shell stays, so that its end is seen
  tm kill-server 2>/dev/null
  server=$((server + 1)) # the one before may still be ending
  tm new-session -d -s view -x 80 -y 24 "LC_ALL=C.UTF-8 ${2:-A=} $views terminal $work/record.json $1; echo ended \$?; read -r _"
}

screen() {
  tm capture-pane -p "$@" -t view 2>&1
}

shows() { # NAME TEXT [WORD]: the screen soon has the text; with `not` it soon has it no longer
  local i seen
  for ((i = 0; i < 100; i++)); do
    seen=$(screen)
    case ${3:-}:$seen in
    not:*"$2"*) ;;
    not:* | :*"$2"*)
      result 0 "$1"
      return
      ;;
    esac
    sleep 0.1
  done
  result 1 "$1" "the screen: $seen"
}

press() {
  tm send-keys -t view "$@"
}

begin race:1
shows 'begins at the race' 'step 15/16'
shows 'the other side' 'other side: step 13, thread 1, line 8'
shows 'keys in the last line' '? help'
press p p p
shows 'back by three' 'step 12/16'
press Right
shows 'an arrow' 'step 13/16'
press Down
shows 'the same line' 'step 15/16'
press Up
shows 'the same line, back' 'step 13/16'
press g
shows 'the first step' 'step 0/16'
press p
shows 'says that there is none' 'there is no earlier step'
press ']'
shows 'a barrier' '==== barrier 1 opens'
press D
shows 'a divergence' ', diverged'
press u
shows 'out of a call' 'step 5/16'
press P
shows 'the same warp' 'step 4/16'
press End
shows 'the last step' 'step 16/16'
press w 'part[3]' Enter
shows 'the last write' 'thread 35 wrote part[3] = 9.25 here, in step 15'
press ,
shows 'the write before' 'thread 3 wrote part[3] = 3 here, in step 13'
press g / 'x == 8' BSpace 7 Enter
shows 'a change to a value' 'step 3/16'
press / 'x >' Enter
shows 'what is not understood' 'is not understood'
press : 6 Enter
shows 'a line' 'step 7/16'
press @ finding:2 Enter
shows 'a finding' 'step 15/16'
press l 3 Enter
shows 'a lane' '[lane 3: 35]'
press v nothing Enter
shows 'no variables' '32 + lane' not
press v Enter m
shows 'all of shared memory' 'part[8]:'
press '?'
shows 'help' 'step over calls'
press x
shows 'back from help' 'step 15/16'
press / 'x' Escape
shows 'a question left' '? help'
tm resize-window -t view -x 70 -y 20
shows 'too small' '70 x 20: this view needs 80 x 24'
tm resize-window -t view -x 160 -y 50
shows 'larger' '__device__ int twice(int x)'
screen -e | grep -q $'\033\\[3[1-4]m'
result $? 'colors'
press q
shows 'ends' 'ended 0'

begin 15 NO_COLOR=1
shows 'without colors' 'step 15/16'
[ "$(screen -e | grep -c $'\033\\[3[1-4]m')" = 0 ]
result $? 'none with NO_COLOR' "$(screen -e | grep $'\033\\[3[1-4]m')"
press C-c
shows 'interrupted' 'ended'

begin 0 TERM=unknown
shows 'an unknown terminal' 'the terminal "unknown" is not known here'
"$views" terminal "$work/record.json" 0 </dev/null >"$work/out" 2>&1
[ $? = 2 ] && grep -q 'needs a terminal' "$work/out"
result $? 'no terminal' "$(cat "$work/out")"
finish
