# SPDX-License-Identifier: MIT
# Times: the ladders by events beside the model's prediction for this GPU (times.tsv), the library's benchmarks (bench.tsv), training
# steps beside PyTorch on the same GPU (torch.tsv).
. tests/gpu/common.sh

some=()
[ -z "$GPU_DRY" ] || some=(--small --only stride)
if find_model; then
  # A few blocks of each launch are looked at; the processor does that while the GPU is timed.
  timeout "$(left)" "$GPU_BUILD/ferry" inspect --once --quiet --no-registers --blocks 32 --gpu "$model" --json "$work/modeled.json" \
    tests/gpu/ladders.cu -- ${some[@]+"${some[@]}"} >"$work/modeled.txt" 2>&1 &
else
  result times 'the modeled GPU' skipped 0 "the table of GPUs has no $GPU_NAME"
fi

: >"$work/measured"
run_command ladders timed 60 bash -c '"$0" --times "${@:2}" >"$1"' "$(ladders)" "$work/measured" ${some[@]+"${some[@]}"}

bench() { # GROUP
  run_command bench "$1" 30 "$GPU_BUILD/plots/bench/bench" "$1" --device cuda --seconds 0.05 --out "$work/$1.tsv" ${GPU_DRY:+--quick}
  [ ! -s "$work/$1.tsv" ] || if [ -s "$GPU_OUT/bench.tsv" ]; then
    grep -v -e '^#' -e '^bench	' "$work/$1.tsv" >>"$GPU_OUT/bench.tsv"
  else
    cat "$work/$1.tsv" >"$GPU_OUT/bench.tsv"
  fi
}
: >"$GPU_OUT/bench.tsv"
groups='product elementwise reduction copy overhead training inference optimizer random memory'
[ -z "$GPU_DRY" ] || groups=small_synchronize

compare_with_torch() {
  local python
  if python=$(.ci/build/python_with_torch.sh 2>/dev/null) && "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1; then
    run_command torch 'training steps' 45 plots/torch/compare.sh --build "$GPU_BUILD" --device cuda --quick --out "$GPU_OUT/torch.tsv"
  else
    result torch '' skipped 0 'no python3 has a PyTorch for this GPU'
  fi
}

for group in ${groups%% *}; do bench "$group"; done
compare_with_torch
for group in ${groups#* }; do
  [ "$group" = "$groups" ] || bench "$group"
done

wait
printf 'kernel\telements\tmeasured_us\tminimum_us\tmodeled_us\tlimit\n' >"$GPU_OUT/times.tsv"
touch "$work/modeled.json"
awk -f tests/gpu/inspected.awk -f tests/gpu/times.awk "$work/modeled.json" "$work/measured" >>"$GPU_OUT/times.tsv"
column -t -s $'\t' "$GPU_OUT/times.tsv" 2>/dev/null || cat "$GPU_OUT/times.tsv"
exit 0
