#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The container image: the steps of the Dockerfile in a bare Debian, to a passed exercise, and the image itself where buildah runs.
# run:
# timeout: 7200
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
# shellcheck source=tests/support/debian.sh
. tests/support/debian.sh
commit=$(git rev-parse HEAD 2>/dev/null) || skip_all 'this is not a clone, so no commit can be cloned from it'
suite=$(sed -nE 's/^ARG BASE=debian:([a-z]*).*/\1/p' Dockerfile)
debian_begin "$suite" ca-certificates
git clone -q --no-hardlinks . "$work/clone" && git -C "$work/clone" checkout -q "$commit"
ended $? "commit ${commit:0:8} is cloned"

# ---- the image, from this base -------------------------------------------------------------------------------------------------

image() {
  buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"
}
if ! command -v buildah >/dev/null; then
  skip "$suite: the image" 'buildah is not installed'
else
  base=$(image from scratch) && image add -q "$base" "$root" / && image commit -q "$base" localhost/base >"$work/out" 2>&1
  if ! image run --isolation chroot "$base" true >"$work/out" 2>&1; then
    skip "$suite: the image" "buildah cannot run a command here: $(tail -n 1 "$work/out")"
  else
    image bud --isolation chroot --build-arg BASE=localhost/base -t localhost/ferry "$work/clone" >"$work/out" 2>&1
    ended $? 'the image is built'
    container=$(image from localhost/ferry)
    image run --isolation chroot "$container" ./ferry run 20.1 --file solutions/20_1_saxpy.cu >"$work/out" 2>&1
    ended $? 'and an answer passes in it'
  fi
fi

# ---- the same steps without an image ---------------------------------------------------------------------------------------------

mkdir "$root/ferry" && cp -a "$work/clone/." "$root/ferry/" && rm -rf "$root/ferry/.git"
inside root 'cd /ferry && .ci/build/container.sh packages && chown -R learner: /ferry'
ended $? 'container.sh packages'
inside learner 'cd /ferry && .ci/build/container.sh build'
ended $? 'container.sh build'
inside learner 'cd /ferry && cp solutions/20_1_saxpy.cu work/ && ./ferry run 20.1'
ended $? 'the first pass'
inside learner 'cd /ferry && rm work/20_1_saxpy.cu && .ci/build/container.sh build && [ ! -e work/20_1_saxpy.cu ]'
ended $? 'a workspace that is there stays as it is'
finish
