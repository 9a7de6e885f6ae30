#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The packages for Gradescope and Classroom 50, used as the platforms use them: unpacked into a file system that has this machine's
# programs and nothing else of it, without a network, set up, and run on submissions. Both build Ferry from the package.
# run: -- gradescope
# run: -- classroom50
# timeout: 7200
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
platform=${1:?gradescope or classroom50}
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built"
for program in bwrap python3; do
  command -v $program >/dev/null || skip_all "$program is not installed"
done
bwrap --ro-bind / / true 2>/dev/null || skip_all 'bubblewrap cannot make namespaces here'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A machine of the platform: programs and settings of this one, root's folder and temporary files of its own.
inside() { # COMMAND: what it says goes to $work/out
  local folders=()
  for folder in /usr /bin /sbin /lib /lib64 /etc; do
    [ ! -e $folder ] || folders+=(--ro-bind "$folder" "$folder")
  done
  nice -n 15 bwrap "${folders[@]}" --proc /proc --dev /dev --bind "$work/tmp" /tmp --bind "$work/autograder" /autograder --tmpfs /root \
    --unshare-net --unshare-pid --die-with-parent --clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin --setenv HOME /root \
    --setenv LANG C.UTF-8 "${variables[@]}" --chdir /autograder sh -c "$1" >"$work/out" 2>&1
}
said() {
  tail -n 12 "$work/out" | tr '\n' ' '
}
variables=()
mkdir -p "$work/tmp" "$work/autograder/source" "$work/autograder/submission" "$work/autograder/results"
submission=$work/autograder/submission
cp solutions/20_1_saxpy.cu "$submission"
cp tests/hidden/03_1_create_on_the_device/wrong_left.c "$submission/03_1_create_on_the_device.c"

case $platform in
gradescope)
  "$ferry" grade --gradescope "$work/ferry.zip" --only 3.1,20.1,2.1 --seed 'not to be seen' >/dev/null
  result $? 'the zip is written'
  python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$work/ferry.zip" "$work/autograder/source"
  install -m 755 "$work/autograder/source/run_autograder" "$work/autograder/run_autograder"
  grade=/autograder/run_autograder
  inside 'bash source/setup.sh'
  ;;
classroom50)
  "$ferry" grade --classroom50 "$work/autograder/source" --only 3.1,20.1,2.1 --seed 'not to be seen' >/dev/null
  result $? 'the folder is written'
  grade='cd submission && python3 ../source/autograder.py'
  variables=(--setenv RUNNER_TEMP /autograder/temp --setenv CLASSROOM cs --setenv ASSIGNMENT hello --setenv SUBMISSION_TAG submit/1
    --setenv USERNAME alice --setenv COMMIT_URL https://example.org/c --setenv RELEASE_URL https://example.org/r)
  mkdir "$work/autograder/temp"
  inside 'bash source/setup.sh temp/ferry-grader'
  ;;
esac
result $? "$platform: Ferry is built" "$(said)"

grades() { # NAME: the scores of exercises 2.1, 3.1 and 20.1, as numbers between 0 and 1
  rm -f "$work/autograder/results/results.json" "$submission/result.json"
  inside "$grade"
  local status=$?
  result $status "$platform: $1: graded" "$(said)"
  python3 - "$work/autograder/results/results.json" "$submission/result.json" >"$work/scores" 2>&1 <<'END'
import json, os, sys
path = next(p for p in sys.argv[1:] if os.path.exists(p))
text = open(path).read()
for hidden in "not to be seen", "expected", "replay", "input:", "same as on the CPU":
    assert hidden not in text, hidden
for test in json.loads(text)["tests"]:
    most = test.get("max_score", test.get("max-score"))
    print("%.2f" % (test["score"] / most), end=" ")
END
}
grades 'a right, a wrong and a missing answer'
read -r missing wrong right _ <"$work/scores"
[ "$missing" = 0.00 ] && [ "$right" = 1.00 ] && [ "$wrong" != 1.00 ]
result $? "$platform: scores" "$(cat "$work/scores")"

# What a submission could bring: links to the solutions, and a file of results.
rm "$submission"/*
folder=/autograder/source/ferry
[ "$platform" = gradescope ] || folder=/autograder/temp/ferry-grader/ferry
ln -s $folder/solutions "$submission/work"
for file in 02_1_choose_a_device.c 03_1_create_on_the_device.c 20_1_saxpy.cu; do
  ln -s $folder/solutions/$file "$submission/$file"
done
grades 'links to the solutions'
[ "$(cat "$work/scores")" = '0.00 0.00 0.00 ' ]
result $? "$platform: links to the solutions are worth nothing" "$(cat "$work/scores")"
finish
