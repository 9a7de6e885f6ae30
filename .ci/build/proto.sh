#!/bin/sh
# SPDX-License-Identifier: MIT
# proto.sh FILE.proto FOLDER [BUNDLED]: writes the C for a .proto into FOLDER, by protoc-c; or copies it from the folder of
# a bundle, where it was made from this very file.
set -eu
proto=$1
to=$2
bundled=${3:-}
name=$(basename "$proto" .proto)

if [ -n "$bundled" ] && cmp -s "$proto" "$bundled/$name.proto"; then
  cp "$bundled/$name.pb-c.c" "$bundled/$name.pb-c.h" "$to/"
elif command -v protoc-c >/dev/null 2>&1; then
  protoc-c --proto_path="$(dirname "$proto")" --c_out="$to" "$proto"
else
  echo "proto.sh: protoc-c is not here${bundled:+, and the bundle was made of another $proto: run make bundle again where it is}" >&2
  exit 1
fi
touch "$to/$name.pb-c.h" "$to/$name.pb-c.c"
