#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command itself: a learner's way from start to the first pass, an instructor's class, files of results that are valid at
# every moment, the grader killed or not.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
reads_with_python=1
chmod 755 "$work" # root's answers run as another user
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp FERRY_WORK=$work/mine
unset EDITOR

is_json() {
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" 2>&1
}

# ---- a learner -------------------------------------------------------------------------------------------------------------

says 'before the start' 0 './ferry start' "$ferry"
says 'no workspace yet' 2 './ferry start' "$ferry" run
says 'start' 0 'Copied' "$ferry" start
says 'where one is' 0 '0 of' "$ferry"
says 'the list' 0 'Create a tensor on its device' "$ferry" list
says 'the stub fails' 1 'expected a tensor, got NULL' "$ferry" run 3.1
says 'no jump ahead: hint' 0 '1 of 3' "$ferry" hint 3.1
says 'a second hint' 0 '2 of 3' "$ferry" hint 3.1
says 'no solution before the pass' 1 'has not passed yet' "$ferry" solution 3.1
says 'unless asked to spoil' 0 'fy_contiguous' "$ferry" solution 3.1 --spoil
cp tests/hidden/03_1_create_on_the_device/right_filled.c "$FERRY_WORK/03_1_create_on_the_device.c"
says 'a right answer' 0 'tests passed' "$ferry" run 3.1
says 'is remembered' 0 '1 of' "$ferry"
says 'the solution after the pass' 0 'fy_contiguous' "$ferry" solution 3.1
says 'start again' 0 'Next: ' "$ferry" start
cmp -s tests/hidden/03_1_create_on_the_device/right_filled.c "$FERRY_WORK/03_1_create_on_the_device.c"
result $? 'start does not touch an answer'
says 'reset' 0 'is kept' "$ferry" reset 3.1
cmp -s exercises/03_1_create_on_the_device.c "$FERRY_WORK/03_1_create_on_the_device.c" && cmp -s tests/hidden/03_1_create_on_the_device/right_filled.c "$FERRY_WORK"/03_1_create_on_the_device.c.2*
result $? 'reset keeps the old file aside'
says 'edit without EDITOR' 2 'EDITOR' "$ferry" edit 3.1
says 'edit' 0 '03_1_create_on_the_device.c' env EDITOR='echo -n' "$ferry" edit 3.1
says 'a lesson' 0 '3. Tensor moves' "$ferry" chapter 3 --read
! "$ferry" chapter 3 --read | grep -q '<!--\|<picture\|^#\|^```'
result $? 'a lesson is rendered'
says 'a mistake names the section' 1 'read ./ferry chapter 3#creating-tensors-on-the-device' \
  "$ferry" run 3.1 --file tests/hidden/03_1_create_on_the_device/wrong_swapped.c
