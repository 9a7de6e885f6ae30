# SPDX-License-Identifier: MIT
# The chapters on kernels and the exercises' solutions: right results on the GPU; then compute-sanitizer over them.
. tests/gpu/common.sh

# CUDA programs that stand on the runtime alone, as nvcc built them: none in a dry run, which has no GPU for them.
cuda_tests() {
  [ -n "$GPU_DRY" ] || find build/cuda/tests/core -type f -name 'test_*' ! -name '*.*' 2>/dev/null | LC_ALL=C sort
}

one_solution() { # FILE
  local name status
  name=$(basename "$1" .cu)
  run_command solutions "$name" 60 "$GPU_BUILD/ferry" run "$name" --file "$1"
  status=$?
  if [ $status = 3 ]; then # the grader's trouble is not the kernel's
    run_command solutions "$name, without a sandbox" 60 "$GPU_BUILD/ferry" run "$name" --file "$1" --sandbox none
  fi
}

under_sanitizer() { # TOOL PROGRAM ARGUMENTS...
  run_command "$1" "$(basename "$2") ${*:3}" 60 "$tool" --tool "$1" --error-exitcode 99 --print-limit 5 "${@:2}"
}

run_tests 'chapters on kernels' 60 tests/chapters/test_kernel_chapters.sh
for program in $(cuda_tests); do
  run_tests "${program#build/cuda/}" 60 "$program"
done
solutions=(solutions/[23]*.cu)
[ -z "$GPU_DRY" ] || solutions=(solutions/20_1*.cu)
for file in "${solutions[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge $((cores / 2 > 0 ? cores / 2 : 1)) ]; do
    wait -n
  done
  one_solution "$file" &
done
wait

find_tool compute-sanitizer || exit 0
chapters=()
for program in build/cuda/chapters/{19,2[1-9],30}*; do # 20 and 32 make mistakes on purpose
  case $program in *.*) ;; *) [ -x "$program" ] && [ -z "$GPU_DRY" ] && chapters+=("$program") ;; esac
done
under_sanitizer memcheck "$(ladders)" --small
under_sanitizer racecheck "$(ladders)" --small
under_sanitizer memcheck "$GPU_BUILD/tests/core/op/test_golden" cuda --first
for program in ${chapters[@]+"${chapters[@]}"}; do
  under_sanitizer memcheck "$program" --quick
done
for program in ${chapters[@]+"${chapters[@]}"}; do
  under_sanitizer racecheck "$program" --quick
done
exit 0
