#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# build.sh: makes the wheel of ferry-gpu-notebook and a notebook for each lesson, in build/notebook. Needs python3 with venv, and once
# a way to PyPI (for flit, which makes the wheel). --notebooks: only the notebooks, which need nothing from PyPI.
set -eu
cd "$(dirname "$0")/../.."
out=build/notebook

if [ "${1:-}" = --help ]; then
  sed -n '3,4s/^# //p' core/notebook/build.sh
  exit 0
fi
rm -rf "$out"/part_*
python3 core/notebook/notebooks.py "$out"
echo "  NB    $out/part_one, part_two, part_three"
[ "${1:-}" = --notebooks ] && exit 0

flit='flit_core>=3.8,<4'
if ! "$out/venv/bin/python" -c 'import flit_core' 2>/dev/null; then
  { python3 -m venv --clear "$out/venv" && "$out/venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 "$flit"; } || {
    rm -rf "$out/venv"
    echo 'make notebook needs python3-venv (apt-get install python3-venv) and, once, a way to PyPI' >&2
    exit 2
  }
fi
rm -f "$out"/*.whl
"$out/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --wheel-dir "$out" core/notebook
echo "  WHEEL $(ls "$out"/*.whl)"
echo "to install it: pip install jupyterlab $(ls "$out"/*.whl)"
