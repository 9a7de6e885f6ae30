#!/bin/sh
# SPDX-License-Identifier: MIT
# bundle.sh [DIR]: gathers into DIR (bundle/) what the build and the tests need besides a compiler and the CUDA toolkit, for a
# machine that cannot install packages: headers and libraries (compressed, for this processor) and Fashion-MNIST.
set -eu
out=${1:-bundle}
machine=$(uname -m)
limit=$((60 * 1024 * 1024)) # of sources and bundle together
data=/usr/share/datasets/fashion-mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include/oneapi/dnnl" "$work/include/protobuf-c" "$work/lib" "$work/proto" "$out/data"

# header NAME OPTIONS: where the compiler finds a header
header() {
  # shellcheck disable=SC2086 # a list of options
  path=$(printf '#include <%s>\n' "$1" | ${CC:-gcc} -E -x c $2 - 2>/dev/null |
    sed -n "s|^# [0-9]* \"\(/.*/$1\)\".*|\1|p" | head -n 1)
  if [ -z "$path" ]; then
    echo "bundle: the header $1 is not here; run make run once, which installs it" >&2
    exit 1
  fi
  echo "$path"
}

# library FILE: copies a library under the name that programs ask for, stripped
library() {
  soname=$(objdump -p "$1" | awk '$1 == "SONAME" { print $2 }')
  cp -L "$1" "$work/lib/$soname"
  strip --strip-unneeded "$work/lib/$soname"
}

needs='-include stdarg.h -include stddef.h -include stdint.h -include setjmp.h'
cp "$(header zlib.h '')" "$(header zconf.h '')" "$(header cmocka.h "$needs")" "$work/include/"
dnnl=$(dirname "$(header dnnl.h '')")
cp "$dnnl"/dnnl*.h "$work/include/"
cp "$dnnl"/oneapi/dnnl/*.h "$work/include/oneapi/dnnl/"

cp "$(header protobuf-c/protobuf-c.h '')" "$work/include/protobuf-c/"
cp core/onnx/onnx.proto "$work/proto/"
.ci/build/proto.sh core/onnx/onnx.proto "$work/proto"

for name in dnnl protobuf-c z cmocka; do
  linked=$(${CC:-gcc} -print-file-name="lib$name.so")
  library "$linked"
  ln -s "$soname" "$work/lib/lib$name.so"
done
# What oneDNN needs in turn, but for the libraries that every compiler brings, in its own version.
ldd "$(${CC:-gcc} -print-file-name=libdnnl.so)" | awk '$3 ~ /^\// { print $3 }' | while read -r needed; do
  case $needed in
  */libc.so* | */libm.so* | */libgomp.so* | */libgcc_s* | */libstdc++* | */libpthread* | */libdl.so*) ;;
  *) library "$needed" ;;
  esac
done
tar -C "$work" -czf "$out/libs-$machine.tar.gz" include lib proto

if [ -d "$data" ]; then
  cp "$data"/*-ubyte.gz "$out/data/"
else
  echo "bundle: Fashion-MNIST is not here ($data): the training on it will be left out" >&2
fi

size=$(du -sb "$out" | cut -f 1)
sources=$(git ls-files -z 2>/dev/null | xargs -0 du -cb 2>/dev/null | awk '$2 == "total" { n += $1 } END { print n + 0 }')
if [ $((size + sources)) -gt "$limit" ]; then
  echo "bundle: $((size + sources)) bytes, sources included, are more than the $limit that they may have" >&2
  exit 1
fi
awk -v size="$size" -v sources="$sources" \
  'BEGIN { printf "bundle: %.1f MiB, sources %.1f MiB; carry it with the sources: make uses it\n", size / 1048576, sources / 1048576 }'
