#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The book is made without a warning, and a real browser finds pages, links, themes and search from file:// in order.
# run all:
# timeout: 900
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

docs/book/build.sh --pages >"$work/log" 2>&1
result $? 'the pages are written' "$(cat "$work/log")"

# Everything that the headers that ferry.h includes make public.
missing=$(sed -n 's/^#define \(fy_[a-z0-9_]*\)(.*/\1/p' build/include/ferry_where.h | while read -r name; do
  grep -q "\"$name\":" build/book/names.json || echo "$name"
done)
[ -z "$missing" ]
result $? 'every public function is in the reference' "$missing"

if ! docs/book/build.sh >"$work/log" 2>&1 && grep -q 'a way to PyPI' "$work/log"; then
  skip 'the book' 'Material for MkDocs could not be installed from PyPI'
  finish
  exit
fi
[ -e build/book/site/index.html ] && ! grep -q WARNING "$work/log"
result $? 'the book is made without a warning' "$(cat "$work/log")"

ferry=${FERRY_BUILD:-build}/ferry
if [ -x "$ferry" ]; then
  while read -r asked page; do
    BROWSER='echo opened' says "ferry book $asked" 0 "$page" "$ferry" book "$asked"
  done <<'END'
3 /03_tensor_moves.html
42 /exercise/11_2_evaluate.html
5.2 /exercise/05_2_training_step.html
fy_to /api/op_ops.html#fy_to
model /model.html
END
  says 'a page that is not there' 2 'no page for nothing' "$ferry" book nothing
fi

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
python=build/book/venv/bin/python
if [ -z "$chromium" ]; then
  skip 'the book in a browser' 'there is no Chromium (apt-get install chromium)'
elif ! "$python" -c 'import playwright, axe_playwright_python' 2>/dev/null &&
  ! "$python" -m pip install --quiet --timeout 20 --retries 1 -r tests/docs/book/requirements.txt >"$work/log" 2>&1; then
  skip 'the book in a browser' 'Playwright could not be installed from PyPI'
else
  "$python" tests/docs/book/check.py build/book/site "$chromium" >"$work/log" 2>&1
  result $? 'a browser looks at the book' "$(grep FAULTY "$work/log" || tail -n 3 "$work/log")"
  sed 's/^/# /' "$work/log"
fi
finish
