#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Buckets and shares of samples are PyTorch's, for random models and data sets.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
python=$(.ci/build/python_with_torch.sh 2>/dev/null) || skip_all 'PyTorch is not installed'
program=${FERRY_BUILD:-build}/tests/core/distributed/test_against_torch
said=$("$program" --rank print | "$python" tests/core/distributed/against_torch.py 2>&1)
result $? 'as PyTorch assigns buckets and samples' "$said"
finish
