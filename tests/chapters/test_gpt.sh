#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The lessons on the GPT: it learns, its samples are the same for the same seed, its losses are the same on every device and
# in PyTorch, and its gradients are those of differences.
# run: FERRY_CUDA=off
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# run: FERRY_CUDA=real
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
subject='the GPT'
. tests/chapters/common.sh

report() { # STATUS NAME WHY
  if [ "$1" = 0 ]; then
    echo "ok $2"
  else
    echo "not ok $2 - $3"
  fi
}

# ---- lesson 33 -------------------------------------------------------------------------------------------------------

run 33_gpt --quick --steps 40
ends_well
has '^576460 characters, 63 of them different'
has '^28000 parameters$'
has '^loss 4\.1[0-9]*; a guess among 63 characters has ln\(63\) = 4\.143$'
awk '$1 == "40" && NF == 3 { exit !($2 < 3.7 && $3 < 3.7) } END { if (NR == 0) exit 1 }' "$work/out" &&
  grep -q '^40 ' "$work/out"
report $? 'it learns: 40 steps lower both losses from 4.14 to less than 3.7' "$(grep '^40 ' "$work/out")"
sed -n '/^ROMEO:/,$p' "$work/out" >"$work/first"
run 33_gpt --quick --steps 40
sed -n '/^ROMEO:/,$p' "$work/out" >"$work/second"
[ "$(wc -c <"$work/first")" -gt 46 ] && cmp -s "$work/first" "$work/second"
report $? 'a seed determines the sample' "$(diff "$work/first" "$work/second" | head -n 3)"
run 33_gpt --quick --steps 40 --prompt 'JULIET:'
has '^JULIET:'

# ---- lesson 34 -------------------------------------------------------------------------------------------------------

run 34_fast_gpt --quick
ends_well
has '^gradients of the input and of 12 parameters of a block: True$'
has '^below 1e-4: True$'
has '^the losses of 20 steps are equal to 1e-4: True$'
grep -E '^[0-9.]+(  [0-9.]+){4}$' "$work/out" >"$work/losses"
[ "$(wc -w <"$work/losses")" = 20 ]
report $? 'it prints 20 losses' "$(wc -w <"$work/losses")"

# The largest difference of two lists of losses, in units of 1e-6.
difference() { # FILE FILE
  paste <(tr -s ' ' '\n' <"$1") <(tr -s ' ' '\n' <"$2") |
    awk '{ d = $1 > $2 ? $1 - $2 : $2 - $1; if (NF != 2) d = 9; if (d > most) most = d } END { printf "%.0f", most * 1e6 }'
}

# ---- lesson 35 -------------------------------------------------------------------------------------------------------

run 35_train_gpt --quick
ends_well
has '^the losses differ by less than 1 %: True$'
has '^the gradients are equal: True$'
awk '$1 == "False" { without = $2 } $1 == "True" { with = $2 } END { exit !(with > 0 && with < without) }' "$work/out"
report $? 'checkpointing takes less memory' "$(grep -E '^(True|False) ' "$work/out" | tr '\n' ' ')"
has '^8 steps, and 4 steps, a file and 4 more: the weights are equal: True$'
has '^without the file, after 4 steps: False$'
if command -v mpirun >/dev/null && [ -e build/libferry-mpi.so ]; then
  has '^step 6: one rank 3\.[0-9]+, mean of 2 ranks 3\.[0-9]+$'
  has '^equal to 1e-4: True$'
else
  has '^There is no Open MPI here'
fi
[ "$(grep -c '^JULIET:$' "$work/out")" = 3 ] && [ "$(awk '/^temperature/ { getline; getline; print }' "$work/out" | sort -u | wc -l)" = 3 ]
report $? 'each temperature gives another text' "$(tail -n 8 "$work/out" | tr '\n' ' ')"
run 33_gpt --quick --steps 5 --save "$work/weights.safetensors"
run 35_train_gpt --quick --weights "$work/weights.safetensors"
ends_well
hasnt '^mean loss of the last quarter'

# ---- PyTorch ---------------------------------------------------------------------------------------------------------

python=$(.ci/build/python_with_torch.sh 2>/dev/null)
if [ -z "$python" ]; then
  echo 'ok the losses are those of PyTorch # SKIP PyTorch is not installed'
  exit
fi
"$programs/34_fast_gpt" --export "$work/run.safetensors" >/dev/null
"$python" chapters/gpt_in_torch.py "$work/run.safetensors" >"$work/torch" 2>"$work/err"
[ "$(wc -w <"$work/torch")" = 20 ] && [ "$(difference "$work/losses" "$work/torch")" -le 100 ]
report $? 'the losses are those of PyTorch to 1e-4' "$(difference "$work/losses" "$work/torch") millionths; $(tail -n 1 "$work/err")"
sed 's/^HEADS = 2/HEADS = 4/' chapters/gpt_in_torch.py >"$work/other.py"
"$python" "$work/other.py" "$work/run.safetensors" >"$work/torch"
[ "$(wc -w <"$work/torch")" = 20 ] && [ "$(difference "$work/losses" "$work/torch")" -gt 100 ]
report $? 'a model with another number of heads has other losses' "$(difference "$work/losses" "$work/torch") millionths"
