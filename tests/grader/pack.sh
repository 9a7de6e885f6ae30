#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry pack: exercises from a folder or repository of your own (docs/packs.md). The files of a pack NAME are called NAME_N_slug. They
# are copied beside the course's, whose names begin with a digit, so a pack cannot replace an exercise of the course.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
usage() {
  cat <<'END'
ferry pack: add exercises of your own to the course

usage: ./ferry pack new NAME        create the folder NAME with one exercise that works, to be changed
       ./ferry pack check DIR       add the pack, then test its hidden tests: right and wrong answers, stubs, mutants
                    --mutants N     judge N mutants of each exercise (20; 0: none)
       ./ferry pack add DIR|URL     add the exercises of a folder or Git repository, or replace an earlier version of them
       ./ferry pack remove NAME     remove them again; answers in work/ stay
       ./ferry pack list            list the packs

Adding and removing rebuild ./ferry. See docs/packs.md.
END
}

refuse() { # MESSAGE
  echo "ferry pack: $1" >&2
  exit "${2:-2}"
}

rebuild() {
  rm -f "$root/build/ferry" # what is gone from it is no reason for make to link it again
  make -C "$root" --no-print-directory ferry >"$root/build/pack.log" 2>&1 || {
    grep -E 'error|Error' "$root/build/pack.log" | head -n 12 >&2
    return 1
  }
}

ids_in() { # DIR: the exercises of a pack
  (cd "$1/hidden" 2>/dev/null && find . -mindepth 1 -maxdepth 1 -type d | sed 's@^\./@@' | sort)
}

# Sets `name`; refuses a folder that is no pack, with all reasons.
read_pack() { # DIR
  local id check wrong=''
  name=
  [ -d "$1/hidden" ] || refuse "$1 is not a pack: it has no folder hidden/. ./ferry pack new NAME creates one"
  while read -r id; do
    [[ $id =~ ^([a-z][a-z0-9]{1,11})_[1-9]_[a-z0-9_]+$ ]] || refuse "$1/hidden/$id: name it NAME_N_slug, such as image_1_flip, where NAME is the pack's name: a letter, then 1 to 11 letters or digits"
    [ -z "$name" ] || [ "$name" = "${BASH_REMATCH[1]}" ] || refuse "$1 has exercises of two names, $name and ${BASH_REMATCH[1]}; a pack has one"
    name=${BASH_REMATCH[1]}
    check=$1/hidden/$id/check.c
    if [ ! -f "$check" ]; then
      wrong+="$check is missing"$'\n'
      continue
    fi
    grep -q "\.id = \"$id\"" "$check" || wrong+="$check must contain .id = \"$id\""$'\n'
    local extension=c
    ! grep -q '\.kind = "kernel"' "$check" || extension=cu
    [ -f "$1/hidden/$id/driver.$extension" ] || wrong+="$1/hidden/$id/driver.$extension is missing"$'\n'
    [ -f "$1/hidden/$id/answer.h" ] || wrong+="$1/hidden/$id/answer.h is missing"$'\n'
    [ -f "$1/solutions/$id.$extension" ] || wrong+="$1/solutions/$id.$extension is missing"$'\n'
  done < <(ids_in "$1")
  [ -n "$name" ] || refuse "$1/hidden has no exercises"
  wrong+=$(find "$1" -type l -not -path '*/.git/*' -printf '%p is a symbolic link; a pack consists of files\n')
  [ -z "$wrong" ] || refuse "$1 is not complete:"$'\n'"${wrong%$'\n'}"
}

remove_files() { # NAME
  rm -rf "$root/tests/hidden/$1"_[1-9]_* "$root/tests/hidden/$1.pack" "$root/tests/hidden/$1.equivalent"
  rm -f "$root/solutions/$1"_[1-9]_* "$root/exercises/$1"_[1-9]_*
}

copy_files() { # DIR
  local id
  while read -r id; do
    cp -R "$1/hidden/$id" "$root/tests/hidden/"
    cp "$1/solutions/$id".* "$root/solutions/"
  done < <(ids_in "$1")
  if [ -f "$1/equivalent.txt" ]; then
    cp "$1/equivalent.txt" "$root/tests/hidden/$name.equivalent"
  fi
  { sed -n '1s/^# *//p' "$1/README.md" 2>/dev/null || true; } >"$root/tests/hidden/$name.pack"
}

