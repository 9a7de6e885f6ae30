#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pages of ./ferry book --live in real browsers, with the real server: editing, runs, findings, verdicts, conflicts, predictions, keys,
# sizes, themes, accessibility, no other host.
# run all:
# timeout: 1200
# shellcheck source=tests/core/live/common.sh
. tests/core/live/common.sh
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$chromium" ] || skip_all 'there is no Chromium (apt-get install chromium)'
[ -e build/book/site/index.html ] || skip_all 'the book has not been built (make book)'

# The book's environment has the same packages; where it has not been made, one of this test's own.
works() { [ -x "$python" ] && "$python" -c 'import playwright, axe_playwright_python, websockets' 2>/dev/null; }
python=build/book/venv/bin/python
works || python=build/browser/bin/python
works || { python3 -m venv build/browser && "$python" -m pip install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
  -r tests/docs/book/requirements.txt -r tests/core/live/requirements.txt; } >/dev/null 2>&1
works || skip_all 'Playwright could not be installed from PyPI'
exec "$python" tests/core/live/check_page.py "$chromium" "$(command -v firefox-esr || command -v firefox)"
