# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A bare Debian in a folder, and commands in it. For tests of tests/nightly, which source tap.sh before.
#   debian_begin SUITE PACKAGES    makes $root, with these packages (separated by commas), or skips the whole test
#   inside USER COMMAND            runs a command there; what it prints goes to $work/out
#   ended STATUS NAME              the result of that
# Environment: DEBIAN_CACHE, a folder with releases that debootstrap has made, by their names; they are copied.

debian_begin() { # SUITE PACKAGES
  suite=$1
  [ "$(id -u)" = 0 ] || skip_all 'only root can bootstrap a Debian'
  for program in debootstrap unshare pivot_root git; do
    command -v $program >/dev/null || skip_all "$program is not installed"
  done
  [ -e "/usr/share/debootstrap/scripts/$suite" ] || skip_all "this debootstrap does not know $suite"
  unshare --mount --pid --fork --propagation private mount -t proc proc /proc 2>/dev/null || skip_all 'no namespace can be made here'
  work=$(mktemp -d)
  root=$work/debian
  trap 'rm -rf --one-file-system "$work"' EXIT
  mkdir "$root"
  : >"$work/out"

  # Where apt gets Debian's packages here; debootstrap's own choice on other systems.
  # shellcheck disable=SC2016 # for apt-get
  mirror=$(apt-get indextargets 'Created-By: Packages' 'Label: Debian' 'Component: main' --format '$(REPO_URI)' 2>/dev/null | head -n 1)
  if [ -d "${DEBIAN_CACHE:-/none}/$suite" ]; then
    cp -a "$DEBIAN_CACHE/$suite/." "$root"
  elif ! debootstrap --variant=minbase --include="$2" "$suite" "$root" ${mirror:+"$mirror"} >"$work/out" 2>&1; then
    skip_all "debootstrap cannot make $suite here: $(grep '^[EW]:' "$work/out" | tail -n 1)"
  fi
  apt-config dump | grep -E '^Acquire::(https?|ftp|Check-|Retries)' >"$root/etc/apt/apt.conf.d/99host"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

# A command there, with only that release's files and processes. The root folder is changed as a container's is, so that commands
# may make namespaces of their own. Control groups are not shown: a grader outside would remove those of a grader whose process it
# does not see.
inside() { # USER COMMAND
  # shellcheck disable=SC2016 # for the shell that enters
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
    nice unshare --mount --pid --fork --kill-child --propagation private sh -c '
      mount --bind "$1" "$1" && cd "$1" && mount --rbind /dev dev && mount -t sysfs sysfs sys && mount -t proc proc proc &&
        pivot_root . mnt && umount -l mnt && exec chroot . setpriv --reuid="$2" --regid="$2" --clear-groups sh -c "
          HOME=\$(getent passwd $2 | cut -d: -f6); export HOME; cd \"\$HOME\" && [ ! -d ferry/.git ] || cd ferry; $3"
    ' - "$root" "$1" "$2" >"$work/out" 2>&1 </dev/null
}

ended() { # STATUS NAME
  result "$1" "$suite: $2" "status $1: $(tail -n 12 "$work/out" | tr '\n' ' ')"
}
