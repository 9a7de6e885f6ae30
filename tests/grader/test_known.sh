#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry grade --known: results of unchanged answers are taken over, and nothing else is; an interrupted grading goes on.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null 2>&1 || skip_all 'python3, which reads the results, is not installed'
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp
class=$work/class
mkdir -p "$class/ada" "$class/bob" "$class/cy"
cp solutions/03_1_create_on_the_device.c solutions/20_1_saxpy.cu "$class/ada"
cp tests/hidden/03_1_create_on_the_device/wrong_left.c "$class/bob/03_1_create_on_the_device.c"
cp tests/hidden/20_1_saxpy/wrong_down.cu "$class/bob/20_1_saxpy.cu"
cp solutions/20_1_saxpy.cu "$class/cy"
options=(--class "$class" --only 3.1,20.1 --seed secret)

"$ferry" grade "${options[@]}" --json "$work/a.json" >"$work/out"
! grep -q 'are those of' "$work/out"
result $? 'nothing is known at first'
says 'everything is known' 1 '5 of 6 results are those of' "$ferry" grade "${options[@]}" --known "$work/a.json" --json "$work/b.json"
difference=$(diff "$work/a.json" "$work/b.json" | grep '^[<>]' | grep -v '"status": "missing"') # one that is missing is looked for again
[ -z "$difference" ]
result $? 'the results are the same, times as well' "$(head -n 2 <<<"$difference")"

cp solutions/03_1_create_on_the_device.c "$class/bob/03_1_create_on_the_device.c"
says 'one answer is new' 1 '4 of 6 results' "$ferry" grade "${options[@]}" --known "$work/b.json" --json "$work/b.json"
why=$(python3 - "$work/b.json" 2>&1 <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["complete"]
found = {l["name"]: [e["status"] for e in l["exercises"]] for l in r["learners"]}
assert found == {"ada": ["pass", "pass"], "bob": ["pass", "fail"], "cy": ["missing", "pass"]}, found
END
)
result $? 'it is judged' "$(tail -n 1 <<<"$why")"

edited() { # NAME PROGRAM: nothing of a file that is changed so is taken over, or only what fits
  python3 - "$work/b.json" "$work/c.json" <<END
import json, sys
r = json.load(open(sys.argv[1]))
$2
json.dump(r, open(sys.argv[2], "w"))
END
  "$ferry" grade "${options[@]}" --known "$work/c.json" --json "$work/d.json" >"$work/out" 2>&1
}
edited 'another grader' 'r["grader"] = "1234567890123456"'
! grep -q 'are those of' "$work/out"
result $? 'results of another grader are not taken over' "$(head -n 2 "$work/out")"
edited 'other tests' 'r["learners"][0]["exercises"][0]["version"] = "0123456789abcdef"'
grep -q '^4 of 6 results' "$work/out"
result $? 'nor those of other tests' "$(head -n 2 "$work/out")"
edited 'a score' 'e = r["learners"][1]["exercises"][1]; e["score"] = 1.0'
grep -q '^4 of 6 results' "$work/out"
result $? 'nor those that do not add up' "$(head -n 2 "$work/out")"
edited 'no seed' 'r["secret_seed"] = False'
! grep -q 'are those of' "$work/out"
result $? 'nor those with other inputs' "$(head -n 2 "$work/out")"
printf '{' >"$work/c.json"
says 'a damaged file' 2 'is damaged' "$ferry" grade "${options[@]}" --known "$work/c.json"

# Killed after the first results; the same command again ends it.
rm -f "$work/k.json"
"$ferry" grade "${options[@]}" --jobs 1 --known "$work/k.json" --json "$work/k.json" >"$work/out" &
grader=$!
for _ in $(seq 600); do
  grep -q '"status": "pass"' "$work/k.json" 2>/dev/null && break
  sleep 0.05
done
kill -9 $grader
wait $grader 2>/dev/null
says 'an interrupted grading goes on' 1 'results are those of' "$ferry" grade "${options[@]}" --jobs 1 --known "$work/k.json" --json "$work/k.json"
python3 - "$work/k.json" "$work/b.json" <<'END'
import json, sys
k, b = (json.load(open(p)) for p in sys.argv[1:])
assert k["complete"]
assert [[e["status"] for e in l["exercises"]] for l in k["learners"]] == [[e["status"] for e in l["exercises"]] for l in b["learners"]]
END
result $? 'and ends with the same results'
finish
