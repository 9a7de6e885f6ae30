#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proofs of race freedom: kernels that are free of races are proved so, and no kernel that has one. On random kernels the inspector
# checks the proofs.
# run:
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
kernels=tests/core/inspect/kernels
[ -x "$build/prove-races" ] || skip_all "$build/prove-races is not built: it needs LLVM's C headers (llvm-dev)"
command -v z3 >/dev/null 2>&1 || skip_all 'z3 is not installed'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names() { # FILE PREFIX: its kernels whose names begin so
  grep -oE "__global__ void ($2)_[a-z0-9_]*\(" "$kernels/$1" | sed 's/.* //; s/(//'
}
prove() { # FILE KERNEL [ARGUMENTS]: time is no limit on a busy machine
  "$build/prove-races" "$kernels/$1" --kernel "$2" --time 60000 --all 300000 "${@:3}" 2>&1
}

for kernel in $(names prove_free.cu 'every|block|launch|constant') 'every_template<float, 64>'; do
  [ "$kernel" = every_template ] && continue # which has no instance
  said=$(prove prove_free.cu "$kernel" --grid 1 --block 64 | head -n 1)
  case $kernel in
  every_*) [ "$said" = 'proved for every launch' ] ;;
  constant_*) [ "$said" = 'proved for every launch, apart from writes of the same constant' ] ;;
  block_*) [ "$said" = 'proved block 64,1,1' ] ;;
  *) [ "$said" = 'proved grid 1,1,1 block 64,1,1' ] ;;
  esac
  result $? "$kernel is proved" "$said"
done

shown=0
for kernel in $(names prove_racy.cu racy); do
  said=$(prove prove_racy.cu "$kernel" --grid 2 --block 64 --time 2000 | head -n 1)
  [[ $said == 'race lines '* || $said == 'not '*': '* ]]
  result $? "$kernel is not proved" "$said"
  [[ $said == 'race lines '* ]] && shown=$((shown + 1))
done
[ $shown -ge 35 ]
result $? 'most of them have a counterexample' "$shown have one"

# ---- shapes ----
cat >"$work/shape.cu" <<'END'
__global__ void rows(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.y; }
__global__ void image(int *x, int width, int height) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < height && column < width)
    x[row * width + column] = row;
}
__global__ void staged(int *x) {
  __shared__ int row[1024];
  row[threadIdx.x] = threadIdx.y;
  __syncthreads();
  x[(blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x] = row[threadIdx.x];
}
END
kernels=$work
says 'a kernel for blocks of one dimension' 0 'proved for every launch' prove shape.cu rows --grid 2 --block 32
says 'it has a race in blocks of two' 1 'one block' prove shape.cu rows --grid 2 --block 32,2
says 'and in grids of two' 1 'two blocks' prove shape.cu rows --grid 2,2 --block 32
says 'a shared row for blocks of one dimension' 0 'proved for every launch' prove shape.cu staged --grid 2 --block 32
says 'which blocks of two share' 1 'race lines 9 and 9, one block' prove shape.cu staged --grid 2 --block 8,4
says 'a kernel for two dimensions' 0 'proved for every launch' prove shape.cu image --grid 2,2 --block 8,8

# ---- ./ferry inspect ----
inspect() {
  "$build/ferry" inspect "$work/report.cu" --no-registers --quiet --prove "$@" 2>&1 | tr -s '\n ' ' '
  return "${PIPESTATUS[0]}"
}
cat >"$work/report.cu" <<'END'
__global__ void free_of_races(int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = i;
}
__global__ void one_value(int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[n == 1234 ? i / 2 : i] = i;
}
__device__ int unknown(int *x);
__global__ void indirect(int *x, const int *order) {
  x[order[threadIdx.x]] = 1;
}
__global__ void by_pointer(int **rows) {
  rows[threadIdx.x] = 0;
  if (rows[threadIdx.x])
    rows[threadIdx.x][0] = 1;
}
END
says 'the report tells the proof' 0 'Proved free of data races for every launch with one-dimensional grids and one-dimensional blocks (by Z3)' \
  inspect --kernel free_of_races --grid 2 --block 64
says 'and what it assumes' 0 'arrays do not overlap, that no index is out of bounds, and that integers do not overflow' \
  inspect --kernel free_of_races --grid 2 --block 64
says 'a race that one size alone shows' 1 'Other launches have a data race between line 8 and line 8' \
  inspect --kernel one_value --grid 2 --block 64
says 'a counterexample that the inspector does not confirm' 0 'No proof was tried: the pointer in line 17 is read from memory' \
  inspect --kernel by_pointer --grid 1 --block 64
"$build/ferry" inspect "$work/report.cu" --no-registers --quiet --no-proof --kernel free_of_races --grid 2 --block 64 >"$work/out"
! grep -q Proved "$work/out"
result $? '--no-proof' "$(head -n 3 "$work/out")"

python3 tests/core/inspect/prove_random.py "$build" 1 8 1 >"$work/out" 2>&1
result $? 'the inspector finds no race in random kernels that are proved free of them' "$(tail -n 3 "$work/out")"
grep -q ', 0 neither; 0 proofs are wrong$' "$work/out" && ! grep -q ': 0 proved' "$work/out"
result $? 'of which there are some' "$(tail -n 1 "$work/out")"
finish
