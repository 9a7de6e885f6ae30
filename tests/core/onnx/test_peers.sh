#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ONNX files with other programs: what Ferry writes is checked by onnx and run by onnxruntime; random networks that they write
# run in Ferry. `.ci/build/python_with_onnx.sh --venv` puts both into build/venv; without them the test is skipped.
# timeout: 300
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/support/tap.sh
test_onnx=${FERRY_BUILD:-build}/tests/core/onnx/test_onnx
python=$(.ci/build/python_with_onnx.sh) || skip_all 'no python3 with onnx and onnxruntime is here'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 FERRY_CUDA=off
mkdir "$work/saved" "$work/drawn"

peers() {
  "$python" tests/core/onnx/peers.py "$@"
}
seed=${FERRY_FUZZ_SEED:-1}
says 'every network is saved' 0 '' "$test_onnx" save "$work/saved" "$seed" "${FERRY_FUZZ_COUNT:-80}"
says 'onnx checks them, onnxruntime agrees' 0 'agree' peers saved "$work/saved"
peers drawn "$work/drawn" "$seed" "${FERRY_FUZZ_COUNT:-80}" >"$work/list" 2>"$work/errors"
result $? 'random networks are drawn' "$(tail -n 2 "$work/errors")"
says 'Ferry runs them' 0 '' "$test_onnx" run <"$work/list"
says 'and agrees with onnxruntime' 0 'agree' peers agree "$work/drawn"
finish
