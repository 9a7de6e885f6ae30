#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mutants.sh [OPTION...]: changes right answers and judges what comes of it; --help lists the options. universalmutator comes from
# PyPI into build/mutants, once. Exit status 2: it could not be installed.
set -eu
cd "$(dirname "$0")/../.."
venv=build/mutants/venv
if ! cmp -s tests/mutants/requirements.txt $venv/installed; then
  echo '  PIP   universalmutator (tests/mutants/requirements.txt)' >&2
  rm -rf $venv
  mkdir -p build/mutants
  { python3 -m venv $venv &&
    $venv/bin/pip install --quiet --disable-pip-version-check --timeout 20 --retries 1 -r tests/mutants/requirements.txt &&
    cp tests/mutants/requirements.txt $venv/installed; } >&2 || {
    rm -rf $venv
    echo 'make mutants needs python3-venv (apt-get install python3-venv) and, once, a way to PyPI' >&2
    exit 2
  }
fi
exec $venv/bin/python tests/mutants/mutants.py "$@"
