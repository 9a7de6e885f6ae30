#!/bin/sh
# python_with_torch.sh [--venv]: prints the path of a python3 that has torch; fails where there is none.
#
# In this order: $PYTHON, PyTorch from PyPI in build/venv, python3, Debian's. --venv makes build/venv first, once.
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
for python in ${PYTHON:-} build/venv/bin/python python3 /usr/bin/python3; do
  if "$python" -c 'import torch' >/dev/null 2>&1; then
    found=$(command -v "$python")
    case $found in
    /*) echo "$found" ;;
    *) echo "$PWD/$found" ;;
    esac
    exit 0
  fi
done
exit 1
