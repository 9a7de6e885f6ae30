#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry grade's files for platforms, against what the platforms document: Gradescope's results.json and autograder zip, Classroom 50's
# result.json and folder, the CSV files that Canvas and Moodle import. No hidden test shows in what learners read.
# tests/nightly/test_platforms.sh builds and grades from the packages.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/../../grader/common.sh"
command -v python3 >/dev/null 2>&1 || skip_all 'python3, which reads the files, is not installed'
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp
class=$work/class
mkdir -p "$class/ada" "$class/=bob" "$class/cy"
cp solutions/03_1_create_on_the_device.c solutions/20_1_saxpy.cu "$class/ada"
cp tests/hidden/03_1_create_on_the_device/wrong_left.c "$class/=bob/03_1_create_on_the_device.c"
cp tests/hidden/20_1_saxpy/wrong_down.cu "$class/=bob/20_1_saxpy.cu"
printf 'int x = ;\n' >"$class/cy/03_1_create_on_the_device.c"

reads() { # NAME, then a Python program on standard input with its arguments
  local name=$1 why
  shift
  why=$(python3 - "$@" 2>&1)
  result $? "$name" "$(tail -n 2 <<<"$why" | tr '\n' ' ')"
}

# ---- one learner ---------------------------------------------------------------------------------------------------------------

"$ferry" grade --answers "$class/=bob" --only 20.1,3.1 --seed hidden-seed --gradescope "$work/gs.json" --json "$work/bob.json" >"$work/out"
result $((!$?)) 'two exercises of one learner' "$(head -n 3 "$work/out")"
export CLASSROOM=cs ASSIGNMENT=hello SUBMISSION_TAG=submit/2026-11-29T10-00-00Z-abc COMMIT_URL=https://example.org/c \
  RELEASE_URL=https://example.org/r OWNER=alice SUBMITTED_AT=2026-11-29T10:00:00Z
"$ferry" grade --merge "$work/bob.json" --classroom50 "$work/c50.json" >/dev/null
"$ferry" grade --merge "$work/bob.json" --gradescope "$work/gs2.json" >/dev/null
cmp -s "$work/gs.json" "$work/gs2.json"
result $? "Gradescope's file of merged results is that of the grading" "$(diff "$work/gs.json" "$work/gs2.json" | head -n 4)"

# What a learner reads, of each exercise: the mistake's name, and nothing of a test. Names of tests, inputs and values are in the JSON.
cat >"$work/hidden.py" <<'END'
import json, re
def secrets(path):
    found = {"hidden-seed", "replay"}
    for learner in json.load(open(path))["learners"]:
        for exercise in learner["exercises"]:
            for test in exercise["tests"]:
                found.add('"' + test["name"] + '"')
                for line in test.get("report", "").splitlines():
                    if re.search("expected|input:", line):
                        found.add(line.strip())
    assert len(found) > 6, found
    return found
def check(path, text):
    for secret in secrets(path):
        assert secret not in text, secret
END
export PYTHONPATH=$work
reads "Gradescope's results.json" "$work/gs.json" "$work/bob.json" <<'END'
import json, sys
from hidden import check
text = open(sys.argv[1]).read()
r = json.loads(text)
assert set(r) <= {"score", "execution_time", "output", "output_format", "test_output_format", "test_name_format", "visibility",
                  "stdout_visibility", "extra_data", "tests", "leaderboard"}, set(r)
assert r["stdout_visibility"] == "hidden" and len(r["tests"]) == 2
for t in r["tests"]:
    assert set(t) <= {"score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags",
                      "visibility", "extra_data"}, set(t)
    assert t["status"] == "failed" and 0 <= t["score"] < t["max_score"] == 1 and t["output_format"] == "text", t
assert abs(sum(t["score"] for t in r["tests"]) - r["score"]) < 1e-6
assert [t["name"].split()[0] for t in r["tests"]] == ["3.1", "20.1"]
assert "grid size rounded down" in r["tests"][1]["output"] and "#grid-block-guard" in r["tests"][1]["output"]
for t in r["tests"]:
    check(sys.argv[2], t["output"])
check(sys.argv[2], text)
END
reads "Classroom 50's result.json" "$work/c50.json" "$work/bob.json" <<'END'
import json, re, sys
from hidden import check
text = open(sys.argv[1]).read()
r = json.loads(text)
required = {"schema", "classroom", "assignment", "assignment_type", "owner", "submission", "commit", "release", "review", "datetime",
            "score", "max-score", "tests"}
assert required <= set(r) <= required | {"graded_at", "submitted_by"}, set(r) ^ required
assert r["schema"] == "classroom50/result/v1" and r["assignment_type"] == "individual" and r["submission"].startswith("submit/")
assert (r["classroom"], r["assignment"], r["owner"], r["datetime"]) == ("cs", "hello", "alice", "2026-11-29T10:00:00Z")
assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", r["graded_at"])
assert r["review"] == r["commit"]
for t in r["tests"]:
    assert type(t["score"]) is int and type(t["max-score"]) is int and 0 <= t["score"] < t["max-score"] == 100, t
    assert t["passed"] is False and t["test-name"]
