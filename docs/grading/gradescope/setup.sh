#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Gradescope runs this once, as root, when it builds the image: installs what Ferry is built from, and builds it for processors of
# this kind, since submissions are graded on other machines.
set -euo pipefail
cd /autograder/source
tar -xzf ferry.tar.gz
cd ferry
if ! command -v gcc >/dev/null || ! command -v g++ >/dev/null || ! command -v make >/dev/null; then
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc g++ libc6-dev make
fi
compilers=()
if [ "$(gcc -dumpversion | cut -d. -f1)" -lt 12 ]; then # Ubuntu 22.04
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc-12 g++-12
  compilers=(CC=gcc-12 CXX=g++-12)
fi
make setup "${compilers[@]}"
# shellcheck disable=SC2016 # make's variable
make ferry MARCH='$(BASELINE)' "${compilers[@]}"
./ferry doctor
