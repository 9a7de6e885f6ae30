#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clang takes the simulator, the inspector and the model without a warning, and simulated kernels as C++. The whole build with it is
# `make CC=clang`.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
command -v clang >/dev/null 2>&1 && command -v clang++ >/dev/null 2>&1 || skip_all 'clang is not installed'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags='-fsyntax-only -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -Icore -Ibuild/include'
for room in $(find core/sim core/inspect core/model -name '*.c' -printf '%h\n' | sort -u); do
  llvm=''
  if [ "$room" = core/inspect/prove ]; then
    llvm=$(llvm-config --includedir 2>/dev/null)
    if [ ! -e "${llvm:-/}/llvm-c/Core.h" ]; then
      printf "# SKIP %s: LLVM's C headers (llvm-dev) are not installed\n" $room
      continue
    fi
    llvm="-isystem $llvm -DPROVE_CLANG=\"\" -DPROVE_FOLDER=\"\""
  fi
  # shellcheck disable=SC2086
  clang $flags $llvm -Icore/sim/include $room/*.c 2>"$work/said"
  result $? "clang takes $room without a warning" "$(grep -m 1 -E 'error|warning' "$work/said")"
done

for file in chapters/kernels/transpose.cu chapters/24_reductions.cu chapters/25_warps.cu; do
  build/cu2cpp "$file" "$work/kernels.cpp" &&
    clang++ -fsyntax-only -std=c++17 -D_GNU_SOURCE -DFERRY_SIM=1 -w -Icore/sim/include -Ibuild/sim/core -Icore -Ibuild/include \
      -iquote "$(dirname "$file")" "$work/kernels.cpp" 2>"$work/said"
  result $? "clang++ takes the kernels of $file" "$(grep -m 1 error "$work/said")"
done
finish
