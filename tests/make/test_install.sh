#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make install`: public headers and a library for a stated processor, which pkg-config, CMake and Meson find. The CMake and Meson files
# are those of docs/api_stability.md.
# run all:
# timeout: 900
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/there

make install PREFIX="$prefix" >"$work/said" 2>&1
result $? 'make install' "$(tail -n 5 "$work/said" | tr '\n' ';')"
[ -f "$prefix/include/ferry/ferry.h" ] && ! find "$prefix/include/ferry" -name 'impl.h' | grep -q .
result $? 'its headers are the public ones' "$(find "$prefix/include/ferry" -name 'impl.h' | head -n 3 | tr '\n' ' ')"
"$prefix/bin/ferry" version | grep -q '^ferry [0-9]'
result $? 'the installed ferry runs' "$("$prefix/bin/ferry" version 2>&1 | head -n 1)"

# The workbook, from a folder that is not the one of its installation, with a workspace of its own.
mv "$prefix" "$work/moved"
own_home=$HOME
HOME=$work/home
mkdir "$HOME"
says 'a moved installation: start' 0 "exercises to $HOME/ferry/work/" "$work/moved/bin/ferry" start
says 'it spells its name as it is typed' 0 '  check    ferry run ' "$work/moved/bin/ferry"
cp solutions/20_1_saxpy.cu solutions/03_1_create_on_the_device.c "$HOME/ferry/work"
says 'a kernel passes' 0 'tests passed' "$work/moved/bin/ferry" run 20.1
says 'an answer with the library passes' 0 'tests passed' "$work/moved/bin/ferry" run 3.1
HOME=$own_home
mv "$work/moved" "$prefix"
[ -z "$(find "$prefix" -newer "$work/home" -type f)" ]
result $? 'and nothing is written where it is installed' "$(find "$prefix" -newer "$work/home" -type f | head -n 3 | tr '\n' ' ')"
if [ "$(uname -m)" = x86_64 ]; then
  ! objdump -d "$prefix/lib/libferry.a" | grep -q zmm
  result $? 'no instruction beyond x86-64-v3' 'there is one with a 512-bit register'
fi

cat >"$work/program.c" <<'END'
#include <ferry.h>
#include <stdio.h>
int main(void) {
  FyTensor *x = fy_ones(fy_shape(2, 3));
  printf("%s %g\n", FERRY_VERSION_STRING, fy_item(fy_sum(x)));
  return 0;
}
END
expected="$(awk '/_MAJOR|_MINOR|_PATCH/ && $3 ~ /^[0-9]+$/ { printf "%s%s", dot, $3; dot = "." }' core/base/version.h) 6"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

prints() { # NAME PROGRAM
  local said
  said=$(FERRY_CUDA=off "$2" 2>&1)
  [ "$said" = "$expected" ]
  result $? "$1" "printed $(head -c 200 <<<"$said"), expected $expected"
}

stage=$work/stage
make install DESTDIR="$stage" PREFIX=/opt/ferry >"$work/said" 2>&1
result $? 'make install with DESTDIR' "$(tail -n 5 "$work/said" | tr '\n' ';')"
[ "$(ls "$stage")" = opt ] && grep -qx 'prefix=/opt/ferry' "$stage/opt/ferry/lib/pkgconfig/ferry.pc"
result $? 'DESTDIR is in no installed path' "$(head -n 1 "$stage/opt/ferry/lib/pkgconfig/ferry.pc")"

if command -v pkg-config >/dev/null; then
  # shellcheck disable=SC2046
  ${CC:-cc} -std=c17 "$work/program.c" $(pkg-config --cflags ferry) $(pkg-config --libs --static ferry) -o "$work/by_hand" 2>"$work/said"
  prints 'a program built by pkg-config' "$work/by_hand"
else
  skip 'a program built by pkg-config' 'pkg-config is not installed'
fi

# ---- processors --------------------------------------------------------------------------------------------------------

