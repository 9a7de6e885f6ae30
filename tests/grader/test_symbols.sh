#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The grader's own functions in an answer's process (GRADER_CHILD in rules.mk) are out of the answer's reach: symbols.c refuses an answer
# that uses one, by name or by prefix. A function that is renamed or new must be covered as well.
# run check:
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
child=$(sed -n 's/^GRADER_CHILD := .*tests\/grader\/,\(.*\))$/\1/p' tests/grader/rules.mk)
objects=("$build"/sim/tests/grader/buffers_cuda.o)
for source in $child; do
  [ "$source" = play_count.c ] || objects+=("$build/tests/grader/${source%.c}.o") # of `./ferry play`: no answer is linked with it
done
[ -e "${objects[0]}" ] || skip_all "${objects[0]} is not built (sanitized builds do without it)"

quoted() { # ARRAY: its strings in symbols.c
  sed -n "/^static const char \*const $1\[\]/,/;/p" tests/grader/symbols.c | grep -oE '"[^"]*"' | tr -d '"'
}
names=$(quoted never) prefixes=$(quoted never_prefixes && quoted never_defined)
[ "$(wc -w <<<"$names $prefixes")" -gt 15 ]
result $? 'symbols.c has its lists' "found $(wc -w <<<"$names $prefixes") names"
# A C++ name with its parameters, _Z4name..., is no name that an answer in C can use; those of CUDA's runtime are its to call.
open=$(nm --defined-only -g "${objects[@]}" | awk '$2 ~ /[TDB]/ { print $3 }' | grep -vE '^(_Z|cuda[A-Z]|__cuda)' | sort -u |
  grep -vxF "$names" | grep -vE "^($(paste -sd '|' <<<"$prefixes"))" | paste -sd ' ')
[ -z "$open" ]
result $? 'an answer can use none of them' "$open"
finish
