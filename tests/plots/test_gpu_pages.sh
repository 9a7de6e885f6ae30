#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What recorded GPU checks put into the pages: the pages have it, and made-up checks give the right tables.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plots/gpu/page.sh --check 2>"$work/difference"
result $? 'docs/model.md and docs/inspector.md have what is recorded' "$(head -n 3 "$work/difference")"

check_of() { # NAME-DATE SIMULATED MODELED
  local folder=$work/recorded/$1
  mkdir -p "$folder"
  printf '# gpu\tNVIDIA Made Up, 9.0, 1 MiB, 1.2\n# simulated\t%s\n# nvcc\t13.0\n# commit\tabc\n# date\t2026-01-02\n' "$2" >"$folder/machine.tsv"
  printf 'kernel\telements\tmeasured_us\tminimum_us\tmodeled_us\tlimit\none\t8\t10\t9\t%s\tlaunch\ntwo\t8\t4\t4\t8\tlaunch\nthree\t8\t5\t5\t-\t-\n' "$3" \
    >"$folder/times.tsv"
  printf 'kernel\tcounter\tncu\tinspector\none\tloads\t100\t100\ntwo\tloads\t100\t105\nthree\tloads\t100\t400\nfour\tloads\t0\t0\nfive\tloads\t7\t0\none\tbytes\t7\t-\n' \
    >"$folder/counters.tsv"
}
check_of up-2026-01-01 no 1000
check_of up-2026-01-02 no 5
check_of fake-2026-01-03 yes 1000
mkdir -p "$work/docs/images"
printf 'a\n<!-- gpu times -->\nold\n<!-- end -->\nb\n' >"$work/docs/model.md"
printf '<!-- gpu counters -->\n<!-- end -->\n' >"$work/docs/inspector.md"
plots/gpu/page.sh --recorded "$work/recorded" --docs "$work/docs" >"$work/said" 2>&1
result $? 'pages are written' "$(cat "$work/said")"

has() { # NAME LINE FILE
  grep -qxF -- "$2" "$3"
  result $? "$1" "$(cat "$3")"
}
has 'a row of times' '| `one` | 8 | 10.0 us | 5.0 us | 0.50 | launch |' "$work/docs/model.md"
has 'a kernel without a model' '| `three` | 8 | 5.0 us | - | - | - |' "$work/docs/model.md"
has 'the error over those that have one' 'Error x2.00 over 2 kernels; modeled / measured x1.00.' "$work/docs/model.md"
[ "$(grep -c 'Made Up' "$work/docs/model.md")" = 1 ] && ! grep -q 'old' "$work/docs/model.md" && grep -qx b "$work/docs/model.md"
result $? 'only the newest check of a GPU, no simulated one, and the rest of the page stays' "$(cat "$work/docs/model.md")"
has 'a row of counters' '| loads | 4 (1 on one side only) | 1 | 2 | x1.61 | 4.00, `three` |' "$work/docs/inspector.md"
! grep -q bytes "$work/docs/inspector.md"
result $? 'what the inspector does not count is left out' "$(cat "$work/docs/inspector.md")"
plots/gpu/page.sh --recorded "$work/recorded" --docs "$work/docs" --check 2>"$work/said"
result $? 'what was written is what --check asks for' "$(cat "$work/said")"
! plots/gpu/page.sh --recorded "$work/none" --docs "$work/docs" --check 2>"$work/said"
result $? 'and it finds a page that says something else' "$(cat "$work/said")"
if command -v gnuplot >/dev/null; then
  for picture in times-light times-dark counters-light counters-dark; do
    grep -q '</svg>' "$work/docs/images/gpu-$picture.svg"
    result $? "the picture gpu-$picture" "$(ls "$work/docs/images")"
  done
else
  skip 'scatter plots' 'gnuplot is not installed'
fi
finish
