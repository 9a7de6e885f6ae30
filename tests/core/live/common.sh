# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the live book need; without it they are skipped. Sourced by them.
set -u
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
[ -x "$build/ferry" ] || skip_all "$build/ferry is not built (sanitized builds do without it)"
[ -x "$build/ferry-live" ] || skip_all "$build/ferry-live is not built: libmicrohttpd is missing"
command -v python3 >/dev/null || skip_all 'python3, which is the browser here, is not installed'
"$build/ferry" doctor | grep -q 'ok  *sandbox' || skip_all 'no sandbox is available, so listings are refused here'
export FERRY_BUILD=$build NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