# Whatever goes wrong, the pack is as it was before, or not there.
add() { # DIR
  local old
  read_pack "$1"
  old=$(mktemp -d)
  mkdir "$old/hidden" "$old/solutions"
  cp -R "$root/tests/hidden/$name"_[1-9]_* "$old/hidden/" 2>/dev/null || true
  cp "$root/solutions/$name"_[1-9]_* "$old/solutions/" 2>/dev/null || true
  remove_files "$name"
  copy_files "$1"
  if ! rebuild || ! "$root/build/ferry" cut >/dev/null; then
    local failed=$name
    remove_files "$failed"
    [ -z "$(ids_in "$old")" ] || copy_files "$old"
    if rebuild; then
      "$root/build/ferry" cut >/dev/null
    fi
    rm -rf "$old"
    refuse "the pack $failed cannot be built, so nothing has changed. The compiler's messages are in build/pack.log" 3
  fi
  rm -rf "$old"
  echo "Added $(ids_in "$1" | wc -l) exercises: $(ids_in "$1" | tr '\n' ' ')"
}

new() { # NAME
  local first=$root/docs/packs/image file
  [[ $1 =~ ^[a-z][a-z0-9]{1,11}$ ]] || refuse "a name is a letter, then 1 to 11 letters or digits, not \"$1\""
  [ ! -e "$1" ] || refuse "$1 exists already"
  mkdir -p "$1/hidden" "$1/solutions"
  cp -R "$first/hidden/image_1_grayscale" "$1/hidden/$1_1_grayscale"
  cp "$first/solutions/image_1_grayscale.cu" "$1/solutions/$1_1_grayscale.cu"
  find "$1" -type f -exec sed -i "s/image_1_grayscale/$1_1_grayscale/g; s/\bimage\.1\b/$1.1/g" {} +
  printf '# %s\n\nExercises for Ferry. To add them: ./ferry pack add %s\n' "$1" "$1" >"$1/README.md"
  echo "$1 has one exercise, $1_1_grayscale. Change it, then: ./ferry pack check $1"
}

check() { # DIR MUTANTS
  local id failed=0 pattern
  add "$1"
  pattern="^${name}_[1-9]_"
  while read -r id; do
    for kind in right:3 wrong:6; do
      [ "$(find "$1/hidden/$id" -name "${kind%:*}_*" | wc -l)" -ge "${kind#*:}" ] || {
        echo "$id: write at least ${kind#*:} ${kind%:*} answers, hidden/$id/${kind%:*}_*"
        failed=1
      }
    done
  done < <(ids_in "$1")
  FERRY_CUDA=sim FERRY_SIM_DEVICES=2 "$root/tests/grader/test_exercises.sh" "$pattern" || failed=1
  if [ "$2" != 0 ]; then
    "$root/tests/mutants/mutants.sh" --only "$pattern" --each "$2" || failed=1
  fi
  [ $failed = 0 ] || refuse "the pack $name does not pass its checks" 1
  echo "The pack $name passes its checks."
}

list() {
  local file any=
  for file in "$root"/tests/hidden/*.pack; do
    [ -e "$file" ] || continue
    any=yes
    name=$(basename "$file" .pack)
    printf '%-12s %2d exercises  %s\n' "$name" "$(find "$root/tests/hidden" -maxdepth 1 -name "${name}_[1-9]_*" | wc -l)" "$(cat "$file")"
  done
  [ -n "$any" ] || echo "There are no packs. ./ferry pack add DIR adds one; docs/packs/image is an example."
}

what=${1:-}
[ $# = 0 ] || shift
case $what in
new)
  [ $# = 1 ] || refuse "new takes a name"
  new "$1"
  ;;
check)
  mutants=20
  folder=
  while [ $# -gt 0 ]; do
    case $1 in
    --mutants)
      mutants=${2:?--mutants needs a number}
      shift
      ;;
    *) folder=$1 ;;
    esac
    shift
  done
  [ -n "$folder" ] || refuse "check takes the folder of a pack"
  check "$folder" "$mutants"
  ;;
add)
  [ $# = 1 ] || refuse "add takes a folder or the address of a Git repository"
  if [ -d "$1" ]; then
    add "$1"
  else
    clone=$(mktemp -d)
    trap 'rm -rf "$clone"' EXIT
    git clone --quiet --depth 1 -- "$1" "$clone/pack" || refuse "$1 is neither a folder nor a Git repository that can be cloned"
    add "$clone/pack"
  fi
  ;;
remove)
  if [ $# != 1 ] || [ ! -e "$root/tests/hidden/$1.pack" ]; then
    refuse "there is no pack \"${1:-}\". ./ferry pack list shows all"
  fi
  remove_files "$1"
  rebuild || refuse "the build failed; see build/pack.log" 3
  echo "Removed the pack $1."
  ;;
list) list ;;
--help | help) usage ;;
*)
  usage >&2
  exit 2
  ;;
esac
