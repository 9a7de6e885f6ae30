#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the clone stands changes nothing about how an answer is shut in: below folders that every answer sees (/opt, /usr), where
# solutions could be included by their full path; and where only root can read it, whose answers run as another user.
#
# usage: tests/grader/test_places.sh
# run all: FERRY_CUDA=sim
# timeout: 600
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
root=$PWD build=${FERRY_BUILD:-build}
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp FERRY_ANSWER_MEMORY_MB=512 FERRY_ANSWER_SECONDS=2
ulimit -u 8000 # for the fork bomb
all=$(tests_of 03_1_create_on_the_device)

# ./ferry as it would be built in another folder: what knows the folder is compiled anew.
ferry_at() { # ROOT PROGRAM
  local cc object source objects=() include=$2.include
  mkdir "$include"
  sed "s|$root|$1|g" "$build/include/grader_config.h" >"$include/grader_config.h"
  cp "$build/include/ferry_commit.h" "$include"
  cc=$(sed -n 's/^#define CONFIG_CC "\(.*\)"$/\1/p' "$include/grader_config.h")
  for object in $(cat "$build/ferry.objects"); do
    source=${object#"$build"/} source=${source%o}c
    if [ "${object#-l}" != "$object" ]; then
      objects+=("$object") # a library
    elif grep -qE '^#include "(tool/compile/)?config.h"' "$source"; then
      objects+=("$include/$(basename "$source").o")
      "$cc" -std=c17 -D_GNU_SOURCE -I"$include" -Icore -Itests -Itests/grader -c "$source" -o "${objects[-1]}" || return
    else
      objects+=("$object")
    fi
  done
  "$cc" -o "$2" "${objects[@]}" -lm
}

attack_source() { # NAME ROOT FILE
  sed "s|@ROOT@|$2|" "tests/grader/attacks/$1.c" | cat - tests/grader/attacks/tail.inc >"$3"
  chmod 644 "$3"
}

# What is wrong with an attack's end, nothing when it is held off. COMMAND runs ./ferry there.
held_off() { # NAME ROOT LEVEL COMMAND...
  local name=$1 place=$2 level=$3 output status
  shift 3
  attack_source "$name" "$place" "$work/$name.c"
  output=$("$@" run 3.1 --sandbox "$level" --file "$work/$name.c" --test 'on a GPU' 2>&1)
  status=$?
  if [ $status != 1 ] || ! none_passed "$output" || [[ $output == *'got hold of'* ]]; then
    echo "$name: status $status, $(grep 'got hold of\|tests passed' <<<"$output" | sort -u | head -n 2 | tr '\n' ' ')"
  elif [ -n "$(find "$TMPDIR" -mindepth 1)" ]; then
    echo "$name: left behind $(find "$TMPDIR" -mindepth 1 | head -n 2 | tr '\n' ' ')"
  fi
}

# ---- below what every answer sees --------------------------------------------------------------------------------------------

# A command in a mount namespace of its own, where this clone is seen at PLACE too, and beside it a class. As root, as another
# user of a machine whose root has done this, or as who is root nowhere else.
there() { # USER PLACE COMMAND...
  local user=$1 place=$2 apart=(unshare -m --propagation private) become=()
  shift 2
  case $user in
  nobody-else) apart=(unshare -r -m --propagation private) ;;
  other) become=(setpriv --reuid 123456789 --regid 123456789 --clear-groups) ;;
  esac
  # shellcheck disable=SC2016
  "${apart[@]}" bash -c 'set -e
    mount -t tmpfs -o size=1m,mode=755 ferry-places "$(dirname "$1")"
    mkdir -p "$1" "$1-class/ada" "$1-class/bob"
    mount --bind "$2" "$1"
    cp "$2/solutions/03_1_create_on_the_device.c" "$1-class/ada"
    [ ! -e "$3/class.c" ] || cp "$3/class.c" "$1-class/bob/03_1_create_on_the_device.c"
    shift 3
    exec "$@"' - "$place" "$root" "$work" "${become[@]}" "$@"
}

try_place() { # USER PLACE LEVEL
  local user=$1 place=$2 level=$3 name="$2, $3, as $1" program=$work/ferry$(tr / _ <<<"$2") why attack
  if ! there "$user" "$place" "$program" doctor --sandbox "$level" | grep -q "ok  *sandbox  *$level: "; then
    skip "$name" "$(there "$user" "$place" "$program" doctor --sandbox "$level" | sed -n 's/.*MISSING[^ ]* *sandbox *//p')"
    return
  fi
  says "$name: the right answer" 0 "$all of $all tests passed" there "$user" "$place" "$program" run 3.1 --sandbox "$level" --file solutions/03_1_create_on_the_device.c
  says "$name: a right kernel" 0 'tests passed' there "$user" "$place" "$program" run 20.1 --sandbox "$level" --file solutions/20_1_saxpy.cu
  for attack in include_solution incbin_solution include_hidden_test_by_root read_solution; do
    why=$(held_off "$attack" "$place" "$level" there "$user" "$place" "$program")
    [ -z "$why" ]
    result $? "$name: $attack" "$why"
  done
  printf '#define offset_grid solved\n#include "%s-class/ada/03_1_create_on_the_device.c"\n#undef offset_grid\n#define attack() return solved(device, rows, columns, offset)\n' "$place" |
    cat - tests/grader/attacks/tail.inc >"$work/class.c"
  chmod 644 "$work/class.c"
  why=$(there "$user" "$place" "$program" grade --class "$place-class" --only 3.1 --sandbox "$level" 2>&1)
  [[ $why == *'ada: 1.00'* && $why == *'bob: 0.00 of 1'* ]]
  result $? "$name: another learner's answer" "$(head -n 4 <<<"$why" | tr '\n' ' ')"
  rm "$work/class.c"
}

