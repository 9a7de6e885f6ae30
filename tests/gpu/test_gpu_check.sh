#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The GPU check's own script: stages, budgets, cutting off, continuing, files; on simulated devices with stand-ins for the tools.
# run: FERRY_SIM_DEVICES=2
# timeout: 600
. tests/support/tap.sh
check=tests/gpu/check.sh
[ "${FERRY_BUILD:-build}" = build ] || skip_all 'it is tried with the plain build alone'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is() { # NAME WANT GOT
  [ "$2" = "$3" ]
  result $? "$1" "expected '$2', got '$3'"
}
has() { # NAME TEXT FILE
  grep -qF -- "$2" "$3"
  result $? "$1" "no '$2' in: $(head -c 300 "$3")"
}
rows() { # STAGE STATUS: how many results of a stage
  awk -F '\t' -v stage="$1" -v status="$2" '$1 == stage && $4 == status { n++ } END { print n + 0 }' "$work/out/results.tsv"
}
dry() { # ARGUMENTS
  $check --dry-run --out "$work/out" "$@" >"$work/said" 2>&1
}
# A build folder whose smoke test is this script.
build_with() { # SCRIPT
  mkdir -p "$work/build/tests/gpu"
  printf '#!/bin/sh\n%s\n' "$1" >"$work/build/tests/gpu/smoke"
  printf '#!/bin/sh\nexit 0\n' >"$work/build/tests/gpu/ladders"
  chmod +x "$work/build/tests/gpu/smoke" "$work/build/tests/gpu/ladders"
}

# ---- the command line ---------------------------------------------------------------------------------------------------------------

$check --help >"$work/said"
has '--help says how' 'usage: make gpu-check' "$work/said"
is '--help fits in 80 columns' '' "$(awk 'length > 80' "$work/said")"
$check --list >"$work/said"
is 'all budgets together are at most 8 minutes' 1 "$(awk '{ n += $2 } END { print n <= 480 }' "$work/said")"
is '--list has six stages' 6 "$(wc -l <"$work/said")"
for wrong in '--only nosuch' '--from' '--minutes soon' '--minutes 0' '--frobnicate'; do
  # shellcheck disable=SC2086 # words
  $check --dry-run $wrong >"$work/said" 2>&1
  is "'$wrong' is a wrong command line" 2 $?
done
if [ -e /dev/nvidiactl ]; then
  skip 'without a GPU it says so' 'there is a GPU here'
else
  $check --out "$work/none" >"$work/said" 2>&1
  is 'without a GPU it ends with 2' 2 $?
  has 'and says what to do' '--dry-run' "$work/said"
fi

# ---- all stages ----------------------------------------------------------------------------------------------------------------------

dry --minutes 9
status=$?
is 'a dry run ends well' 0 $status
[ $status = 0 ] || tail -n 70 "$work/said" | sed 's/^/# /'
for stage in build smoke ops kernels counters times; do
  [ "$(rows $stage passed)" -gt 0 ]
  result $? "$stage has results" "$(rows $stage cut) cut, $(rows $stage failed) failed"
done
for file in machine.tsv stages.tsv results.tsv junit.xml counters.tsv times.tsv bench.tsv log.txt summary.txt; do
  [ -s "$work/out/$file" ]
  result $? "it leaves $file" 'it is empty or missing'
done
is 'each kernel has 14 counters' '' "$(awk -F '\t' 'NR > 1 { n[$1]++ } END { for (k in n) if (n[k] != 14) print k, n[k] }' "$work/out/counters.tsv")"
is 'the inspector counted 4 sectors a load at stride 1, 8 at stride 2' '8192 16384' \
  "$(awk -F '\t' '$2 == "global load sectors" && ($1 == "stride<1>" || $1 == "stride<2>") { printf "%s%s", s, $4; s = " " }' "$work/out/counters.tsv")"
is 'beside what ncu said' 1003 "$(awk -F '\t' '$1 == "stride<1>" && $2 == "global load sectors" { print $3 }' "$work/out/counters.tsv")"
is 'no time is shown of a simulated device' '' "$(awk -F '\t' 'NR > 1 && ($3 != "-" || $4 != "-")' "$work/out/times.tsv")"
is 'the model predicts each kernel' '' "$(awk -F '\t' 'NR > 1 && !($5 > 0)' "$work/out/times.tsv")"
is 'the summary fits in 60 lines' 1 "$([ "$(wc -l <"$work/out/summary.txt")" -le 60 ] && echo 1)"
if command -v python3 >/dev/null; then
  counted=$(python3 -c 'import sys, xml.etree.ElementTree as e; print(sum(1 for _ in e.parse(sys.argv[1]).iter("testcase")))' "$work/out/junit.xml" 2>&1)
  is 'junit.xml has a case for each result' "$(wc -l <"$work/out/results.tsv")" "$counted"
else
  skip 'junit.xml has a case for each result' 'python3 is not installed'
fi

# ---- failing, crashing, running out of time, going on --------------------------------------------------------------------------------

build_with 'echo "ok 1 - one"; echo "not ok 2 - <two> & more - why \"so\""; echo 1..2; exit 1'
before=$(rows ops passed)
dry --only smoke --build "$work/build"
is 'a failed test is a failed check' 1 $?
is 'one of two failed' '2 1' "$(rows smoke passed) $(rows smoke failed)" # the other one is the ladders'
is 'other stages keep their results' "$before" "$(rows ops passed)"
has 'the summary names the failure' 'smoke: smoke: <two> & more - why "so"' "$work/said"
has 'junit.xml is escaped' 'name="&lt;two&gt; &amp; more"' "$work/out/junit.xml"

build_with 'echo "ok 1 - one"; kill -SEGV $$'
dry --only smoke --build "$work/build"
is 'a crash is a failed check' 1 $?
has 'and is named' 'crashed (SIGSEGV)' "$work/out/results.tsv"

build_with 'echo "[==========] Running 2 test(s)."; echo "[ RUN      ] one"; echo "[       OK ] one"; echo "[ RUN      ] two"; sleep 1000'
dry --only smoke --build "$work/build" --minutes 0.06
is 'what runs out of time has not failed' '0 0' "$? $(rows smoke failed)"
[ "$(rows smoke cut)" -gt 0 ]
result $? 'it is cut' "$(cat "$work/out/results.tsv" | tail -n 3)"
is 'nothing of it goes on' '' "$(grep -laz "GPU_OUT=$work/out" /proc/[0-9]*/environ 2>/dev/null)"

$check --dry-run --out "$work/out" --only smoke --build "$work/build" --minutes 9 >"$work/interrupted" 2>&1 &
pid=$!
until grep -q '== smoke' "$work/interrupted" 2>/dev/null; do sleep 0.1; done
kill -TERM $pid
wait $pid
is 'an interrupted check ends with 130' 130 $?
is 'and leaves junit.xml whole' '</testsuites>' "$(tail -n 1 "$work/out/junit.xml")"
# What was killed may need a moment to go where the machine is busy.
for _ in $(seq 100); do
  left=$(grep -laz "GPU_OUT=$work/out" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$left" ] || break
  sleep 0.1
done
is 'and no process' '' "$(for process in $left; do tr '\0' ' ' <"${process%environ}cmdline"; done 2>/dev/null)"

dry --only smoke
is 'the stage that runs again replaces its results' '0 0 6' "$? $(rows smoke failed) $(rows smoke passed)"
finish
