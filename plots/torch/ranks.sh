#!/bin/sh
# SPDX-License-Identifier: MIT
# ranks.sh [--build DIR] [--venv] [OPTION...]: several processes that train one model, measured (ranks.py); PyTorch's DDP beside it
# where a python3 has torch. `ranks.sh --help` lists the options.
set -eu
cd "$(dirname "$0")/../.."
build=build venv=
if [ "${1:-}" = --build ]; then
  build=$2
  shift 2
fi
if [ "${1:-}" = --venv ]; then
  venv=--venv
  shift
fi
python=$(.ci/build/python_with_torch.sh $venv) || python=
exec "${python:-python3}" plots/torch/ranks.py --bench "$build/plots/bench/bench" --python "$python" "$@"