emulator=$(command -v qemu-x86_64-static || command -v qemu-x86_64)
if [ "$(uname -m)" != x86_64 ]; then
  skip 'an older processor' 'this is not x86-64'
elif [ -z "$emulator" ] || [ ! -x "$work/by_hand" ]; then
  skip 'an older processor' 'qemu-x86_64 (Debian: qemu-user-static) or pkg-config is not installed'
else
  export FERRY_CUDA=sim
  says 'an older processor: the program says what it lacks' 2 'built for a processor with avx avx2' "$emulator" -cpu Nehalem "$work/by_hand"
  says 'the installed ferry on it, too' 2 'built for a processor with avx' "$emulator" -cpu Nehalem "$prefix/bin/ferry" version
  says 'the baseline is enough' 0 "$expected" "$emulator" -cpu Haswell "$work/by_hand"
  cat >"$work/kernel.cu" <<'END'
__global__ void set(int *x) { *x = 7; }
int main() {
  int *x;
  cudaMallocManaged(&x, sizeof *x);
  set<<<1, 1>>>(x);
  cudaDeviceSynchronize();
  return *x;
}
END
  "$prefix/bin/ferry" nvcc "$work/kernel.cu" -o "$work/kernel" >"$work/said" 2>&1
  says 'a CUDA program that the installed ferry built' 7 '' "$work/kernel"
  says 'the CUDA program on an older processor' 2 'built for a processor with avx' "$emulator" -cpu Nehalem "$work/kernel"
fi

# ---- a build that is copied --------------------------------------------------------------------------------------------

# Objects that hold an absolute path (stamp/root) are compiled again, all others are as they were.
if [ -e bundle ]; then
  skip 'a copied build' 'packages come from bundle/, which would be copied too'
else
  copy=$work/copy
  mkdir -p "$copy/build"
  cp -a Makefile .ci core chapters plots tests "$copy"
  (cd build && cp -a portable include sim cu2cpp "$copy/build")
  # shellcheck disable=SC2016 # for make
  baseline=$(make -s -f - print <<<'include Makefile
print: ; @echo $(BASELINE)')
  rebuild() {
    (cd "$1" && make B=build/portable MARCH="$baseline" INSTALLING=1 PLUGINS=build/portable PLUGIN_DIR="$stage" \
      build/portable/libferry.a build/portable/libcudasim.a) >"$work/said" 2>&1
  }
  rebuild . && rebuild "$copy"
  result $? 'a copied build builds' "$(tail -n 5 "$work/said" | tr '\n' ';')"
  compiled=$(sed -nE 's/^  (CC|SIM) +//p' "$work/said" | sort)
  [ -n "$compiled" ] && [ "$(wc -l <<<"$compiled")" -le 2 ]
  result $? 'and compiles only what holds its folder' "$(wc -l <<<"$compiled") files: $(head -n 5 <<<"$compiled" | tr '\n' ' ')"
fi

# The block of docs/api_stability.md in this language.
block() {
  awk -v begin="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == begin { inside = 1 }' docs/api_stability.md
}
if command -v cmake >/dev/null && command -v pkg-config >/dev/null; then
  mkdir "$work/cmake" && cp "$work/program.c" "$work/cmake" && block cmake >"$work/cmake/CMakeLists.txt"
  (cd "$work/cmake" && cmake . && cmake --build .) >"$work/said" 2>&1
  prints 'a program built by CMake' "$work/cmake/program"
else
  skip 'a program built by CMake' 'cmake or pkg-config is not installed'
fi
if command -v meson >/dev/null && command -v ninja >/dev/null; then
  mkdir "$work/meson" && cp "$work/program.c" "$work/meson" && block meson >"$work/meson/meson.build"
  (cd "$work/meson" && meson setup out && ninja -C out) >"$work/said" 2>&1
  prints 'a program built by Meson' "$work/meson/out/program"
else
  skip 'a program built by Meson' 'meson or ninja is not installed'
fi
finish
