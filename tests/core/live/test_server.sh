#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The server of ./ferry book --live: pages, files, events and jobs.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 600
# shellcheck source=tests/core/live/common.sh
. tests/core/live/common.sh
exec python3 tests/core/live/rules.py