says 'a hint names the section' 0 'The lesson: ./ferry chapter 3#creating-tensors-on-the-device' "$ferry" hint 3.1
says 'a section of a lesson' 0 'All the blocks of a launch' "$ferry" chapter 20#grid-block-guard
! "$ferry" chapter 20#grid-block-guard | grep -q 'Five versions'
result $? 'a section ends where the next one begins'
[ "$("$ferry" chapter 20#guard)" = "$("$ferry" chapter 20#grid-block-guard)" ]
result $? 'a part of its name is enough'
says 'no such section' 2 '#five-versions-of-saxpy' "$ferry" chapter 20#nonsense
says 'two sections that have it' 2 'no section #in' "$ferry" chapter 20#in
says 'another page' 0 'Glossary' "$ferry" chapter glossary
says 'no such page' 2 'there is no lesson' "$ferry" chapter nonsense
says 'a chapter on kernels' 0 'CPU and device agree: yes' "$ferry" chapter 20 --quick
says 'no such exercise' 2 'does not match exactly one exercise' "$ferry" run nonsense
says 'no such command' 2 'no command' "$ferry" nonsense
says 'a command, nearly' 2 'Did you mean watch?' "$ferry" wacth
says 'an exercise, nearly' 2 'Did you mean saxpy?' "$ferry" run saxpi
says 'an option, nearly' 2 'Did you mean --replay?' "$ferry" run --rpelay 3
says 'version' 0 'exercises; built with' "$ferry" --version
says 'doctor' 0 'Everything that you need is installed' "$ferry" doctor
for command in $("$ferry" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
  [ "$command" = help ] || says "$command --help" 0 "usage: ./ferry $command" "$ferry" "$command" --help
done

# What a failed test prints, repeated, is the same.
"$ferry" run 3.1 --file tests/hidden/03_1_create_on_the_device/wrong_swapped.c --all >"$work/first"
token=$(sed -n 's/.*--replay //p' "$work/first" | tail -n 1)
"$ferry" run 3.1 --file tests/hidden/03_1_create_on_the_device/wrong_swapped.c --replay "$token" >"$work/again"
[ -n "$token" ] && [ "$(grep -A 3 'input:' "$work/first" | tail -n 4)" = "$(grep -A 3 'input:' "$work/again" | tail -n 4)" ]
result $? 'replay repeats the inputs' "$(grep input: "$work/again")"
# Of all tests: those of one are the same in one of 500 pairs of runs.
[ "$("$ferry" run 20.1 --file tests/hidden/20_1_saxpy/wrong_guard.cu --all | grep input:)" != "$("$ferry" run 20.1 --file tests/hidden/20_1_saxpy/wrong_guard.cu --all | grep input:)" ]
result $? 'two runs draw other inputs'

# Judged on several numbers of devices, and several times.
for devices in 0 9 12 1,12 1, ,1 ''; do
  says "--devices '$devices'" 2 'numbers from 1 to 8' "$ferry" run 3.1 --file solutions/03_1_create_on_the_device.c --devices "$devices"
done
for times in 0 1001 -1 3x ''; do
  says "--times '$times'" 2 'a number from 1 to 1000' "$ferry" run 3.1 --file solutions/03_1_create_on_the_device.c --times "$times"
done
for seed in zz '' 1g -1 0x1 ' 1' 12345678901234567; do
  says "--seed '$seed'" 2 'up to 16 hexadecimal digits' "$ferry" run 3.1 --file solutions/03_1_create_on_the_device.c --seed "$seed"
  says "--replay '1.$seed'" 2 'what a failed test printed' "$ferry" run 3.1 --file solutions/03_1_create_on_the_device.c --replay "1.$seed"
done
"$ferry" run 20.1 --file tests/hidden/20_1_saxpy/wrong_guard.cu --all --times 3 --devices 1,2 >"$work/times"
[ $? = 1 ] && [ "$(grep -cE '^run [123] of 3, with FERRY_SIM_DEVICES=[12]:$' "$work/times")" = 6 ] &&
  [ "$(awk '/^run/ { run = $2 } /input:/ { of[run] = of[run] $0 } END { for (run in of) print of[run] }' "$work/times" | sort -u | wc -l)" = 3 ]
result $? '--times draws other inputs each time' "$(grep -E '^run|input:' "$work/times")"

# What an answer prints is shown, with a newline or without.
printf '#include <stdio.h>\n#define attack() printf("looked at line 7\\nand at 8")\n' | cat - tests/grader/attacks/tail.inc >"$work/prints.c"
says 'what an answer prints' 1 $'it printed:\n    looked at line 7\n    and at 8' "$ferry" run 3.1 --file "$work/prints.c"

# watch: checked at the start, and again after a save
timeout 20 "$ferry" watch 3.1 >"$work/watched" 2>&1 &
watcher=$!
for _ in $(seq 100); do
  grep -q waiting "$work/watched" && break
  sleep 0.05
done
cp tests/hidden/03_1_create_on_the_device/right_filled.c "$work/saved"
from=$EPOCHREALTIME
mv "$work/saved" "$FERRY_WORK/03_1_create_on_the_device.c"
for _ in $(seq 200); do
  grep -q 'tests passed' "$work/watched" && break
  sleep 0.02
done
took=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
grep -q 'tests passed' "$work/watched"
result $? 'watch checks at a save' "$(tail -n 3 "$work/watched" | tr '\n' ' ')"
echo "# from save to verdict: $took s"
kill $watcher 2>/dev/null
wait $watcher 2>/dev/null

# ---- every way of shutting an answer in --------------------------------------------------------------------------------------
# Root does it in a mount namespace apart, so that a bug here cannot reach the machine's own mounts.

apart=()
if [ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null; then
  apart=(unshare -m --propagation private)
fi
for level in namespaces user bubblewrap landlock none; do
  if ! "${apart[@]}" "$ferry" doctor --sandbox $level | grep -q "ok  *sandbox  *$level: "; then
    says "sandbox $level: refused, so there is no run" 3 'no sandbox is available' "${apart[@]}" "$ferry" run 3.1 --sandbox $level \
      --file solutions/03_1_create_on_the_device.c
    "${apart[@]}" "$ferry" grade --answers solutions --only 3.1 --sandbox $level --json "$work/refused.json" \
      --gradescope "$work/refused.gs" >/dev/null 2>&1
    why=$(python3 -c 'import json, sys
learner = json.load(open(sys.argv[1]))["learners"][0]
assert learner["max_score"] == 0 and learner["exercises"][0]["score"] is None, learner
assert learner["exercises"][0]["status"] == "grader error", learner
assert "could not be judged because of an error in the grader" in json.load(open(sys.argv[2]))["output"]' "$work/refused.json" "$work/refused.gs" 2>&1)
    result $? "sandbox $level: refused, which is no zero" "$why"
    continue
  fi
  why=$("${apart[@]}" bash -c '
    before=$(cat /proc/self/mountinfo)
    "$1" grade --answers solutions --only 3.1 --sandbox "$3" >"$2" || echo "the solution does not pass: $(tail -n 1 "$2")"
    grep -q "^Protections: $3: " "$2" || echo "it does not say which level it was: $(grep "^Protections" "$2")"
    # Only new ones count: when another program removes the directory of a mount, the mount disappears here as well.
    ! grep -vxF "$before" /proc/self/mountinfo || echo "the mounts above are new outside"' - "$ferry" "$work/level" $level 2>&1)
  [ -z "$why" ]
  result $? "sandbox $level" "$why"
done

# ---- an instructor -----------------------------------------------------------------------------------------------------------

mkdir -p "$work/class/ada" "$work/class/bob" "$work/class/none"
cp solutions/03_1_create_on_the_device.c "$work/class/ada"
cp tests/hidden/03_1_create_on_the_device/wrong_left.c "$work/class/bob/03_1_create_on_the_device.c"
says 'a class' 1 'ada: 1.00 of 1 points' "$ferry" grade --class "$work/class" --only 3.1 --seed secret --json "$work/class.json" \
  --junit "$work/class.xml" --csv "$work/class.csv"
why=$(is_json "$work/class.json")
result $? 'JSON' "$why"
why=$(python3 - "$work/class.xml" 2>&1 <<'END'
import sys, xml.etree.ElementTree as tree
suites = {s.get("name"): s for s in tree.parse(sys.argv[1]).getroot()}
assert set(suites) == {p + "/03_1_create_on_the_device" for p in ("ada", "bob", "none")}, suites
for name, suite in suites.items():
    cases = suite.findall("testcase")
    assert name[:4] == "none" or "no new privileges" in suite.find("properties/property").get("value")
    assert len(cases) == int(suite.get("tests")) and suite.get("errors") == "0"
    assert sum(c.find("failure") is not None for c in cases) == int(suite.get("failures")), name
assert suites["ada/03_1_create_on_the_device"].get("failures") == "0" and suites["bob/03_1_create_on_the_device"].get("failures") != "0"
END
)
result $? 'JUnit' "$(tail -n 1 <<<"$why")"
why=$(python3 - "$work/class.csv" 2>&1 <<'END'
import csv, sys
ada, bob, none = csv.DictReader(open(sys.argv[1], newline=""))
assert (ada["learner"], ada["status"], ada["mistakes"]) == ("ada", "pass", "") and float(ada["score"]) == 1, ada
assert "no new privileges" in ada["protections"] and none["protections"] == "", ada
assert bob["status"] == "fail" and float(bob["score"]) < 1 and "left on the CPU" in bob["mistakes"], bob
assert none["status"] == "missing" and float(none["score"]) == 0, none
END
)
result $? 'CSV' "$(tail -n 1 <<<"$why")"
! grep -q replay "$work/class.json"
result $? 'a secret seed is not given away'
first=$("$ferry" grade --class "$work/class" --only 3.1 --seed secret --json "$work/a.json" >/dev/null; grep -o 'input: [^\\]*' "$work/a.json" | md5sum)
second=$("$ferry" grade --class "$work/class" --only 3.1 --seed secret --json "$work/a.json" >/dev/null; grep -o 'input: [^\\]*' "$work/a.json" | md5sum)
[ "$first" = "$second" ]
result $? 'one secret, the same inputs'
says 'one learner' 0 '(100 %)' "$ferry" grade --answers "$work/class/ada" --only 3.1 --gradescope "$work/results.json"
why=$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert abs(r["score"] - 1) < 1e-6; assert len(r["tests"]) == 1; assert "no new privileges" in r["output"]' \
  "$work/results.json" 2>&1)
result $? "Gradescope's file" "$why"
says 'a missing folder' 2 'is not a folder of answers' "$ferry" grade --answers "$work/nowhere"

# One learner's time in all: what runs when it is over is ended, what is left is not begun, and another learner has his own.
mkdir "$work/slow" "$work/slow/ada" "$work/slow/bob"
cp solutions/02_1_choose_a_device.c "$work/slow/bob"
cat tests/grader/attacks/sleep.c tests/grader/attacks/tail.inc >"$work/slow/ada/03_1_create_on_the_device.c"
FERRY_ANSWER_SECONDS=60 timeout 100 "$ferry" grade --class "$work/slow" --jobs 1 --limit 6 --json "$work/slow.json" >/dev/null
why=$(python3 - "$work/slow.json" 2>&1 <<'END'
import json, sys
graded = json.load(open(sys.argv[1]))
assert graded["complete"]
ada, bob = ([(e["id"], e["status"], e.get("report", "")) for e in l["exercises"]] for l in graded["learners"])
assert all(s == "timeout" and "limit of 6 s" in r for i, s, r in ada if i >= "03_1"), ada
assert ("02_1_choose_a_device", "pass", "") in bob and sum(s == "missing" for _, s, _ in bob) == len(bob) - 1, bob
END
)
result $? 'a limit for all of a learner' "$(tail -n 1 <<<"$why")"
[ -z "$(find "$TMPDIR" -name 'ferry-answer-*')" ]
result $? 'leaves no folder behind' "$(find "$TMPDIR" -name 'ferry-answer-*')"

# A check that breaks is the grader's error: no zero, and the command says so. Linked of what ./ferry is made of.
build=${FERRY_BUILD:-build}
for how in IN_JUDGE IN_ASK BY_PANIC; do
  sed -n 's/^#define CONFIG_CC "\(.*\)"$/\1/p' "$build/include/grader_config.h" >"$work/cc"
  why=$($(cat "$work/cc") -std=c17 -D_GNU_SOURCE -D$how -Icore -Itests -Itests/grader -Wno-missing-field-initializers -c tests/grader/broken/check.c \
    -o "$work/check.o" 2>&1 &&
    $(cat "$work/cc") -o "$work/broken" "$work/check.o" $(tr ' ' '\n' <"$build/ferry.objects" | grep -v 03_1_create_on_the_device) -lm 2>&1)
  result $? "a check that breaks: $how, built" "$why"
  says "a check that breaks: $how" 3 'grader error' "$work/broken" run 3.1 --file solutions/03_1_create_on_the_device.c
  says "a check that breaks: $how, graded" 3 'The grader itself failed on 1 answers' "$work/broken" grade --answers solutions --only 3.1 --json "$work/broken.json"
  why=$(python3 -c 'import json, sys
learner = json.load(open(sys.argv[1]))["learners"][0]
assert learner["max_score"] == 0 and learner["exercises"][0]["score"] is None, learner
assert learner["exercises"][0]["status"] == "grader error"' "$work/broken.json" 2>&1)
  result $? "a check that breaks: $how, no zero" "$why"
done

# A build that has gone on under ./ferry: what an answer is linked with is newer than the command.
cp "$ferry" "$work/old"
touch -d @0 "$work/old"
says 'a build that changes' 3 'is newer than ./ferry' "$work/old" run 3.1 --file solutions/03_1_create_on_the_device.c
says 'a build that changes, graded' 3 'The grader itself failed on 1 answers' "$work/old" grade --answers solutions --only 3.1

# Hostile output in every format: what a learner's answers print, raise and make the compiler repeat, and what his folder is
# called. Nothing in any file, read as its format is read, commands a terminal; and no byte is lost.
attacks=tests/grader/attacks
hostile=$work/hostile
evil=$(printf 'ev\033[2J\302\233il\233')
mkdir -p "$hostile/raised" "$hostile/compiled" "$hostile/$evil"
cat $attacks/control_characters.c $attacks/tail.inc >"$hostile/$evil/03_1_create_on_the_device.c"
cat $attacks/control_characters_raised.c $attacks/tail.inc >"$hostile/raised/03_1_create_on_the_device.c"
cat $attacks/control_characters_compiled.c $attacks/hostile_diagnostics.c $attacks/tail.inc >"$hostile/compiled/03_1_create_on_the_device.c"
"$ferry" grade --class "$hostile" --only 3.1 --json "$work/h.json" --junit "$work/h.xml" --csv "$work/h.csv" >"$work/h.text" 2>&1
for learner in "$evil" raised compiled; do
  "$ferry" grade --answers "$hostile/$learner" --only 3.1 --gradescope "$work/h.gs" >>"$work/h.text" 2>&1
  "$ferry" run 3.1 --file "$hostile/$learner/03_1_create_on_the_device.c" --all >>"$work/h.text" 2>&1
  why=$(python3 - "$work/h.gs" "$work/h.text" "$work/h.json" "$work/h.xml" "$work/h.csv" 2>&1 <<'END'
import csv, json, sys, unicodedata, xml.etree.ElementTree as tree

def texts(value):
    if isinstance(value, dict):
        return [t for pair in value.items() for one in pair for t in texts(one)]
    if isinstance(value, list):
        return [t for one in value for t in texts(one)]
    return [value] if isinstance(value, str) else []

def check(name, strings):
    whole = "\n".join(strings)
    commands = {c for c in whole if (unicodedata.category(c) == "Cc" or c in "\u202d\u202e\u2066\u2067") and c not in "\n\t"}
    assert not commands, (name, [hex(ord(c)) for c in commands])
    return whole

gradescope, text, ours, junit, table = sys.argv[1:]
check("Gradescope", texts(json.load(open(gradescope, encoding="utf-8"))))
shown = check("terminal", [open(text, encoding="utf-8", newline="").read()])
assert "\\x1b[2J" in shown, "the terminal's text"
for name, strings in (("JSON", texts(json.load(open(ours, encoding="utf-8")))),
                      ("JUnit", [s for e in tree.parse(junit).iter() for s in [e.text or "", *e.attrib.values()]]),
                      ("CSV", [s for row in csv.reader(open(table, encoding="utf-8", newline="")) for s in row])):
    whole = check(name, strings)
    wanted = ["ev\\x1b[2J\\xc2\\x9bil\\x9b"]
    if name != "CSV": # it has no reports
        wanted += ["\\x1b]0;title\\x07", "\\x9b31m \\xc2\\x9b31m\\x0d\\x08\\x7f"]
    for one in wanted:
        assert one in whole, (name, one)
END
)
  result $? "hostile output is text: $(cat -v <<<"$learner")" "$(tail -n 1 <<<"$why")"
done
rm -rf "$hostile"

# ---- killed at any moment ------------------------------------------------------------------------------------------------------

broken=
for milliseconds in 5 30 80 150 300 500 700 900 1200 1500; do
  rm -f "$work"/k.*
  "$ferry" grade --class "$work/class" --json "$work/k.json" --gradescope /dev/null >/dev/null 2>&1 # refused: a class
  "$ferry" grade --answers solutions --json "$work/k.json" --gradescope "$work/k.gs" --junit "$work/k.xml" >/dev/null 2>&1 &
  grader=$!
  sleep "$(printf '0.%03d' $milliseconds | sed -E 's/^0\.([0-9])([0-9]{3})$/\1.\2/')"
  kill -9 $grader 2>/dev/null
  wait $grader 2>/dev/null
  for file in "$work/k.json" "$work/k.gs"; do
    if [ -e "$file" ] && ! why=$(is_json "$file"); then
      broken="$broken $file after $milliseconds ms: $why"
    elif [ ! -e "$file" ] && [ $milliseconds -ge 150 ]; then
      broken="$broken no $file after $milliseconds ms"
    fi
  done
done
[ -z "$broken" ]
result $? 'results are valid whenever the grader is killed' "$broken"
grep -q '"complete": false' "$work/k.json"
result $? 'and say that it was not at its end'
sleep 0.5
left=$(for link in /proc/[0-9]*/exe; do readlink "$link" 2>/dev/null; done | grep -c "^$TMPDIR/ferry-answer")
[ "$left" = 0 ]
result $? 'no answer outlives its grader' "$left processes"
left=$(cgroups_left)
[ -z "$left" ]
result $? 'the next grader removes the cgroups of one that was killed' "$left"

finish
