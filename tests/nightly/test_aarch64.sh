#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ferry on 64-bit ARM: this commit is cross-compiled, and a part of it runs under qemu: the tests of core/base, of the CPU's kernels and
# plans, and of the simulator's blocks and warps, the reference solutions of five kernel exercises, and what the inspector links a
# program with.
# The libraries for that processor are unpacked from Debian's packages, which come from where this machine's apt gets them.
# run:
# timeout: 14400
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
kernels=(tests/nightly/kernels.cu solutions/{20_1_saxpy,23_1_shared_transpose,24_1_sum_reduction,27_1_tiled_matmul,26_1_histogram}.cu)

[ "$(id -u)" = 0 ] || skip_all 'only root can bootstrap a Debian'
for program in debootstrap dpkg-deb git make gcc aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v $program >/dev/null || skip_all "$program is not installed"
done
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
[ -e "/usr/share/debootstrap/scripts/$suite" ] || skip_all "this debootstrap does not know $suite"
commit=$(git rev-parse HEAD 2>/dev/null) || skip_all 'this is not a clone, so no commit can be cloned from it'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libraries=$work/libraries
mkdir "$libraries" "$work/bin"
ended() { # STATUS NAME
  result "$1" "$2" "status $1: $(tail -n 12 "$work/out" | tr '\n' ' ')"
}
stop() {
  finish
  exit
}

# ---- libraries and compilers ---------------------------------------------------------------------------------------------------

# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets 'Created-By: Packages' 'Label: Debian' 'Component: main' --format '$(REPO_URI)' 2>/dev/null | head -n 1)
debootstrap --foreign --arch=arm64 --variant=minbase --include=libc6-dev,libcmocka-dev,libdnnl-dev,libprotobuf-c-dev,zlib1g-dev \
  "$suite" "$work/debian" ${mirror:+"$mirror"} >"$work/out" 2>&1 ||
  skip_all "debootstrap cannot fetch $suite for arm64: $(grep '^[EW]:' "$work/out" | tail -n 1)"
