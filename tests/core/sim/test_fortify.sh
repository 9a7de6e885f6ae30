#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Some systems define _FORTIFY_SOURCE for every compilation. Its check of long jumps takes one from a fiber to the thread's own stack for a
# mistake: the simulator must be compiled without it.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for source in core/sim/*/*.c; do
  grep -q 'longjmp(' "$source" || continue
  object=$work/$(basename "$source" .c).o
  "${CC:-cc}" -std=c17 -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_GNU_SOURCE -Icore -Icore/sim/include -c "$source" -o "$object" || exit 1
  if ! nm -u "$object" | grep -q 'siglongjmp'; then
    echo "not ok $source: its jumps are not siglongjmp: $(nm -u "$object" | grep jmp)"
    failed=1
  else
    echo "ok $source"
  fi
done
[ -n "$(ls "$work")" ] || { echo 'not ok no source has a long jump: this test looks for the wrong word'; failed=1; }
exit $failed
