#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The public headers, those that ferry.h includes: each compiles alone as C17 with strict warnings, and ferry.h as C++ too. None of
# them is a room's own impl.h, and ferry.pc has the version that they state.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc} cxx=${CXX:-c++}
flags='-fsyntax-only -D_GNU_SOURCE -Wall -Wextra -Werror -fopenmp -Icore -Ibuild/include'

headers=$($cc -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include -MM core/ferry.h | tr -s ' \\' '\n' | grep '^core/.*\.h$')
[ "$(wc -l <<<"$headers")" -gt 20 ]
result $? 'ferry.h includes the public headers' "$(wc -l <<<"$headers") of them"
internal=$(grep -E 'impl\.h|core/(sim|inspect|model|tool)/' <<<"$headers")
[ -z "$internal" ]
result $? 'none of them is internal' "$(tr '\n' ' ' <<<"$internal")"

for header in $headers; do
  # shellcheck disable=SC2086
  printf '#include "%s"\nextern int something;\n' "${header#core/}" | $cc -std=c17 $flags -Wpedantic -x c - 2>"$work/said" || echo "$header: $(grep -m 1 error "$work/said")"
done >"$work/faults"
[ ! -s "$work/faults" ]
result $? 'each compiles alone' "$(head -n 3 "$work/faults" | tr '\n' ';')"
# shellcheck disable=SC2086
echo '#include "ferry.h"' | $cxx -std=c++17 $flags -x c++ - 2>"$work/said"
result $? 'ferry.h compiles as C++' "$(grep -m 1 error "$work/said")"

cat >"$work/version.c" <<'END'
#include "base/version.h"
#include <stdio.h>
_Static_assert(FERRY_VERSION == FERRY_VERSION_NUMBER(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH), "");
_Static_assert(FERRY_VERSION_NUMBER(1, 9, 9) < FERRY_VERSION_NUMBER(1, 10, 0), "");
int main(void) {
  puts(FERRY_VERSION_STRING);
  return 0;
}
END
$cc -std=c17 -Icore "$work/version.c" -o "$work/version" && version=$("$work/version")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
result $? 'the version is three numbers' "$version"
grep -q "^## $version" CHANGELOG.md
result $? 'CHANGELOG.md has it' "no section $version"
if [ -x "${FERRY_BUILD:-build}/ferry" ]; then
  says 'ferry version says it' 0 "ferry $version" "${FERRY_BUILD:-build}/ferry" version
fi
finish
