#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup.sh FOLDER: builds Ferry in FOLDER. A folder that is kept between runs needs it only once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
tar -xzf "$here/ferry.tar.gz" -C "$1"
make -C "$1/ferry" setup
# shellcheck disable=SC2016 # make's variable
make -C "$1/ferry" ferry MARCH='$(BASELINE)'
