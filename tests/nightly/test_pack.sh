#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The example pack in a copy of the sources that is built on its own: added, checked with mutants, graded, refused when it does not compile,
# removed.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 7200
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp -a Makefile .ci .gitignore core chapters docs exercises solutions plots tests "$work/"
rm -rf "$work"/tests/hidden/[a-z]*_[1-9]_* "$work"/tests/hidden/*.pack "$work"/solutions/[a-z]*_[1-9]_* "$work"/exercises/[a-z]*_[1-9]_*
cd "$work" || exit 1
nice make ferry >"$work/log" 2>&1
result $? 'the copy is built' "$(tail -n 3 "$work/log" | tr '\n' ' ')"
exercises=$(./ferry list --ids | wc -l)
options=(--mutants 8)
./ferry pack check docs/packs/image "${options[@]}" >"$work/out" 2>&1
status=$?
if [ $status != 0 ] && grep -q 'once, a way to PyPI' "$work/out"; then
  ./ferry pack check docs/packs/image --mutants 0 >"$work/out" 2>&1
  status=$?
fi
result $status 'the example passes its checks' "$(grep -v '^ok' "$work/out" | tail -n 5 | tr '\n' ' ')"
[ "$(./ferry list --ids | wc -l)" = $((exercises + 3)) ]
result $? 'its exercises are in the list'
says 'it is listed' 0 'image         3 exercises  Image filters' ./ferry pack list
says 'a number of it' 0 '5 of 5 tests passed' ./ferry run image.2 --file solutions/image_2_flip.cu
mkdir -p "$work/class/ada"
cp solutions/image_*.cu "$work/class/ada"
says 'it is graded' 0 '3.00 of 3 points' ./ferry grade --class "$work/class" --only image

cp -R docs/packs/image "$work/broken"
echo 'int broken = ;' >>"$work/broken/hidden/image_2_flip/check.c"
says 'one that does not compile' 3 'cannot be built, so nothing has changed' ./ferry pack add "$work/broken"
says 'leaves the one that was there' 0 '5 of 5 tests passed' ./ferry run image.2 --file solutions/image_2_flip.cu
says 'it is removed' 0 'Removed' ./ferry pack remove image
[ "$(./ferry list --ids | wc -l)" = "$exercises" ] && [ ! -e exercises/image_2_flip.cu ]
result $? 'and nothing of it is left'
finish
