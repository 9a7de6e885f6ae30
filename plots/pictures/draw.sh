#!/bin/sh
# SPDX-License-Identifier: MIT
# draw.sh [NAME...]: the lessons' drawings (plots/pictures/NAME.awk; all without a name) as docs/images/NAME-light.svg and -dark.svg.
# With OUT=FOLDER into that folder.
set -eu
cd "$(dirname "$0")/../.."
out=${OUT:-docs/images}
if [ $# -eq 0 ]; then
  for file in plots/pictures/[0-9]*.awk; do
    set -- "$@" "$(basename "$file" .awk)"
  done
fi
for name in "$@"; do
  for theme in light dark; do
    awk -v theme=$theme -f plots/pictures/draw.awk -f "plots/pictures/$name.awk" </dev/null >"$out/$name-$theme.svg.new"
    mv "$out/$name-$theme.svg.new" "$out/$name-$theme.svg"
  done
done
echo "$# drawings, light and dark, in $out"
