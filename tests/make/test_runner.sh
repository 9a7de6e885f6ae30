#!/bin/sh
# SPDX-License-Identifier: MIT
# The test runner itself: what it makes of programs that pass, fail, skip, crash, hang, leak or say nothing.
# run check:
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME STATUS EXPECTED: the results that the parser finds in $work/output, tabs written as bars
check() {
  found=$(awk -f .ci/build/parse-tests.awk -v status="$2" -v limit=7 -v crash="${crash:-}" "$work/output" | tr '\t' '|')
  if [ "$found" = "$3" ]; then
    echo "ok $1"
  else
    echo "not ok $1 - found $(echo "$found" | tr '\n' ' ')"
  fi
  crash=
}

cat >"$work/output" <<'END'
[==========] Running 3 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two
expected 1, found 2
[  FAILED  ] two
[ RUN      ] three
needs two devices
[  SKIPPED ] three
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] two
END
check 'cmocka: passed, failed and skipped, each once' 1 'passed|one|
failed|two|expected 1, found 2
skipped|three|needs two devices'

printf '[==========] Running 3 test(s).\n[ RUN      ] one\n[       OK ] one\n[ RUN      ] two\n' >"$work/output"
crash='crashed (SIGSEGV)'
check 'a crash fails the test it was in and names how many did not run' 139 'passed|one|
failed|two|crashed (SIGSEGV); 1 more tests did not run'
check 'a timeout fails the test it was in' 124 'passed|one|
failed|two|still running after 7 s, stopped; 1 more tests did not run'
check 'exit in the middle of a test is no success' 0 'passed|one|
failed|two|the program ended (status 0) in this test; 1 more tests did not run'

printf '[==========] Running 1 test(s).\n[ RUN      ] one\n[       OK ] one\n[==========] 1 test(s) run.\n' >"$work/output"
check 'success' 0 'passed|one|'
check 'a bad status after good tests is a failure' 23 'passed|one|
failed|(whole program)|exit status 23 after its tests'

printf 'hello\n' >"$work/output"
check 'no test reported is a failure' 0 'failed|(whole program)|it reported no test'

printf '[==========] Running 2 test(s).\n[ RUN      ] one\n[       OK ] one\n' >"$work/output"
check 'fewer tests than announced is a failure' 0 'passed|one|
failed|(whole program)|it announced 2 tests and reported 1'

printf 'ok 1 - one\nok 02_two # SKIP no gnuplot\nnot ok three - differs\n' >"$work/output"
check 'TAP' 1 'passed|one|
skipped|02_two|no gnuplot
failed|three|differs'

# What takes hours is run only when it is asked for.
usual=$(tests/run.sh --list | grep -c '^tests/nightly/')
nightly=$(tests/run.sh --nightly --list)
if [ "$usual" = 0 ] && [ -n "$nightly" ] && ! echo "$nightly" | grep -qv '^tests/nightly/'; then
  echo 'ok the nightly tests, only with --nightly'
else
  echo "not ok the nightly tests, only with --nightly - $usual among the others, and: $nightly"
fi
