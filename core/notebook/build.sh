#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# build.sh [--notebooks] [FOLDER]: makes the wheel of ferry-gpu-notebook and a notebook for each lesson, in FOLDER (build/notebook).
# Needs python3 with venv, and once a way to PyPI (for flit, which makes the wheel). --notebooks: only the notebooks, which need
# nothing from PyPI.
set -eu
cd "$(dirname "$0")/../.."
tools=build/notebook/venv only_notebooks=
case ${1:-} in
--help)
  sed -n '3,5s/^# //p' core/notebook/build.sh
  exit 0
  ;;
--notebooks)
  only_notebooks=1
  shift
  ;;
esac
out=${1:-build/notebook}
mkdir -p "$out"
python3 core/notebook/notebooks.py "$out"
echo "  NB    $out/part_one to part_four"
[ -z "$only_notebooks" ] || exit 0

if ! "$tools/bin/python" -c 'import flit_core' 2>/dev/null; then
  { python3 -m venv --clear "$tools" &&
    "$tools/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 'flit_core>=3.8,<4'; } || {
    rm -rf "$tools"
    echo 'make notebook needs python3-venv (apt-get install python3-venv) and, once, a way to PyPI' >&2
    exit 2
  }
fi
rm -f "$out"/ferry_gpu_notebook-*.whl
"$tools/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --wheel-dir "$out" core/notebook
wheel=$(echo "$out"/ferry_gpu_notebook-*.whl)
echo "  WHEEL $wheel"
echo "to open them: pip install jupyterlab $wheel && jupyter lab $out"
