#!/bin/sh
# SPDX-License-Identifier: MIT
# python_that_imports.sh MODULES: prints the path of a python3 that can `import MODULES`; fails where there is none.
#
# In this order: $PYTHON, the one of build/venv, python3, Debian's.
set -eu
cd "$(dirname "$0")/../.."
for python in ${PYTHON:-} build/venv/bin/python python3 /usr/bin/python3; do
  if "$python" -c "import $1" >/dev/null 2>&1; then
    found=$(command -v "$python")
    case $found in
    /*) echo "$found" ;;
    *) echo "$PWD/$found" ;;
    esac
    exit 0
  fi
done
exit 1