assert r["score"] == sum(t["score"] for t in r["tests"]) and r["max-score"] == 200
check(sys.argv[2], text)
END

# ---- a class -------------------------------------------------------------------------------------------------------------------

"$ferry" grade --class "$class" --only 20.1,3.1 --seed hidden-seed --canvas "$work/canvas.csv" --moodle "$work/moodle.csv" \
  --json "$work/class.json" >/dev/null
reads "Canvas's CSV" "$work/canvas.csv" <<'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Ferry"], rows[0]
assert "Points Possible" in rows[1][0] and rows[1][5] == "2" and all(len(r) == 6 for r in rows)
assert [r[0] for r in rows[2:]] == [r[3] for r in rows[2:]] == ["'=bob", "ada", "cy"], rows
points = [float(r[5]) for r in rows[2:]]
assert points[1] == 2 and 0 < points[0] < 2 and points[2] == 0, points
END
reads "Moodle's CSV" "$work/moodle.csv" "$work/class.json" <<'END'
import csv, sys
from hidden import check
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert rows[0] == ["username", "Ferry", "Feedback"] and len(rows) == 4, rows
grades = [float(r[1]) for r in rows[1:]]
assert grades[1] == 100 and 0 < grades[0] < 100 and grades[2] == 0, grades
assert "grid size rounded down" in rows[1][2] and "does not compile" in rows[3][2] and "No answer" in rows[3][2]
check(sys.argv[2], open(sys.argv[1]).read())
END
python3 - "$work/class.json" "$work/trouble.json" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
for e in r["learners"][2]["exercises"]:
    e.update(status="grader error", score=None, passed=0, stars=0)
    for t in e["tests"]:
        t["status"] = "grader error"
json.dump(r, open(sys.argv[2], "w"))
END
says 'a grader that failed' 3 'cy: 0.00 of 0 points' "$ferry" grade --merge "$work/trouble.json" --canvas "$work/canvas.csv" --moodle "$work/moodle.csv"
grep -q '^"cy",,,"cy",,$' "$work/canvas.csv" && grep -q '^"cy",-,' "$work/moodle.csv"
result $? 'is no zero in a gradebook' "$(tail -n 1 "$work/canvas.csv"), $(tail -n 1 "$work/moodle.csv")"

# ---- packages ------------------------------------------------------------------------------------------------------------------

says 'a zip for Gradescope' 0 'upload it' "$ferry" grade --gradescope "$work/ferry.zip" --only 3.1 --seed "the sec'ret" --limit 60
reads 'what is in it' "$work/ferry.zip" <<'END'
import io, sys, tarfile, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
names = {i.filename: i for i in z.infolist()}
assert set(names) == {"setup.sh", "run_autograder", "grade.sh", "ferry.tar.gz"}, names
for name in "setup.sh", "run_autograder", "grade.sh":
    assert names[name].external_attr >> 16 & 0o777 == 0o755 and z.read(name).startswith(b"#!"), name
assert rb"--seed 'the sec'\''ret' --only 3.1 --limit 60" in z.read("grade.sh"), z.read("grade.sh")
files = tarfile.open(fileobj=io.BytesIO(z.read("ferry.tar.gz"))).getnames()
assert "ferry/Makefile" in files and "ferry/tests/hidden/20_1_saxpy/check.c" in files and "ferry/solutions/20_1_saxpy.cu" in files
assert not [f for f in files if f.startswith(("ferry/build", "ferry/work", "ferry/.git/"))]
END
says 'a folder for Classroom 50' 0 'autograders/ASSIGNMENT' "$ferry" grade --classroom50 "$work/c50" --only 3.1
says 'and again' 0 'autograders/ASSIGNMENT' "$ferry" grade --classroom50 "$work/c50" --only 3.1
python3 -m py_compile "$work/c50/autograder.py" && [ -x "$work/c50/setup.sh" ] && grep -qE -- '--seed [0-9a-f]{32} --only 3.1 ' "$work/c50/grade.sh"
result $? 'draws a seed of its own' "$(cat "$work/c50/grade.sh")"
[ "$(stat -c %s "$work/c50/ferry.tar.gz")" -lt $((10 << 20)) ]
result $? 'its runner fetches at most 10 MiB'
says 'a package is not of answers' 2 'writes a package' "$ferry" grade --gradescope "$work/x.zip" --answers solutions
says 'a wrong exercise' 2 'does not match exactly one exercise' "$ferry" grade --gradescope "$work/x.zip" --only 3.1,nothing
[ ! -e "$work/x.zip" ]
result $? 'writes nothing then'
finish
