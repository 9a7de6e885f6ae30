#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands that lead from a finding to ./ferry step: what ./ferry inspect prints leads to the access that it is about.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
chmod 755 "$work" # root's answers run as another user

# ---- from ./ferry inspect --------------------------------------------------------------------------------------------------

# Of the kernels of wrong.cu: a race between blocks or with the host has no command.
"$ferry" inspect tests/core/inspect/kernels/wrong.cu --no-registers --quiet --json "$work/json" >"$work/out"
without=$(grep '"type": "finding"' "$work/json" | grep -v '"step": ' | sed -E 's/.*"kind": "([a-z-]+)".*/\1/' | sort -u | tr '\n' ' ')
[ "$without" = 'argument freed leak race-grid uninitialized-global ' ]
result $? 'the findings that have no command are those that are not within one block' "$without"
# A backslash joins the lines of a long command.
commands=$(sed -e ':join' -e '/\\$/ { N; s/ \\\n */ /; b join' -e '}' -e 's/^ *See it: //' -e t -e d "$work/out" | sort)
difference=$(diff <(sed -nE 's/.*"step": "([^"]*)"}$/\1/p' "$work/json" | sort) <(echo "$commands"))
result $? 'the terminal has the commands of the JSON lines' "$difference"

leads_to() { # NAME TEXT KERNEL: the kernel's command prints a step with that text, and no message
  local command
  command=$(grep -- "--kernel $3 " <<<"$commands" | head -n 1)
  command=${command#./ferry }
  # shellcheck disable=SC2086 # its words
  "$ferry" $command >"$work/step" 2>"$work/said"
  [ ! -s "$work/said" ] && grep -qF -- "$2" "$work/step"
  result $? "$1: $command" "$(head -n 3 "$work/said") $(grep '^!!' "$work/step")"
}

leads_to 'a race' '!! finding 1, data race within a block: tile[0]' one_barrier_of_two
leads_to 'a block that is not the first' 'x[1024], which has 1024 elements' one_too_many
leads_to 'a divergent barrier' 'divergent barrier: thread 0 waits here' in_branch

cat >"$work/late.cu" <<'CU'
template <int N> __global__ void writes(int *x, int n) {
  const int i = (blockIdx.y * gridDim.x + blockIdx.x) * N + threadIdx.x;
  if (i <= n)
    x[i] = WHAT;
}
int main(int argc, char **argv) {
  int *x;
  cudaMalloc(&x, 96 * 4);
  writes<8><<<1, 8>>>(x, 4);
  writes<32><<<1, 32>>>(x, 4);
  writes<32><<<dim3(2, 2), 32>>>(x, argc == 3 ? 96 : 4);
  cudaDeviceSynchronize();
  cudaFree(x);
  return argv[2][0] != ' ';
}
CU
"$ferry" inspect "$work/late.cu" -DWHAT='(i + 1)' --no-registers --quiet --json "$work/json" -- one ' two' >"$work/out"
command=$(sed -nE 's/.*"step": "([^"]*)"}$/\1/p' "$work/json")
[ "$command" = "./ferry step $work/late.cu '-DWHAT=(i + 1)' --kernel 'writes<32>' --launch 1 --block 1,1 --at bounds@4 -- one ' two'" ]
result $? 'options, a template, a launch, a block in two dimensions and arguments' "$command"
eval "\"$ferry\" ${command#./ferry }" >"$work/step" 2>"$work/said"
grep -qF 'x[96], which has 96 elements' "$work/step" && [ ! -s "$work/said" ]
result $? 'and it leads to the access' "$(head -n 3 "$work/said")"
says 'another order has no such finding: the line' 0 'This is the first step of line 4' \
  "$ferry" step "$work/late.cu" -DWHAT=1 --at race@4 -- one two

# ---- an answer ---------------------------------------------------------------------------------------------------------------

answer=tests/hidden/23_1_shared_transpose/wrong_no_barrier.cu
mkdir -p "$work/work" && chmod 755 "$work/work"
cp "$answer" "$work/work/23_1_shared_transpose.cu"
"$ferry" inspect "$work/work/23_1_shared_transpose.cu" --no-registers --json "$work/json" >"$work/out"
command=$(sed -nE 's/.*"step": "([^"]*)"}$/\1/p' "$work/json" | head -n 1)
[[ $command == *" --test '"*"' --at race"* ]]
result $? 'an answer: the command names the test' "$command"
eval "\"$ferry\" ${command#./ferry }" >"$work/step" 2>"$work/said"
grep -q '^!! finding [0-9]*, data race within a block' "$work/step" && [ ! -s "$work/said" ]
result $? 'and it leads to the access' "$command $(head -n 3 "$work/said")"

# ---- from a verdict ------------------------------------------------------------------------------------------------------------

walks() { # EXERCISE ANSWER TEXT [ARGUMENTS OF run]: the verdict's command leads to a step with that text, and no message
  local command file=$work/work/$1.cu number=${1:0:4}
  cp "tests/hidden/$1/wrong_$2.cu" "$file"
  "$ferry" run "${number/_/.}" --file "$file" "${@:4}" >"$work/out"
  command=$(sed -e ':join' -e '/\\$/ { N; s/ \\\n */ /; b join' -e '}' -e 's/^  Walk through it: //' -e t -e d "$work/out")
  eval "\"$ferry\" ${command#./ferry }" >"$work/step" 2>"$work/said"
  [[ $command == *' --replay '* ]] && grep -q -- "$3" "$work/step" && [ ! -s "$work/said" ]
  result $? "the verdict on $1, $2, leads to it" "$command: $(head -n 3 "$work/said") $(tail -n 5 "$work/out")"
}
walks 24_1_sum_reduction no_barrier '^!! finding [0-9]*, data race within a block' # found by the inspector
walks 24_1_sum_reduction return '^!! finding 1, divergent' --test 'one element' # by the simulator
cp "$work/out" "$work/returns"
! grep -q -- --block "$work/returns" && awk 'length($0) > 80 { exit 1 }' "$work/returns"
result $? 'with the options that it needs, in 80 columns' "$(grep -A 1 Walk "$work/returns")"
"$ferry" run 20.1 --file tests/hidden/20_1_saxpy/wrong_down.cu >"$work/out"
! grep -q 'Walk through' "$work/out"
result $? 'of a wrong value alone there is none'
cp "$answer" "$work/other.cu"
"$ferry" run 23.1 --file "$work/other.cu" >"$work/out"
! grep -q 'Walk through' "$work/out" && grep -q 'the inspector found' "$work/out"
result $? 'nor of a file that is not named like its exercise'
says 'a test that there is not' 3 'has no test 15' "$ferry" step "$work/work/24_1_sum_reduction.cu" --replay 15.1f
says 'no such inputs' 2 'what a failed test of ./ferry run printed' "$ferry" step "$work/work/24_1_sum_reduction.cu" --replay 2.x
finish
