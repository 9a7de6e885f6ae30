# SPDX-License-Identifier: MIT
# What the tests of the chapters share: sourced by them, with `subject` set to what they test, from the project's folder.
# It skips the whole test where a real GPU is asked for and there is none.
# shellcheck shell=bash
programs=${FERRY_BUILD:-build}/chapters
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

runtime=${FERRY_CUDA:-sim}
case $runtime in
off) devices=0 ;;
real) devices=$("$programs/02_device_check" --quick | sed -n 's/^Number of GPUs: //p') ;;
*) devices=${FERRY_SIM_DEVICES:-2} ;;
esac
if [ "$runtime" = real ] && [ "${devices:-0}" = 0 ]; then
  echo "ok $subject on a real GPU # SKIP there is none here"
  exit 0
fi

run() { # CHAPTER ARGUMENT...: output, errors and status into $work
  chapter=$1
  shift
  status=0
  local asan=
  case $chapter in
  16_distributed | 35_train_gpt) asan=:detect_leaks=0 ;; # in a build with the address sanitizer: they are Open MPI's
  esac
  ASAN_OPTIONS=${ASAN_OPTIONS:-}$asan "$programs/$chapter" "$@" >"$work/out" 2>"$work/err" || status=$?
}

ends_well() {
  if [ "$status" = 0 ]; then
    echo "ok $chapter exits with 0"
  else
    tail -n 20 "$work/out" "$work/err" | sed 's/^/# /'
    echo "not ok $chapter exits with 0 - status $status: $(tail -n 1 "$work/err")"
  fi
}

# The output has a line that matches.
has() { # EXTENDED-REGULAR-EXPRESSION
  if grep -qE -- "$1" "$work/out"; then
    echo "ok $chapter prints /${1//#/}/"
  else
    sed 's/^/# /' "$work/out"
    echo "not ok $chapter prints /${1//#/}/ - it does not"
  fi
}

hasnt() {
  if grep -qE -- "$1" "$work/out"; then
    echo "not ok $chapter does not print /$1/ - it prints: $(grep -E -m 1 -- "$1" "$work/out")"
  else
    echo "ok $chapter does not print /$1/"
  fi
}
