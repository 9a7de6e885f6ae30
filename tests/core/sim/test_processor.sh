#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program that was built for instructions that the processor lacks says so, before it uses one (core/sim/base/processor.h).
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
[ "$(uname -m)" = x86_64 ] || skip_all 'the list of instructions is for x86-64'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# No processor has all of the list: FMA4 and XOP ended before AVX-512 began.
cat >"$work/all.c" <<'END'
#include "sim/base/processor.h"
#define ALL(macro, name) true,
const bool sim_processor_needs[] = {SIM_INSTRUCTIONS(ALL) false};
END
sed 's/true,/false,/' "$work/all.c" >"$work/none.c"
cat >"$work/main.c" <<'END'
#include "sim/base/processor.h"
#include <stdio.h>
static void (*const volatile linked_with)(void) = sim_processor_check;
int main(void) {
  return puts("ran") < 0 || !linked_with;
}
END
for needs in all none; do
  ${CC:-cc} -std=c17 -march=x86-64 -Icore "$work/main.c" "$work/$needs.c" core/sim/base/processor.c -o "$work/$needs" || exit 1
done
says 'what is missing is named' 2 'xop' "$work/all"
[ -z "$("$work/all" 2>/dev/null)" ]
result $? 'nothing else runs' 'main did'
says 'without needs it runs' 0 ran "$work/none"
finish
