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

# The numbers of predict boxes, which the live book compares answers with.
marks() { # TEXT: what becomes of it
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=docs/book python3 -c 'import sys, marks; print(marks.predictions(sys.argv[1]))' "$1"
}
box=$'\n<details><summary>Predict: how many?</summary>\n\n1,024 in six blocks, or 2/3.\n</details>'
says 'the numbers of a predict box' 0 '<details data-predict="threads = 1024; blocks = 6; share = 2/3">' marks "<!-- predict threads = 1024; blocks = 6; share = 2/3 -->$box"
says 'a number that the answer does not have' 1 "blocks is not in the box's answer" marks "<!-- predict threads = 1024; blocks = 7 -->$box"
says 'a predict box without a number' 1 'write NAME = NUMBER' marks "<!-- predict blocks = many -->$box"
grep -q 'data-predict="blocks = 128; threads that do nothing = 2768"' build/book/pages/20_the_first_kernel.md &&
  grep -q '{.cuda data-file="chapters/kernels/broken/race.cu" data-line="8"}' build/book/pages/32_debugging_kernels.md &&
  grep -q '{.cuda data-exercise="20_1_saxpy"}' build/book/pages/exercise/20_1_saxpy.md
result $? 'listings, exercises and predict boxes are marked for the live book'

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
