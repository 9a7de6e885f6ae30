#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls that C would take and that mean something else are refused when they are compiled, in words that help.
# run:
set -u
cd "$(dirname "$0")/../../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() { # STATEMENT
  printf '#include "ferry.h"\nint main(void) {\n  int64_t n = 3; (void)n;\n  %s;\n}\n' "$1" >"$work/call.c"
  ${CC:-gcc} -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Icore -Ibuild/include -c "$work/call.c" -o "$work/call.o" \
    >"$work/said" 2>&1
}

refused() { # STATEMENT WORDS
  if compile "$1"; then
    echo "not ok $1 is refused - it compiled"
  elif grep -q -- "$2" "$work/said"; then
    echo "ok $1 is refused"
  else
    sed 's/^/# /' "$work/said"
    echo "not ok $1 is refused - not with '$2'"
  fi
}

accepted() { # STATEMENT
  if compile "$1" && [ ! -s "$work/said" ]; then
    echo "ok $1 compiles"
  else
    sed 's/^/# /' "$work/said"
    echo "not ok $1 compiles - see above"
  fi
}

size='write sizes as fy_shape(3, 3)'
named='fy_options_are_written_with_their_names'
refused 'fy_zeros(3)' "$size"
refused 'fy_ones(n)' "$size"
refused 'fy_randint(0, 9, 5)' "$size"
refused 'fy_zeros(3, 3)' "$named"
refused 'fy_rand(n, n, .device = FY_CPU_DEVICE)' "$named"
refused 'fy_full(1.5, 2, 2)' "$named"
refused 'fy_tensor(fy_floats(1, 2, 3, 4), 2, 2)' "$named"
refused 'fy_zeros(fy_shape(3), 3)' "$named"
refused 'fy_arange(1, 10)' "$named"
refused 'fy_nn_linear(3, 4, true)' "$named"

accepted 'fy_zeros(fy_shape(3, 3))'
accepted 'fy_rand(FY_SCALAR, .requires_grad = true)'
accepted 'const FySize size = fy_shape(n, 2); fy_empty(size)'
accepted 'FySize size = fy_shape(n); fy_randn(size, .dtype = FY_FLOAT64, .device = FY_CPU_DEVICE)'
accepted 'fy_arange(10, .start = 1)'
accepted 'fy_nn_linear(3, 4, .no_bias = true)'
