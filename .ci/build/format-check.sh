#!/bin/sh
# SPDX-License-Identifier: MIT
# format-check.sh FILE...: names the files that clang-format would change; fails if there are any.
set -eu
changed=0
for file in "$@"; do
  if ! clang-format "$file" | cmp -s - "$file"; then
    echo "not formatted: $file"
    changed=1
  fi
done
if [ $changed = 1 ]; then
  echo 'format-check: make format puts this right'
  exit 1
fi