level_of() { # COMMAND...: which level is chosen without being asked for
  "$@" doctor | sed -n 's/.*ok[^ ]* *sandbox *\([a-z]*\): .*/\1/p'
}

users=nobody-else
[ "$(id -u)" != 0 ] || users='root other'
for place in /opt/ferry /usr/src/ferry; do
  program=$work/ferry$(tr / _ <<<"$place")
  if ! why=$(there "${users%% *}" "$place" true 2>&1); then
    skip "$place" "no mount namespace can be had to show the clone there: $(tail -n 1 <<<"$why")"
    continue
  fi
  why=$(ferry_at "$place" "$program" 2>&1)
  result $? "$place: built" "$why"
  for user in $users; do
    [ "$user" != other ] || setpriv --reuid 123456789 --regid 123456789 --clear-groups test -r "$root/core/ferry.h" || continue
    case $user in
    other) here=$(level_of setpriv --reuid 123456789 --regid 123456789 --clear-groups "$ferry") ;;
    *) here=$(level_of "$ferry") ;;
    esac
    chosen=$(level_of there "$user" "$place" "$program")
    [ -n "$chosen" ] && [ "$chosen" = "$here" ]
    result $? "$place, as $user: the level is what it is elsewhere" "$chosen there, $here here"
    for level in namespaces user bubblewrap landlock; do
      case $place/$user/$level in
      */other/namespaces) ;; # it takes root
      /usr/*/bubblewrap | /usr/*/user | /usr/*/other/*) ;; # the same code has seen /opt
      *) try_place "$user" "$place" "$level" ;;
      esac
    done
  done
done

# ---- where only root can read it ---------------------------------------------------------------------------------------------

try_closed() { # LEVEL HOW
  local name="a closed clone ($2), $1" why attack apart=()
  ! unshare -m --propagation private true 2>/dev/null || apart=(unshare -m --propagation private)
  if ! "${apart[@]}" "$work/ferry-closed" doctor --sandbox "$1" | grep -q "ok  *sandbox  *$1: "; then
    skip "$name" "$("${apart[@]}" "$work/ferry-closed" doctor --sandbox "$1" | sed -n 's/.*MISSING[^ ]* *sandbox *//p')"
    return
  fi
  says "$name: the right answer" 0 "$all of $all tests passed" "${apart[@]}" "$work/ferry-closed" run 3.1 --sandbox "$1" --file solutions/03_1_create_on_the_device.c
  says "$name: a right kernel" 0 'tests passed' "${apart[@]}" "$work/ferry-closed" run 20.1 --sandbox "$1" --file solutions/20_1_saxpy.cu
  says "$name: a right kernel that is inspected" 0 'tests passed' \
    "${apart[@]}" "$work/ferry-closed" run 61 --sandbox "$1" --file solutions/20_2_grid_stride_loop.cu
  for attack in identity bounding_set processes fork_bomb include_solution read_solution include_hidden_test; do
    why=$(held_off $attack "$work/closed" "$1" "${apart[@]}" "$work/ferry-closed")
    [ -z "$why" ]
    result $? "$name: $attack" "$why"
  done
  [ -z "$(find "$TMPDIR" -mindepth 1)" ]
  result $? "$name: the copy is gone" "$(find "$TMPDIR" -mindepth 1 | head -n 2 | tr '\n' ' ')"
}

if [ "$(id -u)" != 0 ]; then
  skip 'a closed clone' 'only root runs answers as another user, and can make a clone that the other cannot read'
else
  mkdir "$work/closed"
  tar -c core solutions tests/grader tests/hidden "$build/include" build/cu2cpp "$build/libferry.a" "$build/libinspect.a" "$build"/tests/grader/*.o \
    "$build"/tests/hidden/*/driver.o "$build"/sim/tests/grader/*.o "$build"/sim/tests/hidden/*/driver.o \
    $(find build/bundle -maxdepth 0 2>/dev/null) | tar -x -C "$work/closed"
  why=$(ferry_at "$work/closed" "$work/ferry-closed" 2>&1)
  result $? 'a closed clone: built' "$why"
  chmod 700 "$work/closed"
  for level in namespaces user bubblewrap landlock none; do
    try_closed $level 'its folder'
  done
  chmod -R go= "$work/closed"
  for level in namespaces landlock; do
    try_closed $level 'every file'
  done
fi

finish
