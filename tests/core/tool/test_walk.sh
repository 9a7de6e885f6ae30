#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The way from the build to the first pass as somebody at a terminal of 80 columns walks it: the chapters' run, start, run, the
# answer, the pass, watch with its keys. No line is broken by the terminal, and the last line is the verdict.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 600
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
command -v tmux >/dev/null 2>&1 || skip_all 'tmux is not installed'
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp FERRY_WORK=$work/mine EDITOR=true TERM=screen
root=$PWD
{ read -r first && read -r second && read -r third; } < <("$ferry" list --ids)

# ---- the chapters: stubs in place of programs, since what is looked at is what make run prints of them ---------------------------

mkdir -p "$work/chapters" "$work/built/chapters"
for name in 01_first 02_second 20_kernels; do
  touch "$work/chapters/$name.c"
  printf '#!/bin/sh\necho "device: cuda:0, Simulated CUDA device (CPU), simulated: its times say nothing"\necho "inside of %s $*"\n' \
    $name >"$work/built/chapters/$name"
  chmod 755 "$work/built/chapters/$name"
done
says 'a line for each chapter' 0 '3 of 3  20 kernels                 cuda:0, simulated' \
  env CHAPTERS="$work/chapters" .ci/build/chapters.sh "$work/built"
[ "$(sed -n 2p "$work/built/run/02.txt")" = 'inside of 02_second ' ]
result $? 'what a chapter printed is kept' "$(head -c 200 "$work/built/run/02.txt")"
says 'verbose shows it' 0 'inside of 01_first --quick' \
  env CHAPTERS="$work/chapters" .ci/build/chapters.sh "$work/built" --verbose --quick
printf '#!/bin/sh\necho device: cpu\necho "what went wrong"\nexit 7\n' >"$work/built/chapters/02_second"
says 'a chapter that fails' 1 'what went wrong' env CHAPTERS="$work/chapters" .ci/build/chapters.sh "$work/built"
says 'and says how to run it alone' 1 "$work/built/chapters/02_second" \
  env CHAPTERS="$work/chapters" .ci/build/chapters.sh "$work/built"
make -n run 2>/dev/null | tail -n 3 | grep -q 'ferry'
result $? 'make run ends with what to do next' "$(make -n run 2>&1 | tail -n 2)"

# ---- at the terminal -----------------------------------------------------------------------------------------------------------

tmux=(tmux -f /dev/null -L "ferry-walk-$$")
trap '"${tmux[@]}" kill-server 2>/dev/null; rm -rf "$work"' EXIT
if ! "${tmux[@]}" new-session -d -x 80 -y 200 -c "$root" 'PS1="READY> " exec bash --norc --noprofile' 2>"$work/tmux"; then
  skip 'the terminal' "tmux does not start: $(head -n 1 "$work/tmux")"
  finish
  exit
fi

screen() { # as the terminal has it, and with -J where it has broken lines joined
  "${tmux[@]}" capture-pane -p "$@"
}

wait_for() { # TEXT: until it is on the screen
  for _ in $(seq 600); do
    screen -J | grep -qF -- "$1" && return 0
    sleep 0.1
  done
  return 1
}

# COMMAND TEXT: the command, until it has ended and the text is there. Each end has a number, or the one before, which is on the
# screen until it is cleared, would do; and it is typed in another way than it is printed.
types() {
  turn=$((turn + 1))
  "${tmux[@]}" send-keys "clear; $1; echo EN''DED $turn" Enter
  wait_for "ENDED $turn" && screen -J | grep -qF -- "$2"
}
turn=0

# Until nothing has changed for a while: what was waited for need not be the last that is drawn.
settle() {
  local before='' now
  for _ in $(seq 100); do
    now=$(screen)
    [ "$now" = "$before" ] && return
    before=$now
    sleep 0.3
  done
}

# No line was broken by the terminal: joined or not, the screen is the same.
is_whole() { # NAME
  settle
  [ "$(screen)" = "$(screen -J | sed 's/ *$//')" ] && ! screen | grep -qE '.{81}'
  result $? "$1: nothing is wider than the terminal" "$(diff <(screen) <(screen -J | sed 's/ *$//') | head -n 4 | tr '\n' ' ')"
}

