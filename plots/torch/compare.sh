#!/bin/sh
# SPDX-License-Identifier: MIT
# compare.sh [--build DIR] [--venv] [OPTION...]: finds a python3 that has torch (on Debian and Ubuntu it installs one where there
# is none, and OpenBLAS), and starts the comparison. --venv takes the newest PyTorch, from PyPI, which it puts into build/venv
# once; it is taken from then on. `compare.sh --help` lists the options.
set -eu
cd "$(dirname "$0")/../.."
build=build
if [ "${1:-}" = --build ]; then
  build=$2
  shift 2
fi

venv=
if [ "${1:-}" = --venv ]; then
  venv=--venv
  shift
fi

for argument in "$@"; do
  case $argument in
  --help | -h | --list | --other*) exec python3 plots/torch/compare.py --bench "$build/plots/bench/bench" "$@" ;;
  esac
done

blas_missing() { # Debian's torch takes the BLAS of the system, which without OpenBLAS is the slow reference one
  [ "$1" = /usr/bin/python3 ] && command -v dpkg >/dev/null 2>&1 &&
    { ! ls -d /usr/lib/*/openblas-pthread >/dev/null 2>&1 || ! ls -d /usr/lib/*/openblas-openmp >/dev/null 2>&1; }
}

install() {
  sudo=
  if [ "$(id -u)" -ne 0 ]; then
    sudo=$(command -v sudo) || {
      echo "bench-torch: neither root nor sudo; as root: apt-get install $*" >&2
      return 1
    }
  fi
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "bench-torch: it needs (Debian's names): $*" >&2
    return 1
  fi
  echo "bench-torch installs with ${sudo:+sudo }apt-get: $*"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 update || true
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@"
}

python=$(.ci/build/python_with_torch.sh $venv) || {
  install python3-torch libopenblas0-pthread libopenblas0-openmp && python=$(.ci/build/python_with_torch.sh)
} || {
  echo 'bench-torch: there is no python3 with torch here (PYTHON=/path/to/python3 names one), so nothing is compared' >&2
  exit 2
}
if blas_missing "$python"; then
  install libopenblas0-pthread libopenblas0-openmp || echo 'bench-torch: PyTorch runs on the BLAS that is there' >&2
fi
onnx=$(.ci/build/python_with_onnx.sh $venv) || onnx=
exec "$python" plots/torch/compare.py --onnx-python "$onnx" --bench "$build/plots/bench/bench" --python "$python" "$@"
