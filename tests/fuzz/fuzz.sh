#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzz.sh [--build DIR] [--venv] [OPTION...]: finds a python3 that has torch and starts the fuzzer. `fuzz.sh --help` lists the
# options. --venv makes a virtual environment with PyTorch from PyPI under build/venv, once, and takes that.
set -eu
cd "$(dirname "$0")/../.."
build=build
if [ "${1:-}" = --build ]; then
  build=$2
  shift 2
fi
venv=
if [ "${1:-}" = --venv ]; then
  venv=--venv
  shift
fi
python=$(.ci/build/python_with_torch.sh $venv) || {
  echo 'fuzz-torch: no python3 with torch is here. Either of these brings one:' >&2
  echo '  apt-get install python3-torch' >&2
  echo '  make fuzz-torch ARGS=--venv      (from PyPI, into build/venv)' >&2
  echo 'PYTHON=/path/to/python3 names another. Recorded answers are checked without: tests/run.sh tests/fuzz' >&2
  exit 2
}
exec "$python" -B tests/fuzz/fuzz.py --build "$build" "$@"
