#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The exercises' texts are in the template, and say what their checks say.
# run check:
set -u
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/docs/test_exercise_texts.py