last_line() {
  screen -J | grep -v '^$' | grep -B 1 -m 1 '^ENDED' | head -n 1
}

"${tmux[@]}" send-keys "unset COLUMNS; export NO_COLOR=1 PAGER=cat" Enter
types "$ferry" 'Start with'
is_whole 'before the start'
types "$ferry start" "Next: 1.1"
result $? 'start names the first exercise' "$(screen | head -n 5 | tr '\n' ' ')"
screen | grep -q './ferry chapter [123] --read'
result $? 'which is one that the first lessons have prepared' "$(screen | grep chapter)"
is_whole 'start'
types "$ferry list" '0 of'
is_whole 'list'
[ "$(screen | grep -cE '^  [ >✓] [0-9]+[.][0-9]')" = "$(find exercises -name '[0-9]*' | wc -l)" ]
result $? 'list: a row for each exercise' "$(screen | grep -cE '^  [ >✓] [0-9]+[.][0-9]') rows"
for command in help 'help inspect' 'help grade'; do
  types "$ferry $command" 'usage:'
  is_whole "$command"
done
types "$ferry run" 'tests passed'
is_whole 'a stub'
screen | grep -q '^✗ [0-9]* of [0-9]* tests fail: '
result $? 'the decisive line' "$(screen | head -n 3 | tr '\n' ';')"
types "$ferry hint" '1 of'
is_whole 'a hint'
types "$ferry chapter 1 --read | cat" 'Why a GPU'
is_whole 'a lesson'
if command -v less >/dev/null; then
  "${tmux[@]}" send-keys "clear; PAGER=less $ferry chapter 20#guard" Enter
  wait_for 'guard. Without it'
  settle
  [ "$(screen | head -n 1)" = 'Grid, block, guard' ]
  result $? 'a section: less begins at its heading' "$(screen | head -n 3 | tr '\n' ';')"
  "${tmux[@]}" send-keys g
  wait_for 'Host and device'
  result $? 'and what comes before it can be read' "$(screen | head -n 3 | tr '\n' ';')"
  "${tmux[@]}" send-keys q
else
  skip 'a section: less begins at its heading' 'less is not installed'
fi
types "PAGER='head -n 3' $ferry chapter 20#guard" 'Grid, block, guard'
[ "$(screen | head -n 1)" = 'Grid, block, guard' ]
result $? 'another pager gets what follows the heading' "$(screen | head -n 3 | tr '\n' ';')"

# An answer that does not compile, then the right one.
printf '#include "ferry.h"\nFyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {\n  int unused;\n  return fy_zeros(3, 3)\n}\n' \
  >"$FERRY_WORK/$first.c"
types "$ferry run" 'compile error'
is_whole 'a compile error'
! screen | grep -qE 'in expansion of macro|In file included|/core/'
result $? 'a compile error speaks of the learner'"'"'s file alone' "$(screen | grep -E 'macro|included|/core/' | head -n 2)"
cp "solutions/$first.c" "$FERRY_WORK/$first.c"
types "$ferry run" 'tests passed'
is_whole 'the first pass'
screen | grep -q '^✓ [0-9]* of [0-9]* tests passed in '
result $? 'the decisive line of a pass' "$(screen | head -n 3 | tr '\n' ';')"
screen | grep -q '  learned '
result $? 'it says what was learned'
types "$ferry diff $first" 'Lines with'
result $? 'diff after the pass'

# ---- watch ---------------------------------------------------------------------------------------------------------------------

