# SPDX-License-Identifier: MIT
# Ops first: each once in each dtype, in one process; an op that fails there is tried alone, since an error on a GPU outlasts the op
# that made it. Then every case of every op, then the rooms of the library that speak to the device.
. tests/gpu/common.sh

golden=$GPU_BUILD/tests/core/op/test_golden
run_tests 'ops, once each' 60 "$golden" cuda --first || {
  while IFS= read -r op; do
    run_tests "op $op alone" 10 "$golden" cuda --first "$op"
  done < <(awk -F '\t' '$1 == "ops" && $2 == "ops, once each" && $4 == "failed" { sub(/:.*/, "", $3); print $3 }' "$GPU_OUT/results.tsv" | head -n 60)
}
[ -z "$GPU_DRY" ] || rooms='core/op/test_numbers core/device/test_caching'
for room in ${rooms:-core/op/ core/device/ core/amp/ core/train/ core/nn/ core/optim/ core/autograd/ core/tensor/ core/distributed/ core/data/ \
  core/parallel/ core/profiler/ core/trace/ tests/chapters/test_}; do
  if [ "$(left)" -lt 2 ]; then
    result "$room" '' cut 0 'the time was over'
    continue
  fi
  TEST_JOBS=$((cores > 8 ? 4 : 2)) TEST_TIMEOUT=60 timeout --kill-after=2 "$(left)" \
    tests/run.sh --gpu --build "$GPU_BUILD" --results "$GPU_OUT/results.tsv" "$GPU_STAGE" "$room"
  case $? in 124 | 137) result "$room" 'its remaining tests' cut 0 'the time was over' ;; esac
done
exit 0
