#!/bin/sh
# SPDX-License-Identifier: MIT
# cuda-check.sh PLUGIN: what the real CUDA build must be, beyond compiling without a warning: it exports one function,
# and needs nothing from the program that loads it, nor a driver to be loaded.
set -eu
plugin=$1
if [ ! -e "$plugin" ]; then
  echo "cuda-check: $plugin was not built" >&2
  exit 1
fi
exported=$(nm -D --defined-only "$plugin" | awk '$2 ~ /[TWBD]/ { print $3 }')
if [ "$(echo "$exported" | wc -w)" -ne 1 ]; then
  printf 'cuda-check: %s must export one function, but it exports:\n%s\n' "$plugin" "$exported" >&2
  exit 1
fi
if readelf -d "$plugin" | grep -q 'NEEDED.*libcuda\.so'; then
  echo "cuda-check: $plugin needs the driver's libcuda.so to be loaded" >&2
  exit 1
fi
echo "cuda-check: compiled without a warning; $plugin exports $exported"