"${tmux[@]}" send-keys "clear; $ferry watch; echo EN''DED $((++turn))" Enter
wait_for "$second"
wait_for 'tests fail: '
result $? 'watch runs at once, the next exercise' "$(screen | tail -n 5 | tr '\n' ' ')"
is_whole 'watch'
screen | grep -q '\] 1 of [0-9]* exercises passed'
result $? 'watch shows the progress'
"${tmux[@]}" send-keys h
wait_for '1 of '
result $? 'h: a hint' "$(screen | tail -n 5 | tr '\n' ' ')"
cp "solutions/$second.c" "$FERRY_WORK/$second.c"
wait_for 'tests passed in'
result $? 'a save is checked'
screen | grep -q 'n next exercise'
result $? 'after a pass it offers the next'
"${tmux[@]}" send-keys n
wait_for "$third"
result $? 'n: the next exercise' "$(screen | tail -n 5 | tr '\n' ' ')"
"${tmux[@]}" send-keys l
wait_for 'Run-length encoding'
result $? 'l: the list'
"${tmux[@]}" send-keys q
wait_for "ENDED $turn"
result $? 'q ends it'
"${tmux[@]}" send-keys 'echo typed; stty -a | grep -o " ican[o]n"' Enter
wait_for ' icanon'
result $? 'the terminal is as it was before'

# ---- without a terminal --------------------------------------------------------------------------------------------------------

printf 'FyTensor *offset_grid(FyDevice d, int64_t r, int64_t c, double o) {\n  volatile int run = 1;\n  while (run) {\n  }\n  return 0;\n}\n' |
  cat <(echo '#include "ferry.h"') - >"$work/endless.c"
output=$(FERRY_ANSWER_SECONDS=2 "$ferry" run 3.1 --file "$work/endless.c")
[ "$(grep -cE '^test .*: timeout$' <<<"$output")" = 1 ] && grep -qE '^  [0-9]+ tests were not run' <<<"$output"
result $? 'an infinite loop costs one timeout: the other tests are not run' "$(head -n 8 <<<"$output" | tr '\n' ' ')"
printf 'FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {\n  FyTensor *grid = NULL;\n  fy_scope {\n    grid = fy_add_scalar(fy_zeros(fy_shape(rows, columns), .device = device), offset);\n  }\n  return fy_add_scalar(grid, 1);\n}\n' |
  cat <(echo '#include "ferry.h"') - >"$work/after.c"
flat=$("$ferry" run 3.1 --file "$work/after.c" | tr -s '\n ' ' ')
[[ $flat == *'is used after its scope has ended'* ]]
result $? 'a tensor used after its scope is an error, no crash' "$flat"
[[ $flat == *'it was made at 03_1_create_on_the_device.c:5, and freed with the scope at 03_1_create_on_the_device.c:4'*'fy_keep'* ]]
result $? 'it says where it was made, what freed it, and the remedy' "$flat"
sed 's/256>>>/2048>>>/; s/threads = 256/threads = 2048/' solutions/20_1_saxpy.cu >"$work/wide.cu"
says 'a block of too many threads' 1 'mistake: more than 1024 threads per block' "$ferry" run 20.1 --file "$work/wide.cu"
printf '#include <stdio.h>\n#include "ferry.h"\nint main(void) {\n  FyTensor *x = fy_to(fy_ones(fy_shape(4)), fy_cuda_device(0));\n  printf("sum %%g\\n", fy_item(fy_sum(x)));\n}\n' \
  >"$work/played.c"
says 'play: a C file' 0 'sum 4' "$ferry" play "$work/played.c"
cp chapters/03_tensor_moves.c chapters/20_the_first_kernel.cu "$work"
says "play: a copy of a lesson's program in C" 0 'raised on purpose' "$ferry" play "$work/03_tensor_moves.c" -- --quick
says "play: a copy of a lesson's program in CUDA" 0 'CPU and device agree: yes' "$ferry" play "$work/20_the_first_kernel.cu" -- --quick
says 'play: what was counted' 0 'copies to a device                    1' "$ferry" play "$work/played.c"
says 'play: a CUDA file' 0 'kernel launches' "$ferry" play chapters/20_the_first_kernel.cu --quick
says 'new' 0 'make -C' "$ferry" new "$work/program"
says 'new: it builds and runs' 0 'step 200' make -C "$work/program" run
says 'new: not over another' 2 'it already exists' "$ferry" new "$work/program"
finish
