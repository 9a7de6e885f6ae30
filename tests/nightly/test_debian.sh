#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ferry in a bare Debian: a release is bootstrapped, this commit is cloned into root's folder there, which no other user may enter,
# and then `make run`, all reference solutions at every level of the sandbox, as root and as a user, the inspector, and other
# versions of the compilers. Packages come from where this machine's apt gets them.
#
# usage: tests/nightly/test_debian.sh SUITE [COMPILER...]    another C compiler: gcc-13, clang-19
# run: -- bookworm clang-16
# run: -- trixie gcc-13 clang-19
# timeout: 14400
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
suite=${1:?which release: bookworm, trixie}
shift
chapters='chapters/23_shared_memory.cu chapters/26_scan.cu chapters/30_attention.cu'

# shellcheck source=tests/support/debian.sh
. tests/support/debian.sh
commit=$(git rev-parse HEAD 2>/dev/null) || skip_all 'this is not a clone, so no commit can be cloned from it'
debian_begin "$suite" ca-certificates,make,git

git clone -q --no-hardlinks . "$root/root/ferry" && git -C "$root/root/ferry" checkout -q "$commit"
ended $? "commit ${commit:0:8} is cloned"
[ "$(stat -c %a "$root/root")" = 700 ]
result $? "$suite: no other user may enter root's folder"

# ---- the course ----------------------------------------------------------------------------------------------------------------

inside root 'make run ARGS=--quick'
status=$?
ended $status 'make run'
if [ $status != 0 ]; then
  finish
  exit
fi
# With a number that no user outside has: the kernel counts a user's processes in all namespaces together.
inside root 'useradd --uid 54321 --create-home learner && chmod 700 ~learner && cp -a ~/ferry ~learner && chown -R learner: ~learner'
ended $? 'a copy of an ordinary user'
inside learner 'make ferry'
ended $? 'make ferry, in a copy that has been moved'

inspect() { # NAME
  local chapter
  for chapter in $chapters; do
    inside root "./ferry inspect $chapter --no-registers --quiet --blocks 4"
    ended $? "$1: ferry inspect $chapter"
  done
}
inspect 'the usual compiler'

solve() { # USER NAME LEVEL
  inside "$1" "./ferry doctor --sandbox $3"
  if ! grep -q "ok  *sandbox  *$3: " "$work/out"; then
    skip "$suite: all solutions, $2" "$(sed -nE 's/.*MISSING[^ ]* *sandbox *//p' "$work/out")"
    return
  fi
  inside "$1" "./ferry grade --answers solutions --limit 7200 --sandbox $3"
  local status=$?
  grep -v '^pass ' "$work/out" >"$work/rest"
  mv "$work/rest" "$work/out"
  ended $status "all solutions, $2"
}
for level in namespaces user bubblewrap landlock; do
  for user in root learner; do
    solve $user "$user, $level" $level
  done
done

# ---- other compilers -----------------------------------------------------------------------------------------------------------

for compiler in "$@"; do
  case $compiler in
  gcc-*) # the inspector calls g++, whose assembly it changes
    ln -s "/usr/bin/g++-${compiler#gcc-}" "$root/usr/local/bin/g++"
    inside root "make CC=$compiler setup && make CC=$compiler ferry"
    ended $? "make CC=$compiler ferry"
    inspect "$compiler"
    solve root "$compiler" landlock
    rm "$root/usr/local/bin/g++"
    ;;
  *)
    inside root "make CC=$compiler setup && make CC=$compiler library"
    ended $? "make CC=$compiler library"
    ;;
  esac
done
finish
