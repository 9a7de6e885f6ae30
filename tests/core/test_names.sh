#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `grep -rn 'fy_NAME(' core` finds where a public function is defined: the name stands there as it is, not put together by a macro.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh

names=$(grep -rhoE '^FY_API [^(]*fy_[a-z0-9_]+\(' core --include='*.h' | sed -E 's/.*(fy_[a-z0-9_]+)\($/\1/' | sort -u)
defined=$(grep -rhoE '^[A-Za-z_][A-Za-z0-9_ *]*\b\*?fy_[a-z0-9_]+\(' core --include='*.c' | sed -E 's/.*(fy_[a-z0-9_]+)\($/\1/' | sort -u)
[ "$(wc -l <<<"$names")" -gt 300 ]
result $? 'the headers have public functions' "only $(wc -l <<<"$names") of them"
missing=$(comm -23 <(echo "$names") <(echo "$defined"))
[ -z "$missing" ]
result $? 'every public function is defined under its name' "not written out: $(tr '\n' ' ' <<<"$missing")"
finish
