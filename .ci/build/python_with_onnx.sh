#!/bin/sh
# SPDX-License-Identifier: MIT
# python_with_onnx.sh [--venv]: prints the path of a python3 that has onnx and onnxruntime; fails where there is none.
#
# python_that_imports.sh says where it looks. --venv puts them into build/venv first, once, beside what is there
# (python_with_torch.sh).
set -eu
cd "$(dirname "$0")/../.."
modules='numpy, onnx, onnxruntime'
if [ "${1:-}" = --venv ] && ! build/venv/bin/python -c "import $modules" >/dev/null 2>&1; then
  echo 'onnx and onnxruntime from PyPI go into build/venv' >&2
  mkdir -p build
  { [ -x build/venv/bin/python ] || python3 -m venv build/venv; } &&
    build/venv/bin/pip install --quiet --timeout 20 --retries 1 numpy onnx onnxruntime >&2 || {
    echo 'they could not be installed; python3-venv and a way to PyPI are needed' >&2
    exit 2
  }
fi
exec .ci/build/python_that_imports.sh "$modules"
