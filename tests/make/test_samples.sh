#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `make test` tries of the many answers and programs (tests/support/tap.sh), and which runs belong to which suite (tests/run.sh).
# run:
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
items=$(seq -f 'answer_%g.c' 140)

drawn() { # DAY STATE: the items of that day's sample
  local item sample=yes sample_day=$1 sampled_code=$2
  for item in $items; do
    if in_sample "$item" <<<'its text'; then echo "$item"; fi
  done | sort
}

for day in 20000 20001 20002 20003 20004 20005 20006; do
  drawn $day "state $day" >"$work/$day" # other code on each day
done
missing=$(comm -13 <(sort -u "$work"/2000?) <(sort <<<"$items") | paste -sd ' ')
[ -z "$missing" ]
result $? 'seven days try every item, whatever changes' "$missing"
largest=$(wc -l "$work"/2000? | awk '$2 != "total" && $1 > n { n = $1 } END { print n }')
[ "$largest" -lt 49 ]
result $? 'a day tries less than a third' "$largest of 140"
drawn 20000 'state 20000' | cmp -s - "$work/20000"
result $? 'a day can be repeated' 'the sample differs'
drawn 20000 'other code' | comm -13 "$work/20000" - >"$work/new"
[ -s "$work/new" ]
result $? 'a change draws others on the same day' 'none'
[ "$(sample='' && for item in $items; do in_sample "$item" && echo; done | wc -l)" = 140 ]
result $? 'without a sample all are tried' 'not all'

for suite in check test all; do
  tests/run.sh --suite $suite --list | sed 's/ \[.*//' | sort -u >"$work/$suite"
done
[ "$(wc -l <"$work/check")" -gt 50 ]
result $? 'check has tests' "$(wc -l <"$work/check") of them"
missing=$(comm -23 "$work/check" "$work/test" | paste -sd ' ')
[ -z "$missing" ]
result $? 'what check runs, test runs too' "$missing"
missing=$(comm -23 "$work/test" "$work/all" | paste -sd ' ')
[ -z "$missing" ]
result $? 'what test runs, all runs too' "$missing"
words=$(find tests -name 'test_*' -type f -exec grep -hoE '^(//|#) run [^ :]*:' {} + | sed -E 's/^[^ ]+ run //' | sort -u | paste -sd ' ')
[ "$words" = 'all: check: test:' ]
result $? 'no run names another suite' "$words"
says 'an unknown suite' 2 "--suite takes check, test or all, not 'most'" tests/run.sh --suite most
finish
