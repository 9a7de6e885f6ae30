#!/bin/sh
# SPDX-License-Identifier: MIT
# python_with_torch.sh [--venv]: prints the path of a python3 that has torch; fails where there is none.
#
# python_that_imports.sh says where it looks. --venv puts PyTorch from PyPI into build/venv first, once.
set -eu
cd "$(dirname "$0")/../.."
if [ "${1:-}" = --venv ] && ! [ -x build/venv/bin/python ]; then
  echo 'PyTorch from PyPI goes into build/venv' >&2
  mkdir -p build
  python3 -m venv build/venv
  build/venv/bin/pip install --quiet torch numpy --extra-index-url https://download.pytorch.org/whl/cpu >&2 || {
    rm -rf build/venv
    echo 'it could not be installed; python3-venv and a way to PyPI are needed' >&2
    exit 2
  }
fi
exec .ci/build/python_that_imports.sh torch
