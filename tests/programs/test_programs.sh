#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry cuda and ./ferry nvcc: the programs of this folder, errors in the user's words, nvcc's command line, an installed copy.
# timeout: 600
set -u
ferry=$PWD/ferry here=$PWD/tests/programs
[ -x "$ferry" ] || { echo 'ok programs # SKIP ./ferry is not built'; exit 0; }
case ${FERRY_BUILD:-build} in *asan* | *tsan*)
  echo 'ok programs # SKIP sanitized builds have no ./ferry'
  exit 0
  ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
unset FERRY_SIM_DEVICES FERRY_SIM_MODE FERRY_SIM_ORDER

check() { # NAME, then a command that succeeds
  local name=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok $name"
  else
    echo "not ok $name"
    sed 's/^/    /' "$work/said" | tail -n 20
    failed=1
  fi
}
says() { # TEXT COMMAND...
  local text=$1
  shift
  "$@" 2>&1 | tee "$work/all" | grep -qF -- "$text" || { cat "$work/all" && false; }
}
says_not() {
  local text=$1
  shift
  "$@" >"$work/all" 2>&1
  ! grep -F -- "$text" "$work/all"
}

for program in "$here"/*.cu; do
  name=$(basename "$program" .cu)
  [ "$name" = wrong ] || [ "$name" = not_configured ] || check "$name" timeout 120 "$ferry" cuda -O1 "$program"
done

check 'casts, optimized as far as g++ does' timeout 120 "$ferry" cuda -O3 "$here/casts.cu"
check 'products that are rounded, optimized' timeout 120 "$ferry" cuda -O3 "$here/rounded.cu"

# thrust, by NVIDIA's own headers where they are.
cat >"$work/thrust.cu" <<'END'
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <cstdio>
struct twice { __host__ __device__ int operator()(int x) const { return 2 * x; } };
__global__ void increment(int *x) { x[threadIdx.x]++; }
int main() {
  thrust::host_vector<int> h(4);
  thrust::sequence(h.rbegin(), h.rend()); // whose header nobody has asked for
  thrust::device_vector<int> d = h;
  thrust::sort(thrust::cuda::par.on(0), d.begin(), d.end());
  thrust::transform(d.begin(), d.end(), d.begin(), twice());
  increment<<<1, 4>>>(thrust::raw_pointer_cast(d.data()));
  printf("%d %d\n", thrust::reduce(d.begin(), d.end()), (int)d[3]); // nothing waits between the two
}
END
echo '#include <thrust/version.h>' >"$work/there.cu"
if "$ferry" nvcc -E "$work/there.cu" -o /dev/null 2>/dev/null; then
  check 'thrust' says '16 7' timeout 300 "$ferry" cuda -O0 "$work/thrust.cu"
  # Its algorithms run on the host here, and wait for nobody.
  check 'thrust beside kernels is no race with the host' says 'no findings' timeout 300 "$ferry" inspect "$work/thrust.cu"
else
  echo "ok thrust # SKIP its headers (NVIDIA's CCCL) are not here"
  echo "ok thrust beside kernels is no race with the host # SKIP its headers (NVIDIA's CCCL) are not here"
fi

cat >"$work/unroll.cu" <<'END'
#define TIMES 4
__device__ __forceinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
template <int N> __global__ void sum(int *x) {
#pragma unroll N
  for (int i = 0; i < N; i++) *x += i;
#pragma unroll TIMES
  for (int i = 0; i < TIMES; i++) *x += i;
#pragma unroll (2)
  for (int i = 0; i < 4; i++) *x += i;
  *x += factorial(*x / 6);
}
int main() { int *x; cudaMallocManaged(&x, 4); *x = 0; sum<4><<<1, 1>>>(x); cudaDeviceSynchronize(); return *x; }
END
"$ferry" cuda "$work/unroll.cu"
check 'loops unrolled by a macro and by a parameter, recursion in an inline function' test $? = 24
printf 'int first;\n' >"$work/word.ii"
check 'a text that begins with a word' "$(dirname "$ferry")/build/cu2cpp" --program "$work/word.ii" "$work/word.out"
echo '#include <cudnn.h>' >"$work/other.cu"
check "no header of NVIDIA's that does not fit" says 'cudnn.h: No such file' "$ferry" nvcc -c "$work/other.cu" -o /dev/null

# ---- errors ------------------------------------------------------------------------------------------------------------

"$ferry" cuda "$here/wrong.cu" >"$work/errors" 2>&1
check 'errors: exit status' test $? = 1
check 'errors: too few arguments' says 'wrong.cu:11:16: error: too few arguments to function' cat "$work/errors"
check 'errors: a wrong argument' says 'wrong.cu:12:18: error: cannot convert' cat "$work/errors"
check 'errors: a template that does not fit' says 'wrong.cu:13:16: error: no matching function for call to' cat "$work/errors"
check 'errors: no such kernel' says 'wrong.cu:14:3: error:' cat "$work/errors"
check 'errors: written template arguments' says 'wrong.cu:15:25: error: cannot convert' cat "$work/errors"
check 'errors: each of them once' test "$(grep -c 'error:' "$work/errors")" = 5
check 'errors: no words of the simulator' says_not cudasim cat "$work/errors"
not_configured() { # COMMAND...: each call of a kernel without <<<>>> is an error in its line, and nothing else is
  ! "$@" "$here/not_configured.cu" >"$work/errors" 2>&1 &&
    [ "$(grep 'error: .*a __global__ function call must be configured' "$work/errors" | grep -o 'not_configured.cu:[0-9]*' | tr '\n' ' ')" = \
      'not_configured.cu:11 not_configured.cu:15 not_configured.cu:17 not_configured.cu:19 ' ] &&
    [ "$(grep -c 'error:' "$work/errors")" = 4 ] || { cat "$work/errors" && false; }
}
check 'errors: a kernel called without <<<>>>' not_configured "$ferry" cuda
check 'errors: a kernel called without <<<>>>, without warnings' not_configured "$ferry" nvcc -w -o /dev/null
check 'errors: a kernel called without <<<>>>, inspected' not_configured "$ferry" inspect
check 'inspected: functions by the names of kernels' says PASS "$ferry" cuda --inspect "$here/configured.cu"
printf 'int main() {\n  k<<<1, 2;\n}\n' >"$work/open.cu"
check 'errors: a launch that is not closed' says "$work/open.cu:2: error: expected \">>>\"" "$ferry" cuda "$work/open.cu"

# ---- ./ferry cuda --------------------------------------------------------------------------------------------------------

cat >"$work/arguments.cu" <<'END'
#include <cstdio>
int main(int argc, char **argv) { void *p; cudaMalloc(&p, 100); printf("%d %s\n", argc, argc > 1 ? argv[1] : ""); return argc == 3 ? 5 : 0; }
END
cat >"$work/deduced.cu" <<'END'
template <class T> __global__ void scale(T *x, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
int main() { float *x; cudaMalloc(&x, 256); cudaMemset(x, 0, 256); scale<<<2, 32>>>(x, 2.0f, 64); cudaFree(x); }
END
check 'arguments' says '2 a b' "$ferry" cuda "$work/arguments.cu" -- 'a b'
"$ferry" cuda "$work/arguments.cu" -- x y >/dev/null
check "the program's exit status" test $? = 5
check 'counts' says 'device memory left over' "$ferry" cuda --count "$work/arguments.cu"
check 'counts: what is left' says_not 'left over         0 bytes' "$ferry" cuda --count "$work/arguments.cu"
check 'inspected: a launch whose template is deduced' says 'scale<<<(2,1,1), (32,1,1)>>>' "$ferry" cuda --inspect "$work/deduced.cu"
check 'inspected: casts' says PASS "$ferry" cuda --inspect "$here/casts.cu"
check 'inspected: memory of graphs is no leak' "$ferry" cuda --inspect "$here/graphs.cu"
check 'counts: memory of graphs is not left over' says 'left over         0 bytes' "$ferry" cuda --count "$here/graphs.cu"
"$ferry" cuda >/dev/null 2>&1
check 'no file' test $? = 2
check 'help' says 'usage: ./ferry cuda' "$ferry" cuda --help

echo 'int main() { void *p; return cudaMalloc(&p, 20 << 20) != cudaErrorMemoryAllocation; }' >"$work/full.cu"
export FERRY_SIM_MEMORY_MB=16
check 'too little memory is told' says '20971520 bytes do not fit: device 0 has 16 MB, 0 of them' "$ferry" cuda "$work/full.cu"
unset FERRY_SIM_MEMORY_MB

cat >"$work/spins.cu" <<'END'
#include <cstdio>
__global__ void spins(volatile int *flag) { if (threadIdx.x == 0) { while (*flag == 0) {} } else *flag = 1; }
int main() { int *f; cudaMalloc(&f, 4); cudaMemset(f, 0, 4); spins<<<1, 64>>>(f); puts(cudaGetErrorName(cudaDeviceSynchronize())); }
END
export FERRY_SIM_WATCHDOG=1 FERRY_SIM_SECONDS=2
check 'a thread that spins: told' says 'kernel spins <<<(1,1,1), (64,1,1)>>>, block (0,0,0)' timeout 60 "$ferry" cuda "$work/spins.cu"
check 'a thread that spins: ended' says cudaErrorLaunchTimeout timeout 60 "$ferry" cuda "$work/spins.cu"
unset FERRY_SIM_WATCHDOG FERRY_SIM_SECONDS

# ---- ./ferry nvcc --------------------------------------------------------------------------------------------------------

mkdir "$work/project"
cat >"$work/project/kernels.cu" <<'END'
#include "kernels.h"
__device__ int offset = OFFSET;
__global__ void add(int *x) { x[threadIdx.x] += offset; }
void run(int *x) { add<<<1, 4>>>(x); }
END
echo 'void run(int *x);' >"$work/project/kernels.h"
cat >"$work/project/main.cpp" <<'END'
#include <cuda_runtime.h>
#include <cstdio>
#include <algorithm>
#include "kernels.h"
using namespace std;
int main() { int *x, h = 1; cudaMalloc(&x, 16); cudaMemset(x, 0, 16); run(x); cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); printf("%d\n", max(h, 2)); }
END
cat >"$work/project/Makefile" <<'END'
NVCC = nvcc
program: main.o kernels.o
	$(NVCC) -arch=sm_90 -o $@ $^ -lcudart
%.o: %.cu kernels.h
	$(NVCC) -gencode arch=compute_80,code=sm_80 -Xptxas -v -rdc=true -std=c++14 -DOFFSET=5 -Xcompiler -Wall,-Wextra -lineinfo -dc $< -o $@
%.o: %.cpp kernels.h
	$(NVCC) -O3 -c $< -o $@
END
cd "$work/project" || exit 1
check 'a makefile' make NVCC="$ferry nvcc"
check 'what it built' says 5 ./program
check 'what is ignored is told' says '-arch=sm_90' "$ferry" nvcc -arch=sm_90 -c kernels.cu -DOFFSET=1
check 'several files at once' "$ferry" nvcc -DOFFSET=6 main.cpp kernels.cu -o both
check 'what they built' says 6 ./both
check 'a.out' eval '"$ferry" nvcc -DOFFSET=7 kernels.cu main.cpp && [ "$(./a.out)" = 7 ]'
check 'another language by -x' eval 'cp kernels.cu kernels.other && "$ferry" nvcc -x cu -DOFFSET=7 -c kernels.other -o other.o'
check '-E' says '__global__' "$ferry" nvcc -DOFFSET=7 -dryrun -E kernels.cu -D__global__=__global__
check '-M' says 'kernels.h' "$ferry" nvcc -DOFFSET=7 -MM kernels.cu
check 'a library' eval '"$ferry" nvcc -DOFFSET=8 -lib -o k.a kernels.cu && "$ferry" nvcc main.cpp k.a -o with && [ "$(./with)" = 8 ]'
check '--version' says 'release 13.0' "$ferry" nvcc --version
check 'PTX is refused' says 'no PTX is generated' "$ferry" nvcc -ptx kernels.cu
check 'a library that is missing' says 'not simulated' "$ferry" nvcc -DOFFSET=1 -c kernels.cu -lcudnn
mkdir -p toolkit/crt && : >toolkit/crt/host_config.h && echo '#error not these' >toolkit/cuda_runtime.h
check "a toolkit's headers" says "-Itoolkit (a toolkit's headers)" "$ferry" nvcc -Itoolkit -DOFFSET=1 -c kernels.cu -o toolkit/k.o
check "a toolkit's headers: without them" test -s toolkit/k.o
check 'a value that is missing' says 'needs a value' "$ferry" nvcc kernels.cu -o
check 'an unknown file' says 'none.cu' "$ferry" nvcc -c none.cu

# ---- moved ---------------------------------------------------------------------------------------------------------------

root=$(dirname "$ferry")
mkdir -p "$work/there/build" "$work/there/core/sim"
cp "$root/build/ferry" "$root/build/cu2cpp" "$root/build/libcudasim.a" "$work/there/build/"
cp -R "$root/core/sim/include" "$work/there/core/sim/"
check 'moved' says "$work/there/build/cu2cpp" "$work/there/build/ferry" nvcc -dryrun -DOFFSET=1 -c kernels.cu
check 'moved, run' says 'PASS' "$work/there/build/ferry" cuda "$here/launches.cu"

exit $failed
