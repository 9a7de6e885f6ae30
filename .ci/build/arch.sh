#!/bin/sh
# SPDX-License-Identifier: MIT
# arch.sh NVCC ["80 90"]: prints nvcc's options for the compute capabilities given, else for the GPUs of this machine,
# else for the lowest that this toolkit knows, as PTX, which any later GPU's driver compiles when it starts.
set -eu
nvcc=$1
wanted=${2:-}

known=$("$nvcc" --list-gpu-arch | sed -n 's/^compute_\([0-9]*\)$/\1/p' | sort -n)
lowest=$(echo "$known" | head -n 1)
highest=$(echo "$known" | tail -n 1)

if [ -z "$wanted" ] && command -v nvidia-smi >/dev/null 2>&1; then
  wanted=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d '. ' | grep -E '^[0-9]+$' | sort -nu) || wanted=
fi
if [ -z "$wanted" ]; then
  echo "-gencode arch=compute_$lowest,code=compute_$lowest"
  exit 0
fi

options=
for arch in $wanted; do
  arch=$(echo "$arch" | sed 's/^\(sm_\|compute_\)//; s/\.//')
  if echo "$known" | grep -qx "$arch"; then
    options="$options -gencode arch=compute_$arch,code=sm_$arch"
  elif [ "$arch" -gt "$highest" ]; then
    # newer than the toolkit: the GPU's driver compiles it
    options="$options -gencode arch=compute_$highest,code=compute_$highest"
  else
    echo "arch.sh: $nvcc does not know compute capability $arch, only" $known >&2 # one line
    echo 'arch.sh: set CUDA_ARCH, use another toolkit (CUDA_HOME), or build without CUDA (make NVCC=)' >&2
    exit 1
  fi
done
echo "${options# }"
