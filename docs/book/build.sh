#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# build.sh [--pages]: makes the book, a static site, in build/book/site: lessons, exercises and a reference made from the headers.
# ./ferry step records the blocks of kernels that lessons play (records.txt). Needs build/ferry, python3 with venv, and once a way to
# PyPI. --pages stops before the generator (nothing from PyPI is needed).
set -eu
cd "$(dirname "$0")/../.."
out=build/book
mkdir -p "$out"

if [ "${1:-}" = --help ]; then
  sed -n '2,4s/^# //p' docs/book/build.sh
  exit 0
fi
if [ "${1:-}" != --pages ] && ! cmp -s docs/book/requirements.txt "$out/venv/installed"; then
  echo '  PIP   Material for MkDocs (docs/book/requirements.txt)'
  rm -rf "$out/venv"
  { python3 -m venv "$out/venv" &&
    "$out/venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 -r docs/book/requirements.txt &&
    cp docs/book/requirements.txt "$out/venv/installed"; } || {
    rm -rf "$out/venv"
    echo 'make book needs python3-venv (apt-get install python3-venv) and, once, a way to PyPI' >&2
    exit 2
  }
fi
python3 docs/book/prepare.py "$out"
[ "${1:-}" = --pages ] && exit 0
echo '  BOOK  build/book/site'
NO_MKDOCS_2_WARNING=1 "$out/venv/bin/mkdocs" --quiet build --strict --clean --config-file "$out/mkdocs.yml"
echo "the book: ./ferry book, or open build/book/site/index.html; to publish it, copy the folder"
