#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# step.sh: the page of ./ferry step as docs/images/step-light.png and -dark.png. Needs build/ferry and Chromium.
set -eu
cd "$(dirname "$0")/../.."
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo 'plots/pictures/step.sh: there is no Chromium (apt-get install chromium)' >&2
  exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${FERRY_BUILD:-build}/ferry" step chapters/kernels/broken/race.cu --html "$work/page.html" >"$work/log" 2>&1
for theme in dark light; do
  scheme=$([ "$theme" = dark ] && echo 0 || echo 1) # Blink's number of it
  "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,840 --user-data-dir="$work/$theme" \
    --blink-settings="preferredColorScheme=$scheme" --screenshot="$PWD/docs/images/step-$theme.png" "file://$work/page.html" >"$work/log" 2>&1
done
echo "docs/images/step-light.png and step-dark.png"