for package in "$work"/debian/var/cache/apt/archives/*.deb; do
  dpkg-deb -x "$package" "$libraries"
done
for name in gcc g++; do
  printf '#!/bin/sh\nexec aarch64-linux-gnu-%s --sysroot=%s "$@"\n' $name "$libraries" >"$work/bin/$name"
  chmod +x "$work/bin/$name"
done
cc=$work/bin/gcc cxx=$work/bin/g++ qemu="qemu-aarch64-static -L $libraries"

git clone -q --no-hardlinks . "$work/ferry" >"$work/out" 2>&1 && git -C "$work/ferry" checkout -q "$commit" >>"$work/out" 2>&1
ended $? "commit ${commit:0:8} is cloned"
cd "$work/ferry" || stop
build=build/aarch64

# ---- the build: what runs while Ferry is built is of this processor --------------------------------------------------------------

nice make NVCC= BUNDLE= build/cu2cpp build/include/ferry_where.h build/include/onnx.pb-c.c >"$work/out" 2>&1
ended $? 'cu2cpp and the generated headers'
kernel_tests='core/op/test_(golden|numbers|sum_order|extremum|bfloat16|random|streaming)\.c|core/trace/test_(traced|ops)\.c'
mapfile -t tests < <(find tests/core -name 'test_*.c' | grep -E "core/base/|$kernel_tests" | sed "s@\.c\$@@; s@^@$build/@")
nice make CC="$cc" CXX="$cxx" MARCH=armv8-a B=$build NVCC= MPICC= BUNDLE= $build/libferry.a $build/libinspect.a \
  $build/core/inspect/instrument/pad_arrays "${tests[@]}" $build/tests/core/sim/test_{kernels,warps} >"$work/out" 2>&1
status=$?
ended $status 'the library, the inspector and the tests are compiled'
[ $status = 0 ] || stop
readelf -h $build/tests/core/sim/test_warps | grep -q AArch64
result $? 'for that processor' "$(readelf -h $build/tests/core/sim/test_warps | grep Machine)"

# ---- what runs -------------------------------------------------------------------------------------------------------------------

TEST_UNDER=$qemu TEST_TIMEOUT=1800 tests/run.sh --build $build "core/base/|core/sim/test_(kernels|warps)\.cu|$kernel_tests" >"$work/out" 2>&1
ended $? "core/base, kernels of the CPU, blocks and warps: $(tail -n 1 "$work/out")"

# Kernels as cu2cpp makes them, and as the inspector wants them.
flags_of() {
  echo "$1_FLAGS" | g++ -E -P -include core/sim/compile/kernel_flags.h -x c++ - | sed 's/" *"//g; s/"//g'
}
link() { # PROGRAM OBJECT...
  "$cxx" "${@:2}" $build/libferry.a -o "$1" -fopenmp -ldnnl -lprotobuf-c -lz -lm -ldl -lpthread
}
compile() { # FILE.cu: FILE.o
  local name=$work/${1##*/}
  build/cu2cpp --split "$1" "$name.cpp" &&
    "$cxx" -std=c++17 -O2 -D_GNU_SOURCE -DFERRY_SIM=1 -ftls-model=local-exec -w -Icore/sim/include -Iexercises -c "$name.cpp" -o "$name.o"
}
inspected() { # FILE.cu: FILE.inspected.o
  local name=$work/${1##*/}
  # shellcheck disable=SC2046,SC2086 # options
  build/cu2cpp --gcc "$1" "$name.cpp" &&
    "$cxx" $(flags_of INSPECT) -Icore/sim/include -Iexercises -S "$name.cpp" -o "$name.s" &&
    $qemu $build/core/inspect/instrument/pad_arrays "$name.s" "$name.padded.s" && "$cxx" -c "$name.padded.s" -o "$name.inspected.o" &&
    aarch64-linux-gnu-objcopy --redefine-sym memcpy=inspect_memcpy --redefine-sym memmove=inspect_memmove \
      --redefine-sym memset=inspect_memset "$name.inspected.o"
}
export FERRY_CUDA=sim FERRY_SIM_DEVICES=1
objects=() looked_at=()
for file in "${kernels[@]}"; do
  compile "$file" >"$work/out" 2>&1 && inspected "$file" >>"$work/out" 2>&1
  ended $? "$file is compiled, plain and inspected"
  objects+=("$work/${file##*/}.o") looked_at+=("$work/${file##*/}.inspected.o")
done
link "$work/kernels" "${objects[@]}" >"$work/out" 2>&1 && $qemu "$work/kernels" >"$work/out" 2>&1
ended $? "five solutions: $(grep -c '^ok' "$work/out") of 5 are right"
link_inspected() {
  link "$1" "${@:2}" -Wl,--whole-archive $build/libinspect.a -Wl,--no-whole-archive
}
link_inspected "$work/looked_at" "${looked_at[@]}" >"$work/out" 2>&1 &&
  FERRY_INSPECT_RECORD=$work/record $qemu "$work/looked_at" >"$work/out" 2>&1
ended $? "the same, inspected: $(grep -c '^ok' "$work/out") of 5 are right"
[ "$(tail -n 1 "$work/record")" = end ] && ! grep -q '^finding' "$work/record" &&
  [ "$(grep -c '^kernel' "$work/record")" -ge 5 ] && grep -q '^site' "$work/record"
result $? 'no finding in them' "$(grep -E '^(finding|kernel)' "$work/record" | head -n 8 | tr '\t\n' '  ')"
inspected chapters/kernels/transpose.cu >"$work/out" 2>&1 &&
  link_inspected "$work/transpose" "$work/transpose.cu.inspected.o" >>"$work/out" 2>&1
ended $? 'chapters/kernels/transpose.cu is compiled and inspected'
FERRY_INSPECT_RECORD=$work/record $qemu "$work/transpose" >"$work/out" 2>&1
found=$(awk -F '\t' '$1 == "finding" { print $3 }' "$work/record" | sort -u | tr '\n' ' ')
[ "$found" = 'race-block race-warp ' ]
result $? 'its races are found' "found: $found"
finish
