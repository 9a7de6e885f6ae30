#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The notebooks of all lessons, each cell of them, in Jupyter's kernel.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 14400
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
# shellcheck source=tests/core/notebook/common.sh
. tests/core/notebook/common.sh
checks tests/core/notebook/check_notebooks.py "$work/notebook" "$work"
finish
