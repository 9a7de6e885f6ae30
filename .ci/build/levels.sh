#!/bin/sh
# SPDX-License-Identifier: MIT
# levels.sh BUILD LEVELS CALLED OPS: writes BUILD/levels.o (core/op/rules.mk, core/op/levels.h). CALLED and OPS name objects, which are in
# BUILD for the library's own level, and in BUILD/level/LEVEL for each of LEVELS, as is core/op/table.o.
#
# A function of CALLED gets the level as a suffix, and its name becomes a jump through a pointer that levels.c sets. A level's objects
# call each other directly. Of OPS each level has its own functions and records, which its table of ops lists.
set -eu
build=$1 levels=$2 called=$3 ops=$4
work=$build/level
mkdir -p "$work"

under() { # FOLDER OBJECT...: their paths
  folder=$1
  shift
  for object; do echo "$folder/$object"; done
}
# shellcheck disable=SC2046,SC2086 # lists of names without spaces
names() { # TYPES FOLDER OBJECT...: what they define, of these types of nm
  types=$1
  shift
  nm --defined-only $(under "$@") | awk -v types="$types" 'NF == 3 && index(types, $2) { print $3 }' | sort -u
}
# shellcheck disable=SC2046,SC2086
rename() { # SUFFIX NAMES FROM TO: adds the suffix to the names that the file NAMES lists
  awk -v suffix="$1" '{ print $1, $1 suffix }' "$2" >"$work/map"
  objcopy --redefine-syms="$work/map" "$3" "$4"
}

# shellcheck disable=SC2086
{
  names T "$build" $called >"$work/functions"
  if [ -n "$(names DBRCVW "$build" $called)" ]; then
    echo "levels.sh: a file of LEVEL_CALLED defines data, which would exist once for each level: $(names DBRCVW "$build" $called)" >&2
    exit 1
  fi
}
# shellcheck disable=SC2046,SC2086
ld -r -o "$work/all.o" $(under "$build" $called)
rename .base "$work/functions" "$work/all.o" "$work/base.o"
parts=$work/base.o

suffix_of() {
  echo ".$1" | tr - _
}
for level in $levels; do
  # shellcheck disable=SC2046,SC2086
  {
    ld -r -o "$work/all.o" $(under "$work/$level" $called)
    rename "$(suffix_of "$level")" "$work/functions" "$work/all.o" "$work/$level.called.o"
    names TDBR "$work/$level" $ops core/op/table.o >"$work/own"
    ld -r -o "$work/all.o" $(under "$work/$level" $ops core/op/table.o)
  }
  sort -u "$work/own" "$work/functions" >"$work/names"
  rename "$(suffix_of "$level")" "$work/names" "$work/all.o" "$work/$level.ops.o"
  parts="$parts $work/$level.called.o $work/$level.ops.o"
done

{
  suffixes=
  for level in $levels; do suffixes="$suffixes $(suffix_of "$level")"; done
  awk -v suffixes="$suffixes" -v levels="$levels" '
    function list(name) { printf "\t.globl %s\n\t.p2align 3\n%s:\n", name, name }
    BEGIN { n = split(suffixes, suffix, " "); split(levels, level, " "); print "\t.text" }
    { printf "\t.p2align 4\n\t.globl %s\n\t.type %s, @function\n%s:\n\tjmp *.Ljump_%s(%%rip)\n\t.size %s, .-%s\n", $1, $1, $1, $1, $1, $1
      function_name[NR] = $1 }
    END {
      print "\t.data\n\t.p2align 3"
      for (i = 1; i <= NR; i++) printf ".Ljump_%s:\n\t.quad %s.base\n", function_name[i], function_name[i]
      print "\t.section .data.rel.ro,\"aw\""
      list("fy_level_functions")
      for (i = 1; i <= NR; i++) {
        printf "\t.quad .Ljump_%s", function_name[i]
        for (k = 1; k <= n; k++) printf ", %s%s", function_name[i], suffix[k]
        print ""
      }
      print "\t.quad 0"
      list("fy_level_ops")
      for (k = 1; k <= n; k++) printf "\t.quad fy_ops%s\n", suffix[k]
      list("fy_level_names")
      for (k = 1; k <= n; k++) printf "\t.quad .Lname_%d\n", k
      print "\t.quad 0\n\t.section .rodata"
      for (k = 1; k <= n; k++) printf ".Lname_%d:\n\t.asciz \"%s\"\n", k, level[k]
      print "\t.section .note.GNU-stack,\"\",@progbits"
    }' "$work/functions"
} >"$work/jumps.s"
${CC:-gcc} -c "$work/jumps.s" -o "$work/jumps.o"
# shellcheck disable=SC2086
ld -r -o "$build/levels.o.new" "$work/jumps.o" $parts
mv "$build/levels.o.new" "$build/levels.o"
