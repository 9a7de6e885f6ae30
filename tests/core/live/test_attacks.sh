#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Attacks on the server of ./ferry book --live: by pages of other sites, by programs on this machine, and by listings that it runs.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 900
# shellcheck source=tests/core/live/common.sh
. tests/core/live/common.sh
exec python3 tests/core/live/attacks.py
