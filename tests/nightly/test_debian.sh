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

[ "$(id -u)" = 0 ] || skip_all 'only root can bootstrap a Debian'
for program in debootstrap unshare pivot_root git; do
  command -v $program >/dev/null || skip_all "$program is not installed"
done
[ -e "/usr/share/debootstrap/scripts/$suite" ] || skip_all "this debootstrap does not know $suite"
unshare --mount --pid --fork --propagation private mount -t proc proc /proc 2>/dev/null || skip_all 'no namespace can be made here'
commit=$(git rev-parse HEAD 2>/dev/null) || skip_all 'this is not a clone, so no commit can be cloned from it'

work=$(mktemp -d)
root=$work/debian
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$root"

# ---- the release -------------------------------------------------------------------------------------------------------------

# Where apt gets Debian's packages here; debootstrap's own choice on other systems.
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets 'Created-By: Packages' 'Label: Debian' 'Component: main' --format '$(REPO_URI)' 2>/dev/null | head -n 1)
if ! debootstrap --variant=minbase --include=ca-certificates,make,git "$suite" "$root" ${mirror:+"$mirror"} >"$work/out" 2>&1; then
  skip_all "debootstrap cannot make $suite here: $(grep '^[EW]:' "$work/out" | tail -n 1)"
fi
apt-config dump | grep -E '^Acquire::(https?|ftp|Check-|Retries)' >"$root/etc/apt/apt.conf.d/99host"
cp /etc/resolv.conf /etc/hosts "$root/etc/"

# A command there, with only that release's files and processes. The root folder is changed as a container's is, so that commands
# may make namespaces of their own. Control groups are not shown: a grader outside would remove those of a grader whose process it
# does not see. What is said goes to $work/out.
inside() { # USER COMMAND
  # shellcheck disable=SC2016 # for the shell that enters
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
    nice unshare --mount --pid --fork --kill-child --propagation private sh -c '
      mount --bind "$1" "$1" && cd "$1" && mount --rbind /dev dev && mount -t sysfs sysfs sys && mount -t proc proc proc &&
        pivot_root . mnt && umount -l mnt && exec chroot . setpriv --reuid="$2" --regid="$2" --clear-groups sh -c "
          HOME=\$(getent passwd $2 | cut -d: -f6); export HOME; cd \"\$HOME\" && [ ! -d ferry ] || cd ferry; $3"
    ' - "$root" "$1" "$2" >"$work/out" 2>&1 </dev/null
}
ended() { # STATUS NAME
  result "$1" "$suite: $2" "status $1: $(tail -n 12 "$work/out" | tr '\n' ' ')"
}

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
