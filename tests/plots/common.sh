# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of benchmarks and plots share: a folder of their own, results as TAP.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
bench=$build/plots/bench/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NO_COLOR=1

[ -x "$bench" ] || { echo "not ok 1 - $bench is not built"; exit 1; }
