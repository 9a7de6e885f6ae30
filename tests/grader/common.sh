# shellcheck shell=bash
# What the tests of ./ferry share: a copy of the command in a folder of their own, so that a build beside them does not take it
# away; results as TAP. Sourced by them.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (sanitized builds do without it)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$ferry" "$work/ferry"
ferry=$work/ferry
export NO_COLOR=1
