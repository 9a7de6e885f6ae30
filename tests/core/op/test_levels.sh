#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Kernels for several levels of instructions in one library (core/op/levels.h): which of them a program calls, by name and through the
# table of ops. The kernels here are toys that return their level; the script that puts them together, and what chooses, are real.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(uname -m)" = x86_64 ] || skip_all 'levels exist on x86-64 only'

cat >"$work/called.c" <<'EOF'
int kernel(void) { return LEVEL; }
int through(void) { return kernel(); }
EOF
cat >"$work/ops.c" <<'EOF'
#include "op/op.h"
int kernel(void);
static int cpu(FyLaunch *launch) { (void)launch; return 10 * LEVEL + kernel(); }
const FyOp fy_op_add = {.name = "add", .cpu = cpu};
EOF
mkdir -p "$work/core/op"
cat >"$work/core/op/table.c" <<'EOF'
#include "op/op.h"
const FyOp *const fy_ops[FY_OP_COUNT] = {&fy_op_add};
EOF
cat >"$work/main.c" <<'EOF'
#include "op/levels.h"
#include <stdio.h>
int kernel(void);
int through(void);
int main(void) {
  const char *level = fy_cpu_level();
  printf("%s %d %d %d\n", level ? level : "base", kernel(), through(), fy_cpu_kernel(&fy_op_add)(NULL));
}
EOF
compile() { # FOLDER LEVEL
  for name in called ops core/op/table; do
    mkdir -p "$work/$1/$(dirname "$name")"
    cc -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include -DLEVEL="$2" -c "$work/$name.c" -o "$work/$1/$name.o" || exit
  done
}
compile . 2
compile level/x86-64-v3 3
compile level/x86-64-v4 4
.ci/build/levels.sh "$work" 'x86-64-v3 x86-64-v4' called.o ops.o
result $? 'the levels are put together' ''
cc -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include "$work/main.c" core/op/levels.c "$work/levels.o" "$work/ops.o" "$work/core/op/table.o" \
  -o "$work/program"
result $? 'a program is linked with them' ''

has() { grep -qw "$1" /proc/cpuinfo; }
best=2
has avx2 && has fma && has bmi2 && best=3
[ $best = 3 ] && has avx512f && has avx512bw && has avx512cd && has avx512dq && has avx512vl && best=4
says() { # LEVEL: what the program prints
  [ "$1" = 2 ] && echo 'base 2 2 22' || echo "x86-64-v$1 $1 $1 $1$1"
}
expect() { # NAME WANTED GOT
  [ "$2" = "$3" ]
  result $? "$1" "expected \"$2\", got \"$3\""
}
expect 'the processor decides' "$(says $best)" "$("$work/program")"
expect 'FERRY_CPU names the most' "$(says $((best < 3 ? best : 3)))" "$(FERRY_CPU=x86-64-v3 "$work/program")"
expect 'FERRY_CPU below all levels' "$(says 2)" "$(FERRY_CPU=x86-64 "$work/program")"

cc -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include "$work/main.c" core/op/levels.c "$work/called.o" "$work/ops.o" "$work/core/op/table.o" \
  -o "$work/program"
expect 'a library without levels' "$(says 2)" "$("$work/program")"

echo 'int state = 1;' >"$work/called.c"
compile . 2
! .ci/build/levels.sh "$work" 'x86-64-v3 x86-64-v4' called.o ops.o 2>"$work/errors" && grep -q 'LEVEL_CALLED defines data.*state' "$work/errors"
result $? 'data that would exist twice is an error' "$(cat "$work/errors")"
finish
