#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make bundle` holds what a machine without packages lacks: from sources and bundle alone, in a root without the packages, without a
# network, the library and the smoke tests are built and the GPU check's dry run passes its smoke stage.
# The root is this machine's, seen through an overlay in which the packages' files are removed. tests/nightly does the same in a bare
# debootstrap.
# run all:
# timeout: 900
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
[ "${FERRY_BUILD:-build}" = build ] || skip_all 'it is tried with the plain build alone'
[ "$(id -u)" = 0 ] || skip_all 'only root can make a root without the packages'
command -v dpkg >/dev/null || skip_all 'which files the packages have is known on Debian and Ubuntu'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/layer" "$work/root" "$work/ferry"

# A tmpfs, since an overlay cannot lie on another one, as a container's root often is.
inside() { # COMMAND: in the root without packages
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --net --pid --fork bash -c '
    mount --make-rprivate / && mount -t tmpfs none "$0/layer" && mkdir "$0/layer/upper" "$0/layer/work" &&
      mount -t overlay -o "lowerdir=/,upperdir=$0/layer/upper,workdir=$0/layer/work" none "$0/root" &&
      mount -t proc none "$0/root/proc" && mount --bind /dev "$0/root/dev" && mount -t tmpfs none "$0/root/tmp" &&
      mkdir -p "$0/root/tmp/ferry" && mount --bind "$0/ferry" "$0/root/tmp/ferry" || exit 77
    for package in libdnnl-dev libdnnl2 libdnnl3 libprotobuf-c-dev libprotobuf-c1 zlib1g-dev libcmocka-dev libcmocka0 protobuf-c-compiler \
      dataset-fashion-mnist gnuplot-nox libopenmpi-dev openmpi-bin bubblewrap; do
      dpkg -L $package 2>/dev/null
    done | grep -vxF -f <(dpkg -L base-files) | while read -r file; do
      [ -d "$0/root$file" ] && [ ! -L "$0/root$file" ] || rm -f "$0/root$file"
    done
    chroot "$0/root" bash -c "cd /tmp/ferry && $1"' "$work" "$1"
}

inside 'true' 2>"$work/said"
status=$?
[ $status != 77 ] || skip_all "this machine refuses an overlay of its root: $(head -n 1 "$work/said")"

.ci/build/bundle.sh "$work/ferry/bundle" >"$work/said" 2>&1
result $? 'sources and bundle are below 60 MiB' "$(cat "$work/said")"
git ls-files -z | xargs -0 cp --parents -t "$work/ferry"

inside '.ci/build/setup.sh --check' >"$work/said" 2>&1
[ $? = 1 ] && grep -q libdnnl-dev "$work/said"
result $? 'without the bundle the packages are missed' "$(tail -n 3 "$work/said")"

# Unoptimized: this is about what is there, and not about how fast it is.
flags='OPTIMIZE=-O0 CXXFLAGS="-std=c++17 -O0 -g0 -Wno-unknown-pragmas" NVCC='
inside "make -s setup && make -s -j2 $flags GPU_DRY=yes library build/tests/gpu/smoke build/tests/gpu/ladders build/tests/core/op/test_golden" \
  >"$work/said" 2>&1
result $? 'with it the library is built' "$(tail -n 3 "$work/said")"
inside 'FERRY_CUDA=sim build/tests/core/op/test_golden cuda --first matmul conv2d' >"$work/said" 2>&1
result $? 'and ops are right' "$(tail -n 3 "$work/said")"
inside 'tests/gpu/check.sh --dry-run --only smoke --minutes 3 --out out' >"$work/said" 2>&1
result $? 'and the smoke stage passes' "$(tail -n 20 "$work/said")"
finish
