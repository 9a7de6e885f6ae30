#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The player of ./ferry step in a real browser: each step's text and drawing, keys, sizes, themes, accessibility, no requests. It plays
# records written by hand, and some that ./ferry step has just made.
# run all:
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$chromium" ] || skip_all 'there is no Chromium (apt-get install chromium)'

# The book's environment has the same packages; where it has not been made, one of this test's own.
works() { [ -x "$python" ] && "$python" -c 'import playwright, axe_playwright_python' 2>/dev/null; }
python=build/book/venv/bin/python
works || python=build/browser/bin/python
works || { python3 -m venv build/browser && "$python" -m pip install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
  -r tests/docs/book/requirements.txt; } >/dev/null 2>&1
works || skip_all 'Playwright could not be installed from PyPI'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in no_barrier half_way mixed shuffle; do
  "${FERRY_BUILD:-build}/ferry" step tests/core/inspect/step/cases.cu --json "$work/$name.json" -- "$name" >"$work/log" 2>&1 || {
    echo "not ok - $name is not recorded: $(tail -n 1 "$work/log")"
    exit 1
  }
done
PYTHONDONTWRITEBYTECODE=1 "$python" tests/core/step/check_player.py "$chromium" "$work"/*.json
