#!/bin/sh
# SPDX-License-Identifier: MIT
# container.sh packages|build: the steps of the container image (Dockerfile) and of a development container (.devcontainer), for
# Debian and Ubuntu. `packages`, as root, installs what Ferry is built from and makes the user `learner`; `build`, as any user in a clone,
# builds the exercises' part, and creates the workspace where there is none. A GPU is neither needed nor looked for.
set -eu
cd "$(dirname "$0")/../.."
case ${1:?packages or build} in
packages)
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install -y --no-install-recommends ca-certificates git less make nano
  .ci/build/setup.sh
  rm -rf /var/lib/apt/lists/*
  id learner >/dev/null 2>&1 || useradd --uid 1000 --create-home --shell /bin/bash learner
  ;;
build)
  make NVCC= ferry
  [ -d "${FERRY_WORK:-work}" ] || ./ferry start
  ;;
*)
  echo 'container.sh: packages or build' >&2
  exit 2
  ;;
esac
