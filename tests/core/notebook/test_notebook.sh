#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The magic commands of the notebook, from the wheel in a clean virtual environment, in Jupyter's kernel; and some cells of the lessons'
# notebooks. tests/nightly/test_notebooks.sh runs all of them.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 600
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
# shellcheck source=tests/core/notebook/common.sh
. tests/core/notebook/common.sh

version=$(awk '$2 ~ /^FERRY_VERSION_(MAJOR|MINOR|PATCH)$/ { printf "%s%s", dot, $3; dot = "." }' core/base/version.h)
[ "$("$python" -c 'import ferry_notebook as f; print(f.__version__)')" = "$version" ]
result $? "the package has Ferry's version, $version"
checks tests/core/notebook/check_magics.py "$work"
checks tests/core/notebook/check_locate.py "$work"
checks tests/core/notebook/check_notebooks.py --quick "$work/notebook" "$work"

# ---- the notebooks as files --------------------------------------------------------------------------------------------------------

notebooks=("$work"/notebook/part_*/*.ipynb)
lessons=(docs/[0-9][0-9]_*.md)
[ ${#notebooks[@]} = ${#lessons[@]} ]
result $? 'each lesson has a notebook' "${#notebooks[@]} notebooks, ${#lessons[@]} lessons"
one=${notebooks[0]} other=${notebooks[1]}
cp "$other" "$work/before"
sed -i 's/"metadata"/ &/' "$one" && cp "$one" "$work/mine"
core/notebook/build.sh --notebooks "$work/notebook" >"$work/out" 2>&1
cmp -s "$one" "$work/mine" && grep -qF "$(basename "$one") has changes" "$work/out" && cmp -s "$other" "$work/before"
result $? 'a notebook with changes stays as it is' "$(head -n 2 "$work/out")"
finish
