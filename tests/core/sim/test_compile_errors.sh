#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mistakes that learners make (compile_errors.txt): `./ferry nvcc`, `./ferry inspect` and `./ferry run` report each of them first, at the
# reader's line, in the expected words, and without the names of generated code. Right programs are accepted. Where nvcc is installed, it
# refuses and accepts the same programs.
# run all:
# timeout: 900
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
root=$PWD ferry=$PWD/ferry table=$PWD/tests/core/sim/compile_errors.txt
[ -x "$ferry" ] || skip_all './ferry is not built'
case ${FERRY_BUILD:-build} in *asan* | *tsan*) skip_all 'sanitized builds have no ./ferry' ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C # g++'s quotation marks
unset FERRY_SIM_DEVICES FERRY_SIM_MODE FERRY_SIM_ORDER
cd "$work" || exit 1
awk '/^===/ { file = $2; sub(/\*$/, "", file); file = file ".cu"; print substr($0, 5) > "table"; next }
  $0 == "MAIN" { $0 = "int main() {\n  float *d;\n  cudaMalloc(&d, 128);\n  k<<<1, 32>>>(d);\n}" }
  file { print > file }' "$table"

# FILE LINE WORDS: the first error in ./said is this one, no line has a word of the simulator's, and there is no cascade.
says_first() {
  local first
  first=$(grep -m 1 'error: ' said)
  [[ $first == "$1:$2:"*"error: "*"$3"* ]] && ! grep -qE 'cudasim|cu2cpp|core/sim|\.ii|<command-line>' said &&
    [ "$(wc -l <said)" -le 24 ]
}
why() {
  head -c 400 said | tr '\n' ' '
}

nvcc=${FERRY_TEST_NVCC-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ "$(wc -l <table)" -ge 60 ]
result $? 'there are programs'
while read -r name line words; do
  file=${name%\*}.cu
  "$ferry" nvcc -c -o object.o "$file" >said 2>&1
  status=$?
  if [ "$line" = ok ]; then
    [ $status = 0 ]
    result $? "nvcc: $file is accepted" "$(why)"
  else
    [ $status = 1 ] && says_first "$file" "$line" "$words"
    result $? "nvcc: $file" "$(why)"
  fi
  if [ "$name" != "$file" ] && [[ $name == *\* ]]; then
    "$ferry" inspect --quiet "$file" >said 2>&1
    status=$?
    if [ "$line" = ok ]; then
      ! grep -q 'error: ' said
      result $? "inspect: $file compiles" "$(why)"
    else
      sed -i "s|[^ ]*/$file:|$file:|" said
      [ $status != 0 ] && grep -v '^ferry inspect: ' said >kept && mv kept said && says_first "$file" "$line" "$words"
      result $? "inspect: $file" "$status $(why)"
    fi
  fi
  [ -n "$nvcc" ] || continue
  "$nvcc" -c -arch=sm_80 -o object.o "$file" >said 2>&1
  status=$?
  if [ "$line" = ok ]; then [ $status = 0 ]; else [ $status != 0 ] && grep -q error said; fi
  result $? "NVIDIA's nvcc agrees: $file" "$(why)"
done <table
[ -n "$nvcc" ] || skip "NVIDIA's nvcc agrees" 'it is not installed'

# An answer to an exercise.
answer() { # LINE WORDS, the answer in saxpy.cu
  (cd "$root" && FERRY_CUDA=sim FERRY_WORK=$work/mine ./ferry run 20.1 --file "$work/saxpy.cu") >said 2>&1
  grep -q "saxpy.cu:$1:.*error: $2" said && ! grep -qE 'cudasim|cu2cpp' said
  result $? "run: $2" "$(why)"
}
launch='extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) { saxpy<<<(n + 255) / 256, 256>>>(y, x, a, n); }'
{
  echo '#include <cuda_runtime.h>'
  echo 'float product(float a, float b) { return a * b; }'
  echo '__global__ void saxpy(float *y, const float *x, float a, int n) {'
  echo '  int i = blockIdx.x * blockDim.x + threadIdx.x;'
  echo '  if (i < n)'
  echo '    y[i] += product(a, x[i]);'
  echo '}'
  echo "$launch"
} >saxpy.cu
answer 6 'calling a __host__ function (product)'
sed -i 's/^float product/__device__ float product/; s/int i = .*/int i = threadIdx.x; threadIdx.x = 0;/' saxpy.cu
answer 4 'assignment to a constant'
sed -i 's/threadIdx.x = 0;/throw 1;/' saxpy.cu
answer 4 'device code does not support exceptions'
finish
