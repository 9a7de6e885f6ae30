#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry grade --part and --merge: parts of a class, put together, are what one grading of all of it comes to; what does not
# fit is told, and nothing is written; files that are damaged anyhow crash nothing.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null 2>&1 || skip_all 'python3, which cuts the files of results into parts, is not installed'
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp
class=$work/class

learner() { # NAME, then FILE AS pairs
  local folder=$class/$1
  mkdir -p "$folder"
  shift
  while [ $# -gt 1 ]; do
    cp "$1" "$folder/$2"
    shift 2
  done
}
learner ada solutions/03_1_create_on_the_device.c 03_1_create_on_the_device.c solutions/02_1_choose_a_device.c 02_1_choose_a_device.c
learner bob tests/hidden/03_1_create_on_the_device/wrong_left.c 03_1_create_on_the_device.c
learner '=1+1,"cyd"' exercises/03_1_create_on_the_device.c 03_1_create_on_the_device.c
learner dan solutions/20_1_saxpy.cu 20_1_saxpy.cu tests/hidden/03_1_create_on_the_device/right_filled.c 03_1_create_on_the_device.c
learner eve
printf 'no C\n' >"$class/eve/03_1_create_on_the_device.c"
evil=$(printf 'fr\303\251d\033[2J')
learner "$evil" tests/hidden/20_1_saxpy/wrong_guard.cu 20_1_saxpy.cu
learner gus

merges() { # NAME FOLDER FILE...: merged as JSON, JUnit and CSV, which are the same to the byte as those of FOLDER
  local name=$1 whole=$2 difference=
  shift 2
  "$ferry" grade --merge "$@" --json "$work/m.json" --junit "$work/m.xml" --csv "$work/m.csv" >"$work/m.text" 2>&1
  local status=$?
  for format in json xml csv; do
    cmp -s "$whole/whole.$format" "$work/m.$format" || difference="$difference $format"
  done
  [ $status = 1 ] && [ -z "$difference" ]
  result $? "$name" "status $status, differs in$difference: $(head -n 3 "$work/m.text" | tr '\n' ' ')"
}

mkdir "$work/secret" "$work/open"
for seed in secret open; do
  options=()
  [ $seed = open ] || options=(--seed 'a secret')
  "$ferry" grade --class "$class" "${options[@]}" --json "$work/$seed/whole.json" --junit "$work/$seed/whole.xml" \
    --csv "$work/$seed/whole.csv" >"$work/$seed/text"
  result $((!$?)) "all at once, $seed seed" "$(tail -n 3 "$work/$seed/text" | tr '\n' ' ')"
done

# ---- cut by learners, and by learners and exercises, in any order ------------------------------------------------------------

cat >"$work/cut.py" <<'END'
import json, random, sys
whole, folder, seed, by = sys.argv[1:]
whole, draw = json.load(open(whole, encoding="utf-8")), random.Random(int(seed))
count = draw.randint(1, 6)
parts = [dict(whole, learners=[]) for _ in range(count)]
for learner in draw.sample(whole["learners"], len(whole["learners"])):
    pieces = [[] for _ in parts]
    at = draw.randrange(count)
    for exercise in draw.sample(learner["exercises"], len(learner["exercises"])):
        pieces[draw.randrange(count) if by == "exercises" else at].append(exercise)
    for part, piece in zip(parts, pieces):
        if piece:
            part["learners"].append(dict(learner, exercises=piece))
for i, part in enumerate(parts):
    json.dump(part, open(f"{folder}/part{i}.json", "w"), indent=draw.choice([None, 1]), ensure_ascii=draw.random() < 0.5)
END
for trial in $(seq 10); do
  for by in learners exercises; do
    for seed in secret open; do
      rm -f "$work"/part*.json
      python3 "$work/cut.py" "$work/$seed/whole.json" "$work" "$trial" $by
      mapfile -t files < <(printf '%s\n' "$work"/part*.json | shuf --random-source=<(yes "$trial"))
      merges "cut by $by, $seed seed, trial $trial" "$work/$seed" "${files[@]}"
    done
  done
done
merges 'with the class for comparison' "$work/secret" "$work/secret/whole.json" --class "$class"

# ---- parts that were graded by themselves ------------------------------------------------------------------------------------

without_times() { # FILE
  sed -E 's/"seconds": [0-9.]+//g; s/time="[0-9.]+"//g; s/^(.*,(pass|fail|missing|compile error|crash|timeout),([^,]*,){6})[0-9.]+,/\1,/' "$1"
}
for part in 1 2 3; do
  "$ferry" grade --class "$class" --part $part/3 --seed 'a secret' --json "$work/own$part.json" >/dev/null
done
"$ferry" grade --merge "$work"/own[213].json --json "$work/m.json" --junit "$work/m.xml" --csv "$work/m.csv" >"$work/m.text" 2>&1
for format in json xml csv; do
  difference=$(diff <(without_times "$work/secret/whole.$format") <(without_times "$work/m.$format"))
  result $? "three parts, graded one by one, are the whole but for times: $format" "$(head -n 4 <<<"$difference" | tr '\n' ' ')"
done
difference=$(diff <(sed -n '/^$/,$p' "$work/secret/text") <(sed -n '/^$/,$p' "$work/m.text"))
result $? 'and the same points are printed' "$difference"
"$ferry" grade --class "$class" --part 9/9 --json "$work/empty.json" >"$work/m.text" 2>&1
result $? 'a part without anybody' "$(cat "$work/m.text")"

# The examples of docs/grading.md, without their schedulers.
mkdir "$work/here"
cp -r "$class" "$work/here/class"
ln -s "$ferry" "$work/here/ferry"
root=$PWD
array() { # TASK ARGUMENT...
  (cd "$work/here" && SLURM_ARRAY_TASK_ID=$1 SLURM_CPUS_PER_TASK=2 "$root/docs/grading/array.sh" "${@:2}" 2>&1)
}
for task in 1 2; do
  array $task part class results 3 >"$work/m.text" &
done
wait
says 'Slurm: the merge names the missing part' 2 'part 3 of 3 is missing' array '' merge class results
says 'Slurm: a part' 1 'points' array 3 part class results 3
says 'Slurm: the merge' 1 'ada: 2.00 of' array '' merge class results
cmp -s <(cut -d, -f1-7 "$work/secret/whole.csv") <(cut -d, -f1-7 "$work/here/results/all.csv") && [ -s "$work/here/results/all.xml" ]
result $? 'Slurm: all of the class' "$(ls "$work/here/results")"
says 'Slurm: no array' 1 'a part is a task of an array' env -u SLURM_ARRAY_TASK_ID docs/grading/array.sh part class results 3

jobs() { # JOB: the commands of a job, without those that build
  sed -n "/^$1:/,/^[a-z]*:/s/^    - \(\.\/ferry .*\)/\1/p" docs/grading/gitlab-ci.yml
}
total=$(sed -n 's/^  parallel: //p' docs/grading/gitlab-ci.yml)
for index in $(seq "$total"); do
  (cd "$work/here" && CI_NODE_INDEX=$index CI_NODE_TOTAL=$total FERRY_SEED='a secret' bash -c "$(cd "$root" && jobs grade)") >"$work/m.text" 2>&1
done
says 'GitLab: the merge' 1 'ada: 2.00 of' env -C "$work/here" bash -c "$(jobs merge)"
cmp -s <(cut -d, -f1-7 "$work/secret/whole.csv") <(cut -d, -f1-7 "$work/here/results.csv")
result $? 'GitLab: all of the class' "$(tail -n 3 "$work/m.text" | tr '\n' ' ')"

# One learner each, as a job of one's own would do it.
for name in ada bob; do
  "$ferry" grade --answers "$class/$name" --only 3.1 --json "$work/$name.json" >/dev/null
done
says 'one learner each' 1 'ada: 1.00 of 1 points' "$ferry" grade --merge "$work/ada.json" "$work/bob.json"
change() { # FROM TO PYTHON: `r` is the whole file, `l` its first learner, `e` that one's first exercise, `t` its first test
  python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
l = r["learners"][0]; e = l["exercises"][0]; t = e["tests"][0]
exec(sys.argv[3])
json.dump(r, open(sys.argv[2], "w"))' "$1" "$2" "$3"
}
change "$work/ada.json" "$work/trouble.json" 'e["status"] = "grader error"; e["score"] = None; e["passed"] = e["stars"] = 0
for t in e["tests"]: t["status"] = "grader error"'
says "trouble of a part's grader" 3 'The grader itself failed on 1 answers' "$ferry" grade --merge "$work/trouble.json" "$work/bob.json"
change "$work/ada.json" "$work/one.json" 'e["protections"] = "user: no network, no capabilities"'
change "$work/bob.json" "$work/other.json" 'e["protections"] = "landlock: no network, another user, limits on time, memory and files"'
says 'machines that shut answers in differently' 1 'Protections: user and landlock: no network. Not' "$ferry" grade --merge \
  "$work/one.json" "$work/other.json"
says 'everything passed' 0 '(100 %)' "$ferry" grade --merge "$work/ada.json" --gradescope "$work/ada.gs"
"$ferry" grade --answers "$class/ada" --only 3.1 --gradescope "$work/own.gs" >/dev/null
cmp -s "$work/ada.gs" "$work/own.gs"
result $? "Gradescope's file is that of the grading"
says "Gradescope's file is for one" 2 'for one learner' "$ferry" grade --merge "$work/ada.json" "$work/bob.json" --gradescope "$work/x.gs"

# ---- what does not fit ---------------------------------------------------------------------------------------------------------

refuses() { # NAME TEXT ARGUMENT...: status 2, the text is said, and nothing is written
  local name=$1 text=$2
  shift 2
  rm -f "$work/not.json"
  says "$name" 2 "$text" "$ferry" grade --merge "$@" --json "$work/not.json"
  [ ! -e "$work/not.json" ]
  result $? "$name: nothing is written"
}
changed() { # NAME TEXT PYTHON: of ada's file
  change "$work/ada.json" "$work/changed.json" "$3"
  refuses "$1" "$2" "$work/changed.json" "$work/bob.json"
}
refuses 'the same file twice' 'contain results of ada; ' "$work/ada.json" "$work/ada.json"
changed 'a learner twice in a file' 'contains results of ada twice' 'r["learners"].append(l)'
changed 'another version of the tests' 'the result of ada for 03_1_create_on_the_device was graded with a different version of the tests' 'e["version"] = "0123456789abcdef"'
changed 'an exercise that is not there' 'has no exercise "99_nothing"' 'e["id"] = "99_nothing"'
changed 'other tests' 'contains tests that this exercise does not have' 't["name"] = "another"'
changed 'a test too many' 'contains tests that this exercise does not have' 'e["tests"].append(t)'
changed 'a better score by hand' 'do not match its tests' 'e["passed"] -= 1'
changed 'a count with its score by hand' 'do not match its tests' 'e["passed"] -= 1; e["score"] = round(e["passed"] / len(e["tests"]), 4)'
changed 'a status by hand' 'do not match its tests' 'e["status"] = "fail"'
changed 'a score by hand' 'do not match its tests' 'e["score"] = 0.5'
changed 'an unknown status' 'has no status' 'e["status"] = "splendid"'
changed 'made-up protections' 'protections that do not exist' 'e["protections"] = "namespaces: a dragon"'
changed 'not at its end' 'its grading was interrupted' 'r["complete"] = False'
changed 'other devices' 'simulated devices' 'r["simulated_devices"] = 4'
changed 'a seed and none' 'with --seed' 'r["secret_seed"] = True'
changed 'an older file' 'was not written by ./ferry grade --json of this version' 'del r["secret_seed"]'
changed 'a learner without a name' 'a learner has no name' 'l["name"] = ""'
changed 'something else' 'was not written by ./ferry grade --json' 'del r["learners"]'
"$ferry" grade --answers "$class/ada" --only 11 --json "$work/eleven.json" >/dev/null
refuses 'an exercise too few' 'bob has no result for 02_1_choose_a_device, but other learners have one' "$work/ada.json" "$work/bob.json" "$work/eleven.json"
head -c 700 "$work/ada.json" >"$work/short.json"
refuses 'a file cut short' 'is damaged' "$work/short.json" "$work/bob.json"
refuses 'a file of another format' 'line 1: ' "$work/secret/whole.csv"
refuses 'a file that is not there' 'cannot be read' "$work/nowhere.json"
refuses 'a missing learner' 'gus has no results in these files' "$work/ada.json" "$work/bob.json" --class "$class"
mkdir -p "$work/others/ada"
refuses 'a learner of another class' 'bob in '"$work/bob.json"' is not a learner of the class' "$work/ada.json" "$work/bob.json" --class "$work/others"
refuses 'a missing part' 'part 2 of 3 is missing' "$work/own1.json" "$work/own3.json"
refuses 'a part twice' 'leave out one of the files' "$work/own1.json" "$work/own1.json" "$work/own2.json" "$work/own3.json"
refuses 'a part and a whole' 'merge either parts or files without --part' "$work/own1.json" "$work/secret/whole.json"
change "$work/own2.json" "$work/changed.json" 'r["class"].append("zoe")'
refuses 'parts of different classes' 'list different learners of the class' "$work/own1.json" "$work/changed.json" "$work/own3.json"
change "$work/own2.json" "$work/changed.json" 'r["parts"] = 4'
refuses 'parts of different numbers' 'with the same number of parts' "$work/own1.json" "$work/changed.json" "$work/own3.json"
change "$work/own2.json" "$work/changed.json" 'r["learners"] = r["learners"][1:]'
refuses 'somebody taken out of a part' 'has no results in these files' "$work/own1.json" "$work/changed.json" "$work/own3.json"
mapfile -t files < <(for _ in $(seq 100); do echo "$work/nowhere"; done)
says 'more than twenty complaints' 2 'and 80 more' "$ferry" grade --merge "${files[@]}"
says 'no files' 2 '--merge needs the files' "$ferry" grade --merge
says 'files without --merge' 2 'only --merge takes files' "$ferry" grade "$work/ada.json"
says 'grading and merging' 2 '--merge does not grade' "$ferry" grade --merge "$work/ada.json" --seed x
says 'a part of one learner' 2 'needs --class' "$ferry" grade --answers solutions --part 1/2
for part in 0/3 4/3 1 1/ x/3 1/3x -1/3 1/0; do
  says "--part $part" 2 "--part takes" "$ferry" grade --class "$class" --part $part
done

# ---- damaged anyhow ------------------------------------------------------------------------------------------------------------

cat >"$work/damage.py" <<'END'
import json, random, subprocess, sys
ferry, good, other, bad, tries = sys.argv[1:]
text, draw = bytearray(open(good, "rb").read()), random.Random(7)
counts = {}
for i in range(int(tries)):
    damaged = bytearray(text)
    for _ in range(draw.choice([1, 1, 3, 20])):
        at = draw.randrange(len(damaged) or 1)
        if not damaged:
            break
        how = draw.randrange(5)
        if how == 0: damaged[at] ^= 1 << draw.randrange(8)
        if how == 1: del damaged[at:at + draw.randint(1, 40)]
        if how == 2: damaged[at:at] = bytes(draw.choice([b"[" * 100, b"{", b'"', b"\\u0000", b"\xff", b"1e999", b",", b"\0", b"null"]))
        if how == 3: damaged = damaged[:at + 1]
        if how == 4:
            to = draw.randrange(len(damaged))
            damaged[to:to] = damaged[at:at + 200]
    open(bad, "wb").write(damaged)
    run = subprocess.run([ferry, "grade", "--merge", bad, other], capture_output=True)
    if run.returncode not in (0, 1, 2, 3) or (run.returncode == 2) != bool(run.stderr) or b"\x1b" in run.stdout + run.stderr:
        print(f"status {run.returncode} after try {i}: {run.stderr[:200]!r}")
        open(bad + ".kept", "wb").write(damaged)
        break
    counts[run.returncode] = counts.get(run.returncode, 0) + 1
else:
    print(f"{counts.get(2, 0)} of {tries} were refused; the others' damage was in a report, a time or a name")
END
why=$(python3 "$work/damage.py" "$ferry" "$work/ada.json" "$work/bob.json" "$work/bad.json" 500 2>&1)
[[ $why == *' of 500 were refused;'* ]]
result $? '500 damaged files' "$why"
echo "# $why"

finish
